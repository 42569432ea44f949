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

Rows = Iterable[tuple[str, list[tuple[int, str, float]]]]  # (row id, [(label, name, score), ...])

SCORE = "score"


def check_suffix(path: Path) -> None:
    """Refuse a file name whose ending does not say the format."""
    if path.suffix.lower() not in (*_TEXT_WRITERS, ".npz"):
        known = ", ".join([*_TEXT_WRITERS, ".npz"])
        raise ParamError(f"--out {path}: the ending must say the format, one of {known}")


def write_file(
    path: Path,
    top: TopK,
    names: Sequence[str] | None,
    row_ids: Sequence[str] | None,
    n_labels: int,
    number: str = SCORE,
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
                _TEXT_WRITERS[suffix](text_stream, _rows(top, names, row_ids), number)


def write_stdout(top: TopK, names: Sequence[str] | None, row_ids: Sequence[str] | None, number: str = SCORE) -> None:
    """Write the answers to stdout as JSON lines."""
    from labelwood.cli.console import close_stdout

    try:
        write_jsonl(sys.stdout, _rows(top, names, row_ids), number)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has gone: no error of ours
        raise
    except OSError as error:
        close_stdout()
        raise DataError(f"standard output: cannot be written ({error.strerror or error})") from None


def _rows(top: TopK, names: Sequence[str] | None, row_ids: Sequence[str] | None) -> Rows:
    for row, answers in enumerate(top):
        row_id = str(row) if row_ids is None else row_ids[row]
        yield (
            row_id,
            [(label, names[label] if names is not None else str(label), score) for label, score in answers],
        )


def write_jsonl(stream: IO[str], rows: Rows, number: str = SCORE) -> None:
    """One JSON object a row: {"id": ..., "labels": [{"label": ..., "score": ...}, ...]}."""
    for row_id, answers in rows:
        labels = [{"label": name, number: _short(score)} for _, name, score in answers]
        stream.write(json.dumps({"id": row_id, "labels": labels}, ensure_ascii=False) + "\n")


def write_csv(stream: IO[str], rows: Rows, number: str = SCORE, delimiter: str = ",") -> None:
    """One line an answer: id, rank, label, score (or probability)."""
    import csv

    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(("id", "rank", "label", number))
    for row_id, answers in rows:
        for rank, (_, name, score) in enumerate(answers, 1):
            writer.writerow((row_id, rank, name, _short(score)))


def write_tsv(stream: IO[str], rows: Rows, number: str = SCORE) -> None:
    """As CSV, with tabs."""
    write_csv(stream, rows, number, "\t")


def write_text(stream: IO[str], rows: Rows, number: str = SCORE) -> None:
    """One line a row of `label:score` with label numbers, as the XMC tools read it."""
    for _, answers in rows:
        stream.write(" ".join(f"{label}:{_short(score)}" for label, _, score in answers) + "\n")


def _short(score: float) -> float:
    """Seven digits: all that float32 holds."""
    return float(f"{score:.7g}")


_TEXT_WRITERS: dict[str, Callable[[IO[str], Rows, str], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".txt": write_text,
}
