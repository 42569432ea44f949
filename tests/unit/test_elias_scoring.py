"""ELIAS's sizes, calibration and ranker nodes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError
from labelwood.models.linear.weight_blocks import rank_features
from labelwood.models.neural.elias import calibration, index, ranker
from labelwood.models.neural.elias.calibration import (
    RegressionTree,
    Scoring,
    choose_scoring,
    fit_tree,
    held_out,
    hits_of,
    log_q,
    pair_features,
    product_scoring,
    quality,
)
from labelwood.models.neural.elias.ranker import (
    UNKNOWN_LOG_P,
    narrowed,
    ranker_nodes,
    ranker_options,
    told_margins,
    train_ranker,
)
from labelwood.models.neural.elias.search import top_of
from labelwood.models.neural.elias.settings import PRESETS, ELIASParams
from labelwood.models.neural.elias.sizes import (
    MANY_LABELS,
    index_sizes,
    ranked_labels,
    ranker_candidates,
    voting_trees,
)
from labelwood.progress import SILENT
from labelwood.topk import TopK


@pytest.fixture
def random():
    return np.random.default_rng(2)


@pytest.mark.parametrize("n_labels", [1, 2, 12, 159, 736, 4271, 14750, 74305, 670_000])
def test_hardly_any_score_is_clamped_at_the_start(n_labels):
    sizes = index_sizes(n_labels, ELIASParams())
    assert 1 <= sizes.beam <= sizes.n_clusters <= n_labels
    assert sizes.kappa * sizes.n_clusters >= n_labels
    assert 1 <= sizes.shortlist <= n_labels
    assert sizes.beta / sizes.kappa < 0.63
    if sizes.n_clusters < 8:
        return  # alpha is 1 or less than a share can reach: nothing to clamp
    random = np.random.default_rng(0)
    logits = random.normal(size=(200, sizes.n_clusters))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert (sizes.alpha * shares >= 1).mean() < 0.01
    # A cluster with its own labels first, which all their rows choose, then as many more as it has room for.
    width, own = min(sizes.kappa, n_labels), min(sizes.kappa, n_labels // sizes.n_clusters)
    few = np.arange(width, dtype=np.int32)[None]
    matching = np.vstack([np.where(np.arange(width) < own, 5.0, 0.01), np.where(np.arange(width) < own, 0.0, 5.0)])
    edges = index.edge_scores(few, index.initial_values(few, sparse.csr_matrix(matching)), sizes.beta)
    assert (edges >= 1).mean() < 0.01


def test_given_sizes_win():
    sizes = index_sizes(1000, ELIASParams(n_clusters=8, beam=3, kappa=200, shortlist=50, alpha=2.0, beta=9.0))
    assert (sizes.n_clusters, sizes.beam, sizes.kappa, sizes.shortlist) == (8, 3, 200, 50)
    assert (sizes.alpha, sizes.beta) == (2.0, 9.0)


@pytest.mark.parametrize(
    ("n_labels", "settings", "n_trees"),
    [
        (49_999, {}, 1),
        (50_000, {}, 3),
        (50_000, {"n_models": 5}, 5),
        (100, {"n_models": 2}, 2),
        (100_000, {"trees": 1}, 1),
        (100_000, {"trees": 0}, 0),
    ],
)
def test_three_trees_vote_where_labels_are_many(n_labels, settings, n_trees):
    assert voting_trees(ELIASParams(**settings), n_labels) == n_trees


@pytest.mark.parametrize(
    ("n_labels", "candidates", "wanted"),
    [(30, None, 30), (49_999, None, 50), (50_000, None, 0), (50_000, 7, 7), (100, 0, 0)],
)
def test_a_ranker_looks_at_all_labels_where_these_are_few(n_labels, candidates, wanted):
    assert ranker_candidates(ELIASParams(candidates=candidates), n_labels) == wanted


def test_the_tree_finds_steps(random):
    features = random.uniform(size=(4000, 3))
    target = (features[:, 1] > 0.5).astype(float) * 2 + (features[:, 2] > 0.25)
    tree = fit_tree(features, target)
    error = np.abs(tree.predict(features) - target).mean()
    assert error < 0.1
    assert np.bincount(tree.feature + 1)[1] <= 2  # the feature that says nothing is hardly asked


def test_the_tree_is_as_good_as_scikit_learns(random):
    from sklearn.tree import DecisionTreeRegressor

    features = random.normal(size=(3000, 4))
    target = (random.uniform(size=3000) < 1 / (1 + np.exp(-2 * features[:, 0] - features[:, 1] ** 2))).astype(float)
    ours = fit_tree(features, target).predict(features)
    theirs = DecisionTreeRegressor(max_depth=5, min_samples_leaf=50, random_state=0).fit(features, target)
    best = ((theirs.predict(features) - target) ** 2).mean()
    assert ((ours - target) ** 2).mean() < 1.02 * best


def test_leaves_are_not_too_small(random):
    features = random.uniform(size=(500, 2))
    tree = fit_tree(features, random.uniform(size=500), min_leaf=60)
    _, counts = np.unique(tree.predict(features), return_counts=True)
    assert counts.min() >= 60


def constant_tree(value):
    return RegressionTree(np.array([-1], np.int32), np.zeros(1), np.zeros(1, np.int32), np.array([value]))


def _pairs(random, n=300, room=8):
    labels = np.sort(np.stack([random.choice(20, room, replace=False) for _ in range(n)]), axis=1).astype(np.int32)
    margins = random.normal(size=(n, room)).astype(np.float32)
    truth = random.uniform(size=(n, room)) < 1 / (1 + np.exp(-4 * margins))
    log_p = np.log(random.uniform(0.01, 1, size=(n, room))).astype(np.float32)
    y = np.zeros((n, 20))
    np.put_along_axis(y, labels, truth.astype(float), axis=1)
    return held_out(labels, log_p, log_q(margins), sparse.csr_matrix(y))


def test_the_truth_of_pairs_needs_no_dense_labels(random):
    """A million labels for two rows: the table of all pairs would be 8 MB, and of 4,000 rows 16 GB."""
    labels = np.array([[3, 7, 999_999], [5, -1, -1]], np.int32)
    y = sparse.csr_matrix((np.ones(3, np.float32), ([0, 0, 1], [7, 999_999, 4])), shape=(2, 1_000_000))
    y.toarray = None
    pairs = held_out(labels, np.zeros((2, 3), np.float32), None, y)
    assert pairs.truth.tolist() == [[False, True, True], [False, False, False]]
    assert pairs.n_true.tolist() == [2, 1]
    assert hits_of(pairs, np.array([[7], [4]], np.int32)).tolist() == [[True], [True]]


def test_quality_is_precision_and_recall(random):
    pairs = _pairs(random)
    top = TopK(*top_of(pairs.labels, pairs.log_p, 8))
    figures = labelwood.evaluate(top, pairs.y, ks=[1, 3, 5, 8])
    wanted = figures["P@1"] + figures["P@3"] + figures["P@5"] + figures["R@8"] / 5
    assert quality(pairs, pairs.log_p) == pytest.approx(wanted)


def test_a_p_that_says_nothing_gets_little_power(random):
    pairs = _pairs(random)
    assert choose_scoring(pairs, np.full(20, 5), calibrate=False).power_p <= 0.12


def test_without_weight_the_tree_changes_nothing(random):
    pairs = _pairs(random)
    counts = np.full(pairs.labels.shape, 3)
    plain = Scoring(0.5, 1.0).scores(pairs.log_p, pairs.log_q, counts)
    chosen = choose_scoring(pairs, np.full(20, 3), calibrate=True)
    unweighed = Scoring(0.5, 1.0, chosen.tree, 0.0).scores(pairs.log_p, pairs.log_q, counts)
    np.testing.assert_array_equal(plain, unweighed)


def test_a_tree_is_not_weighed_on_the_siblings_of_its_rows(monkeypatch, random):
    pairs = _pairs(random)
    halves = []

    def watched(features, truth):
        halves.append({float(p) for p in features[:, 0]})
        return fit_tree(features, truth)

    monkeypatch.setattr(calibration, "fit_tree", watched)
    twice = np.arange(300) // 2
    choose_scoring(replace(pairs, groups=twice), np.full(20, 3), calibrate=True)
    of_row = [set(np.exp(row.astype(np.float64)).tolist()) for row in pairs.log_p]
    assert [halves[0] >= row for row in of_row] == [number % 2 == 0 for number in twice]


def test_a_constant_tree_keeps_the_order(random):
    pairs = _pairs(random)
    counts = np.full(pairs.labels.shape, 3)
    plain = Scoring().scores(pairs.log_p, pairs.log_q, counts)
    moved = Scoring(1.0, 1.0, constant_tree(0.4), 0.3).scores(pairs.log_p, pairs.log_q, counts)
    np.testing.assert_array_equal(top_of(pairs.labels, plain, 8)[0], top_of(pairs.labels, moved, 8)[0])


def test_padding_never_scores(random):
    log_p = np.array([[-0.5, -np.inf]], np.float32)
    for scoring in (Scoring(), Scoring(0.0, 1.0, constant_tree(0.9), 0.5)):
        assert scoring.scores(log_p, np.zeros((1, 2)), np.ones((1, 2)))[0, 1] == 0


def test_scoring_survives_saving(random):
    scoring = choose_scoring(_pairs(random), np.full(20, 3), calibrate=True)
    arrays = scoring.to_arrays()
    again = Scoring.from_arrays(arrays)
    assert (again.power_p, again.weight) == (scoring.power_p, scoring.weight)
    np.testing.assert_array_equal(again.tree.left, scoring.tree.left)
    arrays["tree.left"] = np.zeros_like(arrays["tree.left"])
    arrays["tree.feature"] = np.zeros_like(arrays["tree.feature"])
    with pytest.raises(ModelFileError, match="calibration tree"):
        Scoring.from_arrays(arrays)
    assert isinstance(scoring.tree, RegressionTree)


def test_ranker_blocks_hold_positives_and_shortlisted_rows():
    order = np.array([2, 0, 1], np.int32)
    short = np.array([[0, -1], [2, 1], [-1, -1]], np.int32)
    nodes = ranker_nodes(order, 3, [short])
    assert nodes.child_start.tolist() == [0, 4]
    assert nodes.child_bound.tolist() == [0, 1, 2, 3]
    assert nodes.extra_rows.tolist() == [0, 1]
    assert not nodes.all_rows


def test_ranker_learns_from_positives_outside_the_shortlist(random):
    """A row whose label is on nobody's shortlist still teaches that label."""
    x = sparse.csr_matrix(np.eye(6, dtype=np.float32))
    y = sparse.csr_matrix(np.eye(6, dtype=np.float32))
    nothing = np.full((6, 2), -1, np.int32)
    options = ranker_options(
        SimpleNamespace(ranker_loss="squared-hinge", prune=0.0, rare_power=0.0, n_threads=1, seed=0), 10.0
    )
    for shortlists in ([nothing], None):
        ranker = train_ranker(x, y, np.array([1, 0, 1, 0, 1, 0], np.int32), shortlists, options, SILENT)
        margins = ranker.margins(x, np.tile(np.arange(6, dtype=np.int32), (6, 1)))
        assert margins.argmax(axis=1).tolist() == list(range(6))
        assert np.diag(margins).min() > 0


