"""A tagger and its vectorizers as scikit-learn's users meet them: nested parameters, searches, copies."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import FeatureUnion, Pipeline

import labelwood as lw
from labelwood.errors import ParamError
from labelwood.features.bag import BagVectorizer

TEXTS = ["apple pie", "apple juice", "chocolate cake", "orange juice", "apple cake", "orange cake"] * 4
LABELS = [["apple", "dessert"], ["apple", "drink"], ["dessert"], ["drink"], ["dessert", "apple"], ["dessert"]] * 4


def test_nested_parameters_of_a_named_model():
    tagger = lw.Tagger("linear-tree", model_params={"C": 2.0})
    assert tagger.get_params()["model__C"] == 2.0
    assert tagger.get_params()["features__sublinear_tf"] is True
    assert "model__C" not in tagger.get_params(deep=False)
    tagger.set_params(model__C=0.5, features__min_df=2, seed=3)
    assert tagger.model_params == {"C": 0.5}
    assert tagger.features == {"min_df": 2}
    assert tagger.seed == 3
    assert tagger.fit(TEXTS, LABELS).model_.parameters_.C == 0.5


def test_nested_parameters_of_a_given_model():
    tagger = lw.Tagger(lw.OneVsAll(C=3.0))
    assert tagger.get_params()["model__C"] == 3.0
    tagger.set_params(model__C=0.25)
    assert tagger.fit(TEXTS, LABELS).model_.parameters_.C == 0.25
    assert not tagger.model.__sklearn_is_fitted__()  # the one given is a pattern


def test_model_first_then_its_parameters():
    tagger = lw.Tagger().set_params(model__epochs=2, model="hsoftmax", features__word_ngrams=1)
    assert tagger.model_params == {"epochs": 2}
    assert isinstance(tagger.fit(TEXTS, LABELS).vectorizer_, BagVectorizer)


@pytest.mark.parametrize("parameter", ["model__CC", "features__min", "modl", "other__C"])
def test_unknown_nested_parameters_are_refused(parameter):
    with pytest.raises(ParamError, match="unknown parameter"):
        lw.Tagger("one-vs-all").set_params(**{parameter: 1})


def test_grid_search_over_both_parts():
    search = GridSearchCV(
        lw.Tagger("one-vs-all", n_threads=1),
        {"model__C": [0.1, 1.0], "features__min_df": [1, 2]},
        scoring=lw.scorer("P@1"),
        cv=2,
        error_score="raise",
    ).fit(TEXTS, LABELS)
    assert search.best_score_ == 100
    assert search.predict(["apple pie"])[0][0][0] in ("apple", "dessert")


def test_default_score_and_cross_validation():
    tagger = lw.Tagger("one-vs-all", n_threads=1)
    assert cross_validate(tagger, TEXTS, LABELS, cv=2, error_score="raise")["test_score"].min() > 50
    assert tagger.fit(TEXTS, LABELS).score(TEXTS, LABELS) == tagger.evaluate(TEXTS, LABELS)["nDCG@5"]


def test_vectorizers_in_pipelines():
    words = FeatureUnion([("words", lw.TfidfVectorizer()), ("runs", BagVectorizer(buckets=50))])
    pipeline = Pipeline([("features", words), ("model", lw.OneVsAll(n_threads=1))]).fit(TEXTS, LABELS)
    assert len(words.get_feature_names_out()) == pipeline[-1].n_features_in_
    assert pipeline.score(TEXTS, LABELS) > 90
    assert cross_val_predict(pipeline, TEXTS, LABELS, cv=2).labels.shape == (24, 5)
    assert "TfidfVectorizer" in pipeline._repr_html_()
    assert clone(pipeline).get_params()["features__runs__buckets"] == 50


@pytest.mark.parametrize("way", ["pickle", "joblib", "deepcopy"])
@pytest.mark.parametrize("model", ["one-vs-all", "hsoftmax"])
def test_copies_answer_alike(tmp_path, way, model):
    tagger = lw.Tagger(model, n_threads=1).fit(TEXTS, LABELS)
    if way == "joblib":
        joblib.dump(tagger, tmp_path / "tagger")
        other = joblib.load(tmp_path / "tagger")
    else:
        other = pickle.loads(pickle.dumps(tagger)) if way == "pickle" else copy.deepcopy(tagger)
    assert other.predict(TEXTS) == tagger.predict(TEXTS)
    assert other.get_params() == tagger.get_params()


@pytest.mark.parametrize("kind", [lw.TfidfVectorizer, BagVectorizer])
def test_vectorizers_can_be_copied(kind):
    made = kind(n_threads=1).fit(TEXTS)
    other = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(other.transform(TEXTS).toarray(), made.transform(TEXTS).toarray())
    assert other.feature_names == made.feature_names


def test_one_and_two_threads_give_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    for n_threads in (1, 2):
        lw.Tagger("one-vs-all", n_threads=n_threads).fit(TEXTS, LABELS).save(tmp_path / str(n_threads))
    for file in ("manifest.json", "arrays.safetensors"):
        assert (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes()


def test_single_labels_ids_and_matrices():
    single = lw.Tagger("one-vs-all").fit(TEXTS, [labels[0] for labels in LABELS])
    assert single.label_names == ("apple", "dessert", "drink")
    by_id = lw.Tagger("one-vs-all").fit(TEXTS, [[3, 7] if "apple" in text else [5] for text in TEXTS])
    assert by_id.label_names == ("3", "5", "7")
    assert {name for name, _ in by_id.predict(["apple"], k=2)[0]} == {"3", "7"}


def test_hashed_columns_show_the_words_of_the_text():
    tagger = lw.Tagger("one-vs-all", features={"hashing": 4096}).fit(TEXTS, LABELS)
    assert {word for word, _ in tagger.explain("apple cake", "apple").words} == {"apple", "cake"}
    runs = lw.Tagger("hsoftmax", n_threads=1).fit(TEXTS, LABELS)
    assert "apple cake" in {word for word, _ in runs.explain("apple cake", "apple").words}


def test_reasons_are_a_visible_sum():
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(TEXTS, LABELS)
    reason = tagger.explain("apple pie", "apple")
    shown = sum(push for _, push in reason.words) + reason.rest
    assert shown == pytest.approx(reason.explanation.total)
    assert reason.score == pytest.approx(dict(tagger.predict(["apple pie"])[0])["apple"], abs=1e-6)
    assert reason.text().endswith(f"= {shown:+.2f} -> score {reason.score:.3f}")
