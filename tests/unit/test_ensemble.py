"""Ensemble: members, settings, weights given and chosen, mixing against a plain twin."""

import copy

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError, ParamError
from labelwood.models.ensemble import Ensemble
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.mixing import chosen_weights, mixed
from labelwood.models.persistence import restored, state_of
from labelwood.topk import TopK


def problem(n_rows=800, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random((n_rows, 6)) < 0.3).astype(np.float32)
    x = np.concatenate([y, y], axis=1) + random.normal(0, 0.7, (n_rows, 12)).astype(np.float32)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


def plain_mix(answers, weights, k):
    rows = []
    for row in range(len(answers[0])):
        total = {}
        for top, weight in zip(answers, weights, strict=True):
            for label, score in zip(top.labels[row].tolist(), top.scores[row].tolist(), strict=True):
                if label >= 0:
                    total[label] = total.get(label, 0.0) + weight * score
        ranked = sorted(((np.float32(score), label) for label, score in total.items()), key=lambda p: (-p[0], p[1]))
        rows.append([(label, score) for score, label in ranked[:k]])
    return TopK.from_lists(rows, k)


def test_mixing_is_the_weighted_mean_of_scores():
    random = np.random.default_rng(1)
    answers = []
    for width in (4, 6):
        labels = np.array([random.permutation(9)[:width] for _ in range(50)], np.int32)
        scores = np.sort(random.integers(0, 5, (50, width)) / 4, axis=1)[:, ::-1].astype(np.float32)
        labels[3, 2:] = -1
        answers.append(TopK(labels, np.where(labels < 0, -np.inf, scores)))
    weights = np.array([0.25, 0.75])
    for k in (1, 5, 12):
        ours, plain = mixed(answers, weights, k), plain_mix(answers, weights, k)
        np.testing.assert_array_equal(ours.labels, plain.labels)
        np.testing.assert_allclose(ours.scores, plain.scores, rtol=1e-6)


def test_chosen_weights_are_no_worse_than_the_best_member_and_ignore_noise():
    x, y = problem()
    good = LinearTree(n_threads=1).fit(x[:400], y[:400]).predict(x[400:], 6)
    random = np.random.default_rng(2)
    noise = TopK(np.array([random.permutation(6) for _ in range(400)]), np.tile(np.linspace(1, 0.5, 6), (400, 1)))
    held = y[400:]
    weights = chosen_weights([noise, good], held)
    assert weights.sum() == pytest.approx(1)
    mixture = labelwood.evaluate(mixed([noise, good], weights, 5), held)["nDCG@5"]
    assert mixture >= labelwood.evaluate(good.cut(5), held)["nDCG@5"]
    assert weights[1] > 0.5


def test_one_member_is_that_member():
    x, y = problem()
    alone = LinearTree(n_threads=1, seed=3, C=2.0).fit(x, y).predict(x, 4)
    both = Ensemble(models="linear-tree", settings="linear-tree.C=2", seed=3, n_threads=1).fit(x, y).predict(x, 4)
    np.testing.assert_array_equal(both.labels, alone.labels)
    np.testing.assert_allclose(both.scores, alone.scores, rtol=1e-6)


def test_members_without_weight_are_left_out():
    x, y = problem()
    model = Ensemble(models="popular,one-vs-all", weights="0,1", n_threads=1).fit(x, y)
    assert [member.name for member in model.fitted_.members] == ["one-vs-all"]
    assert model.structure() == {"weight of 1, one-vs-all": 1.0}


def test_members_have_seeds_of_their_own():
    x, y = problem()
    model = Ensemble(models="linear-tree,linear-tree", weights="1,1", n_threads=1, seed=5).fit(x, y)
    assert [member.settings.seed for member in model.fitted_.members] == [5, 6]


