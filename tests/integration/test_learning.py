"""Tagger.learn and change_labels: what an editor does after the first afternoon, with models of every kind."""

import numpy as np
import pytest

import labelwood
from labelwood.calibration.fitted import NEW_POWER
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.models.registry import model_names
from labelwood.tagger import learning
from labelwood.tagger.label_states import LabelStates
from labelwood.tagger.tagger import Tagger

KINDS = (
    ("pasta with tomato sauce", "italian"),
    ("cake with flour and cream", "baking"),
    ("steak on the grill", "meat"),
)
TEXTS = [f"{text} number{n}" for n in range(20) for text, _ in KINDS]
LABELS = [[label] for _ in range(20) for _, label in KINDS]
MODELS = ("one-vs-all", "linear-tree", "hsoftmax", "popular", "hierarchicalxc", "ensemble")
UPDATED = ("linear-tree", "dxml")  # taught at once; popular is trained again, as it takes no time
SUSHI = (["sushi with raw fish", "sashimi fish and rice"], [["japanese"], ["japanese", "fish"]])


def trained(name="linear-tree", **more):
    return Tagger(name, n_threads=1, **more).fit(TEXTS, LABELS)


def waiting(monkeypatch, name="one-vs-all", **more):
    """A tagger whose model is not trained again at once."""
    monkeypatch.setattr(learning, "QUICK_WORK", 0)
    return trained(name, **more)


def saved(tagger, folder):
    tagger.save(folder)
    return labelwood.load(folder)


def best(tagger, text):
    return tagger.predict([text], 1)[0][0][0]


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("popular", "hsoftmax")])
def test_new_tags_are_answered_at_once(name, tmp_path):
    tagger = trained(name)
    learnt = tagger.learn(*SUSHI)
    assert (learnt.n_new, learnt.n_corrected, learnt.new_labels) == (2, 0, ("fish", "japanese"))
    for same in (tagger, saved(tagger, tmp_path / "m")):
        assert same.label_names[-2:] == ("fish", "japanese")
        assert best(same, "raw sashimi, fish, sushi") in ("fish", "japanese")
        assert best(same, "tomato pasta") == "italian"
        assert same.explain("raw fish sushi", "japanese").score > 0


@pytest.mark.parametrize("name", model_names())
def test_every_model_says_what_it_does_with_new_tags(name, monkeypatch, tmp_path):
    tagger = waiting(monkeypatch, name, assign="f1")
    learnt = tagger.learn(*SUSHI)
    expected = "updated" if name in UPDATED else "refitted" if name == "popular" else "kept"
    assert learnt.how == expected
    assert {
        "updated": "was updated in",
        "refitted": "was trained again in",
        "kept": f"2 rows kept until {name} is trained again; meanwhile new tags are answered by their nearest examples",
    }[expected] in learnt.text()
    for same in (tagger, saved(tagger, tmp_path / "m")):
        answers = same.predict([*SUSHI[0], "tomato pasta"], 5)
        assert "japanese" in {label for row in answers[:2] for label, _ in row}
        probable = same.predict_proba([*SUSHI[0], "tomato pasta"])
        assert probable.shape == (3, 5)
        assert same.classes_.tolist() == list(same.label_names) == ["baking", "italian", "meat", "fish", "japanese"]
        if expected == "kept":  # a person gave them: they are certain, whatever the model thinks
            assert same.predict(SUSHI[0], assign=True) == [[("japanese", 1.0)], [("fish", 1.0), ("japanese", 1.0)]]
            assert probable[1].toarray().tolist() == [[0, 0, 0, 1, 1]]
        if expected == "updated":
            assert 0 < probable[0, 4] < 1


def test_a_corrected_text_that_has_no_tags_is_given_none(monkeypatch):
    tagger = waiting(monkeypatch, assign="f1")
    text = "steak on the grill today"
    assert tagger.predict([text], assign=True) != [[]]
    tagger.learn([text], [[]])
    assert tagger.predict([text, "steak"], assign=True)[0] == []
    assert tagger.predict_proba([text]).nnz == 0


def test_new_tags_are_less_sure_until_the_model_is_trained_again(tmp_path):
    tagger = trained(assign="f1")
    tagger.learn(*SUSHI)
    tagger = saved(tagger, tmp_path / "m")
    state = tagger.fitted_
    answers = state.predict([SUSHI[0][0]], 5, 1)
    sure = state.sure()
    place = answers.labels[0].tolist().index(state.ids["japanese"])
    assert sure.context is not None
    of_rare = sure.curves[2](sure.context.refined(answers)[0, place : place + 1])[0]
    assert sure.probabilities(answers)[0, place] == pytest.approx(of_rare**NEW_POWER)
    tagger.learn([], [], refit=True)
    assert tagger.calibration_.n_judged == 5


