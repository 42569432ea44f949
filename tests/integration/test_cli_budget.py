"""`labelwood train --budget`: a search that says what it tried, keeps its time, and goes on after a kill."""

import json
import signal
import subprocess
import sys
import time

import pytest

import labelwood
from labelwood.tuning.trials import Trials


@pytest.fixture
def texts(cli, tmp_path):
    path = tmp_path / "rows.jsonl"
    assert cli("data", "synth", path, "--rows", 700, "--labels", 20, "--seed", 3).code == 0
    return path


def train(cli, texts, out, *more):
    return cli("train", texts, "--model", "one-vs-all", "--assign", "none", "--threads", 1, "--out", out, *more)


def arrays(folder):
    return (folder / "arrays.safetensors").read_bytes()


def test_a_search_says_what_each_second_bought(cli, texts, tmp_path):
    done = train(cli, texts, tmp_path / "m", "--budget", "60s", "--json")
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["trials"][0]["setting"] == "default"
    assert {trial["setting"] for trial in facts["trials"]} >= {"default", "C=2.0", "C=0.5", "features.min_df=2"}
    assert any(note.startswith("budget: the search took") for note in facts["notes"])
    assert (tmp_path / "m.search.jsonl").exists()
    assert labelwood.load(tmp_path / "m").predict(["a light steel pan"], k=2)
    shown = train(cli, texts, tmp_path / "m", "--budget", "60s", "--force")
    assert "What each second bought" in shown.out


def test_a_killed_search_goes_on_where_it_was(cli, texts, tmp_path, monkeypatch):
    assert train(cli, texts, tmp_path / "whole", "--budget", "60s").code == 0
    runs = []
    real = Trials._run

    def killed(self, setting, rows, fold, until):
        runs.append((setting, rows, fold))
        if len(runs) == 4:
            raise KeyboardInterrupt
        return real(self, setting, rows, fold, until)

    monkeypatch.setattr(Trials, "_run", killed)
    assert train(cli, texts, tmp_path / "m", "--budget", "60s").code == 130
    assert not (tmp_path / "m").exists()
    first = runs[:3]
    assert train(cli, texts, tmp_path / "m", "--budget", "60s").code == 0
    assert not [run for run in runs[4:] if run in first]  # what was finished is not run again
    assert arrays(tmp_path / "m") == arrays(tmp_path / "whole")


def test_the_journal_of_other_rows_is_refused(cli, texts, tmp_path):
    assert train(cli, texts, tmp_path / "m", "--budget", "5s").code == 0
    other = train(cli, texts, tmp_path / "m", "--budget", "5s", "--set", "eps=0.2", "--force")
    assert other.code == 0, other.err
    (tmp_path / "n.search.jsonl").write_bytes((tmp_path / "m.search.jsonl").read_bytes())
    refused = train(cli, texts, tmp_path / "n", "--budget", "5s")
    assert refused.code == 2
    assert "journal of a search with other data" in refused.err


def test_slips_are_one_line(cli, texts, jsonl, xmc, tmp_path):
    wrong = train(cli, texts, tmp_path / "m", "--budget", "soon")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "must be a time such as 10m" in wrong.err
    few = train(cli, jsonl, tmp_path / "m", "--budget", "5s")
    assert few.code == 2
    assert "a budget needs 500 rows" in few.err
    unknown = cli("train", texts, "--model", "popular", "--budget", "5s", "--out", tmp_path / "m")
    assert unknown.code == 2
    assert "searches settings of ensemble, linear-tree, one-vs-all" in unknown.err
    features = cli("train", xmc, "--budget", "5s", "--lang", "de", "--out", tmp_path / "m")
    assert features.code == 2
    assert "--lang is for texts" in features.err


def test_python_does_the_same(texts):
    data = labelwood.read(texts)
    tuned = labelwood.tune(data, budget="8s", model="linear-tree", n_threads=1)
    assert isinstance(tuned.trained, labelwood.Tagger)
    assert tuned.search_seconds + tuned.fit_seconds < 9
    assert tuned.choice.gain.mean >= 0
    assert tuned.table()[0][1] == "default"


@pytest.mark.slow
def test_a_search_survives_being_killed_again_and_again(cli, texts, tmp_path):
    assert train(cli, texts, tmp_path / "whole", "--budget", "120s").code == 0
    command = [sys.executable, "-m", "labelwood", "train", str(texts), "--model", "one-vs-all", "--assign", "none"]
    command += ["--threads", "1", "--out", str(tmp_path / "m"), "--budget", "120s", "--quiet"]
    journal, kills = tmp_path / "m.search.jsonl", 0
    while True:
        written = journal.read_bytes().count(b"\n") if journal.exists() else 0
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        while process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") > written + 1:  # the header, or a trial more
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        _, messages = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, messages
        kills += 1
        assert kills < 100
    assert kills > 3
    assert arrays(tmp_path / "m") == arrays(tmp_path / "whole")