def test_margins_are_those_of_the_blocks(random):
    x = sparse.random(40, 12, 0.4, format="csr", dtype=np.float32, rng=random)
    y = sparse.csr_matrix((random.uniform(size=(40, 9)) < 0.3).astype(np.float32))
    partition = random.integers(0, 3, 9).astype(np.int32)
    options = ranker_options(
        SimpleNamespace(ranker_loss="squared-hinge", prune=0.0, rare_power=0.0, n_threads=1, seed=0), 1.0
    )
    ranker = train_ranker(x, y, partition, None, options, SILENT)
    labels = np.array([[3, 5, -1]] * 40, np.int32)
    found = ranker.margins(x, labels)
    assert np.all(found[:, 2] == 0)
    full = ranker.margins(x, np.tile(np.arange(9, dtype=np.int32), (40, 1)))
    np.testing.assert_array_equal(found[:, :2], full[:, [3, 5]])


def test_a_ranker_that_starts_from_an_earlier_one_ends_where_a_new_one_does(random):
    """The last feature and the last label come only in the later rows."""
    y = (random.uniform(size=(120, 70)) < 0.1).astype(np.float32)
    x = y @ random.normal(size=(70, 20)).astype(np.float32) + random.normal(size=(120, 20)).astype(np.float32)
    x[:100, 19], y[:100, 69] = 0, 0
    y[110:, 69] = 1
    x, y = sparse.csr_matrix(x), sparse.csr_matrix(y)
    partition = random.integers(0, 5, 70).astype(np.int32)
    options = ranker_options(
        SimpleNamespace(ranker_loss="squared-hinge", prune=0.0, rare_power=0.0, n_threads=1, seed=0), 1.0
    )
    options = replace(options, eps=1e-4, max_passes=3000)
    rank = rank_features(x)
    first = train_ranker(x[:100], y[:100], partition, None, options, SILENT, feature_rank=rank)
    again = train_ranker(x, y, partition, None, options, SILENT, feature_rank=rank, earlier=first, n_earlier=100)
    new = train_ranker(x, y, partition, None, options, SILENT)
    every = np.tile(np.arange(70, dtype=np.int32), (120, 1))
    old, found, expected = (ranker.margins(x, every) for ranker in (first, again, new))
    assert np.abs(found - expected).max() < 0.05
    assert np.abs(old - expected).max() > 0.3


