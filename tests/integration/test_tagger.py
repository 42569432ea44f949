"""Tagger: texts in, names out, one folder, and errors that help."""

import json

import numpy as np
import pytest

import labelwood
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ModelFileError, NotFittedError, ParamError
from labelwood.models.registry import AUTO, model_names
from labelwood.progress import Callback
from labelwood.tagger.tagger import Tagger

TEXTS = [
    "apple pie with cinnamon",
    "apple juice, cold and fresh",
    "chocolate cake with cream",
    "orange juice without ice",
    "apple cake and cream",
    "orange cake",
]
LABELS = [["apple", "dessert"], ["apple", "drink"], ["dessert"], ["drink"], ["dessert", "apple"], ["dessert"]]


@pytest.fixture(scope="module", params=model_names())
def tagger(request):
    return Tagger(request.param, n_threads=1).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def default():
    return Tagger(n_threads=1).fit(TEXTS, LABELS)


def test_names_and_scores_best_first(tagger):
    answers = tagger.predict(TEXTS, k=2)
    assert len(answers) == len(TEXTS)
    for row in answers:
        assert len(row) == 2
        assert all(name in tagger.label_names and isinstance(score, float) for name, score in row)
        assert row[0][1] >= row[1][1]


def test_label_names_are_sorted(tagger):
    assert tagger.label_names == ("apple", "dessert", "drink")


def test_it_learns_what_it_was_shown(default):
    for text, names in zip(TEXTS, LABELS, strict=True):
        assert {name for name, _ in default.predict([text], k=len(names))[0]} == set(names)
    assert default.evaluate(TEXTS, LABELS)["P@1"] == 100.0


def test_more_labels_than_there_are(tagger):
    assert len(tagger.predict(["apple"], k=50)[0]) <= 3


def test_no_texts_no_answers(tagger):
    assert tagger.predict([]) == []


@pytest.mark.parametrize("text", ["", "   ", "zzz qqq", "!!!", "日本"])
def test_texts_without_known_words_are_answered(tagger, text):
    assert len(tagger.predict([text], k=1)) == 1


def test_a_dataset_trains_the_same(tagger):
    y = np.array([[name in names for name in ("apple", "dessert", "drink")] for names in LABELS])
    data = Dataset(None, y, texts=TEXTS, label_names=["apple", "dessert", "drink"])
    other = Tagger(tagger.model, n_threads=1).fit(data)
    assert other.predict(TEXTS) == tagger.predict(TEXTS)
    assert other.evaluate(data) == tagger.evaluate(TEXTS, LABELS)


def test_a_dataset_without_names_gets_numbers():
    data = Dataset(None, np.eye(3), texts=["apple pie", "cold juice", "big cake"])
    assert Tagger("popular").fit(data).label_names == ("0", "1", "2")


def test_arrays_and_generators_are_lists_too(tagger):
    other = Tagger(tagger.model, n_threads=1).fit(np.array(TEXTS), (tuple(names) for names in LABELS))
    assert other.predict(iter(TEXTS)) == tagger.predict(TEXTS)


def test_saved_and_loaded_answers_are_equal(tagger, tmp_path):
    tagger.save(tmp_path / "tagger", extra={"who": "me"})
    loaded = labelwood.load(tmp_path / "tagger", verify=True)
    assert isinstance(loaded, Tagger)
    assert loaded.label_names == tagger.label_names
    assert loaded.model == tagger.model
    assert loaded.predict(TEXTS, k=3) == tagger.predict(TEXTS, k=3)
    assert loaded.evaluate(TEXTS, LABELS) == tagger.evaluate(TEXTS, LABELS)
    assert json.loads((tmp_path / "tagger" / "manifest.json").read_text())["extra"] == {"who": "me"}
    loaded.save(tmp_path / "again")
    assert labelwood.load(tmp_path / "again").predict(TEXTS) == tagger.predict(TEXTS)
    refitted = loaded.fit(TEXTS, LABELS)
    assert refitted.predict(TEXTS, k=3) == tagger.predict(TEXTS, k=3)


def test_a_folder_without_names_is_no_tagger(tagger, tmp_path):
    from labelwood.storage.load import load_folder
    from labelwood.storage.save import save_folder

    tagger.save(tmp_path / "tagger")
    manifest, arrays = load_folder(tmp_path / "tagger")
    kept = {key: manifest[key] for key in ("kind", "name", "parameters", "shape", "facts", "seed")}
    few = {name: array for name, array in arrays.items() if not name.startswith("model.labels.")}
    save_folder(tmp_path / "no names", kept, {**few, "model.labels.counts": arrays["model.labels.counts"]})
    with pytest.raises(ModelFileError, match="needs label names"):
        labelwood.load(tmp_path / "no names")
    save_folder(tmp_path / "strange", kept, {**arrays, "stranger": np.zeros(1)})
    with pytest.raises(ModelFileError, match="'stranger' belongs neither"):
        labelwood.load(tmp_path / "strange")
    save_folder(tmp_path / "facts", {**kept, "facts": {}}, arrays)
    with pytest.raises(ModelFileError, match="its facts are"):
        labelwood.load(tmp_path / "facts")


def test_words_that_explain_add_up(default):
    text = "apple cake with cream"
    why = default.explain(text, "dessert")
    assert why.label == "dessert"
    assert {word for word, _ in why.words} <= set(text.split())
    sizes = [abs(push) for _, push in why.words]
    assert sizes == sorted(sizes, reverse=True)
    margins = sum(node.margin for node in why.explanation.nodes)
    assert sum(push for _, push in why.words) + why.rest == pytest.approx(margins, rel=1e-4, abs=1e-5)
    assert dict(default.predict([text], k=3)[0])["dessert"] == pytest.approx(why.score, rel=1e-5)
    assert dict(why.words)["cake"] > 0
    assert "cake +" in why.text()


