"""What write writes to a table, read_table reads back; files appear whole or not at all."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.formats import format_names
from labelwood.data.reading.table import read_table
from labelwood.data.writing.write import write, written_names
from labelwood.errors import DataError, ParamError

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
# CR and exotic line ends inside cells are data too; lone "\r" at a line end is not distinguishable from CRLF.
free_text = st.text(alphabet=characters, max_size=30).filter(lambda text: "\r" not in text)
names = st.text(alphabet=characters, min_size=1, max_size=12).filter(
    lambda name: name == name.strip() and not any(mark in name for mark in "\r\n") and not name.isdecimal()
)


@st.composite
def datasets(draw, text=free_text, name=names):
    rows = draw(st.lists(st.lists(name, max_size=4), min_size=1, max_size=6))
    used = sorted({label for labels in rows for label in labels})
    y = np.zeros((len(rows), len(used)), np.float32)
    for row, labels in enumerate(rows):
        y[row, [used.index(label) for label in labels]] = 1
    texts = [draw(text) for _ in rows]
    ids = [f"row {i}" for i in range(len(rows))] if draw(st.booleans()) else None
    return Dataset(None, sparse.csr_matrix(y), texts, used, row_ids=ids)


def assert_same(data, back, ids=True):
    assert back.texts == data.texts
    assert back.label_names == data.label_names
    assert (back.y != data.y).nnz == 0
    if ids:
        assert back.row_ids == data.row_ids


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=datasets(),
    format=st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
    suffix=st.sampled_from(["", ".gz", ".zst"]),
)
def test_tables_come_back(tmp_path, data, format, suffix):
    path = tmp_path / f"table.{format}{suffix}"
    assert write(data, path, format=format).notes == ()
    assert_same(data, read_table(path, format=format))


plain_names = st.text(alphabet="abcdefgxyz-é#+", min_size=1, max_size=8)
# These formats are lines: a text without line breaks comes back, blank lines are no rows.
line_text = st.text(alphabet=characters, min_size=1, max_size=30).filter(
    lambda text: text == text.strip() and not any(mark in text for mark in "\r\n\t") and "__label__" not in text
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=datasets(line_text, plain_names), format=st.sampled_from(["fasttext", "annif"]))
def test_line_formats_come_back(tmp_path, data, format):
    path = tmp_path / "lines.txt"
    notes = write(data, path, format=format).notes
    expected = [] if data.row_ids is None else ["row ids were left out"]
    assert [note.split(" (")[0] for note in notes] == expected
    assert_same(data, read_table(path, format=format), ids=False)


def one_row(text="hello", name="x"):
    return Dataset(None, sparse.csr_matrix(np.ones((1, 1), np.float32)), [text], [name])


def test_notes_tell_what_a_format_cannot_hold(tmp_path):
    notes = write(one_row("a\nb", "hiking boots"), tmp_path / "a.txt", format="fasttext").notes
    assert (tmp_path / "a.txt").read_text() == "__label__hiking_boots a b\n"
    assert len(notes) == 2
    assert "'_'" in notes[0]
    assert "spaces" in notes[1]


def test_columns_without_names_are_numbers(tmp_path):
    data = Dataset(None, sparse.csr_matrix(np.array([[0, 1.0], [1, 0]])), ["a", "b"])
    write(data, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "text,labels\na,1\nb,0\n"
    assert read_table(tmp_path / "a.csv", format="csv").label_names == ("0", "1")


@pytest.mark.parametrize(("data", "format"), [
    (one_row("a __label__b"), "fasttext"),
    (one_row(name="a>b"), "annif"),
    (Dataset(None, sparse.csr_matrix(np.ones((1, 2))), ["t"], ["a b", "a_b"]), "fasttext"),
    (Dataset(sparse.csr_matrix(np.ones((1, 1))), sparse.csr_matrix(np.ones((1, 1)))), "csv"),
])  # fmt: skip
def test_refusals_leave_the_old_file(tmp_path, data, format):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(DataError):
        write(data, path, format=format)
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_unknown_format_and_place(tmp_path):
    with pytest.raises(ParamError, match="unknown format 'xls'"):
        write(one_row(), tmp_path / "a", format="xls")
    for format in set(written_names()) & set(format_names("texts")):
        for suffix in ("", ".gz", ".zst"):
            with pytest.raises(DataError, match="cannot be written"):
                write(one_row(), tmp_path / "absent" / f"a{suffix}", format=format)


def test_compressed_bytes_depend_on_content_alone(tmp_path):
    write(one_row(), tmp_path / "a.csv.gz")
    write(one_row(), tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