def _plan(x, y, n_features, **settings):
    return ranker.ranker_plan(x, y, n_features, ELIASParams(n_threads=1, **settings), SILENT)


def test_what_a_ranker_can_afford(random, monkeypatch):
    """All columns and negatives; else the features alone; else all columns and the shortlisted rows."""
    x = sparse.random(300, 30, 0.3, format="csr", random_state=1, dtype=np.float32)
    y = sparse.random(300, 10, 0.2, format="csr", random_state=2, dtype=np.float32)
    everything = rank_features(x)
    features = rank_features(x[:, :20])
    for work, rank, all_negatives in (
        (x.nnz * 10, everything, True),
        (x[:, :20].nnz * 10, np.concatenate([features, np.full(10, -1)]), True),
        (100, everything, False),
    ):
        monkeypatch.setattr(ranker, "ALL_NEGATIVES_WORK", work)
        plan = _plan(x, y, 20)
        np.testing.assert_array_equal(plan.feature_rank, rank)
        assert plan.all_negatives == all_negatives
        assert plan.cost == 2.0
        assert _plan(x, y, 30).cost == 1.0  # no text vectors: features keep their length
        assert _plan(x, y, 20, C=0.3).cost == 0.3


def test_small_noisy_data_chooses_a_small_cost(random):
    """Labels that say nothing about the rows are fitted least; with 20,000 columns nothing is tried."""
    x = sparse.random(1500, 400, 0.05, format="csr", random_state=3, dtype=np.float32)
    noise = sparse.csr_matrix(random.uniform(size=(1500, 4)) < [0.5, 0.3, 0.2, 0.1], dtype=np.float32)
    assert _plan(x, noise, 400).cost < 1.0
    assert _plan(x, noise, 200).cost < 2.0
    assert _plan(x, sparse.hstack([noise, sparse.csr_matrix((1500, 400_000))], format="csr"), 400).cost == 1.0


