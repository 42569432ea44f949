"""The beginning of a file, from which its format is told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from labelwood.data.reading.encodings import UTF16_MARKS
from labelwood.data.reading.streams import open_bytes, plain_name

HEAD_BYTES = 1 << 16
# Endings that say nothing about the format of a text file.
_OPEN_ENDINGS = (".txt", "", ".tsv", ".tab", ".data", ".train", ".test")
_FEATURE = re.compile(r"\d+:[-+.\deE]+")


@dataclass(frozen=True)
class Start:
    """A file's name without .gz or .zst, and its first (uncompressed) bytes."""

    name: str
    head: bytes

    @property
    def suffix(self) -> str:
        """The ending of the name in small letters, such as '.txt'."""
        return Path(self.name).suffix.lower()

    @property
    def is_open_text(self) -> bool:
        """True if the name leaves open which kind of text the file holds."""
        return self.suffix in _OPEN_ENDINGS

    @property
    def is_cut(self) -> bool:
        """True if the file may go on behind these bytes."""
        return len(self.head) >= HEAD_BYTES

    @cached_property
    def byte_lines(self) -> list[bytes]:
        """The lines as bytes, without one that may be cut; a first line that is longer than the head is there."""
        lines = [line.rstrip(b"\r") for line in self.head.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
        return lines[:-1] if self.is_cut and len(lines) > 1 else lines

    @cached_property
    def first_row(self) -> bytes | None:
        """The first line that is neither blank nor a comment (# or %); of one longer than the head its beginning."""
        for line in self.byte_lines:
            bare = line.strip()
            if bare and not bare.startswith((b"#", b"%")):
                return line.rpartition(b" ")[0] if self.is_cut and len(self.byte_lines) == 1 else line
        return None

    @cached_property
    def lines(self) -> list[str]:
        """The filled lines as texts; the last one is left out when it may be cut and is not alone."""
        lines = self.head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").splitlines()
        if len(lines) > 1 and not self.head.endswith((b"\n", b"\r")):
            lines.pop()
        return [line for line in lines if line.strip()]

    @cached_property
    def tab_cells(self) -> list[list[str]]:
        """The cells between tabs of every line; empty unless each line of a text has two or more."""
        cells = [line.split("\t") for line in self.lines] if self.is_open_text else []
        if any(len(row) < 2 for row in cells) or any(_FEATURE.fullmatch(row[1].strip()) for row in cells):
            return []  # no table, or svmlight with tabs
        return cells


def start_of(path: Path) -> Start:
    """The beginning of a file; DataError if it cannot be read."""
    with open_bytes(path) as stream:
        head = stream.read(HEAD_BYTES)
    if head.startswith(UTF16_MARKS):
        head = head.decode("utf-16", errors="ignore").encode("utf-8", errors="ignore")
    return Start(plain_name(path), head)
