"""Folders of documents: .txt, .md, .html and .pdf files, the labels of each in a .tsv or .key file beside it.

This is Annif's full-text corpus: `report.txt` with `report.tsv` (lines `<uri><TAB>name`) or `report.key` (one name a
line). Folders inside the folder are read too.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelwood.data.markup import html_text
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.encodings import decoded, decoded_lines
from labelwood.data.reading.streams import open_bytes
from labelwood.data.reading.text_rows import TableOptions, TextRows
from labelwood.errors import DataError, MissingExtraError, ParamError
from labelwood.wording import Argument, Message

ENDINGS = (".txt", ".md", ".html", ".htm", ".pdf")
_SUBJECT = re.compile(r"\s*<([^<>]+)>\s*(?:\t\s*(.*?)\s*)?")


def has_documents(folder: Path) -> bool:
    """True if the folder, or one inside it, holds a file that is read as a document."""
    return next(_documents(folder), None) is not None


def read_documents(options: TableOptions) -> TextRows:
    """One row a document, in the order of their paths, which are the row ids."""
    folder = options.path
    for name in ("text", "separator"):
        if getattr(options, name) is not None:
            raise ParamError(Message(Argument(name), " has no meaning for format 'documents'"))
    if not folder.exists():
        raise DataError(f"{folder}: no such file or folder")
    if not folder.is_dir():
        raise DataError(f"{folder}: is no folder, and format 'documents' reads folders")
    rows = TextRows(options, separator="", names=["document"])
    labelled = recoded = 0
    for number, path in enumerate(sorted(_documents(folder)), 1):
        name = path.relative_to(folder).as_posix()
        try:
            notes = BadRows(path)
            text = document_text(path, options.encoding, notes)
            labels = None if options.labels == "" else _labels_beside(path, options)
        except MissingExtraError:
            raise
        except DataError as error:
            options.bad.report(number, str(error).removeprefix(f"{folder}/"))
            continue
        labelled += bool(labels)
        recoded += bool(notes.told)
        rows.add(number, text, labels, name, [name])
    if recoded:
        front = f"{recoded} of {len(rows.texts)} documents are not UTF-8; read as UTF-16 or Windows-1252 (Latin-1) ("
        rows.notes.append(Message(front, Argument("encoding"), " decides)"))
    if not rows.texts and not options.bad.count:
        raise DataError(f"{folder}: the folder holds no document ({', '.join(ENDINGS)})")
    if not labelled and options.labels is None:
        raise DataError(
            f"{folder}: no document has labels; they stand beside it, for report.txt in report.tsv (lines "
            "<address><TAB>name) or report.key (one name a line)"
        )
    return rows


def document_text(path: Path, encoding: str | None, notes: BadRows) -> str:
    """The text of one document, by the ending of its name; DataError if it cannot be read."""
    ending = path.suffix.lower()
    if ending == ".pdf":
        return _pdf_text(path)
    if not path.stat().st_size:
        return ""
    text = decoded(path, encoding, notes)
    return html_text(text) if ending in (".html", ".htm") else text


def _pdf_text(path: Path) -> str:
    if importlib.util.find_spec("pypdf") is None:
        raise MissingExtraError(f'{path}: PDF files need pypdf, which is not installed: pip install "labelwood[pdf]"')
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every oddity of a file it reads well
    with open_bytes(path) as stream:
        try:
            pages = [page.extract_text() for page in pypdf.PdfReader(stream).pages]
        except Exception as error:  # pypdf lets errors of any kind through for damaged files
            raise DataError(f"{path}: not a readable PDF file ({type(error).__name__}: {error})") from None
    text = "\n".join(page.strip() for page in pages).replace("\x00", "")
    if not text.strip():
        raise DataError(f"{path}: no text in it (is it a scan?)")
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _labels_beside(path: Path, options: TableOptions) -> list[Any] | None:
    """The labels of a document: {"uri", "label"} from .tsv, names from .key; None if neither file is there."""
    subjects = path.with_suffix(".tsv")
    if subjects.is_file():
        labels: list[Any] = []
        for number, line in _filled(subjects, options):
            match = _SUBJECT.fullmatch(line)
            if match is None:
                raise DataError(f"{subjects}, line {number}: expected <address><TAB>name, but got {line[:40]!r}")
            labels.append({"uri": match[1], "label": match[2] or None})
        return labels
    keys = path.with_suffix(".key")
    return [line.strip() for _, line in _filled(keys, options)] if keys.is_file() else None


def _filled(path: Path, options: TableOptions) -> Iterator[tuple[int, str]]:
    if path.stat().st_size:
        yield from (item for item in decoded_lines(path, options.encoding, BadRows(path)) if item[1].strip())


def _documents(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in ENDINGS and not hidden and path.is_file():
            yield path