def test_the_papers_score_is_the_product_and_the_tree(random):
    """p q, or T + p q up to a factor; nothing is chosen."""
    pairs = _pairs(random)
    counts = np.full(20, 3)
    assert product_scoring(pairs, counts, calibrate=False) == Scoring()
    scoring = product_scoring(pairs, counts, calibrate=True)
    of_label = counts[pairs.labels]
    product = np.exp(Scoring().base(pairs.log_p, pairs.log_q))
    answers = scoring.tree.predict(pair_features(pairs.log_p, pairs.log_q, product, of_label)).reshape(product.shape)
    close = np.isclose(scoring.scores(pairs.log_p, pairs.log_q, of_label), (answers + product) / 2, rtol=1e-6)
    assert close.mean() > 0.995  # pairs at a threshold of the tree may fall on either side by rounding


def test_a_ranker_may_learn_from_shortlists_alone(random):
    x = sparse.random(1200, 30, 0.3, format="csr", random_state=1, dtype=np.float32)
    y = sparse.random(1200, 10, 0.2, format="csr", random_state=2, dtype=np.float32)
    plan = _plan(x, y, 30, negatives="shortlist")
    assert (plan.all_negatives, plan.cost) == (False, 1.0)


def test_the_likeliest_labels_of_a_shortlist_stay_in_order():
    labels = np.array([[2, 5, 7, 9], [1, 4, -1, -1]], np.int32)
    log_p = np.array([[-3.0, -1.0, -2.0, -0.5], [-9.0, -8.0, -np.inf, -np.inf]], np.float32)
    kept, likely = narrowed(labels, log_p, 2)
    assert kept.tolist() == [[5, 9], [1, 4]]
    assert likely.tolist() == [[-1.0, -0.5], [-9.0, -8.0]]
    assert narrowed(labels, log_p, 3)[0].tolist()[1][:2] == [1, 4]
    for most in (None, 4, 9):
        assert narrowed(labels, log_p, most)[0] is labels


