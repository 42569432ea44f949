"""`labelwood data`: info, convert, split, synth."""

import json

import pytest

import labelwood


def refused(result, *parts):
    assert result.code == 2, result
    assert result.out == ""
    assert result.err.count("\n") == 1, result.err
    for part in parts:
        assert str(part) in result.err, result.err


def test_info_of_texts(cli, jsonl):
    facts = json.loads(cli("data", "info", jsonl, "--json").out)
    assert (facts["rows"], facts["labels"], facts["labels_a_row"]) == (6, 3, 1.5)
    assert facts["most_frequent"] == {"dessert": 4, "apple": 3, "drink": 2}
    assert facts["duplicate_texts"] == 0
    table = cli("data", "info", jsonl).out
    assert "dessert (4)" in table
    assert "note: " in table


def test_info_of_features(cli, xmc):
    facts = json.loads(cli("data", "info", xmc, "--json").out)
    assert (facts["rows"], facts["features"], facts["labels"]) == (4, 5, 3)
    assert facts["features_a_row"] == 1.75
    assert facts["filled_share"] == pytest.approx(7 / 20)
    assert facts["rows_without_labels"] == 0
    assert facts["labels_used_once"] == 1


def test_info_tells_what_is_odd(cli, tmp_path):
    (tmp_path / "a.svm").write_text("1,3 1:0.5 9:2\n 2:1\n")
    done = cli("data", "info", tmp_path / "a.svm")
    assert "numbered from 1" in done.out
    facts = json.loads(cli("data", "info", tmp_path / "a.svm", "--json").out)
    assert facts["rows_without_labels"] == 1
    assert facts["labels_never_used"] == 2
    assert any("--index-base" in note or "index_base" in note for note in facts["notes"])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".jsonl.gz", ".csv.zst"])
def test_convert_texts_there_and_back(cli, jsonl, tmp_path, suffix):
    target, back = tmp_path / f"there{suffix}", tmp_path / "back.jsonl"
    assert cli("data", "convert", jsonl, target).code == 0
    assert cli("data", "convert", target, back).code == 0
    first, second = labelwood.read(jsonl), labelwood.read(back)
    assert first.texts == second.texts
    assert first.label_names == second.label_names
    assert (first.y != second.y).nnz == 0


@pytest.mark.parametrize("name", ["there.svm", "X.trn.npz", "trn_X_Xf.txt", "there.txt.gz"])
def test_convert_features_there_and_back(cli, xmc, tmp_path, name):
    assert cli("data", "convert", xmc, tmp_path / name, "--quiet").code == 0
    assert cli("data", "convert", tmp_path / name, tmp_path / "back.txt", "--quiet").code == 0
    first, second = labelwood.read(xmc), labelwood.read(tmp_path / "back.txt")
    assert (first.x != second.x).nnz == 0
    assert (first.y != second.y).nnz == 0


def test_convert_refuses(cli, xmc, jsonl, tmp_path):
    refused(cli("data", "convert", xmc, tmp_path / "out.jsonl"), "has no texts")
    refused(cli("data", "convert", jsonl, tmp_path / "out.unknown"), "out.unknown")
    refused(cli("data", "convert", tmp_path / "absent.txt", tmp_path / "out.unknown"), "out.unknown")
    refused(cli("data", "convert", jsonl, xmc), "exists already")
    refused(cli("data", "convert", jsonl, tmp_path / "a" / "b.csv"), "does not exist")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.jsonl", "rows.txt"]


def test_split(cli, tmp_path):
    assert cli("data", "synth", tmp_path / "all.jsonl", "--rows", 50).code == 0
    parts = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    command = (
        "data",
        "split",
        tmp_path / "all.jsonl",
        "--out-train",
        parts[0],
        "--out-test",
        parts[1],
        "--test",
        0.3,
    )
    assert cli(*command, "--seed", 4).code == 0
    train, test = (labelwood.read(path) for path in parts)
    assert (train.n_rows, test.n_rows) == (35, 15)
    everything = labelwood.read(tmp_path / "all.jsonl")
    assert sorted(everything.row_ids) == sorted((*train.row_ids, *test.row_ids))
    before = [path.read_bytes() for path in parts]
    refused(cli(*command, "--seed", 4), "exists already")
    assert cli(*command, "--seed", 4, "--force").code == 0
    assert [path.read_bytes() for path in parts] == before
    assert cli(*command, "--seed", 5, "--force").code == 0
    assert [path.read_bytes() for path in parts] != before


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-1"])
def test_split_refuses_shares_that_leave_nothing(cli, jsonl, tmp_path, share):
    outs = ("--out-train", tmp_path / "a.jsonl", "--out-test", tmp_path / "b.jsonl")
    refused(cli("data", "split", jsonl, *outs, "--test", share), "--test")


def test_split_refuses_one_name_for_two_files(cli, jsonl, tmp_path):
    refused(
        cli("data", "split", jsonl, "--out-train", tmp_path / "a", "--out-test", tmp_path / "a"),
        "must differ",
    )


@pytest.mark.parametrize(
    ("kind", "name"), [("texts", "a.jsonl"), ("texts", "a.csv"), ("sparse", "a.txt"), ("sparse", "a.txt.gz")]
)
def test_synth_is_learnable_and_repeatable(cli, tmp_path, kind, name):
    command = ("data", "synth", "--kind", kind, "--rows", 300, "--labels", 20, "--seed", 3)
    assert cli(*command, tmp_path / name).code == 0
    assert cli(*command, tmp_path / f"again-{name}").code == 0
    data, again = labelwood.read(tmp_path / name), labelwood.read(tmp_path / f"again-{name}")
    assert data.n_rows == 300
    assert (data.y != again.y).nnz == 0
    assert cli("train", tmp_path / name, "--out", tmp_path / "m", "--quiet").code == 0
    found = json.loads(cli("evaluate", tmp_path / "m", tmp_path / name, "--json").out)["metrics"]
    assert found["P@1"] > 80


def test_synth_refuses(cli, tmp_path):
    refused(cli("data", "synth", tmp_path / "a.txt", "--kind", "images"), "sparse or texts")
    refused(cli("data", "synth", tmp_path / "a.jsonl", "--features", 5), "--features")
    refused(cli("data", "synth", tmp_path / "a.jsonl", "--rows", 0), "--rows")
    assert list(tmp_path.iterdir()) == []
