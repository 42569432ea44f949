"""read_vocabulary: a vocabulary file of any known notation, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from labelwood.errors import DataError
from labelwood.vocabulary.skos import NOTATIONS, read_skos
from labelwood.vocabulary.tables import read_table
from labelwood.vocabulary.vocabulary import Vocabulary

TABLES = {".tsv": "\t", ".csv": ","}


def read_vocabulary(path: str | Path) -> Vocabulary:
    """The vocabulary of a file: SKOS (.ttl, .rdf, .xml, .jsonld, .nt, .n3) or a table (.tsv, .csv), also with .gz."""
    path = Path(path)
    suffix = notation_of(path)
    if suffix not in NOTATIONS and suffix not in TABLES:
        known = ", ".join([*NOTATIONS, *TABLES])
        raise DataError(f"{path}: the ending of a vocabulary must be one of {known}, perhaps with .gz")
    if not path.exists():
        raise DataError(f"{path}: no such file")
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: the vocabulary cannot be read ({reason})") from None
    if suffix in NOTATIONS:
        return read_skos(raw, NOTATIONS[suffix], path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    return read_table(text, TABLES[suffix], path)


def notation_of(path: Path) -> str:
    """The ending that says the notation: '.ttl' of 'stw.ttl.gz'."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()
