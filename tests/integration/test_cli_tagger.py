"""The command line on texts: train, predict, evaluate, explain, inspect."""

import csv
import json
import subprocess
import sys

import pytest

from labelwood.models.registry import model_names


def one_line(result, *parts):
    """The command failed as promised: exit code 2, one line, no traceback, nothing on stdout."""
    assert result.code == 2, result
    assert result.out == ""
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.err
    assert lines[0].startswith("labelwood: ")
    for part in parts:
        assert str(part) in lines[0], lines[0]


def test_best_is_the_ensemble(cli, jsonl, tmp_path):
    done = cli("train", jsonl, "--out", tmp_path / "m", "--best", "--json", "--threads", 1)
    assert json.loads(done.out)["model"] == "ensemble"
    refused = cli("train", jsonl, "--out", tmp_path / "n", "--best", "--model", "popular")
    assert refused.code == 2
    assert "--best is the model ensemble" in refused.err


def test_favour_is_a_choice_of_the_ranker(cli, jsonl, tmp_path):
    for given, said in (
        (["--favour", "rare"], "--favour works only with --best"),
        (["--best", "--favour", "rare"], "needs 1000 rows"),
        (["--best", "--favour", "seldom"], "favour"),
        (["--best", "--favour", "2"], "favour"),
    ):
        one_line(cli("train", jsonl, "--out", tmp_path / "m", *given), said)


def test_train_says_what_it_did(cli, jsonl, tmp_path):
    done = cli("train", jsonl, "--out", tmp_path / "m", "--model", "popular")
    assert done.code == 0
    assert done.out.startswith("trained popular on 6 rows with 3 labels in ")
    assert done.out.rstrip().endswith(f"saved in {tmp_path / 'm'}")


@pytest.mark.parametrize("name", model_names())
def test_train_with_every_model(cli, jsonl, tmp_path, name):
    done = cli("train", jsonl, "--out", tmp_path / "m", "--model", name, "--json", "--threads", 1)
    assert done.code == 0
    assert done.err == ""
    facts = json.loads(done.out)
    assert (facts["kind"], facts["model"], facts["n_rows"], facts["n_labels"]) == ("tagger", name, 6, 3)
    assert cli("evaluate", tmp_path / "m", jsonl).code == 0


def test_quiet_writes_nothing_on_stderr(cli, jsonl, tmp_path):
    assert cli("train", jsonl, "--out", tmp_path / "m", "--model", "popular", "--quiet").err == ""


def test_parameters_are_set(cli, jsonl, tmp_path):
    done = cli(
        "train", jsonl, "--out", tmp_path / "m", "--model", "popular", "--seed", 5, "--set", "n_threads=2",
        "--set", "features.ngram_range=1-2", "--set", "features.min_df=1",
    )  # fmt: skip
    assert done.code == 0
    manifest = json.loads(cli("inspect", tmp_path / "m", "--json").out)
    assert manifest["parameters"] == {"seed": 5}
    assert manifest["facts"]["features"]["parameters"]["ngram_range"] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--set", "sede=1"], ["unknown parameter 'sede'", "did you mean 'seed'"]),
        (["--set", "seed=x"], ["seed must be a whole number", "'x'"]),
        (["--set", "seed"], ["expected key=value, but got 'seed'"]),
        (["--set", "seed=-1"], ["seed must be"]),
        (["--set", "features.min_dff=1"], ["did you mean 'min_df'"]),
        (["--model", "populr"], ["unknown model 'populr'", "did you mean 'popular'"]),
        (["--on-bad-row", "ignore"], ["error", "skip", "ignore"]),
        (["--text", "txt"], ["txt"]),
        (["--labels", "lbls"], ["lbls"]),
        (["--format", "exce"], ["did you mean 'excel'"]),
        (["--threads", "0"], ["--threads"]),
        (["--seed", "x"], ["--seed"]),
        (["--sed", "1"], ["--sed", "labelwood train --help"]),
    ],
)
def test_bad_options_are_refused_in_one_line(cli, jsonl, tmp_path, arguments, parts):
    one_line(cli("train", jsonl, "--out", tmp_path / "m", *arguments), *parts)
    assert not (tmp_path / "m").exists()


