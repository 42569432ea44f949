"""`read`: a file of any known format -> Dataset, the format found from name and content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelwood.data.dataset import Dataset
from labelwood.data.reading.arff import read_arff
from labelwood.data.reading.bad_rows import POLICIES
from labelwood.data.reading.npz import NAME as NPZ_NAME
from labelwood.data.reading.npz import read_npz
from labelwood.data.reading.sparse_rows import canonical_csr
from labelwood.data.reading.streams import open_bytes, plain_name
from labelwood.data.reading.svmlight import read_svmlight
from labelwood.data.reading.xmc_format import SPLIT_NAME, read_xmc, read_xmc_split
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.progress import SILENT, Progress

FORMATS = {
    "xmc": "XMC repository text: header `rows features labels`, then `l1,l2 f:v f:v`",
    "xmc-split": "XMC repository pair: trn_X_Xf.txt and trn_X_Y.txt with headers `rows columns`",
    "svmlight": "multi-label svmlight / libsvm: `1,3 1:0.5 9:2`, no header",
    "npz": "scipy sparse pair: X.trn.npz and Y.trn.npz",
    "arff": "Mulan / MEKA ARFF, sparse or dense, with labels from the .xml, `-C n` or n_labels",
    "csv": "table with a text column and a label column",
    "tsv": "table with a text column and a label column, tabs between",
    "jsonl": "one JSON object a line with a text and a label field",
    "parquet": "Parquet table with a text column and a label column",
    "fasttext": "`__label__a __label__b text` lines",
    "annif": "`text<TAB><uri1> <uri2>` lines",
    "pecos": "`0,1,2<TAB>text` lines, labels by number",
    "libmultilabel": "`id<TAB>label1 label2<TAB>text` lines; the id may be missing",
}
MATRIX_FORMATS = ("xmc", "xmc-split", "svmlight", "npz", "arff")
HEAD_BYTES = 1 << 16

_NUMBER = rb":[-+]?[\d.]+(?:[eE][-+]?\d+)?"
_SVMLIGHT = re.compile(
    rb"(?:\d+(?:,\d+)*|\d+" + _NUMBER + rb")?(?:[ \t]+\d+(?:" + _NUMBER + rb")?)*[ \t]*(?:#.*)?", re.DOTALL
)


def read(
    path: str | Path,
    *,
    format: str | None = None,
    text: str | None = None,
    labels: str | None = None,
    separator: str | None = None,
    on_bad_row: str = "error",
    index_base: int | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    label_names: Sequence[str] | None = None,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """The Dataset of a file, or of a folder with one training pair; `.gz` and `.zst` are read as they are.

    format: one of FORMATS; None finds it from name and content.
    text, labels, separator: the columns of a table, and what stands between labels.
    on_bad_row: 'error' stops at the first damaged row with file and line; 'skip' leaves such rows out and
    tells in `Dataset.notes` how many.
    index_base: whether svmlight features count from 0 or from 1.
    n_features, n_labels: the widths of a training file, so that a test file fits it; for ARFF n_labels says
    how many attributes, at the end, are labels.
    label_names: the same for a table: the training table's labels, in order.
    """
    if on_bad_row not in POLICIES:
        raise ParamError(f"on_bad_row must be one of {', '.join(POLICIES)}, but is {on_bad_row!r}")
    if format is not None and format not in FORMATS:
        raise ParamError(unknown_name("format", format, FORMATS))
    path = Path(path)
    if path.is_dir():
        path = training_file(path)
    kind = format or find_format(path)
    common: dict[str, Any] = {"on_bad_row": on_bad_row, "progress": progress}
    if kind != "svmlight":
        _refuse(kind, {"index_base": index_base})
    if kind not in MATRIX_FORMATS:
        _refuse(kind, {"n_features": n_features, "n_labels": n_labels})
        from labelwood.data.reading.table import read_table  # brings in what only tables need

        common |= {"text": text, "labels": labels, "separator": separator, "label_names": label_names}
        return read_table(path, format=kind, **common)
    _refuse(kind, {"text": text, "labels": labels, "separator": separator, "label_names": label_names})
    if kind == "svmlight":
        common |= {"index_base": index_base, "n_features": n_features, "n_labels": n_labels}
        return read_svmlight(path, n_threads=n_threads, **common)
    if kind == "arff":
        return _widened(read_arff(path, n_labels=n_labels, **common), n_features, None)
    if kind == "npz":
        return _widened(read_npz(path), n_features, n_labels)
    reader = read_xmc if kind == "xmc" else read_xmc_split
    return _widened(reader(path, n_threads=n_threads, **common), n_features, n_labels)


def find_format(path: Path) -> str:
    """The format of a file, from its name and first bytes; DataError lists the known ones if none fits."""
    with open_bytes(path) as stream:
        head = stream.read(HEAD_BYTES)
    name = plain_name(path)
    kind = _matrix_format(name, head)
    if kind is None and not head:
        raise DataError(f"{path}, line 1: the file is empty")
    if kind is None:
        from labelwood.data.reading.table import sniff_table

        kind = sniff_table(name, head)
    if kind is None:
        known = "; ".join(f"{known}: {help}" for known, help in FORMATS.items())
        raise DataError(f"{path}: name and content fit no known format; give format= one of: {known}")
    return kind


def training_file(folder: Path) -> Path:
    """The one training file (or one of the one training pair) in a folder; DataError lists what is there."""
    found: dict[str, Path] = {}
    names = sorted(item.name for item in folder.iterdir() if item.is_file())
    for name in names:
        plain = plain_name(name)
        split = SPLIT_NAME.match(plain)
        pair = NPZ_NAME.match(name)
        words = re.split(r"[^a-z]+", plain.lower())
        training = any(word in words for word in ("trn", "train", "training"))
        if split and training:
            found.setdefault(f"{split['stem']}_X_Xf.txt", folder / name)
        elif pair and (training or not pair["part"]):
            found.setdefault(f"X{pair['part']}.npz", folder / name)
        elif training and re.fullmatch(r"train(?:ing)?|trn", words[0]) and len(words) == 2:
            found.setdefault(plain, folder / name)
    if len(found) == 1:
        return next(iter(found.values()))
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    problem = "more than one training file" if found else "no training file that is recognised by its name"
    raise DataError(f"{folder}: {problem}; name one of its files (it has: {shown or 'nothing'})")


def _matrix_format(name: str, head: bytes) -> str | None:
    """'xmc', 'xmc-split', 'svmlight', 'npz', 'arff' or None."""
    if name.lower().endswith(".npz"):
        return "npz"
    if name.lower().endswith(".arff"):
        return "arff"
    if SPLIT_NAME.match(name):
        return "xmc-split"
    if name.lower().endswith((".csv", ".tsv", ".json", ".jsonl", ".parquet")):
        return None
    if name.lower().endswith((".svm", ".svmlight", ".libsvm")):
        return "svmlight"
    lines = [line.rstrip(b"\r") for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    if len(head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()  # perhaps cut off
    if re.fullmatch(rb"[ \t]*\d+[ \t]+\d+[ \t]+\d+[ \t]*", lines[0]):
        return "xmc"
    for line in lines:
        bare = line.strip()
        if not bare or bare.startswith((b"#", b"%")):
            continue
        if bare.lower().startswith(b"@relation"):
            return "arff"
        long = len(head) == HEAD_BYTES and len(lines) == 1
        # of a first line longer than the head, judge the beginning
        start = line.rpartition(b" ")[0] if long else line
        return "svmlight" if b":" in start and _SVMLIGHT.fullmatch(start) else None
    return None


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


def _refuse(kind: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParamError(f"{name}= has no meaning for format {kind!r}")
