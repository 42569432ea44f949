"""Answers as files: the same prediction in every format."""

import csv
import json

import numpy as np
import pytest
from scipy import sparse

from labelwood.cli import answers
from labelwood.errors import ParamError
from labelwood.topk import TopK

TOP = TopK([[2, 0], [1, -1], [-1, -1]], [[0.75, 0.1], [1 / 3, -np.inf], [-np.inf, -np.inf]])
NAMES = ["red, dark", "blau", "日本"]
IDS = ["a", "b", "c"]


@pytest.fixture
def written(tmp_path):
    def write(suffix, names=NAMES, ids=IDS):
        path = tmp_path / f"out{suffix}"
        answers.write_file(path, TOP, names, ids, 3)
        return path

    return write


def test_jsonl(written):
    rows = [json.loads(line) for line in written(".jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {
        "id": "a",
        "labels": [{"label": "日本", "score": 0.75}, {"label": "red, dark", "score": 0.1}],
    }
    assert rows[1]["labels"][0]["score"] == 0.3333333
    assert rows[2] == {"id": "c", "labels": []}


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t")])
def test_tables(written, suffix, delimiter):
    with written(suffix).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter=delimiter))
    assert rows == [
        ["id", "rank", "label", "score"],
        ["a", "1", "日本", "0.75"],
        ["a", "2", "red, dark", "0.1"],
        ["b", "1", "blau", "0.3333333"],
    ]


def test_text_has_label_numbers(written):
    assert written(".txt").read_text() == "2:0.75 0:0.1\n1:0.3333333\n\n"


def test_npz_is_the_score_matrix(written):
    np.testing.assert_array_equal(sparse.load_npz(written(".npz")).toarray(), TOP.to_csr(3).toarray())


def test_numbers_stand_for_missing_names_and_ids(written):
    first = json.loads(written(".jsonl", names=None, ids=None).read_text().splitlines()[0])
    assert (first["id"], first["labels"][0]["label"]) == ("0", "2")


def test_stdout_is_jsonl(capsys):
    answers.write_stdout(TOP, NAMES, IDS)
    assert json.loads(capsys.readouterr().out.splitlines()[1])["labels"][0]["label"] == "blau"


@pytest.mark.parametrize("name", ["out", "out.xml", "out.jsonl.bz2"])
def test_unknown_endings_are_refused(tmp_path, name):
    with pytest.raises(ParamError, match=r"must say the format, one of \.jsonl, \.csv, \.tsv, \.txt, \.npz"):
        answers.check_suffix(tmp_path / name)
