"""Spreadsheets and written columns: kinds of cells, Excel's limits, and the extras that errors name."""

import csv
import datetime as dt
import importlib.util
import json

import openpyxl
import pytest

import labelwood as lw
from labelwood.cli.tagged import write_tagged
from labelwood.data.writing import excel_write
from labelwood.data.writing.columns_write import write_columns
from labelwood.errors import MissingExtraError, ParamError


def sheet_of(path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_cells_read_as_a_person_reads_them(tmp_path):
    day = dt.datetime(2026, 3, 1)
    path = sheet_of(tmp_path / "a.xlsx", ["id", "text", "when", "labels"], [7, 3.0, day, 2025], [8, 3.5, None, 2026])
    data = lw.read(path, text="text,when", keep_columns=True)
    assert data.texts == ("3\n2026-03-01", "3.5")
    assert data.row_ids == ("7", "8")
    assert data.label_names == ("2025", "2026")
    assert data.columns["id"] == [7, 8]
    assert data.take([1]).columns == {"id": [8], "text": [3.5], "when": [""], "labels": [2026]}


def test_a_table_may_begin_anywhere(tmp_path):
    path = sheet_of(tmp_path / "a.xlsx", [], [], [None, "text", "labels"], [None, "t", "x"], [None, "u", ";"])
    with pytest.raises(lw.DataError, match=r"a\.xlsx, row 5: an empty label"):
        lw.read(path, separator=";")
    assert lw.read(path, separator=";", on_bad_row="skip").texts == ("t",)


def test_a_stray_cell_far_out_is_refused(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["text", "labels"])
    book.active.cell(1_048_576, 16_384, "far")
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(lw.DataError, match="spans 1,048,576 rows and 16,384 columns"):
        lw.read(tmp_path / "a.xlsx")


def test_limits_of_excel_are_told(tmp_path, monkeypatch):
    rows = {
        "text": ["x" * 40_000, "a\x01b", "=1+1", "#N/A", None],
        "n": [1, 2.5, True, float("nan"), dt.date(2026, 1, 2)],
    }
    notes = write_columns(tmp_path / "a.xlsx", rows)
    assert ["cut after 32,767" in notes[0], "control characters in 1 cells" in notes[1]] == [True, True]
    cells = [[cell.value for cell in row] for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows()]
    assert [row[0] for row in cells[2:]] == ["a\ufffdb", "=1+1", "#N/A", None]
    assert [row[1] for row in cells[1:4]] == [1, 2.5, True]
    monkeypatch.setattr(excel_write, "MOST_ROWS", 3)
    with pytest.raises(lw.DataError, match="a sheet holds 3 rows"):
        write_columns(tmp_path / "b.xlsx", rows)
    assert not (tmp_path / "b.xlsx").exists()
    with pytest.raises(ParamError, match=r"only \.xlsx is written"):
        lw.write(lw.Dataset(None, [[1]], texts=["a"]), tmp_path / "a.ods")


def test_columns_of_every_kind(tmp_path):
    columns = {"a": [1.0, "x", None], "b": [["p", "q"], [], None], "c": [dt.date(2026, 1, 2), 'say "hi", you', 2]}
    assert write_columns(tmp_path / "a.csv", columns) == []
    with (tmp_path / "a.csv").open(newline="") as stream:
        assert list(csv.reader(stream))[1:] == [
            ["1", '["p", "q"]', "2026-01-02"],
            ["x", "[]", 'say "hi", you'],
            ["", "", "2"],
        ]
    assert write_columns(tmp_path / "a.jsonl.gz", columns) == []
    notes = write_columns(tmp_path / "a.parquet", columns)
    assert [note.partition("column ")[2][:3] for note in notes] == ["'a'", "'c'"]
    write_columns(tmp_path / "a.jsonl", columns)
    assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0]) == {
        "a": 1,
        "b": ["p", "q"],
        "c": "2026-01-02",
    }
    with pytest.raises(ParamError, match="the ending must say the format"):
        write_columns(tmp_path / "a.xml", columns)


@pytest.mark.parametrize(
    ("names", "separator", "cell"),
    [
        (["a", "b"], None, "a;b"),
        (["a", "b"], "/", "a/b"),
        (["a;b", "c"], ";", "a;b|c"),
        (["a;b|c,d", "e"], ";", '["a;b|c,d", "e"]'),
    ],
)
def test_tags_are_joined_so_that_they_can_be_cut(tmp_path, names, separator, cell):
    rows = lw.Dataset(None, [[0]], texts=["t"])
    write_tagged(
        tmp_path / "a.tsv", rows, [[(name, 0.5) for name in names]], measure="probabilities", separator=separator
    )
    with (tmp_path / "a.tsv").open(newline="") as stream:
        header, row = csv.reader(stream, delimiter="\t")
    assert header == ["id", "text", "tags", "probabilities"]
    assert row[2] == cell


@pytest.mark.parametrize(("module", "extra"), [("python_calamine", "excel"), ("openpyxl", "excel"), ("pypdf", "pdf")])
def test_a_missing_package_names_its_extra(tmp_path, monkeypatch, module, extra):
    sheet_of(tmp_path / "a.xlsx", ["text", "labels"], ["t", "x"])
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(b"%PDF")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find(name))
    calls = {
        "python_calamine": lambda: lw.read(tmp_path / "a.xlsx"),
        "openpyxl": lambda: write_columns(tmp_path / "b.xlsx", {"a": [1]}),
        "pypdf": lambda: lw.read(folder),
    }
    with pytest.raises(MissingExtraError, match=rf'pip install "labelwood\[{extra}\]"'):
        calls[module]()
