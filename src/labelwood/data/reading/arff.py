"""Multi-label ARFF as Mulan and MEKA write it: sparse or dense rows, numeric and {0,1} attributes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.start import Start
from labelwood.data.reading.streams import lines, plain_name
from labelwood.errors import DataError, ParamError
from labelwood.progress import SILENT, Progress

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s'\"{{]+)\s*(.+)", re.IGNORECASE)
_FIELD = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)")
_MEKA = re.compile(r"-C\s+(-?\d+)")
_NUMBERS = ("numeric", "real", "integer")
_PROGRESS_ROWS = 1000


@dataclass
class _Header:
    relation: str = ""
    names: list[str] = field(default_factory=list)
    data_line: int = 0  # the line of @data
    allowed: dict[int, frozenset[float]] = field(default_factory=dict)  # attribute -> its values, if nominal
    first_not_zero: list[int] = field(default_factory=list)  # nominal ones whose first value is not 0


class _BadRowError(Exception):
    """A data row that cannot be read; the message says why."""


def is_arff(start: Start) -> bool:
    """True if the first line that says something is `@relation`."""
    return start.first_row is not None and start.first_row.strip().lower().startswith(b"@relation")


def read_arff(
    path: str | Path, *, n_labels: int | None = None, on_bad_row: str = "error", progress: Progress = SILENT
) -> Dataset:
    """The Dataset of an ARFF file; attributes that are labels become y, the others x, both with their names.

    The labels are: the last `n_labels` attributes if given; else those of the Mulan .xml beside the file;
    else the first n or last n of MEKA's `-C n` or `-C -n` in the relation's name.
    """
    path = Path(path)
    bad = BadRows(path, on_bad_row)
    with closing(lines(path)) as numbered:  # a fault in the middle leaves no open file
        header = _read_header(path, numbered)
        is_label = np.zeros(len(header.names), bool)
        is_label[_label_attributes(path, header, n_labels)] = True
        table = _read_rows(path, header, is_label, numbered, bad, progress)
    names = np.array(header.names, dtype=object)
    return Dataset(
        table[:, np.flatnonzero(~is_label)],
        table[:, np.flatnonzero(is_label)],
        label_names=[str(name) for name in names[is_label]],
        feature_names=[str(name) for name in names[~is_label]],
        source=str(path),
        notes=bad.notes(),
    )


def _read_header(path: Path, numbered: Iterator[tuple[int, str]]) -> _Header:
    header = _Header()
    number = 1
    for number, raw in numbered:
        line = raw.strip()
        word = line.split(None, 1)[0].lower() if line else ""
        if not line or line.startswith("%"):
            continue
        if word == "@relation":
            header.relation = line[len("@relation") :].strip()
        elif word == "@attribute":
            _add_attribute(path, number, line, header)
        elif word == "@data":
            if not header.names:
                raise DataError(f"{path}, line {number}: @data comes before any @attribute")
            header.data_line = number
            return header
        else:
            raise DataError(f"{path}, line {number}: expected @relation, @attribute or @data, but got {line[:40]!r}")
    raise DataError(f"{path}, line {number}: the file ends before @data")


def _add_attribute(path: Path, number: int, line: str, header: _Header) -> None:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataError(f"{path}, line {number}: expected `@attribute name type`, but got {line[:60]!r}")
    name, kind = _unquoted(match[1]), match[2].strip()
    place = len(header.names)
    if kind.startswith("{") and kind.endswith("}"):
        try:
            values = [_plain_number(value) for value in _fields(kind[1:-1])]
        except ValueError:
            raise DataError(
                f"{path}, line {number}: attribute {name!r} takes values {kind[:40]} that are not numbers; "
                "numeric and {0,1} attributes are read"
            ) from None
        header.allowed[place] = frozenset(values)
        if not values or values[0] != 0:
            header.first_not_zero.append(place)
    elif kind.split()[0].lower() not in _NUMBERS:
        raise DataError(
            f"{path}, line {number}: attribute {name!r} is of type {kind[:40]!r}; "
            "numeric and {0,1} attributes are read"
        )
    header.names.append(name)


def _label_attributes(path: Path, header: _Header, n_labels: int | None) -> list[int]:
    """The places of the label attributes."""
    count = len(header.names)
    if n_labels is not None:
        if not 1 <= n_labels <= count:
            raise ParamError(f"n_labels must be from 1 to the {count} attributes of {path}, but is {n_labels!r}")
        return list(range(count - n_labels, count))
    xml = _xml_beside(path)
    if xml is not None:
        place = {name: index for index, name in enumerate(header.names)}
        names = _xml_labels(xml)
        missing = [name for name in names if name not in place]
        if missing:
            raise DataError(f"{xml}: label {missing[0]!r} is no attribute of {path}")
        return sorted(place[name] for name in names)
    match = _MEKA.search(header.relation)
    if match is None:
        raise DataError(
            f"{path}: which attributes are labels is not known: there is no Mulan .xml beside it and no MEKA "
            "`-C n` in the relation's name; give n_labels= (labels at the end)"
        )
    wanted = int(match[1])
    if not 1 <= abs(wanted) <= count:
        raise DataError(f"{path}, line 1: the relation says `-C {wanted}`, but there are {count} attributes")
    return list(range(wanted)) if wanted > 0 else list(range(count + wanted, count))


def _xml_beside(path: Path) -> Path | None:
    stem = plain_name(path).rsplit(".", 1)[0]
    short = re.sub(r"[-_.]?(?:train|test|trn|tst)$", "", stem, flags=re.IGNORECASE)
    for name in dict.fromkeys((stem, short)):
        candidate = path.with_name(f"{name}.xml")
        if candidate.is_file():
            return candidate
    return None


def _xml_labels(path: Path) -> list[str]:
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        raise DataError(f"{path}, line {error.position[0]}: damaged XML ({error})") from None
    except (OSError, ValueError, LookupError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    names = [item.get("name", "") for item in root.iter() if item.tag.rpartition("}")[2] == "label"]
    if not names:
        raise DataError(f"{path}: names no labels; expected <label name='...'> elements")
    return names


def _read_rows(
    path: Path,
    header: _Header,
    is_label: npt.NDArray[np.bool_],
    numbered: Iterator[tuple[int, str]],
    bad: BadRows,
    progress: Progress,
) -> sparse.csr_matrix:
    columns: list[npt.NDArray[np.int32]] = []
    values: list[npt.NDArray[np.float32]] = []
    number = header.data_line
    for number, raw in numbered:
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        try:
            place, value = _sparse_row(line, header) if line.startswith("{") else _dense_row(line, header)
            _check(header, is_label, place, value)
        except _BadRowError as error:
            bad.report(number, str(error))
            continue
        kept = value != 0
        columns.append(place[kept])
        values.append(value[kept])
        if len(columns) % _PROGRESS_ROWS == 0:
            progress.step(f"reading {path.name}", len(columns), 0)
    if not columns and not bad.count:
        raise DataError(f"{path}, line {number}: there are no rows after @data")
    starts = np.concatenate([[0], np.cumsum([len(row) for row in columns])]).astype(np.int64)
    shape = (len(columns), len(header.names))
    if not columns:
        return sparse.csr_matrix(shape, dtype=np.float32)
    return sparse.csr_matrix((np.concatenate(values), np.concatenate(columns), starts), shape=shape)


Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def _dense_row(line: str, header: _Header) -> Row:
    parts = _fields(line) if "'" in line or '"' in line else line.split(",")
    if len(parts) != len(header.names):
        raise _BadRowError(f"{len(parts)} values for {len(header.names)} attributes")
    try:
        if "_" in line:  # Python would read 1_000 as a number
            raise ValueError
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = [_value(part, header.names[place]) for place, part in enumerate(parts)]
    return np.arange(len(parts), dtype=np.int32), _as_float32(numbers, range(len(parts)), header)


def _sparse_row(line: str, header: _Header) -> Row:
    if not line.endswith("}"):
        raise _BadRowError("a sparse row must end with '}'")
    if header.first_not_zero:
        name = header.names[header.first_not_zero[0]]
        raise _BadRowError(f"in sparse rows what is absent has its first value, and that of {name!r} is not 0")
    places, numbers = [], []
    for pair in line[1:-1].split(","):
        parts = pair.split()
        if not parts and line[1:-1].strip() == "":
            break
        if len(parts) != 2 or not (parts[0].isascii() and parts[0].isdigit()):
            raise _BadRowError(f"expected `attribute value`, but got {pair.strip()[:40]!r}")
        place = int(parts[0])
        if place >= len(header.names):
            raise _BadRowError(f"attribute {place} is outside 0..{len(header.names) - 1}")
        places.append(place)
        numbers.append(_value(_unquoted(parts[1]), header.names[place]))
    if len(set(places)) != len(places):
        twice = next(place for place in places if places.count(place) > 1)
        raise _BadRowError(f"attribute {twice} comes twice")
    value = _as_float32(numbers, places, header)
    order = np.argsort(places, kind="stable")
    return np.asarray(places, dtype=np.int32)[order], value[order]


def _check(
    header: _Header,
    is_label: npt.NDArray[np.bool_],
    place: npt.NDArray[np.int32],
    value: npt.NDArray[np.float32],
) -> None:
    """Refuse label values other than 0 and 1, and values that a nominal attribute does not list."""
    wrong = np.flatnonzero(is_label[place] & (value != 0) & (value != 1))
    if len(wrong):
        raise _BadRowError(f"label {header.names[place[wrong[0]]]!r} is {value[wrong[0]]:g}; a label is 0 or 1")
    if header.allowed:
        for index in np.flatnonzero(value != 0).tolist():
            allowed = header.allowed.get(int(place[index]))
            if allowed is not None and float(value[index]) not in allowed:
                name = header.names[place[index]]
                raise _BadRowError(f"attribute {name!r} is {value[index]:g}, which is not among its declared values")


def _as_float32(numbers: list[float], places: range | list[int], header: _Header) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        value = np.asarray(numbers, dtype=np.float64).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(value))
    if len(wrong):
        name = header.names[places[int(wrong[0])]]
        raise _BadRowError(f"attribute {name!r} is {numbers[int(wrong[0])]}; not a finite 32-bit float")
    return value


def _value(text: str, name: str) -> float:
    bare = _unquoted(text.strip())
    if bare == "?":
        raise _BadRowError(f"attribute {name!r} is missing ('?'); fill in missing values first")
    try:
        return _plain_number(bare)
    except ValueError:
        raise _BadRowError(f"attribute {name!r} is {bare[:30]!r}, which is not a number") from None


def _plain_number(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _fields(text: str) -> list[str]:
    """The parts between commas, quotes respected and taken off."""
    parts, position = [], 0
    while True:
        match = _FIELD.match(text, position)
        if match is None:
            raise _BadRowError(f"expected values and commas, but got {text[position : position + 40]!r}")
        parts.append(_unquoted(match[1]))
        position = match.end()
        if position >= len(text) and not match[0].endswith(","):
            return parts


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