def test_label_names_reach_the_members(tmp_path):
    x, y = problem()
    data = labelwood.Dataset(x, y, label_names=list("abcdef"))
    Ensemble(n_threads=1).fit(data).save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    assert loaded.label_names_ == tuple("abcdef")
    assert loaded.fitted_.members[0].trained_on.label_names == tuple("abcdef")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"models": "linear-tre"}, "did you mean 'linear-tree'"),
        ({"models": "ensemble"}, "must not name an ensemble"),
        ({"models": ""}, "unknown model ''"),
        ({"models": "popular", "settings": "C=1"}, "settings must be 'MODEL.KEY=VALUE' of popular"),
        ({"models": "popular", "settings": "one-vs-all.C=1"}, "settings must be"),
        ({"models": "one-vs-all", "settings": "one-vs-all.D=1"}, "unknown parameter 'D'"),
        ({"models": "elias", "settings": "elias.encoder=both"}, "elias would read texts"),
        ({"models": "popular,one-vs-all", "weights": "1"}, "weights must be 2 numbers"),
        ({"models": "popular,one-vs-all", "weights": "1,x"}, "weights must be 2 numbers"),
        ({"models": "popular,one-vs-all", "weights": "0,0"}, "not all 0"),
        ({"models": "popular,one-vs-all", "weights": "-1,2"}, "from 0 up"),
    ],
)
def test_wrong_members_are_refused(parameters, message):
    x, y = problem(20)
    with pytest.raises(ParamError, match=message):
        Ensemble(**parameters).fit(x, y)


def test_explanations_are_the_members_shares():
    """Of every label: each member's own explanation, by its weight, together what predict gives."""
    x, y = problem()
    model = Ensemble(models="popular,one-vs-all,linear-tree", weights="1,2,3", n_threads=1).fit(x, y)
    top = model.predict(x[:5], 6)
    for row in range(5):
        for label, score in next(iter(top[row])):
            why = model.explain(x[row], label)
            assert why.score == score
            assert [share.name for share in why.shares] == ["popular", "one-vs-all", "linear-tree"]
            assert [share.weight for share in why.shares] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
            total = sum(share.weight * share.explanation.score for share in why.shares)
            assert total == pytest.approx(score, rel=1e-6)


def test_one_and_two_threads_give_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    x, y = problem()
    files = []
    for n_threads in (1, 2):
        folder = tmp_path / str(n_threads)
        Ensemble(n_threads=n_threads).fit(x, y).save(folder)
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert files[0] == files[1]


@pytest.fixture(scope="module")
def saved():
    """(manifest fields, arrays) of a small ensemble."""
    x, y = problem(60)
    return state_of(Ensemble(models="popular,one-vs-all", weights="1,3", n_threads=1).fit(x, y).fitted_)


def test_members_that_name_their_threads_are_restored(saved):
    """Earlier versions kept n_threads among the members' parameters."""
    fields, arrays = saved
    members = [{**m, "parameters": {**m["parameters"], "n_threads": None}} for m in fields["facts"]["members"]]
    state = restored({**fields, "facts": {"members": members}}, arrays, "here")
    assert [member.name for member in state.members] == ["popular", "one-vs-all"]
    assert all(member.settings.n_threads is None for member in state.members)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda fields, arrays: fields.update(facts={"members": []}), "'members' must be a list of models"),
        (lambda fields, arrays: fields.update(facts={"members": 3}), "'members' must be a list of models"),
        (lambda fields, arrays: fields.update(facts={}), "'members' is missing"),
        (lambda fields, arrays: fields["facts"]["members"].pop(), "does not belong|weights"),
        (lambda fields, arrays: fields["facts"]["members"].reverse(), "member 1"),
        (lambda fields, arrays: arrays.update({"member7.shares": np.zeros(6)}), "'member7.shares' does not belong"),
        (lambda fields, arrays: arrays.pop("member0.shares"), "member 1: .*'shares' is missing"),
        (lambda fields, arrays: arrays.update(weights=np.array([0.0, 1.0])), "weight above 0"),
        (lambda fields, arrays: arrays.update(weights=np.array([np.nan, 1.0])), "not finite"),
        (lambda fields, arrays: fields["facts"]["members"][0]["shape"].update(n_features=3), "other rows or labels"),
    ],
)
def test_damaged_members_are_refused(saved, damage, message):
    fields, arrays = copy.deepcopy(saved[0]), dict(saved[1])
    damage(fields, arrays)
    with pytest.raises(ModelFileError, match=message):
        restored(fields, arrays, "here")
