"""`read`: a file of any known format -> Dataset, the format found from name and content."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelwood.data.dataset import Dataset, TableForm
from labelwood.data.formats import FORMATS, Format, recognised, taken_by
from labelwood.data.reading.bad_rows import POLICIES
from labelwood.data.reading.csr_rows import canonical_csr
from labelwood.data.reading.documents import has_documents
from labelwood.data.reading.npz import NAME as NPZ_NAME
from labelwood.data.reading.split_rows import split_rows
from labelwood.data.reading.start import start_of
from labelwood.data.reading.streams import plain_name
from labelwood.data.reading.xmc_format import SPLIT_NAME
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.progress import SILENT, Progress
from labelwood.storage.format import MANIFEST
from labelwood.wording import Argument, Message


def read(
    path: str | Path,
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    separator: str | None = None,
    on_bad_row: str = "error",
    index_base: int | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    label_names: Sequence[str] | None = None,
    encoding: str | None = None,
    like: TableForm | None = None,
    keep_columns: bool = False,
    group: str | None = None,
    split: str | Path | None = None,
    split_column: int = 1,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """The Dataset of a file, or of a folder with one training pair or documents; `.gz` and `.zst` are read as they are.

    format: one of FORMATS; None finds it from name and content.
    text, labels, separator: the columns of a table (several: "title,body", or a list), and what stands between labels.
    on_bad_row: 'error' stops at the first damaged row with file and line; 'skip' leaves such rows out and
    tells in `Dataset.notes` how many.
    index_base: whether svmlight features count from 0 or from 1.
    n_features, n_labels: the widths of a training file, so that a test file fits it; for ARFF n_labels says
    how many attributes, at the end, are labels.
    label_names: the same for a table: the training table's labels, in order.
    encoding: of a text file; without it UTF-8, or what is found when the file is not. like: `Dataset.form` of the
    training table, whose columns are taken where the options name none. keep_columns: keep all columns of a table.
    group: the column of a table that says what group each row is of, such as its customer.
    split: a file of row numbers, counted from 1, as the XMC repository has them (trSplit, tstSplit): only these rows,
    in this order; split_column: which of its columns, counted from 1.
    """
    if on_bad_row not in POLICIES:
        raise ParamError(
            Message(Argument("on_bad_row"), f" must be one of {', '.join(POLICIES)}, but is ", repr(on_bad_row))
        )
    if format is not None and format not in FORMATS:
        raise ParamError(unknown_name("format", format, FORMATS))
    if not isinstance(path, (str, os.PathLike)):
        raise DataError(
            f"read takes the path of a file, but got {type(path).__name__}; fit takes texts and labels as they are"
        )
    path = Path(path)
    found = ""
    if path.is_dir() and format != "documents":
        folder = path
        path, format = _in_folder(folder, format)
        found = "" if path == folder else f"{folder}: its training file {path.name} is read"
    known = FORMATS[format or find_format(path)]
    data = _read(
        path,
        known,
        {
            "text": _listed(text),
            "labels": _listed(labels),
            "separator": separator,
            "label_names": label_names,
            "encoding": encoding,
            "group": group,
        },
        {"like": like, "keep_columns": keep_columns},
        {"n_features": n_features, "n_labels": n_labels},
        {"on_bad_row": on_bad_row, "progress": progress},
        index_base,
        n_threads,
    )
    if found:
        data = replace(data, notes=(found, *data.notes))
    if split is None:
        return data
    if on_bad_row != "error":
        raise ParamError(Message(Argument("split"), " counts every row, so that none may be skipped as damaged"))
    return data.take(split_rows(Path(split), split_column, data.n_rows))


def _listed(columns: str | Sequence[str] | None) -> str | None:
    """Columns as a reader takes them: several with commas between."""
    return columns if columns is None or isinstance(columns, str) else ",".join(columns)


def _read(
    path: Path,
    known: Format,
    of_table: dict[str, Any],
    of_form: dict[str, Any],
    widths: dict[str, Any],
    common: dict[str, Any],
    index_base: int | None,
    n_threads: int | None,
) -> Dataset:
    """The Dataset of a file of a known format; ParamError for options that have no meaning there."""
    if known.holds == "texts":
        _refuse(known, widths | {"index_base": index_base})
        if not known.encoded:
            _refuse(known, {"encoding": of_table["encoding"]})
        from labelwood.data.reading.table import read_table  # brings in what only tables need

        return read_table(path, format=known.name, **of_table, **of_form, **common)
    _refuse(known, of_table)
    reader = known.reader()
    taken = taken_by(reader)
    if "index_base" not in taken:
        _refuse(known, {"index_base": index_base})
    every = common | widths | {"index_base": index_base, "n_threads": n_threads}
    data = reader(path, **{name: value for name, value in every.items() if name in taken})
    left = {name: None if name in taken else width for name, width in widths.items()}
    return _widened(data, left["n_features"], left["n_labels"])


_TRAINING, _TEST = ("trn", "train", "training"), ("tst", "test", "testing")


def find_format(path: Path) -> str:
    """The name of a file's format, from its name and first bytes; DataError lists the known ones if none fits."""
    start = start_of(path)
    known = recognised(start)
    if not start.head and (known is None or known.holds == "texts"):
        raise DataError(f"{path}, line 1: the file is empty")
    if known is None:
        fault = f"{path}: name and content fit no known format; give "
        raise DataError(Message(fault, Argument("format"), f", one of {', '.join(FORMATS)}"))
    return known.name


