"""The command line on feature files: train, predict, evaluate, explain, and widths that must fit."""

import json

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.models.registry import model_names


def refused(result, *parts):
    assert result.code == 2, result
    assert result.out == ""
    assert result.err.count("\n") == 1, result.err
    for part in parts:
        assert str(part) in result.err, result.err


@pytest.mark.parametrize("name", model_names())
def test_every_model_trains_predicts_and_is_measured(cli, xmc, tmp_path, name):
    folder = tmp_path / "m"
    done = cli("train", xmc, "--out", folder, "--model", name, "--json", "--seed", 3)
    assert json.loads(done.out)["kind"] == "model"
    assert json.loads(cli("inspect", folder, "--json").out)["seed"] == 3
    assert cli("predict", folder, xmc, "-k", 2, "--out", tmp_path / "a.npz", "--quiet").code == 0
    assert sparse.load_npz(tmp_path / "a.npz").shape == (4, 3)
    found = json.loads(cli("evaluate", folder, xmc, "--json").out)["metrics"]
    assert 0 <= found["P@1"] <= 100
    assert "PSP@5" in found


def test_labels_without_names_are_numbers(cli, xmc, model):
    rows = [json.loads(line) for line in cli("predict", model, xmc, "-k", 1).out.splitlines()]
    assert [row["labels"][0]["label"] for row in rows][2] == "2"
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]


def test_text_rows_have_numbers_and_scores(cli, xmc, model, tmp_path):
    assert cli("predict", model, xmc, "-k", 2, "--out", tmp_path / "a.txt").code == 0
    lines = (tmp_path / "a.txt").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("2:")


def test_the_same_seed_gives_the_same_arrays(cli, xmc, tmp_path):
    for folder in ("a", "b"):
        assert cli("train", xmc, "--out", tmp_path / folder, "--seed", 5).code == 0
    assert (tmp_path / "a" / "arrays.safetensors").read_bytes() == (tmp_path / "b" / "arrays.safetensors").read_bytes()


def test_a_narrower_test_file_fits(cli, model, tmp_path):
    (tmp_path / "test.txt").write_text("1 2 2\n0 0:1\n")
    assert cli("evaluate", model, tmp_path / "test.txt").code == 0


@pytest.mark.parametrize(("header", "part"), [("1 6 3", "6 features"), ("1 5 4", "4 labels")])
def test_a_wider_test_file_is_refused(cli, model, tmp_path, header, part):
    (tmp_path / "test.txt").write_text(f"{header}\n0 0:1\n")
    refused(cli("evaluate", model, tmp_path / "test.txt"), "test.txt", part)


def test_texts_for_a_model_and_features_for_a_tagger(cli, xmc, jsonl, model, tagger):
    refused(cli("predict", model, jsonl), jsonl, "holds texts")
    refused(cli("predict", tagger, xmc), "features, but", "needs texts")
    refused(cli("explain", model, "some words"), "--data FILE")
    refused(cli("train", xmc, "--out", xmc.parent / "x", "--set", "features.min_df=2"), "features.*")


def test_explain_a_row(cli, xmc, model):
    found = json.loads(cli("explain", model, "--data", xmc, "--row", 2, "--json").out)
    assert found["label"] == "2"
    assert found["contributions"][0]["feature"] == "feature 3"
    assert json.loads(cli("explain", model, "--data", xmc, "--label", 1, "--json").out)["label"] == "1"
    refused(cli("explain", model, "--data", xmc, "--label", "red"), "'red' is outside 0..2")
    refused(cli("explain", model, "--data", xmc, "--label", 3), "'3' is outside 0..2")


def test_filter_pairs_are_left_out(cli, tmp_path):
    """The LF data sets' pair files: what stands in the filter counts neither as hit nor as miss."""
    (tmp_path / "trn_X_Xf.txt").write_text("3 3\n0:1\n1:1\n2:1\n")
    (tmp_path / "trn_X_Y.txt").write_text("3 3\n0:1\n1:1\n2:1\n")
    (tmp_path / "tst_X_Xf.txt").write_text("2 3\n0:1\n1:1\n")
    (tmp_path / "tst_X_Y.txt").write_text("2 3\n0:1 1:1\n1:1\n")
    assert cli("train", tmp_path / "trn_X_Xf.txt", "--out", tmp_path / "m").code == 0
    plain = json.loads(cli("evaluate", tmp_path / "m", tmp_path / "tst_X_Xf.txt", "--json", "-k", 1).out)
    (tmp_path / "filter_labels_test.txt").write_text("0 0\n")
    filtered = json.loads(cli("evaluate", tmp_path / "m", tmp_path / "tst_X_Xf.txt", "--json", "-k", 1).out)
    assert plain["metrics"]["R@1"] == 75.0
    assert filtered["metrics"]["R@1"] != plain["metrics"]["R@1"]


def test_a_preset_trains_and_set_changes_it(cli, xmc, tmp_path):
    out = tmp_path / "model"
    done = cli("train", xmc, "--out", out, "--model", "linear-tree", "--preset", "paper", "--set", "beam=7", "--quiet")
    assert done.code == 0
    settings = lw.load(out).parameters_
    assert (settings.beam, settings.max_leaf, settings.link) == (7, 100, "hinge2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "linear-tree", "--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'"),
        (["--model", "popular", "--preset", "paper"], "has no presets"),
        (["--preset", "paper"], "--preset paper needs --model"),
    ],
)
def test_presets_that_are_not_there_are_refused(cli, xmc, tmp_path, arguments, message):
    done = cli("train", xmc, "--out", tmp_path / "model", *arguments)
    assert done.code == 2
    assert message in done.err


def test_svmlight_test_files_keep_the_base_of_the_training_file(cli, tmp_path):
    """A test file without feature 0 looks as if it counted from 1; the model remembers that it does not."""
    (tmp_path / "train.svm").write_text("0 0:1 3:1\n1 1:1\n2 2:1\n")
    (tmp_path / "test.svm").write_text("1 1:1\n2 2:1\n")
    assert cli("train", tmp_path / "train.svm", "--out", tmp_path / "m").code == 0
    assert json.loads(cli("inspect", tmp_path / "m", "--json").out)["extra"]["index_base"] == 0
    found = json.loads(cli("evaluate", tmp_path / "m", tmp_path / "test.svm", "--json", "-k", 1).out)
    assert found["metrics"]["P@1"] == 100.0
    forced = json.loads(
        cli("evaluate", tmp_path / "m", tmp_path / "test.svm", "--json", "-k", 1, "--index-base", 1).out
    )
    assert forced["metrics"]["P@1"] < 100.0


def test_label_names_of_a_feature_file_come_back(cli, tmp_path):
    text = (
        "@relation 'x: -C 2'\n@attribute red {0,1}\n@attribute blue {0,1}\n@attribute a numeric\n@attribute b numeric\n"
    )
    (tmp_path / "a.arff").write_text(text + "@data\n1,0,1,0\n0,1,0,1\n1,0,2,0\n0,1,0,3\n")
    assert cli("train", tmp_path / "a.arff", "--out", tmp_path / "m").code == 0
    rows = [json.loads(line) for line in cli("predict", tmp_path / "m", tmp_path / "a.arff", "-k", 1).out.splitlines()]
    assert [row["labels"][0]["label"] for row in rows] == ["red", "blue", "red", "blue"]
    found = json.loads(cli("explain", tmp_path / "m", "--data", tmp_path / "a.arff", "--label", "blue", "--json").out)
    assert found["label"] == "blue"
    assert np.isfinite(found["score"])