def test_a_reason_without_words_says_so():
    tagger = Tagger("popular").fit(TEXTS, LABELS)
    assert tagger.explain("apple", "apple").text() == "no word of this text has a weight for the label"


def test_hashed_features_work_without_words():
    tagger = Tagger(features={"hashing": 512}).fit(TEXTS, LABELS)
    why = tagger.explain(TEXTS[0], "apple")
    assert why.words
    assert all(word.startswith("bucket ") for word, _ in why.words)


def test_features_can_be_chosen():
    texts = [f"word{i % 7} single{i}" for i in range(100)]
    labels = [[f"tag{i % 7}"] for i in range(100)]
    assert Tagger("popular").fit(texts, labels).model_.n_features_ == 107
    tagger = Tagger("popular", features={"min_df": 2, "sublinear_tf": False}).fit(texts, labels)
    assert tagger.model_.n_features_ == 7
    assert not tagger.vectorizer_.get_params()["sublinear_tf"]


def test_unknown_true_labels_count_as_missed(default):
    known = default.evaluate(["apple cake"], [["dessert"]])
    both = default.evaluate(["apple cake"], [["dessert", "never seen"]])
    assert known["R@3"] == 100.0
    assert both["R@3"] == 50.0


def test_seed_and_parameters_reach_the_model():
    tagger = Tagger("popular", seed=4, n_threads=2, model_params={"seed": 9}).fit(TEXTS, LABELS)
    assert tagger.model_.get_params() == {"seed": 9, "n_threads": 2}
    assert Tagger("popular", seed=4).fit(TEXTS, LABELS).model_.seed == 4


def test_progress_is_reported():
    seen = []
    Tagger("popular").fit(TEXTS, LABELS, progress=Callback(lambda *report: seen.append(report)))
    assert ("turning texts into features", 6, 6) in seen


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("one text", [["a"]], r"but one string came; write \[text\]"),
        (None, [["a"]], "must be a list of texts, but got None"),
        ([], [], "at least one text"),
        (["a b", None], [["a"], ["b"]], "texts, row 1: expected a string, but got None"),
        (["a b", 3.5], [["a"], ["b"]], "texts, row 1: expected a string, but got 3.5"),
        (
            ["a b"],
            ["red"],
            r"labels, row 0: expected a list of names, but got the string 'red'; write \['red'\]",
        ),
        (["a b"], "red", "one list of names a row, but one string came"),
        (["a b"], None, "labels are missing"),
        (["a b"], [["a"], ["b"]], "there are 1 texts but 2 lists of labels"),
        (["a b"], [[]], "no text has a label"),
        (["a b"], [[""]], "a label name must be a string with words"),
        (["a b"], [[None]], "but is None"),
        (["", "  "], [["a"], ["b"]], "no"),
    ],
)
def test_what_cannot_be_learnt_is_refused(texts, labels, message):
    with pytest.raises(DataError, match=message):
        Tagger("popular").fit(texts, labels)


def test_questions_that_make_no_sense_are_refused(tagger):
    with pytest.raises(DataError, match=r"write \[text\]"):
        tagger.predict("apple pie")
    with pytest.raises(DataError, match="row 0: expected a string"):
        tagger.predict([None])
    with pytest.raises(ParamError, match="k must be"):
        tagger.predict(["apple"], k=0)
    with pytest.raises(DataError, match="unknown label 'desert'; did you mean 'dessert'"):
        tagger.explain("cake", "desert")
    with pytest.raises(DataError, match="explain takes one text"):
        tagger.explain(["cake"], "dessert")
    with pytest.raises(DataError, match="2 texts but 1 lists"):
        tagger.evaluate(["a", "b"], [["apple"]])
    with pytest.raises(DataError, match="labels have no names"):
        tagger.evaluate(Dataset(None, np.eye(1), texts=["cake"]))


def test_features_are_refused_where_texts_are_needed(tagger):
    data = Dataset(np.eye(2), np.eye(2), source="rows.npz")
    with pytest.raises(DataError, match=r"rows\.npz: its rows have features but no texts"):
        Tagger().fit(data)
    with pytest.raises(DataError, match="takes a Dataset alone"):
        Tagger().fit(Dataset(None, np.eye(2), texts=["a", "b"]), LABELS)


def test_unknown_models_and_parameters_are_refused():
    with pytest.raises(ParamError, match="unknown model 'one-vs-al'; did you mean 'one-vs-all'"):
        Tagger("one-vs-al").fit(TEXTS, LABELS)
    with pytest.raises(ParamError, match="did you mean 'seed'"):
        Tagger("popular", model_params={"sed": 1}).fit(TEXTS, LABELS)
    with pytest.raises(ParamError, match="did you mean 'min_df'"):
        Tagger("popular", features={"min_dff": 1}).fit(TEXTS, LABELS)


def test_an_untrained_tagger_says_so(tmp_path):
    fresh = Tagger()
    assert fresh.model == AUTO
    for ask in (
        lambda: fresh.predict(["a"]),
        lambda: fresh.explain("a", "b"),
        lambda: fresh.save(tmp_path),
        lambda: fresh.label_names,
        lambda: fresh.evaluate(["a"], [["b"]]),
    ):
        with pytest.raises(NotFittedError, match="not trained yet"):
            ask()