def test_a_refit_learns_anew_how_sure_it_is():
    tagger = trained("one-vs-all", assign="precision=0.9")
    before = tagger.calibration_
    noise = [f"grill the steak {n}" for n in range(30)]
    assert tagger.learn(noise, [["meat", "outdoors"]] * 15 + [["meat"]] * 15).how == "refitted"
    assert str(tagger.calibration_.rule) == "precision=0.9"
    assert tagger.calibration_.held_out["rows"] > before.held_out["rows"]


def test_counted_words_do_not_grow():
    """hsoftmax knows new tags by words of its training and by runs of words, which need no vocabulary."""
    tagger = trained("hsoftmax")
    n_words = tagger.fitted_.words.n_features
    tagger.learn(*SUSHI)
    assert tagger.fitted_.words.n_features == n_words
    shown, single = ([name for name, _ in row] for row in tagger.predict(["some raw fish", "fish"], 5))
    assert "japanese" in shown
    assert "japanese" not in single


@pytest.mark.parametrize("name", MODELS)
def test_a_correction_replaces_the_row_with_its_id_or_text(name):
    data = labelwood.Dataset(
        None,
        np.eye(3)[np.arange(60) % 3],
        texts=TEXTS,
        label_names=["italian", "baking", "meat"],
        row_ids=[f"r{n}" for n in range(60)],
    )
    tagger = Tagger(name, n_threads=1).fit(data)
    learnt = tagger.learn(["a new text of row one", TEXTS[5] + "  "], [["baking"], ["meat", "baking"]], ["r0", ""])
    assert (learnt.n_new, learnt.n_corrected) == (0, 2)
    assert len(tagger.fitted_.rows) == 60
    assert {row.name: row.n_rows for row in tagger.label_table()} == {"italian": 19, "baking": 22, "meat": 20}
    assert tagger.learn([TEXTS[5]], [["baking", "meat"]]).how == "nothing"


def test_what_the_tree_was_taught_wrongly_is_unlearnt():
    tagger = Tagger("linear-tree", n_threads=1).fit([*TEXTS, *["zebra stripes"] * 5], [*LABELS, *[["meat"]] * 5])
    assert best(tagger, "zebra stripes") == "meat"
    assert tagger.learn(["zebra stripes"], [["animals"]]).n_corrected == 1
    assert best(tagger, "zebra stripes") == "animals"
    assert len(tagger.fitted_.rows) == 61


def test_new_words_of_a_tree_count():
    tagger = trained()
    n_words = tagger.fitted_.words.n_features
    tagger.learn([f"quinoa amaranth {n}" for n in range(5)], [["grain"]] * 5)
    assert tagger.fitted_.words.n_features > n_words
    assert tagger.fitted_.model.n_features == tagger.fitted_.words.n_features
    assert best(tagger, "quinoa") == "grain"


def test_rows_wait_until_they_are_many(monkeypatch, tmp_path):
    tagger = waiting(monkeypatch)
    before = tagger.predict(TEXTS, 3)
    learnt = tagger.learn(*SUSHI)
    assert (learnt.how, learnt.n_pending) == ("kept", 2)
    assert "2 rows kept until one-vs-all is trained again" in learnt.text()
    tagger = saved(tagger, tmp_path / "m")
    answers = tagger.predict(TEXTS, 3)
    assert [row[0][0] for row in answers] == [row[0][0] for row in before]
    assert tagger.predict([SUSHI[0][1]], 5) == [[("fish", 1.0), ("japanese", 1.0)]]
    why = tagger.explain("fish from the grill", "fish")
    assert why.words[0][0] == "fish"
    (row,) = tagger.predict(["fish from the grill"], 5)
    assert dict(row)["fish"] == pytest.approx(why.score, rel=1e-5)
    many = [f"ramen noodles {n}" for n in range(8)]
    assert tagger.learn(many, [["japanese"]] * 8).how == "refitted"
    assert tagger.fitted_.rows.n_pending == 0
    assert tagger.fitted_.model.n_labels == 5
    assert best(tagger, "ramen") == "japanese"


def test_a_refit_may_be_asked_for(monkeypatch):
    tagger = waiting(monkeypatch)
    tagger.learn(*SUSHI)
    learnt = tagger.learn([], [], refit=True)
    assert learnt.how == "refitted"
    again = Tagger("one-vs-all", n_threads=1).fit([*TEXTS, *SUSHI[0]], [*LABELS, *SUSHI[1]])
    assert best(tagger, "raw sushi") == best(again, "raw sushi") == "japanese"