def test_margins_of_a_logistic_loss_become_those_with_the_same_probability(random):
    margins = random.normal(scale=4, size=50).astype(np.float32)
    q = np.exp(log_q(told_margins(margins, "logistic")))
    np.testing.assert_allclose(q, 1 / (1 + np.exp(-margins.astype(np.float64))), rtol=1e-5)
    assert told_margins(margins, "squared-hinge") is margins


@pytest.mark.torch
def test_calibration_counts_labels_in_the_rows_learned_from(monkeypatch):
    """Counts that hold the rows held out tell which labels these have, where labels are rare."""
    from labelwood.data.madeup.synthetic import make_sparse_pair
    from labelwood.models.neural.elias import training

    rows, _ = make_sparse_pair(1200, 1, 400, 300, labels_per_row=2, seed=3)
    given = []

    def watched(pairs, counts, *, calibrate):
        given.append((pairs.y, counts, pairs.groups))
        return choose_scoring(pairs, counts, calibrate=calibrate)

    monkeypatch.setattr(training, "choose_scoring", watched)
    labelwood.ELIAS(dim=8, warm_epochs=0, stage1_epochs=1, stage2_epochs=1, validation=0.2).fit(
        rows, groups=np.arange(1200) // 2
    )
    ((kept, counts, groups),) = given
    assert kept.shape[0] == 240
    assert sorted(np.bincount(groups).tolist()) == [0] * (groups.max() + 1 - 120) + [2] * 120
    whole = np.bincount(rows.y.indices, minlength=300)
    np.testing.assert_array_equal(counts + np.bincount(kept.indices, minlength=300), whole)


