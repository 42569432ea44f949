"""Label Studio and Argilla: what is written has the fields that they import, and reads back as it was."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from scipy import sparse

import labelwood as lw
from labelwood.cli.main import run

TEXTS = ['Apple & pie\nwith "cream"', "Orange juice", "nothing at all"]
LABELS = [["dessert", 'a<b & "c"'], ["drink"], []]


def rows_of(data):
    return [sorted(data.label_names[column] for column in data.y[row].indices) for row in range(data.n_rows)]


@pytest.fixture
def data():
    names = ('a<b & "c"', "dessert", "drink")
    y = sparse.csr_matrix([[1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype="float32")
    return lw.Dataset(None, y, TEXTS, label_names=names, row_ids=("r1", "r2", "r3"))


@pytest.mark.parametrize("name", ["rows.label-studio.json", "rows.argilla.json", "rows.label-studio.json.gz"])
def test_what_is_written_reads_back(data, tmp_path, name):
    path = tmp_path / name
    lw.write(data, path)
    again = lw.read(path)
    assert list(again.texts) == TEXTS
    assert rows_of(again) == [sorted(labels) for labels in LABELS]
    assert list(again.row_ids) == ["r1", "r2", "r3"]


def test_label_studios_tasks(data, tmp_path):
    lw.write(data, tmp_path / "tasks.json", format="label-studio")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert tasks[1] == {
        "data": {"id": "r2", "text": "Orange juice"},
        "annotations": [
            {"result": [{"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": ["drink"]}}]}
        ],
    }
    assert tasks[2]["annotations"] == [{"result": []}]
    settings = ElementTree.parse(tmp_path / "tasks.json.xml").getroot()
    assert settings.find("Text").attrib == {"name": "text", "value": "$text"}
    assert [choice.attrib["value"] for choice in settings.iter("Choice")] == list(data.label_names)
    assert settings.find("Choices").attrib == {"name": "labels", "toName": "text", "choice": "multiple"}


def test_argillas_records(data, tmp_path):
    lw.write(data, tmp_path / "records.json", format="argilla")
    records = json.loads((tmp_path / "records.json").read_text())
    assert records[1]["id"] == "r2"
    assert records[1]["fields"] == {"text": "Orange juice"}
    assert records[1]["suggestions"] == {"labels": {"value": ["drink"], "agent": "labelwood"}}
    assert records[2]["suggestions"] == {}


def test_exports_of_the_tools(tmp_path):
    tasks = [
        {
            "id": 7,
            "data": {"body": "one"},
            "annotations": [
                {"was_cancelled": True, "result": [region("choices", ["wrong"])]},
                {"result": [region("choices", ["a", "b"]), {"type": "rating", "value": {"rating": 3}}]},
                {"result": [region("taxonomy", [["top", "c"], ["a"]])]},
            ],
        }
    ]
    path = tmp_path / "x.label-studio.json"
    path.write_text(json.dumps(tasks))
    data = lw.read(path, text="body")
    assert (rows_of(data), list(data.row_ids)) == ([["a", "b", "c"]], ["7"])
    records = [
        {
            "id": "x",
            "fields": {"text": "one"},
            "responses": {"labels": [{"value": ["a"]}, {"value": ["b"]}], "grade": [{"value": 3}]},
            "suggestions": {"labels": {"value": ["never"]}},
        },
        {"id": "y", "fields": {"text": "two"}, "suggestions": {"labels": {"value": "c", "score": 0.4}}},
    ]
    path = tmp_path / "x.argilla.json"
    path.write_text(json.dumps(records))
    assert rows_of(lw.read(path, labels="labels")) == [["a", "b"], ["c"]]


def region(kind, choices):
    return {"from_name": "labels", "to_name": "text", "type": kind, "value": {kind: choices}}


@pytest.mark.parametrize(
    ("format", "item", "word"),
    [
        ("label-studio", {"annotations": []}, "data"),
        ("label-studio", {"data": {"text": 3}}, "must be a text"),
        ("label-studio", {"data": {"text": "x"}, "annotations": [{"result": [region("choices", [1])]}]}, "names"),
        ("label-studio", {"data": {"text": "x"}, "annotations": 3}, "fields of its format"),
        ("argilla", {"fields": {}}, "text"),
        ("argilla", {"fields": {"text": "x"}, "responses": {"labels": [{}]}}, "value"),
    ],
)
def test_damaged_items_are_told_with_their_line(tmp_path, format, item, word):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([item]))
    with pytest.raises(lw.DataError, match=word) as caught:
        lw.read(path, format=format)
    assert "x.json, line 1" in str(caught.value)


def test_convert(tmp_path):
    (tmp_path / "rows.csv").write_text("text,labels\napple pie,dessert;sweet\norange juice,drink\n")
    out = tmp_path / "rows.label-studio.json"
    assert run(["data", "convert", str(tmp_path / "rows.csv"), str(out)]) == 0
    assert run(["data", "convert", str(out), str(tmp_path / "rows.argilla.json")]) == 0
    assert rows_of(lw.read(tmp_path / "rows.argilla.json")) == [["dessert", "sweet"], ["drink"]]


def test_more_labels_than_the_page_bears(tmp_path):
    y = sparse.identity(10_001, format="csr", dtype="float32")
    data = lw.Dataset(None, y, [f"t{row}" for row in range(10_001)], label_names=[f"n{row}" for row in range(10_001)])
    written = lw.write(data, tmp_path / "x.label-studio.json")
    assert "10,000 of 10,001" in written.notes[0]