def test_without_kept_rows_examples_still_answer(tmp_path):
    tagger = saved(trained(keep_rows=False), tmp_path / "m")
    assert tagger.fitted_.rows is None
    assert tagger.learn(*SUSHI).how == "kept"
    tagger = saved(tagger, tmp_path / "m")
    assert best(tagger, "sushi sashimi fish") in ("japanese", "fish")
    assert {row.name: row.n_rows for row in tagger.label_table()}["italian"] == 20
    with pytest.raises(DataError, match="did not keep its training rows"):
        tagger.learn([], [], refit=True)


def test_large_rows_are_not_kept_unless_asked(monkeypatch):
    monkeypatch.setattr("labelwood.tagger.training.MOST_KEPT_BYTES", 100)
    assert trained().fitted_.rows is None
    assert trained(keep_rows=True).fitted_.rows is not None
    with pytest.raises(ParamError, match="keep_rows must be True, False or None, but is 'yes'"):
        trained(keep_rows="yes")


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_renamed_merged_retired_forbidden(name, tmp_path):
    tagger = trained(name)
    assert tagger.change_labels("rename", "meat", "beef") == "'meat' is now 'beef'"
    assert "20 rows became rows of 'baking'" in tagger.change_labels("merge", "beef", "baking")
    tagger.change_labels("retire", "italian")
    tagger = saved(tagger, tmp_path / "m")
    answers = tagger.predict([*TEXTS, "steak"], 3)
    assert {name for row in answers for name, _ in row} == {"baking"}
    assert {row.name: (row.n_rows, row.state) for row in tagger.label_table()} == {
        "baking": (40, "in use"),
        "italian": (20, "retired"),
        "beef": (0, "merged into 'baking'"),
    }
    tagger.change_labels("add", "italian")
    assert "italian" in {label for label, _ in tagger.predict([TEXTS[0]], 3)[0]}
    tagger.change_labels("forbid", "italian", "never seen")
    assert "italian" not in {label for label, _ in tagger.predict([TEXTS[0]], 3)[0]}
    for forbidden in ("italian", "never seen"):
        with pytest.raises(DataError, match=f"the label '{forbidden}' is forbidden"):
            tagger.learn(["text"], [[forbidden]])
    tagger.learn(["charcoal"], [["beef"]])
    assert {row.name: row.n_rows for row in tagger.label_table()}["baking"] == 41
    assert saved(tagger, tmp_path / "m").label_table()[-1].state == "forbidden"


@pytest.mark.parametrize("name", ["one-vs-all", "linear-tree"])
def test_the_earlier_name_of_a_label_is_that_label(name, tmp_path):
    tagger = trained(name)
    tagger.change_labels("rename", "meat", "beef")
    tagger = saved(tagger, tmp_path / "m")
    learnt = tagger.learn(["charcoal burger"], [["meat"]])
    assert (learnt.new_labels, learnt.renamed) == ((), (("meat", "beef"),))
    assert tagger.learn(["charcoal burger"], [["meat"]]).renamed == (("meat", "beef"),)
    assert tagger.label_names == ("baking", "italian", "beef")
    assert tagger.explain("steak", "meat").label == "beef"
    assert tagger.evaluate(["steak on the grill"], [["meat"]])["P@1"] == 100
    assert {label for label, _ in tagger.predict(["steak"], 3, include=["meat"])[0]} == {"beef"}
    tagger.change_labels("rename", "meat", "steaks")
    tagger.change_labels("merge", "meat", "baking")
    learnt = saved(tagger, tmp_path / "m").learn(["ribs"], [["meat", "steaks"]])
    assert (learnt.new_labels, learnt.renamed) == ((), (("meat", "baking"), ("steaks", "baking")))


def test_an_earlier_name_may_be_used_again(tmp_path):
    tagger = trained()
    tagger.change_labels("rename", "meat", "beef")
    tagger.change_labels("rename", "beef", "meat")
    assert tagger.learn(["ham"], [["meat"]]).renamed == ()
    assert tagger.learn(["ham and egg"], [["beef"]]).renamed == (("beef", "meat"),)
    tagger.change_labels("add", "beef")
    assert tagger.learn(["tender beef"], [["beef"]]).renamed == ()
    assert "beef" in saved(tagger, tmp_path / "m").label_names
    tagger.change_labels("rename", "meat", "pork")
    tagger.change_labels("rename", "italian", "meat")
    assert tagger.learn(["tomato and meat"], [["meat"]]).renamed == ()


