"""Text of any encoding, line by line: UTF-8 unless the file says otherwise; what was found is told."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.streams import MAX_LINE_BYTES, open_bytes
from labelwood.errors import DataError, ParamError
from labelwood.wording import Argument, Message

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Windows-1252 is Latin-1 with letters and signs in place of control characters, so that it reads both.
WESTERN = "cp1252"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f\x7f]")  # in no text; 0x1a ended files of DOS


def check_encoding(name: str) -> str:
    """Python's name of a text encoding; ParamError if there is none of this name."""
    try:
        known = codecs.lookup(name).name
        "\n".encode(name)  # refuses codecs that make no text, such as "zlib"
    except (LookupError, UnicodeError, ValueError):
        fault = " must name a text encoding, such as utf-8, cp1252, latin-1, utf-16 or shift_jis, but is "
        raise ParamError(Message(Argument("encoding"), fault, repr(name))) from None
    return known


def decoded_lines(path: Path, encoding: str | None, bad: BadRows) -> Iterator[tuple[int, str]]:
    """(line number from 1, text without line end); a line that cannot be decoded goes to `bad`.

    Without `encoding` the file is UTF-8, or UTF-16 if it begins with the mark of it, or Windows-1252 if not one of its
    lines with other than ASCII characters is UTF-8; `bad` notes the latter two.
    """
    chosen = None if encoding is None else check_encoding(encoding)
    with open_bytes(path) as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise _too_long(path, number)
            if number == 1:
                if chosen is None and raw.startswith(UTF16_MARKS):
                    bad.tell(_taken(path, "UTF-16"))
                    chosen = "utf-16"
                if chosen is not None and not _has_byte_lines(chosen):
                    break
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                text = raw.decode(chosen or "utf-8")
            except UnicodeDecodeError as error:
                if chosen is None and _is_western(path):
                    # So far every line was ASCII, which both encodings read alike: there is no need to begin again.
                    chosen = WESTERN
                    bad.tell(_taken(path, "Windows-1252 (Latin-1)"))
                    text = raw.decode(chosen)
                else:
                    bad.report(number, _undecodable(error.start + 1, chosen))
                    continue
            if number == 1 and "\r" in text and not text.endswith("\n"):  # Excel's "CSV (Macintosh)" has no line feed
                yield from enumerate(text.rstrip("\r").split("\r"), 1)
            else:
                yield number, text.rstrip("\r\n")
        if number == 0:
            raise DataError(f"{path}: the file is empty")
        if chosen is None or _has_byte_lines(chosen):
            return
    with open_bytes(path) as stream:
        yield from _wide_lines(path, stream, chosen)


def decoded(path: Path, encoding: str | None, bad: BadRows) -> str:
    """The text of a whole file, lines joined as `decoded_lines` gives them."""
    return "\n".join(line for _, line in decoded_lines(path, encoding, bad))


def _has_byte_lines(encoding: str) -> bool:
    """True if a line end is one byte there, and that byte nothing else."""
    return "\n".encode(encoding) == b"\n"


def _wide_lines(path: Path, stream: IO[bytes], encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of an encoding whose line end is more than a byte; nothing can be skipped there."""
    number = 0
    try:
        with io.TextIOWrapper(stream, encoding, newline="\n") as text:
            while line := text.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise _too_long(path, number)
                yield number, line.rstrip("\r\n")
    except UnicodeError as error:
        raise DataError(f"{path}, after line {number}: not valid {encoding} ({error})") from None


def _is_western(path: Path) -> bool:
    """True if the file can be Windows-1252: its other than ASCII lines all are, and none of them is UTF-8."""
    with open_bytes(path) as stream:
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            if _CONTROL.search(raw):
                return False
            if raw.isascii():
                continue
            try:
                raw.decode(WESTERN)
            except UnicodeDecodeError:
                return False
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError:
                continue
            return False
    return True


def _taken(path: Path, what: str) -> Message:
    return Message(f"{path}: is not UTF-8; read as {what} (", Argument("encoding"), " names another encoding)")


def _undecodable(place: int, chosen: str | None) -> Message:
    if chosen is not None:
        return Message(f"byte {place} is not valid {chosen}")
    ways = ("; convert the file, name its encoding (", Argument("encoding"), "), or leave such lines out (")
    return Message(f"byte {place} is not valid UTF-8", *ways, Argument("on_bad_row"), " skip)")


def _too_long(path: Path, number: int) -> DataError:
    return DataError(f"{path}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB; is this the right file?")
