"""Encodings: what is found, what is refused, and that a damaged UTF-8 file is not taken for another encoding."""

from pathlib import Path

import pytest

from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.encodings import check_encoding, decoded, decoded_lines
from labelwood.errors import DataError, ParamError


def lines_of(path, encoding=None, policy="error"):
    bad = BadRows(path, policy)
    return [line for _, line in decoded_lines(path, encoding, bad)], bad


def test_utf8_needs_no_note(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "Füße\r\nplain\n".encode())
    lines, bad = lines_of(path)
    assert lines == ["Füße", "plain"]
    assert bad.notes() == ()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_mark(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffFüße\r\nĊ plain\n".encode(encoding))  # U+010A has the byte of a line end
    lines, bad = lines_of(path)
    assert lines == ["Füße", "Ċ plain"]
    assert "read as UTF-16" in bad.notes()[0]


def test_windows_1252_is_told_once(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("plain\nFüße\n5 € “quoted”\n".encode("cp1252"))
    lines, bad = lines_of(path)
    assert lines == ["plain", "Füße", "5 € “quoted”"]
    assert bad.notes() == (f"{path}: is not UTF-8; read as Windows-1252 (Latin-1) (encoding= names another encoding)",)


@pytest.mark.parametrize(
    "content",
    [
        "Füße\n".encode() + b"caf\xe9\n",  # a line that is UTF-8 says that the file is
        b"caf\xe9\n" + "Füße\n".encode(),
        b"caf\xe9\x01\n",  # no text holds control characters
        b"caf\xe9 \x81\n",  # no character of Windows-1252
    ],
)
def test_damaged_utf8_stays_damaged(tmp_path, content):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"byte 4 is not valid UTF-8"):
        lines_of(path)
    lines, bad = lines_of(path, policy="skip")
    assert (len(lines), bad.count) == (content.count(b"\n") - 1, 1)


def test_an_encoding_that_is_named_decides(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("日本\nかな".encode("shift_jis"))
    assert decoded(path, "shift_jis", BadRows(path)) == "日本\nかな"
    with pytest.raises(DataError, match=r"line 1: byte \d is not valid ascii"):
        lines_of(path, "ascii")


@pytest.mark.parametrize("name", ["", "latin-17", "zlib", "hex", "undefined", "a\x00b"])
def test_unknown_encodings_are_refused(name):
    with pytest.raises(ParamError, match="encoding= must name a text encoding"):
        check_encoding(name)


def test_an_empty_file_says_so(tmp_path):
    path = Path(tmp_path / "a.txt")
    path.touch()
    with pytest.raises(DataError, match="the file is empty"):
        lines_of(path)