@pytest.mark.parametrize(
    "facts",
    [
        {"added": [["x"]]},
        {"added": [1]},
        {"forbidden": [{"x": 1}]},
        {"retired": "meat"},
        {"merged": {"meat": ["baking"]}},
        {"former": ["meat"]},
        {"former": {"old": {"a": 1}}},
        {"former": {"old": "nobody"}},
        {"former": {"meat": "baking"}},
        {"spoiled": []},
    ],
)
def test_damaged_label_states_are_refused(facts):
    with pytest.raises(ModelFileError, match="label states"):
        LabelStates.restore(facts, ("baking", "italian", "meat"))


def test_a_retired_label_that_is_taught_is_answered_again():
    tagger = trained()
    tagger.change_labels("retire", "meat")
    tagger.learn([TEXTS[2]], [["meat"]])
    assert best(tagger, "steak on the grill") == "meat"


def test_a_label_is_added_by_name_or_with_an_example(monkeypatch):
    tagger = waiting(monkeypatch)
    tagger.change_labels("add", "vegan tofu")
    assert best(tagger, "tofu for a vegan") == "vegan tofu"
    tagger.change_labels("add", "soup", text="broth and dumplings")
    assert best(tagger, "dumplings") == "soup"
    assert [row.state for row in tagger.label_table()[-2:]] == ["new", "new"]
    tagger.change_labels("rename", "soup", "broths")
    assert best(tagger, "dumplings") == "broths"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("add", "meat"), "'meat' is there already"),
        (("rename", "meet", "x"), "unknown label 'meet'; did you mean 'meat'"),
        (("rename", "meat", "baking"), "there already; merge 'meat' into it"),
        (("add", "soup", "soup"), "'soup' is named twice"),
        (("add", "soup", "meat"), "'meat' is there already"),
        (("rename", "meat", "meat"), "'meat' has that name already"),
        (("rename", "meat", "x", "y"), "rename takes 2 names, but got 3"),
        (("merge", "meat", "meat"), "into itself"),
        (("merge", "meat", "meet"), "unknown label 'meet'; did you mean 'meat'"),
        (("retire", "meat", "meat"), "'meat' is named twice"),
        (("retire", "nothing"), "unknown label 'nothing'"),
        (("forbid", "meat", "meat"), "'meat' is named twice"),
        (("merge", "meat"), "merge takes 2 names, but got 1"),
        (("retire",), "one or more names"),
        (("retire", " "), "a label name must have words"),
        (("drop", "meat"), "unknown action 'drop'"),
    ],
)
def test_changes_that_make_no_sense_are_refused(change, message):
    tagger = trained("popular")
    state = tagger.fitted_
    with pytest.raises((DataError, ParamError), match=message):
        tagger.change_labels(*change)
    assert tagger.fitted_ is state


def test_what_was_decided_is_not_decided_again():
    tagger = trained("popular")
    tagger.change_labels("retire", "meat")
    tagger.change_labels("forbid", "baking", "misc")
    state = tagger.fitted_
    for change, message in (
        (("retire", "meat"), "'meat' is retired already"),
        (("retire", "baking"), "'baking' is forbidden already"),
        (("forbid", "misc"), "'misc' is forbidden already"),
        (("merge", "italian", "meat"), "'meat' is retired: nothing would be answered; add it again first"),
        (("rename", "italian", "misc"), "'misc' is forbidden; choose another name"),
    ):
        with pytest.raises(DataError, match=message):
            tagger.change_labels(*change)
        assert tagger.fitted_ is state
    assert tagger.change_labels("add", "meat", "baking") == "'meat', 'baking' are answered again"


def test_a_failure_leaves_the_tagger_as_it_was(monkeypatch):
    tagger = trained()
    state = tagger.fitted_
    with pytest.raises(DataError, match="there are 1 texts but 2 ids"):
        tagger.learn(["a"], [["b"]], ["1", "2"])

    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(learning._UPDATES, "linear-tree", broken)
    with pytest.raises(KeyboardInterrupt):
        tagger.learn(*SUSHI)
    assert tagger.fitted_ is state


def test_of_rows_that_come_twice_the_last_counts():
    tagger = trained()
    learnt = tagger.learn(["rye bread", "rye  bread", "oat bread"], [["a"], ["b"], ["c"]], ["", "7", "7"])
    assert (learnt.n_new, learnt.new_labels) == (1, ("c",))
