"""What someone with a table of products does: 0 to n tags, how sure, nonsense, and an evaluation in words."""

import csv
import json
import pickle

import numpy as np
import pytest

import labelwood as lw
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.errors import ModelFileError, ParamError
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

TRAIN, TEST = make_texts(800, n_labels=60), make_texts(400, n_labels=60, seed=1)


def write_table(path, data):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sku", "body", "tags"])
        for row, text in enumerate(data.texts):
            writer.writerow([f"s{row}", text, ";".join(data.label_names[label] for label in data.y[row].indices)])
    return path


COLUMNS = ("--text", "body", "--labels", "tags")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    return write_table(folder / "train.csv", TRAIN), write_table(folder / "test.csv", TEST)


@pytest.fixture(scope="module")
def folder(tables, tmp_path_factory):
    from labelwood.cli.main import run

    place = tmp_path_factory.mktemp("models") / "m"
    assert run(["train", str(tables[0]), *COLUMNS, "--out", str(place), "--threads", "1", "-q"]) == 0
    return place


@pytest.fixture(scope="module")
def tagger():
    return lw.Tagger(assign="f1", n_threads=1).fit(TRAIN)


def test_training_says_what_the_rule_reaches(cli, tables, tmp_path):
    done = cli("train", tables[0], *COLUMNS, "--out", tmp_path / "m", "--assign", "precision=0.9", "--threads", 1)
    assert done.code == 0
    assert "tags are assigned by precision=0.9: on 790 held-out rows," in done.out
    facts = json.loads(cli("inspect", tmp_path / "m", "--json").out)["facts"]["calibration"]
    assert facts["assign"] == "precision=0.9"


