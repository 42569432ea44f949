"""Damaged tables: always a DataError with file and line, or a counted skip; never a crash."""

import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelwood.data.formats import format_names
from labelwood.data.reading.table import read_table
from labelwood.errors import DataError

GOOD_CSV = b"text,labels\nfirst,x\n"
GOOD_JSON = b'{"text": "first", "labels": ["x"]}\n'

# (format, content with the damage in line 3 or said otherwise, line, words of the message)
DAMAGES = [
    ("csv", GOOD_CSV + b"one,two,three\n", 3, "3 cells, but the header has 2 columns"),
    ("csv", GOOD_CSV + b"only\n", 3, "1 cell"),
    ("csv", b'text,labels\n"a\nb",x\n"c",x,x\n', 4, "3 cells"),
    ("csv", GOOD_CSV + b'"never closed,x\nmore,y\n', 3, "opened here and never closed"),
    ("csv", GOOD_CSV + b'"a"b,x\n', 3, "text after the closing quote"),
    ("csv", GOOD_CSV + b"t,a||b\n", 3, "an empty label"),
    ("csv", GOOD_CSV + b"t\x00u,x\n", 3, "NUL"),
    ("csv", GOOD_CSV + b"t,x\x00\n", 3, "NUL"),
    ("csv", "text,labels\nschön,x\n".encode() + b"caf\xe9,x\n", 3, "byte 4 is not valid UTF-8"),
    ("tsv", b"text\tlabels\na\tx\nb\n", 3, "1 cell"),
    ("tsv", b"some text\tx\nmore text\ty\nb\n", 3, "a table without header has 2"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": ["x"]\n', 2, "not valid JSON"),
    ("jsonl", GOOD_JSON + b"[1]\n", 2, "expected a JSON object, but got a list"),
    ("jsonl", GOOD_JSON + b'{"text": "a"}\n', 2, "the field 'labels' is missing"),
    ("jsonl", GOOD_JSON + b'{"text": null, "labels": []}\n', 2, "must be a string, but is null"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": [null]}\n', 2, "an empty label"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": ["  "]}\n', 2, "an empty label"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": [1.5]}\n', 2, "a string or a whole number, but is 1.5"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": true}\n', 2, "must be a list or a string, but are True"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": [{"score": 1}]}\n', 2, "a label without name"),
    ("jsonl", GOOD_JSON + b'{"text": "\\ud800", "labels": []}\n', 2, "surrogate"),
    ("jsonl", GOOD_JSON + b'{"text": "a\\u0000", "labels": []}\n', 2, "NUL"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": ' + b"[" * 100_000 + b"\n", 2, "nested too deeply"),
    ("jsonl", GOOD_JSON + b'{"text": "a", "labels": [' + b"1" * 5000 + b"]}\n", 2, "not valid JSON"),
    ("jsonl", b'[{"text": "a", "labels": ["x"]},\n 7]', 2, "expected a JSON object, but got a number"),
    ("fasttext", b"__label__a x\n__label__ y\n", 2, "without a name"),
    ("annif", b"text\t<a>\ntext\ta b\n", 2, "angle brackets"),
    ("annif", b"text\t<a>\ntext\n", 2, "no tab"),
    ("pecos", b"0\ttext\nx,1\ttext\n", 2, "numbers with commas"),
    ("libmultilabel", b"a b\ttext\njust text\n", 2, "1 cell"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "content", "line", "words"), DAMAGES)
def test_damage_names_file_and_line_and_can_be_skipped(tmp_path, format, content, line, words):
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(path, format=format)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert words in str(caught.value)
    data = read_table(path, format=format, on_bad_row="skip")
    assert len(data) >= 1
    assert any(note.startswith(f"{path}: skipped 1 bad row (line {line}: ") for note in data.notes)


def test_rows_behind_an_unclosed_quote_are_not_lost(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD_CSV + b'"never closed,x\nmore,y\nlast,z\n')
    assert read_table(path, format="csv", on_bad_row="skip").texts == ("first", "more", "last")


@pytest.mark.parametrize("format", [name for name in format_names("texts") if name != "parquet"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_empty_files(tmp_path, format, content):
    path = tmp_path / "empty"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"empty|no rows"):
        read_table(path, format=format)


@pytest.mark.parametrize(("content", "line", "words"), [
    (b'[{"text": "a", "labels": []},\n{"text": ', 2, "not valid JSON"),
    (b'[{"text": "a", "labels": []}\n', 1, "never closed"),
    (b'[{"text": "a", "labels": []}\n {"text": "a"}]', 2, "expected ',' or ']'"),
    (b'[{"text": "a", "labels": []}]\n[]', 1, "after the end"),
])  # fmt: skip
def test_a_broken_json_array_cannot_be_skipped(tmp_path, content, line, words):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    for policy in ("error", "skip"):
        with pytest.raises(DataError) as caught:
            read_table(path, format="jsonl", on_bad_row=policy)
        assert f"line {line}: " in str(caught.value)
        assert words in str(caught.value)


def test_label_number_outside_the_name_file(tmp_path):
    (tmp_path / "labels.txt").write_text("a\nb\n")
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "t", "labels": [1]}\n{"text": "u", "labels": [0, 2]}\n{"text": "v", "labels": [-1]}\n')
    with pytest.raises(DataError, match=r"line 2: label 2 is outside 0\.\.1, the lines of labels\.txt"):
        read_table(path, format="jsonl")
    data = read_table(path, format="jsonl", on_bad_row="skip")
    assert data.texts == ("t",)
    assert data.label_names == ("a", "b")
    (tmp_path / "labels.txt").write_text("a\n\nb\n")
    with pytest.raises(DataError, match=r"labels\.txt, line 2: a label without name"):
        read_table(path, format="jsonl")


def test_nothing_left_after_skipping(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,labels\none\n")
    with pytest.raises(DataError, match=r"no rows; 1 bad row was skipped, first line 2: 1 cell,"):
        read_table(path, format="csv", on_bad_row="skip")


@pytest.mark.parametrize(("content", "words"), [
    (b"a,b,c\n1,2,3\n", r"no column looks like text.*columns: a, b, c"),
    (b"text,text,labels\n1,2,3\n", "column 'text' stands there twice"),
])  # fmt: skip
def test_columns_that_do_not_fit(tmp_path, content, words):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_table(path, format="csv")


def test_unknown_column_is_refused_with_the_nearest(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD_CSV)
    with pytest.raises(DataError, match=r"unknown column 'lables'; did you mean 'labels'"):
        read_table(path, format="csv", labels="lables")


def test_compressed_and_missing_files(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(GOOD_CSV * 1000)[:-20])
    with pytest.raises(DataError, match="truncated"):
        read_table(path, format="csv")
    path.write_bytes(b"not gzip")
    with pytest.raises(DataError, match="damaged gzip"):
        read_table(path, format="csv")
    for format in format_names("texts"):
        with pytest.raises(DataError, match="no such file"):
            read_table(tmp_path / "absent", format=format)
        with pytest.raises(DataError, match="folder"):
            read_table(tmp_path, format=format)


@pytest.mark.parametrize("format", sorted(set(format_names("texts")) - {"parquet", "excel", "documents"}))
def test_an_endless_line_is_refused(tmp_path, monkeypatch, format):
    monkeypatch.setattr("labelwood.data.reading.encodings.MAX_LINE_BYTES", 1000)
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(DataError, match=r"line 1: longer than"):
        read_table(path, format=format)


def test_an_open_quote_does_not_take_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("labelwood.data.reading.delimited.MAX_LINE_BYTES", 100)
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD_CSV + b'"never closed,x\n' + b"more,y\n" * 100)
    with pytest.raises(DataError, match=r"line 3: a quote is opened here and never closed"):
        read_table(path, format="csv")
    assert len(read_table(path, format="csv", on_bad_row="skip")) == 101


def test_damaged_utf16_names_the_line_before(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text,labels\nt,x\n".encode("utf-16") + b"\x00\xd8x\x00,\x00")
    with pytest.raises(DataError, match=r"a\.csv, after line 0: not valid utf-16"):
        read_table(path, format="csv")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text,labels\n", b"\xd0\xcf\x11\xe0" + bytes(600)])
def test_damaged_spreadsheets(tmp_path, content):
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.xlsx: not a readable spreadsheet"):
        read_table(path, format="excel")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\x00" * 40 + b"PAR1", b"text"])
def test_damaged_parquet(tmp_path, content):
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_table(path, format="parquet")


def test_parquet_rows_with_nulls(tmp_path):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    table = pyarrow.table({"text": ["a", None, "c"], "labels": [["x"], ["y"], ["z", None]]})
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(DataError, match=r"line 2: the text 'text' must be a string, but is null"):
        read_table(path, format="parquet")
    assert read_table(path, format="parquet", on_bad_row="skip").texts == ("a",)


@pytest.mark.parametrize("column", ["id", "text", "labels"])
def test_parquet_with_bad_utf8(tmp_path, column):
    """Parquet files do not check their strings: writers in other languages leave what they were given."""
    import pyarrow
    import pyarrow.parquet

    cells = {"id": [b"1", b"2", b"3"], "text": [b"a", b"b", b"c"], "labels": [[b"x"], [b"y"], [b"x", b"z"]]}
    bad = b"caf\xe9"
    cells[column][1] = [bad] if column == "labels" else bad
    columns = {
        name: pyarrow.array(values, pyarrow.list_(pyarrow.binary()) if name == "labels" else pyarrow.binary())
        for name, values in cells.items()
    }
    text = {
        name: array.view(pyarrow.list_(pyarrow.string()) if name == "labels" else pyarrow.string())
        for name, array in columns.items()
    }
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table(text), path)
    with pytest.raises(DataError, match=r"a\.parquet, line 2: holds text that is not valid UTF-8"):
        read_table(path, format="parquet")
    kept = read_table(path, format="parquet", on_bad_row="skip")
    assert kept.texts == ("a", "c")
    assert kept.row_ids == ("1", "3")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='",\t\n|;[]{}:<>_ lab019\x00é', max_size=120).map(str.encode),
        st.lists(st.sampled_from([GOOD_CSV, GOOD_JSON, b"0,1\tt\n", b"__label__a t\n", b'"', b"\n"])).map(b"".join),
    ),
    format=st.sampled_from(format_names("texts")),
    policy=st.sampled_from(["error", "skip"]),
)
def test_any_bytes_give_rows_or_a_data_error(tmp_path, content, format, policy):
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    message = ""
    try:
        data = read_table(path, format=format, on_bad_row=policy)
    except DataError as error:
        message = str(error)
    if message:
        assert message.startswith(str(path))
    else:
        assert len(data) == len(data.texts) >= 1
        json.dumps([data.texts, data.label_names, data.notes]).encode()