def test_bad_parameters_are_refused_before_the_data_is_read(cli, tmp_path):
    one_line(cli("train", tmp_path / "absent.jsonl", "--out", tmp_path / "m", "--set", "sede=1"), "sede")


def test_the_output_is_checked_before_the_data_is_read(cli, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    one_line(
        cli("train", tmp_path / "absent.jsonl", "--out", tmp_path / "full", "--force"),
        "full",
        "holds files but no labelwood model",
    )
    one_line(cli("train", tmp_path / "absent.jsonl", "--out", tmp_path / "a" / "b"), "does not exist")


def test_a_model_is_replaced_only_with_force(cli, jsonl, tagger):
    before = (tagger / "manifest.json").read_bytes()
    one_line(cli("train", jsonl, "--out", tagger, "--model", "popular"), tagger, "--force")
    assert (tagger / "manifest.json").read_bytes() == before
    assert cli("train", jsonl, "--out", tagger, "--model", "popular", "--force").code == 0
    assert json.loads(cli("inspect", tagger, "--json").out)["name"] == "popular"


def test_predict_prints_json_lines_with_row_ids(cli, jsonl, tagger):
    done = cli("predict", tagger, jsonl, "-k", 2)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["id"] for row in rows] == [f"r{i}" for i in range(6)]
    assert {answer["label"] for answer in rows[0]["labels"]} == {"apple", "dessert"}


def test_predict_takes_lines_from_stdin(tagger):
    command = [sys.executable, "-m", "labelwood", "predict", str(tagger), "-", "-k", "1", "--quiet"]
    done = subprocess.run(command, input="cold juice\ncream cake\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["labels"][0]["label"] for line in done.stdout.splitlines()] == [
        "drink",
        "dessert",
    ]


def test_predict_needs_no_labels(cli, tagger, tmp_path):
    (tmp_path / "new.csv").write_text("text\ncold juice\ncream cake\n")
    done = cli("predict", tagger, tmp_path / "new.csv", "-k", 1, "--quiet")
    assert [json.loads(line)["labels"][0]["label"] for line in done.out.splitlines()] == ["drink", "dessert"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".xlsx", ".parquet", ".txt", ".npz"])
