"""Contract: every model works where scikit-learn expects an estimator."""

import numpy as np
import pandas
import pytest
import sklearn.exceptions
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

import labelwood
from labelwood.errors import DataError, NotFittedError
from labelwood.models.registry import model_class, model_names

FOLDS = KFold(2)
# What scikit-learn's own checks ask for that cannot hold here, each with the reason.
NO_ARRAY = "predict gives a TopK, the k best labels with scores, not an array of one class a row"
NOT_APPLICABLE = {
    "check_estimator_sparse_array": NO_ARRAY,
    "check_estimator_sparse_matrix": NO_ARRAY,
    "check_methods_sample_order_invariance": NO_ARRAY,
    "check_methods_subset_invariance": NO_ARRAY,
    "check_fit2d_predict1d": "one row may come as a 1-d array: a query is often one row",
    "check_dtype_object": "a cell that is no number is a DataError, which is a ValueError, not a TypeError",
    "check_estimators_empty_data_messages": "rows without any feature column are allowed: `popular` needs none",
    "check_array_api_input": "scikit-learn checks it only where SCIPY_ARRAY_API is set",
    "check_sample_weight_equivalence_on_dense_data": "the cost of a rare label follows its number of rows",
    "check_sample_weight_equivalence_on_sparse_data": "the cost of a rare label follows its number of rows",
}

NEEDED_FOR_CHECKS = {"linear-tree": {"keep_rows": True}}  # they call partial_fit without the earlier rows


def fitting_pipeline(model):
    return Pipeline([("scale", Normalizer()), ("model", model)])


def test_pipeline(make, trained, data, same):
    pipeline = fitting_pipeline(make()).fit(data.x, data.y)
    top = pipeline.predict(data.x, k=3)
    assert top.labels.shape == (data.x.shape[0], 3)
    same(top, pipeline[-1].predict(Normalizer().transform(data.x), k=3))
    assert 0 <= pipeline.score(data.x, data.y) <= 100
    assert pipeline.predict_proba(data.x).shape == data.y.shape


def test_feature_union(make, data):
    both = FeatureUnion([("plain", Normalizer()), ("other", Normalizer("l1"))])
    pipeline = Pipeline([("features", both), ("model", make())]).fit(data.x, data.y)
    assert pipeline[-1].n_features_in_ == 2 * data.x.shape[1]
    assert len(pipeline.predict(data.x[:4])) == 4


@pytest.mark.parametrize("scoring", [None, "nDCG@5", "PSP@3"])
def test_grid_search(make, data, scoring):
    judge = None if scoring is None else labelwood.scorer(scoring)
    search = GridSearchCV(
        fitting_pipeline(make()), {"model__seed": [0, 1]}, cv=FOLDS, scoring=judge, error_score="raise"
    )
    search.fit(data.x, data.y)
    assert search.best_params_["model__seed"] in (0, 1)
    assert 0 < search.best_score_ <= 100
    wanted = labelwood.scorer(scoring or "nDCG@5")(search.best_estimator_, data.x, data.y)
    assert search.score(data.x, data.y) == wanted
    assert labelwood.scorer(scoring or "nDCG@5")(search, data.x, data.y) == wanted


def test_cross_validate_is_what_evaluate_says(make, data):
    judges = {"p": labelwood.scorer("P@1"), "psp": labelwood.scorer("PSP@3")}
    y = data.y.toarray()  # scikit-learn refuses a sparse y here
    found = cross_validate(make(), data.x, y, cv=FOLDS, scoring=judges, error_score="raise")
    train, test = next(FOLDS.split(data.x))
    model = make().fit(data.x[train], data.y[train])
    figures = labelwood.evaluate(model.predict(data.x[test]), data.y[test], train_y=data.y[train])
    assert found["test_p"][0] == pytest.approx(figures["P@1"], abs=1e-9)
    assert found["test_psp"][0] == pytest.approx(figures["PSP@3"], abs=1e-9)


def test_cross_val_predict(make, data, same):
    y = data.y.toarray()  # scikit-learn refuses a sparse y here
    top = cross_val_predict(make(), data.x, y, cv=FOLDS)
    train, test = next(FOLDS.split(data.x))
    same(top[test], make().fit(data.x[train], data.y[train]).predict(data.x[test]))
    likely = cross_val_predict(make(), data.x, y, cv=FOLDS, method="predict_proba")
    assert likely.shape == data.y.shape


def test_clone_and_html(trained, make, data):
    assert clone(trained).get_params() == trained.get_params()
    assert type(trained).__name__ in fitting_pipeline(make())._repr_html_()
    assert type(trained).__name__ in trained._repr_html_()