@pytest.mark.torch
def test_the_ranker_learns_from_all_rows_in_the_end(monkeypatch):
    """Of a large group that is held out some rows are enough to choose by; the others are learned from, too."""
    from labelwood.data.madeup.synthetic import make_sparse_pair
    from labelwood.models.neural.elias import training

    rows, _ = make_sparse_pair(600, 1, 400, 300, labels_per_row=2, seed=3)
    learned = []

    def watched(x, *given):
        learned.append(x.shape[0])
        return ranker.ranker_of(x, *given)

    monkeypatch.setattr(training, "ranker_of", watched)
    settings = {"dim": 8, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_threads": 1, "C": 1.0}
    labelwood.ELIAS(most_held_out=60, **settings).fit(rows, groups=np.arange(600) // 200)
    assert learned == [400, 600]


@pytest.mark.torch
def test_a_logistic_ranker_of_the_first_labels_answers_alike_alone_saved_and_explained(tmp_path):
    from labelwood.data.madeup.synthetic import make_sparse_pair

    rows, _ = make_sparse_pair(600, 1, 400, 80, labels_per_row=2, seed=3)
    settings = {"dim": 8, "warm_epochs": 0, "stage1_epochs": 2, "stage2_epochs": 2, "validation": 0.2}
    model = labelwood.ELIAS(ranker_loss="logistic", ranker_top=9, candidates=0, trees=0, **settings).fit(rows)
    top = model.predict(rows.x, 30)
    assert ((top.labels >= 0).sum(axis=1) == 9).all()  # the rest is dropped
    hinge = labelwood.ELIAS(ranker_top=9, candidates=0, trees=0, **settings).fit(rows)
    assert not np.array_equal(hinge.predict(rows.x, 9).scores, top.scores[:, :9])
    model.save(tmp_path / "model")
    again = labelwood.load(tmp_path / "model").predict(rows.x[:3], 30)
    np.testing.assert_array_equal(again.scores, top.scores[:3])
    label = int(top.labels[0, 0])
    why = model.explain(rows.x[0], label)
    assert why.score == top.scores[0, 0]
    of_ranker = why.nodes[0]
    assert of_ranker.log_score == pytest.approx(-np.logaddexp(0, -of_ranker.margin), rel=1e-4)


def _slowly_narrowed(labels, log_p, most, named):
    """What `narrowed` gives, label by label."""
    rows = []
    for row, its_p, others in zip(labels, log_p, named, strict=True):
        listed = {int(label): float(p) for label, p in zip(row, its_p, strict=True) if label >= 0}
        likely = sorted(listed, key=lambda label: -listed[label])[:most]
        lowest = min(listed.values(), default=UNKNOWN_LOG_P)
        wanted = {*likely, *(int(label) for label in others if label >= 0)}
        rows.append([(label, listed.get(label, lowest)) for label in sorted(wanted)])
    return rows


@pytest.mark.parametrize("most", [1, 3, 8, None])
def test_named_labels_join_the_likeliest_ones_with_what_the_index_thinks_of_them(random, most):
    n_labels = 40
    labels, named = np.full((30, 8), -1, np.int32), np.full((30, 5), -1, np.int32)
    log_p = np.full(labels.shape, -np.inf, np.float32)
    for row in range(30):
        n, m = random.integers(0, 9), random.integers(0, 6)
        labels[row, :n] = np.sort(random.choice(n_labels, n, replace=False))
        named[row, :m] = random.choice(n_labels, m, replace=False)
        log_p[row, :n] = -random.permutation(np.arange(1, 9))[:n]
    found, likely = narrowed(labels, log_p, most, named)
    assert found.dtype == np.int32
    assert likely.dtype == np.float32
    for row, wanted in enumerate(_slowly_narrowed(labels, log_p, most, named)):
        assert found[row].tolist() == [label for label, _ in wanted] + [-1] * (found.shape[1] - len(wanted))
        assert likely[row, : len(wanted)].tolist() == [p for _, p in wanted]
        assert np.all(likely[row, len(wanted) :] == -np.inf)


def test_many_labels_are_judged_in_part_and_the_paper_as_printed():
    assert ranked_labels(ELIASParams(), MANY_LABELS - 1) is None
    assert ranked_labels(ELIASParams(), MANY_LABELS) == 200
    assert ranked_labels(ELIASParams(ranker_top=9), MANY_LABELS) == 9
    assert ranked_labels(ELIASParams(**PRESETS["paper"]), MANY_LABELS) == 100
