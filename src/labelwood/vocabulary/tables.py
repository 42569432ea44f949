"""Vocabularies as tables: Annif's TSV (`<uri>` TAB name) and CSV, or any columns of names by language."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from labelwood.errors import DataError
from labelwood.vocabulary.builder import Statements
from labelwood.vocabulary.vocabulary import Vocabulary

ID_COLUMNS = ("id", "uri", "concept")
BROADER_COLUMNS = ("broader", "parent", "parents")
_LANGUAGE = re.compile(r"(?:(?:label|name|preflabel)_)?([a-z]{2,3})")
_OTHER_LANGUAGE = re.compile(r"(?:alt|altlabel|other)_([a-z]{2,3})")
_TRUE = ("true", "1", "yes")


def read_table(text: str, delimiter: str, path: Path) -> Vocabulary:
    """The concepts of a table; DataError with the line if it holds none.

    With a header line: a column id, uri or concept; names in columns such as `fi`, `label_fi` or `label`; optional
    `broader` (ids between ";" or "|"), `alt_fi` (names between "|"), `scheme` and `deprecated`. Without one: id, name.
    """
    rows = [(number, row) for number, row in enumerate(csv.reader(text.splitlines(), delimiter=delimiter), 1) if row]
    if not rows:
        raise DataError(f"{path}: the vocabulary is empty")
    header = [cell.strip().lower() for cell in rows[0][1]]
    columns = next((header.index(name) for name in ID_COLUMNS if name in header), None)
    statements = Statements()
    if columns is None:
        header, columns = ["id", "label"], 0
    else:
        rows = rows[1:]
    for number, row in rows:
        if len(row) <= columns or not row[columns].strip():
            raise DataError(f"{path}, line {number}: expected an id in column {columns + 1}, but got {row!r:.80}")
        concept = _bare(row[columns])
        if concept in statements.concepts:
            raise DataError(f"{path}, line {number}: the id {concept!r} came before")
        statements.concepts[concept] = None
        for name, cell in zip(header, row, strict=False):
            if cell.strip():
                _take(statements, concept, name, cell.strip())
    return statements.built()


def _take(statements: Statements, concept: str, column: str, cell: str) -> None:
    language, other = _LANGUAGE.fullmatch(column), _OTHER_LANGUAGE.fullmatch(column)
    if column in BROADER_COLUMNS:
        for above in re.split(r"[;|]", cell):
            statements.broader.setdefault((concept, _bare(above)))
    elif column == "scheme":
        for scheme in re.split(r"[;|]", cell):
            statements.members.setdefault((concept, _bare(scheme)))
    elif column == "deprecated":
        if cell.lower() in _TRUE:
            statements.deprecated.add(concept)
    elif column in ("label", "name"):
        statements.preferred[concept, ""] = cell
    elif column not in ID_COLUMNS and language is not None:
        statements.preferred[concept, language.group(1)] = cell
    elif other is not None:
        for name in cell.split("|"):
            statements.others.setdefault((concept, other.group(1), name.strip()))


def _bare(cell: str) -> str:
    """An id without the angle brackets that Annif puts around it."""
    text = cell.strip()
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text
