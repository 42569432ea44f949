"""Predictions as files: JSON lines, CSV, TSV, `label:score` text and scipy npz, chosen by the file's name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from labelwood.errors import DataError, ParamError

if TYPE_CHECKING:
    from labelwood.topk import TopK

# (row id, [(label, its id or name, score, its name in the vocabulary), ...])
Rows = Iterable[tuple[str, list[tuple[int, str, float, str | None]]]]

SCORE = "score"


def check_suffix(path: Path, others: Sequence[str] = ()) -> None:
    """Refuse a file name whose ending does not say the format; others: endings of tables that could be written too."""
    known = (*_TEXT_WRITERS, ".npz")
    if path.suffix.lower() not in known:
        every = ", ".join(dict.fromkeys([*others, *known]))
        raise ParamError(f"--out {path}: the ending must say the format, one of {every}")


def write_file(
    path: Path,
    top: TopK,
    names: Sequence[str] | None,
    row_ids: Sequence[str] | None,
    n_labels: int,
    number: str = SCORE,
    titles: Sequence[str] | None = None,
) -> None:
    """Write the answers in the format that the ending of `path` names; whole or not at all.

    number: what the numbers of the answers are called: score or probability.
    """
    from labelwood.data.writing.atomic_file import whole_file

    suffix = path.suffix.lower()
    with whole_file(path) as part:
        if suffix == ".npz":
            from scipy import sparse

            with part.open("wb") as stream:
                sparse.save_npz(stream, top.to_csr(n_labels))
        else:
            with part.open("w", encoding="utf-8", newline="") as text_stream:
                _TEXT_WRITERS[suffix](text_stream, _rows(top, names, row_ids, titles), number, titles is not None)


def write_stdout(
    top: TopK,
    names: Sequence[str] | None,
    row_ids: Sequence[str] | None,
    number: str = SCORE,
    titles: Sequence[str] | None = None,
) -> None:
    """Write the answers to stdout as JSON lines."""
    from labelwood.cli.console import close_stdout

    try:
        write_jsonl(sys.stdout, _rows(top, names, row_ids, titles), number, titles is not None)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has gone: no error of ours
        raise
    except OSError as error:
        close_stdout()
        raise DataError(f"standard output: cannot be written ({error.strerror or error})") from None


def _rows(top: TopK, names: Sequence[str] | None, row_ids: Sequence[str] | None, titles: Sequence[str] | None) -> Rows:
    for row, answers in enumerate(top):
        row_id = str(row) if row_ids is None else row_ids[row]
        yield (
            row_id,
            [
                (label, str(label) if names is None else names[label], score, None if titles is None else titles[label])
                for label, score in answers
            ],
        )


def write_jsonl(stream: IO[str], rows: Rows, number: str = SCORE, named: bool = False) -> None:
    """One JSON object a row: {"id": ..., "labels": [{"label": ..., "score": ...}, ...]}; "name" with a vocabulary."""
    for row_id, answers in rows:
        labels = [
            {"label": name, **({"name": title} if named else {}), number: _short(score)}
            for _, name, score, title in answers
        ]
        stream.write(json.dumps({"id": row_id, "labels": labels}, ensure_ascii=False) + "\n")


def write_csv(stream: IO[str], rows: Rows, number: str = SCORE, named: bool = False, delimiter: str = ",") -> None:
    """One line an answer: id, rank, label, score or probability; with a vocabulary the label's name before it."""
    import csv

    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(("id", "rank", "label", *(("name",) if named else ()), number))
    for row_id, answers in rows:
        for rank, (_, name, score, title) in enumerate(answers, 1):
            writer.writerow((row_id, rank, name, *((title,) if named else ()), _short(score)))


def write_tsv(stream: IO[str], rows: Rows, number: str = SCORE, named: bool = False) -> None:
    """As CSV, with tabs."""
    write_csv(stream, rows, number, named, "\t")


def write_text(stream: IO[str], rows: Rows, number: str = SCORE, named: bool = False) -> None:
    """One line a row of `label:score` with label numbers, as the XMC tools read it."""
    for _, answers in rows:
        stream.write(" ".join(f"{label}:{_short(score)}" for label, _, score, _ in answers) + "\n")


def _short(score: float) -> float:
    """Seven digits: all that float32 holds."""
    return float(f"{score:.7g}")


_TEXT_WRITERS: dict[str, Callable[[IO[str], Rows, str, bool], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".txt": write_text,
}