def test_rows_get_as_many_tags_as_fit(cli, folder, tables, tmp_path):
    assert cli("predict", folder, tables[1], "--text", "body", "--shape", "long", "--out", tmp_path / "a.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert set(rows[0]) == {"id", "rank", "label", "probability"}
    per_row = np.bincount([int(row["id"]) for row in rows], minlength=400)
    assert len(set(per_row.tolist())) > 2
    assert all(0 <= float(row["probability"]) <= 1 for row in rows)
    true = [{TEST.label_names[label] for label in TEST.y[row].indices} for row in range(400)]
    sure = [row for row in rows if float(row["probability"]) > 0.9]
    assert np.mean([row["label"] in true[int(row["id"])] for row in sure]) > 0.9


def test_whoever_asks_may_draw_the_line(cli, folder, tables, tmp_path):
    tagger = lw.load(folder)
    every = tagger.predict_proba(TEST.texts[:50], 60).toarray()
    counts = []
    for least in (0.05, 0.4, 0.9):
        arguments = (folder, tables[1], "--text", "body", "--threshold", least)
        lines = cli("predict", *arguments, "-q").out.splitlines()
        given = [json.loads(line)["labels"] for line in lines]
        assert all(label["probability"] >= least for row in given for label in row)
        # Nothing that is so probable is missing, and Python answers alike.
        assert [len(row) for row in given[:50]] == (every >= least).sum(axis=1).tolist()
        answers = tagger.predict(TEST.texts, assign=f"threshold={least}")
        assert [[label["label"] for label in row] for row in given] == [[name for name, _ in row] for row in answers]
        counts.append(sum(map(len, given)))
        lines = cli("predict", *arguments, "-q", "-k", 1).out.splitlines()
        assert max(len(json.loads(line)["labels"]) for line in lines) == 1
        judged = json.loads(cli("evaluate", folder, tables[1], *COLUMNS, "--threshold", least, "--json").out)
        assert judged["tags_a_row"] == pytest.approx(counts[-1] / 400)
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == 3
    out = tmp_path / "tagged.csv"
    assert cli("predict", folder, tables[1], "--text", "body", "--threshold", 0.4, "--out", out).code == 0
    assert "probabilities" in out.read_text().splitlines()[0]


def test_other_lines_are_refused(cli, folder, tables, tmp_path):
    for given, said in (
        (["--threshold", "40"], "--threshold must be a probability above 0 and up to 1, but is 40"),
        (["--threshold", "nan"], "--threshold must be a probability"),
        (["--threshold", "0.4", "--no-assign"], "does not go with --no-assign"),
    ):
        done = cli("predict", folder, tables[1], "--text", "body", *given)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
    done = cli("train", tables[0], *COLUMNS, "--assign", "none", "--out", tmp_path / "m", "--threads", 1, "-q")
    assert done.code == 0
    for command in ("predict", "evaluate"):
        done = cli(command, tmp_path / "m", tables[1], "--text", "body", "--threshold", "0.4")
        assert done.code == 2
        assert "has not learnt how sure it is" in done.err
    with pytest.raises(ParamError, match=r"assign= must be True, False or 'threshold=0.5', but is 'f1'; other rules"):
        lw.load(folder).predict(["a lamp"], assign="f1")


def test_the_line_may_be_the_rule(cli, tables, tmp_path):
    done = cli("train", tables[0], *COLUMNS, "--assign", "threshold=0.7", "--out", tmp_path / "m", "--threads", 1)
    assert "tags are assigned by threshold=0.7: on 790 held-out rows," in done.out
    tagger = lw.load(tmp_path / "m")
    assert tagger.predict(TEST.texts, assign=True) == tagger.predict(TEST.texts, assign="threshold=0.7")


def test_the_k_best_and_their_scores_stay_to_be_had(cli, folder, tables, tmp_path):
    out = tmp_path / "a.csv"
    for arguments in (["-k", 3], ["--no-assign"]):
        cli("predict", folder, tables[1], "--text", "body", *arguments, "--shape", "long", "--out", out, "--force")
        rows = list(csv.DictReader(out.read_text().splitlines()))
        assert "score" in rows[0]
        assert len(rows) == 400 * (3 if "-k" in arguments else 5)
    lines = cli("predict", folder, tables[1], "--text", "body", "--assign", "-k", 1, "-q").out.splitlines()
    assert max(len(json.loads(line)["labels"]) for line in lines) == 1


def test_nonsense_gets_nothing_and_is_told(cli, folder, tmp_path):
    (tmp_path / "new.csv").write_text("body\nzzzzqqq\n")
    done = cli("predict", folder, tmp_path / "new.csv", "--text", "body")
    assert json.loads(done.out)["labels"] == []
    assert "note: 1 row has no word that the tagger knows, so no tags" in done.err
    done = cli("predict", folder, tmp_path / "new.csv", "--text", "body", "--out", tmp_path / "a.jsonl", "--json")
    assert "1 row has no word" in json.loads(done.out)["notes"][-1]


def test_the_evaluation_begins_with_a_sentence(cli, folder, tables, tmp_path):
    done = cli("evaluate", folder, tables[1], *COLUMNS, "--html", tmp_path / "e.html")
    first = done.out.splitlines()[0]
    assert first.startswith("Of the tags it assigns, ")
    assert "% (" in first
    assert "of the true ones. Baseline, the most frequent " in first
    assert "PSP and PSnDCG with A = 0.55, B = 1.5 (the usual ones)" in done.out
    page = (tmp_path / "e.html").read_text()
    assert "Of the tags it assigns" in page
    assert "<svg" in page


def test_the_evaluation_as_json(cli, folder, tables):
    facts = json.loads(cli("evaluate", folder, tables[1], *COLUMNS, "--json", "--propensity", "0.6,2.6").out)
    assert facts["propensity"] == [0.6, 2.6]
    assert not facts["seen_in_training"]
    precision = facts["assigned"]["precision"]
    assert precision["low"] <= precision["value"] <= precision["high"]
    assert facts["popular_baseline"]["precision"] < precision["value"]
    assert facts["calibration_error"] < 0.06
    usual = json.loads(cli("evaluate", folder, tables[1], *COLUMNS, "--json").out)
    assert usual["metrics"]["PSP@5"] != facts["metrics"]["PSP@5"]


def test_figures_of_the_training_file_are_flagged(cli, folder, tables, tmp_path):
    assert "rows that it was trained on" in cli("evaluate", folder, tables[0], *COLUMNS).out.splitlines()[0]
    lines = tables[0].read_text().splitlines(keepends=True)
    (tmp_path / "known.csv").write_text("".join(lines))
    assert json.loads(cli("evaluate", folder, tmp_path / "known.csv", *COLUMNS, "--json").out)["seen_in_training"]
    assert "trained on" not in cli("evaluate", folder, tables[1], *COLUMNS).out


def test_data_in_a_known_folder_has_its_constants(cli, folder, tables, tmp_path):
    (tmp_path / "Amazon-670K").mkdir()
    place = tmp_path / "Amazon-670K" / "test.csv"
    place.write_text(tables[1].read_text())
    assert "A = 0.6, B = 2.6 (those of Amazon-670K)" in cli("evaluate", folder, place, *COLUMNS).out


def test_a_tagger_without_a_rule_says_so(cli, tables, tmp_path):
    assert cli("train", tables[0], *COLUMNS, "--out", tmp_path / "m", "--assign", "none", "--threads", 1).code == 0
    done = cli("predict", tmp_path / "m", tables[1], "--text", "body", "--assign")
    assert done.code == 2
    assert "has not learnt how sure it is" in done.err
    assert cli("evaluate", tmp_path / "m", tables[1], *COLUMNS).out.startswith("Of its first answer, ")


@pytest.mark.parametrize("rule", ["f2", "precision=2", "count"])
def test_bad_rules_are_refused_before_the_data_is_read(cli, tmp_path, rule):
    done = cli("train", tmp_path / "absent.csv", "--out", tmp_path / "m", "--assign", rule)
    assert done.code == 2
    assert "assign" in done.err
    assert repr(rule) in done.err


@pytest.mark.parametrize("constants", ["1", "a,b", "1,2,3"])
def test_bad_constants_are_refused(cli, folder, tables, constants):
    done = cli("evaluate", folder, tables[1], *COLUMNS, "--propensity", constants)
    assert done.code == 2
    assert "--propensity must be two numbers" in done.err


def test_rules_are_for_texts(cli, xmc, model, tmp_path):
    done = cli("train", xmc, "--out", tmp_path / "m2", "--assign", "f1")
    assert done.code == 2
    assert "holds features" in done.err
    assert "model of feature rows" in cli("predict", model, xmc, "--assign").err
    assert cli("evaluate", model, xmc).out.startswith("Of its first answer, ")


def test_few_rows_are_told(cli, jsonl, tmp_path):
    done = cli("train", jsonl, "--out", tmp_path / "m", "--threads", 1)
    assert "fewer than 50 rows with labels" in done.err


# from Python


def test_assigned_tags_from_python(tagger):
    answers = tagger.predict([*TEST.texts[:50], "zzzzqqq", ""], assign=True)
    assert answers[-2:] == [[], []]
    assert all(probabilities == sorted(probabilities, reverse=True) for probabilities in
               ([probability for _, probability in row] for row in answers))  # fmt: skip
    assert max(map(len, tagger.predict(TEST.texts, k=1, assign=True))) == 1
    assert tagger.predict([], assign=True) == []
    assert [len(row) for row in tagger.predict(TEST.texts[:3])] == [5, 5, 5]
    likely = tagger.predict_proba(TEST.texts[:3], k=4)
    assert likely.shape == (3, 60)
    assert likely.data.max() <= 1


def test_saved_and_copied_taggers_assign_alike(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    loaded = lw.load(tmp_path / "m")
    expected = tagger.predict(TEST.texts, assign=True)
    assert loaded.predict(TEST.texts, assign=True) == expected
    assert pickle.loads(pickle.dumps(tagger)).predict(TEST.texts, assign=True) == expected
    assert loaded.assign == "f1"
    assert loaded.fit(TRAIN).predict(TEST.texts, assign=True) == expected


def test_assigning_needs_a_rule(tagger):
    plain = lw.Tagger(n_threads=1).fit(TRAIN)
    assert plain.calibration_ is None
    assert plain.predict(TEST.texts[:5]) == tagger.predict(TEST.texts[:5])
    for ask in (lambda: plain.predict(["x"], assign=True), lambda: plain.predict_proba(["x"])):
        with pytest.raises(ParamError, match="has not learnt how sure"):
            ask()
    with pytest.raises(ParamError, match="assign= must be one of"):
        lw.Tagger(assign="best").fit(TRAIN)


@pytest.mark.parametrize("name", ["popular", "linear-tree", "hsoftmax", "hierarchicalxc", "ensemble"])
def test_other_models_assign_too(name):
    tagger = lw.Tagger(name, assign="count=2", n_threads=1).fit(TRAIN.take(np.arange(200)))
    given = tagger.predict_top(TEST.texts, assign=True)
    assert 0.5 < (given.labels >= 0).sum() / len(given) < 4 or name == "popular"


def test_damaged_calibrations_are_refused(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    manifest, arrays = load_folder(tmp_path / "m")
    fields = {name: manifest[name] for name in ("kind", "name", "parameters", "shape", "facts", "seed")}
    few = {name: array for name, array in arrays.items() if name != "calibration.cuts"}
    save_folder(tmp_path / "few", fields, few)
    with pytest.raises(ModelFileError, match="cuts"):
        lw.load(tmp_path / "few")
    facts = {name: value for name, value in fields["facts"].items() if name != "calibration"}
    save_folder(tmp_path / "facts", {**fields, "facts": facts}, arrays)
    with pytest.raises(ModelFileError, match="calibration"):
        lw.load(tmp_path / "facts")
    bare = {name: array for name, array in arrays.items() if not name.startswith("calibration.")}
    save_folder(tmp_path / "bare", {**fields, "facts": facts}, bare)
    assert lw.load(tmp_path / "bare").calibration_ is None