def _in_folder(folder: Path, format: str | None) -> tuple[Path, str | None]:
    """(what to read in a folder, its format if it is known by now).

    That is the one training file (or one of the one training pair), or the folder itself if it holds documents;
    DataError lists what is there.
    """
    names = sorted(item.name for item in folder.iterdir() if item.is_file())
    candidates = _files_of(folder, names, _TRAINING)
    if len(candidates) == 1:
        return next(iter(candidates.values())), format
    if not candidates and format is None and has_documents(folder):
        return folder, "documents"
    if MANIFEST in names:
        raise DataError(f"{folder}: is the folder of a saved model, not of data")
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    problem = "more than one training file" if candidates else "neither documents nor a training file known by its name"
    raise DataError(f"{folder}: {problem}; name one of its files (it has: {shown or 'nothing'})")


def test_file(folder: Path) -> Path | None:
    """The one test file (or one of the one test pair) of a folder, known by its name; None if there is none."""
    names = sorted(item.name for item in folder.iterdir() if item.is_file())
    found = list(_files_of(folder, names, _TEST).values())
    return found[0] if len(found) == 1 else None


def _files_of(folder: Path, names: Sequence[str], part: Sequence[str]) -> dict[str, Path]:
    """The files whose names say that they are of this part of the data; of a pair its features."""
    candidates: dict[str, Path] = {}
    for name in names:
        plain = plain_name(name)
        split = SPLIT_NAME.match(plain)
        pair = NPZ_NAME.match(name)
        words = re.split(r"[^a-z]+", plain.lower())
        of_part = any(word in words for word in part)
        if split and of_part:
            candidates.setdefault(f"{split['stem']}_X_Xf.txt", folder / name)
        elif pair and (of_part or (not pair["part"] and part is _TRAINING)):
            candidates.setdefault(f"X{pair['part']}.npz", folder / name)
        elif words[0] in part and len(words) == 2:
            candidates.setdefault(plain, folder / name)
    return candidates


def _widened(data: Dataset, n_features: int | None, n_labels: int | None) -> Dataset:
    """The same rows in matrices of the given widths; DataError if the file is wider."""
    x, y = data.features(), data.y
    for what, wanted, matrix in (("features", n_features, x), ("labels", n_labels, y)):
        if wanted is not None and matrix.shape[1] > wanted:
            raise DataError(f"{data.source}: has {matrix.shape[1]} {what}, but n_{what}= allows {wanted}")
    wide_x = n_features is not None and n_features != x.shape[1]
    wide_y = n_labels is not None and n_labels != y.shape[1]
    if not wide_x and not wide_y:
        return data
    return replace(
        data,
        x=canonical_csr(x.data, x.indices, x.indptr, n_features or x.shape[1]),
        y=canonical_csr(y.data, y.indices, y.indptr, n_labels or y.shape[1]),
        feature_names=None if wide_x else data.feature_names,
        label_names=None if wide_y else data.label_names,
    )


def _refuse(format: Format, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParamError(Message(Argument(name), f" has no meaning for format {format.name!r}"))