def test_predict_writes_every_format(cli, jsonl, tagger, tmp_path, suffix):
    out = tmp_path / f"answers{suffix}"
    done = cli("predict", tagger, jsonl, "-k", 2, "--out", out, "--json")
    assert done.code == 0
    assert json.loads(done.out)["n_rows"] == 6
    assert out.stat().st_size > 0
    one_line(cli("predict", tagger, jsonl, "--out", out), "exists already", "--force")
    assert cli("predict", tagger, jsonl, "--out", out, "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--out", "answers.xml"], ["answers.xml", ".jsonl"]),
        (["--out", "nowhere/answers.csv"], ["nowhere", "does not exist"]),
        (["-k", "0"], ["-k"]),
        (["--json"], ["--out"]),
    ],
)
def test_predict_refuses_in_one_line(cli, jsonl, tagger, arguments, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one_line(cli("predict", tagger, jsonl, *arguments), *parts)


def test_evaluate_shows_a_table(cli, jsonl, tagger):
    done = cli("evaluate", tagger, jsonl)
    assert done.code == 0
    for word in ("P ", "nDCG", "PSP", "head", "torso", "tail", "@1", "@3", "@5", "100.00"):
        assert word in done.out, word


def test_evaluate_as_json(cli, jsonl, tagger):
    found = json.loads(cli("evaluate", tagger, jsonl, "--json", "-k", 1, "-k", 2).out)
    assert found["metrics"]["P@1"] == 100.0
    assert {"P@1", "P@2", "PSP@1", "R@2"} <= set(found["metrics"])
    assert "P@3" not in found["metrics"]


def test_evaluate_tells_of_unknown_labels(cli, tagger, tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"text": "apple juice", "labels": ["drink", "glass"]}\n')
    done = cli("evaluate", tagger, path)
    assert "1 label of" in done.err
    assert "'glass'" in done.err


def test_evaluate_without_labels_is_refused(cli, tagger, tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"text": "apple juice", "labels": []}\n')
    one_line(cli("evaluate", tagger, path), "other.jsonl", "no row has a label")


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t")])
def test_evaluate_writes_a_line_for_each_label(cli, jsonl, tagger, tmp_path, suffix, delimiter):
    path = tmp_path / f"labels{suffix}"
    assert cli("evaluate", tagger, jsonl, "--per-label", path, "-k", 1).code == 0
    with path.open(newline="") as stream:
        rows = {row["name"]: row for row in csv.DictReader(stream, delimiter=delimiter)}
    assert set(rows) == {"apple", "dessert", "drink"}
    assert rows["dessert"]["train_count"] == "4"


def test_explain_shows_words_that_add_up(cli, tagger):
    done = cli("explain", tagger, "apple cake with cream", "--label", "dessert", "--json")
    found = json.loads(done.out)
    assert found["label"] == "dessert"
    assert {part["feature"] for part in found["contributions"]} <= {"apple", "cake", "with", "cream"}
    table = cli("explain", tagger, "apple cake with cream").out
    assert "cake" in table
    assert "█" in table


def test_explain_takes_a_row_of_a_file(cli, jsonl, tagger):
    done = cli("explain", tagger, "--data", jsonl, "--row", 3, "--json")
    assert json.loads(done.out)["label"] == "drink"
    one_line(cli("explain", tagger, "--data", jsonl, "--row", 6), "row 6 is outside 0..5")


def test_a_text_that_gets_no_label_is_told(cli, jsonl, tmp_path, xmc):
    assert cli("train", jsonl, "--model", "knn", "--out", tmp_path / "knn").code == 0
    one_line(cli("explain", tmp_path / "knn", "zzz"), "the text gets no label, so there is none to explain; name one")
    (tmp_path / "empty.txt").write_text("1 5 3\n0\n")
    assert cli("train", xmc, "--model", "knn", "--out", tmp_path / "rows").code == 0
    one_line(cli("explain", tmp_path / "rows", "--data", tmp_path / "empty.txt"), "row 0 gets no label")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "either a TEXT or --data"),
        (["cake", "--label", "desert"], "did you mean 'dessert'"),
        (["cake", "-n", "0"], "-n"),
    ],
)
def test_explain_refuses_in_one_line(cli, tagger, arguments, part):
    one_line(cli("explain", tagger, *arguments), part)


def test_inspect_shows_everything(cli, tagger):
    done = cli("inspect", tagger, "--verify")
    for word in ("tagger", "6 rows", "labels", "seed", "checksums", "all right"):
        assert word in done.out, word
    assert "model.labels.counts" not in done.out
    assert not any(mark in done.out for mark in "{}['")  # values as people write them, not as Python does
    assert "model.labels.counts" in cli("inspect", tagger, "--arrays").out


def test_inspect_refuses_what_is_no_model(cli, tmp_path, tagger):
    one_line(cli("inspect", tmp_path / "nowhere"), "nowhere")
    one_line(cli("inspect", tmp_path), tmp_path)
    path = tagger / "arrays.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 255
    path.write_bytes(raw)
    one_line(cli("inspect", tagger, "--verify"), "sha256 differs")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_missing_model_is_one_line(cli, jsonl, tmp_path, command):
    one_line(cli(command, tmp_path / "nowhere", jsonl), "nowhere", "no such folder")