def test_fitted_attributes(trained, make, data):
    check_is_fitted(trained)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(make())
    assert trained.n_features_in_ == data.x.shape[1]
    assert trained.classes_.tolist() == list(range(data.y.shape[1]))
    assert not hasattr(trained, "feature_names_in_")


@pytest.mark.parametrize("attribute", ["fitted_", "n_labels_", "classes_", "n_features_in_", "label_counts_"])
def test_untrained_models_say_so_in_scikit_learns_words(make, data, attribute):
    model = make()
    with pytest.raises(sklearn.exceptions.NotFittedError, match="not trained yet"):
        model.predict(data.x)
    with pytest.raises(NotFittedError):
        getattr(model, attribute)
    assert not hasattr(model, attribute)


def test_probabilities_and_decisions_are_the_answers(trained, data):
    top = trained.predict(data.x, 5)
    scores = trained.decision_function(data.x, k=5)
    assert isinstance(scores, sparse.csr_matrix)
    likely = trained.predict_proba(data.x, k=5)
    assert scores.shape == likely.shape == data.y.shape
    assert likely.data.min(initial=0) >= 0
    assert likely.data.max(initial=0) <= 1
    for row in range(5):
        real = top.labels[row] >= 0
        labels, given = top.labels[row][real], top.scores[row][real]
        np.testing.assert_array_equal(np.asarray(scores[row, labels].todense()).ravel(), given)
        chances = np.asarray(likely[row, labels].todense()).ravel()
        assert (np.diff(chances) <= 0).all()


def test_labels_above_a_threshold(trained, data):
    likely = trained.predict_proba(data.x).toarray()
    chosen = trained.predict_labels(data.x, threshold=0.5)
    np.testing.assert_array_equal(chosen.toarray() == 1, likely >= 0.5)
    assert set(np.unique(chosen.data)) <= {1}
    assert trained.predict_labels(data.x, threshold=2).nnz == 0


def test_the_score_is_ndcg_at_5(trained, data):
    figures = labelwood.evaluate(trained.predict(data.x), data.y)
    assert trained.score(data.x, data.y) == figures["nDCG@5"]


def test_lists_of_ids_mean_these_ids(make, data, same):
    """Labels 3, 5, 7, ... by id give the model of the indicator matrix, and are answered as 3, 5, 7, ..."""
    kept = np.flatnonzero(np.diff(data.y.tocsc().indptr))  # a label without a row cannot be named by any
    y = data.y[:, kept]
    ids = 3 + 2 * np.arange(len(kept))
    lists = [ids[y.indices[y.indptr[row] : y.indptr[row + 1]]].tolist() for row in range(y.shape[0])]
    by_matrix = make().fit(data.x, y)
    by_id = make().fit(data.x, lists)
    same(by_id.predict(data.x), by_matrix.predict(data.x))
    assert by_id.classes_.tolist() == ids.tolist()
    assert by_id.score(data.x, lists) == by_matrix.score(data.x, y)
    named = make().fit(data.x, [{f"label {label:03d}" for label in row} for row in lists])
    assert named.classes_.tolist() == [f"label {label:03d}" for label in ids]
    same(named.predict(data.x), by_matrix.predict(data.x))


def test_data_frames(make, data, same):
    columns = [f"f{column}" for column in range(data.x.shape[1])]
    x = pandas.DataFrame(data.x.toarray(), columns=columns)
    y = pandas.DataFrame(data.y.toarray().astype(int), columns=[f"l{label}" for label in range(data.y.shape[1])])
    model = make().fit(x, y)
    same(model.predict(x), make().fit(data.x, data.y).predict(data.x))
    assert model.feature_names_in_.tolist() == columns
    assert model.classes_.tolist() == list(y.columns)
    with pytest.raises(DataError, match="is named 'f39', but 'f0' in training"):
        model.predict(x[columns[::-1]])


def check_name(check):
    return getattr(check, "func", check).__name__


@pytest.mark.filterwarnings("ignore")  # scikit-learn warns about what it does not find in our classes
@pytest.mark.parametrize("name", model_names())
def test_scikit_learns_own_checks(name):
    """All of check_estimator's checks but those of NOT_APPLICABLE."""
    done = 0
    estimator = model_class(name)(n_threads=1, **NEEDED_FOR_CHECKS.get(name, {}))
    for model, check in estimator_checks_generator(estimator, legacy=True):
        if check_name(check) not in NOT_APPLICABLE:
            check(model)
            done += 1
    assert done > 25
