"""Answers to whole folders of Parquet or JSON-lines shards, read, tagged and written by a Ray cluster (Ray Data)."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labelwood.cluster.ray_spread import ClusterError
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.columns import choose_columns, join_text
from labelwood.data.reading.text_rows import TableOptions
from labelwood.errors import DataError, LabelwoodError, ParamError
from labelwood.storage.leftovers import unfinished
from labelwood.tagger.tagger import Tagger

KINDS = {".parquet": "parquet", ".jsonl": "jsonl"}
BATCH_ROWS = 1024


@dataclass(frozen=True)
class Asked:
    """What is asked of every row: as in Tagger.predict; text: the columns that hold it."""

    k: int | None = None
    assign: bool | str = False
    text: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def shards_of(data: Path) -> tuple[str, list[Path]]:
    """(kind, files in order) of a shard or a folder of shards; DataError if there are none, or of two kinds."""
    if not data.exists():
        raise DataError(f"{data}: there is no such file or folder")
    files = sorted(path for path in data.iterdir() if path.is_file()) if data.is_dir() else [data]
    shards = [path for path in files if path.suffix.lower() in KINDS]
    kinds = {KINDS[path.suffix.lower()] for path in shards}
    if len(kinds) != 1:
        found = "files of both kinds" if kinds else "neither"
        raise DataError(f"{data}: on a cluster rows come as .parquet or .jsonl files, but here are {found}")
    return kinds.pop(), shards


def predict_shards(
    tagger: Tagger, data: Path, out: Path, asked: Asked, *, like: Any = None, text: str | None = None
) -> int:
    """The number of rows answered; `out` is a folder of shards with all columns, tags and numbers, in the same order.

    Needs a connected cluster whose machines all see `data` and `out`. `out` appears when it is whole. like: how the
    tagger's training table was read; text: the columns with the text, if they are others.
    """
    import ray
    import ray.data

    kind, files = shards_of(data)
    if out.exists():
        raise ParamError(f"{out}: exists already")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = True
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    names = [str(path) for path in files]
    with unfinished(out.parent, f".{out.name}.", make=Path.mkdir, remove=shutil.rmtree) as part:
        try:
            rows: Any = ray.data.read_parquet(names) if kind == "parquet" else ray.data.read_json(names, lines=True)
            options = TableOptions(data, BadRows(data, "error"), text, "", like=like)
            chosen = choose_columns(options, rows.schema().names)
            answered = rows.map_batches(
                answered_batch,
                fn_args=([ray.put(tagger)], replace(asked, text=chosen.text), str(data)),
                batch_format="pyarrow",
                batch_size=BATCH_ROWS,
            )
            (answered.write_parquet if kind == "parquet" else answered.write_json)(str(part))
        except ray.exceptions.RayError as error:
            cause = _cause(error)
            if isinstance(cause, LabelwoodError):
                raise cause from None
            raise ClusterError(f"the cluster could not answer: {' '.join(str(cause).split()):.300}") from None
        shards = _named_in_order(part, ".parquet" if kind == "parquet" else ".jsonl")
        n_rows = sum(map(_n_rows, shards))
        part.rename(out)
    return n_rows


# The last tagger that this worker asked, by its place in the object store: one batch follows another.
_LAST: dict[str, Tagger] = {}


def answered_batch(rows: Any, tagger: Sequence[Any], asked: Asked, source: str) -> Any:
    """The rows, a pyarrow table, with their tags, and probabilities or scores.

    tagger: its reference in a list, so that Ray hands it on as it is.
    """
    import pyarrow

    asker = _fetched(tagger[0])
    cells = zip(*(rows.column(name).to_pylist() for name in asked.text), strict=True)
    texts = [join_text(_checked(row, asked.text, source)) for row in cells]
    top = asker.predict_top(texts, asked.k, assign=asked.assign, include=asked.include, exclude=asked.exclude)
    names = asker.label_names
    tags = [[names[label] for label, _ in row] for row in top]
    numbers = [[float(f"{score:.4g}") for _, score in row] for row in top]
    added = {
        "tags": pyarrow.array(tags, pyarrow.list_(pyarrow.string())),
        "probabilities" if asked.assign else "scores": pyarrow.array(numbers, pyarrow.list_(pyarrow.float64())),
    }
    if set(added) & set(rows.column_names):  # a table that has tags already keeps them
        added = {f"predicted_{name}": values for name, values in added.items()}
    for name, values in added.items():
        rows = rows.append_column(name, values)
    return rows


def _fetched(reference: Any) -> Tagger:
    """The tagger of a reference."""
    if reference.hex() not in _LAST:
        import ray

        _LAST.clear()
        tagger: Tagger = ray.get(reference)
        tagger.n_threads = 1
        _LAST[reference.hex()] = tagger
    return _LAST[reference.hex()]


def _checked(cells: Sequence[Any], columns: Sequence[str], source: str) -> list[str]:
    """The texts of a row's columns; DataError if one is no text."""
    whole = ["" if cell is None and len(cells) > 1 else cell for cell in cells]
    for name, cell in zip(columns, whole, strict=True):
        if not isinstance(cell, str):
            found = "null" if cell is None else type(cell).__name__
            raise DataError(f"{source}: the text {name!r} must be a string, but is {found}")
    return whole


def _cause(error: Any) -> Any:
    """The error behind those that Ray wraps around it."""
    while getattr(error, "cause", None) is not None:
        error = error.cause
    return error


def _named_in_order(folder: Path, ending: str) -> list[Path]:
    """The files of a folder under short names; those that Ray gives are long, but rise with the rows."""
    files = []
    for number, path in enumerate(sorted(folder.iterdir())):
        files.append(path.rename(folder / f"part-{number:05d}{ending}"))
    return files


def _n_rows(path: Path) -> int:
    if path.suffix == ".jsonl":
        with path.open("rb") as lines:
            return sum(1 for _ in lines)
    import pyarrow.parquet

    return int(pyarrow.parquet.read_metadata(path).num_rows)
