"""LinearTree: what its nodes train on, its search against the exhaustive ranking, filters, forests, saved bytes."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood.errors import DataError, ParamError
from labelwood.labelindex.build import build_tree
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.linear.linear_tree_params import LINKS
from labelwood.models.linear.one_vs_all import OneVsAll
from labelwood.models.linear.tree_choice import merged_levels, popular_first
from labelwood.models.linear.tree_nodes import first_blocks, training_nodes
from labelwood.models.linear.tree_reasons import LOWEST_SCORE
from labelwood.models.linear.weight_blocks import ranked_rows

NARROW = {"arity": 2, "max_leaf": 2, "prune": 0.0, "n_threads": 1}


@cache
def problem(seed=4, n_rows=150, n_features=50, n_labels=30):
    """Rows that show their labels, some labels far more frequent than others."""
    random = np.random.default_rng(seed)
    own = random.choice(n_features, size=(n_labels, 4))
    weight = 1 / np.arange(1, n_labels + 1)
    x = np.zeros((n_rows, n_features), np.float32)
    y = np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        labels = random.choice(n_labels, size=random.integers(1, 4), replace=False, p=weight / weight.sum())
        y[row, labels] = 1
        for label in labels:
            x[row, own[label]] += random.uniform(0.5, 1.5, 4)
        x[row, random.choice(n_features, 3)] += random.uniform(0, 0.5, 3)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


@cache
def trained(**parameters):
    x, y = problem()
    return LinearTree(**{**NARROW, **parameters}).fit(x, y)


def log_scores(model, row, number=0):
    """(log score of every node, of every label) of one dense row, node by node from the root: the exhaustive search."""
    tree, blocks = model.fitted_.trees[number], model.fitted_.blocks[number]
    p = model.parameters_
    rows = ranked_rows(row, model.fitted_.feature_rank, p.normalize)
    first = first_blocks(tree)
    of_nodes, of_labels = np.zeros(tree.n_nodes), np.full(tree.n_labels, -np.inf)
    for node in range(tree.n_nodes):
        parts = [blocks.margins(block, rows.indices, rows.data) for block in range(first[node], first[node + 1])]
        if not parts:  # a label alone in its leaf: the leaf's own score is the label's
            of_labels[tree.labels_below(node)] = of_nodes[node]
            continue
        margins = np.concatenate(parts).astype(np.float64)
        if p.link == "log-sigmoid":
            gain = -np.log1p(np.exp(-2 * margins))
        else:
            gain = -(np.maximum(0, 1 - margins) ** (2 if p.link == "hinge2" else 3))
        below = np.maximum(LOWEST_SCORE, of_nodes[node] + gain)
        if tree.n_children[node]:
            of_nodes[list(tree.children(node))] = below
        else:
            of_labels[tree.labels_below(node)] = below
    return of_nodes, of_labels


# training


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 8), st.sampled_from([2, 4, 16]))
def test_the_children_of_a_node_share_out_its_labels(seed, n_labels, max_leaf, arity):
    x, y = problem(seed % 7, 60, 30, n_labels if n_labels > 3 else 4)
    tree = LinearTree(arity=arity, max_leaf=max_leaf, balance=seed % 5 / 2, n_threads=1).fit(x, y).fitted_.trees[0]
    nodes = training_nodes(tree)
    for node in range(tree.n_nodes):
        bounds = nodes.child_bound[nodes.child_start[node] : nodes.child_start[node + 1]]
        assert (np.diff(bounds) > 0).all()
        assert bounds[0] == tree.first_label[node]
        if node and not tree.n_children[node] and tree.n_labels_in[node] == 1:
            assert len(bounds) == 1  # its parent's classifier means the one label
            continue
        assert bounds[-1] == tree.first_label[node] + tree.n_labels_below[node]
        if tree.n_children[node]:
            parts = [tree.labels_below(child).tolist() for child in tree.children(node)]
        else:
            parts = [[label] for label in tree.labels_below(node).tolist()]
        assert [tree.label_order[a:b].tolist() for a, b in pairwise(bounds)] == parts


def test_negatives_come_from_siblings_alone():
    """L2: rows without any label below a node have no part in it; removing them changes no weight of that subtree."""
    x, y = problem()
    exact = {"eps": 1e-4, "max_passes": 1000}
    model = trained(balance_ratio=1.0, **exact)
    tree, blocks = model.fitted_.trees[0], model.fitted_.blocks[0]
    first = first_blocks(tree)
    eye = sparse.eye_array(x.shape[1], format="csr", dtype=np.float32)
    checked = 0
    for node in tree.leaves:
        labels = tree.labels_below(node)
        rows = np.flatnonzero(np.asarray(y[:, labels].sum(axis=1)).ravel() > 0)
        if len(labels) < 2 or not len(rows):
            continue
        # One leaf over exactly the rows with a label of it: every negative row of a label is a sibling's.
        alone = LinearTree(**{**NARROW, **exact, "max_leaf": 10}).fit(x[rows], y[rows][:, labels])
        ours = _margins(blocks, model.fitted_.feature_rank, first[node], eye)
        theirs = _margins(alone.fitted_.blocks[0], alone.fitted_.feature_rank, 0, eye)
        order = np.argsort(alone.fitted_.trees[0].label_order)
        np.testing.assert_allclose(ours, theirs[:, order], atol=0.01)
        against_all = OneVsAll(C=1.2, rare_power=0.15, prune=0.0, n_threads=1, **exact).fit(x, y[:, labels])
        flat = against_all.fitted_
        assert np.abs(ours - _margins(flat.blocks, flat.feature_rank, 0, eye)).max() > 0.05
        checked += 1
    assert checked > 3


def _margins(blocks, rank, block, x):
    rows = ranked_rows(sparse.csr_matrix(x), rank, False)
    parts = [slice(a, b) for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    return np.array([blocks.margins(block, rows.indices[part], rows.data[part]) for part in parts])


def test_a_single_leaf_is_one_vs_all():
    """L3."""
    x, y = problem()
    same = {"C": 1.0, "rare_power": 0.2, "eps": 1e-4, "max_passes": 500, "prune": 0.0, "n_threads": 1}
    tree = LinearTree(max_leaf=y.shape[1], link="log-sigmoid", weights="half", **same).fit(x, y)
    flat = OneVsAll(**same).fit(x, y)
    assert tree.fitted_.trees[0].n_nodes == 1
    ours, theirs = tree.predict(x, 5), flat.predict(x, 5)
    np.testing.assert_allclose(ours.scores, theirs.scores, atol=2e-3)
    assert (ours.labels == theirs.labels).mean() > 0.99


# search


@pytest.mark.parametrize("link", LINKS)
def test_best_first_and_a_wide_beam_give_the_exhaustive_ranking(link):
    """S1, S2, S3 and S5."""
    x, _ = problem()
    model = trained(link=link, balance_ratio=2.0)
    tree, k = model.fitted_.trees[0], 4
    found, wide = model.search(x[:40], k), model.search(x[:40], k, beam=tree.n_nodes)
    np.testing.assert_array_equal(found.top.labels, wide.top.labels)
    for row in range(40):
        of_nodes, of_labels = log_scores(model, x[row])
        assert (of_nodes[1:] <= of_nodes[tree.parent[1:]]).all()
        best = np.sort(np.exp(of_labels))[::-1][:k]
        np.testing.assert_allclose(found.top.scores[row], best, rtol=1e-4, atol=1e-6)
        kth = np.sort(of_labels)[::-1][k - 1]
        opened = of_nodes[np.diff(first_blocks(tree)) > 0]  # a label alone in its leaf has no block to open
        surely, perhaps = (opened > kth + 1e-4).sum(), (opened >= kth - 1e-4).sum()
        assert surely <= found.n_blocks[row] <= perhaps
        assert found.depth[row] == tree.depth_of_labels()[found.top.labels[row]].max()


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 29), min_size=1), st.booleans(), st.sampled_from([1, 3]))
def test_filters_equal_filtering_the_full_ranking(labels, denied, n_trees):
    x, _ = problem()
    model = trained(n_trees=n_trees)
    full = model.predict(x[:20], 30)
    given_filter = {"deny": labels} if denied else {"allow": labels}
    kept = set(range(30)) - labels if denied else labels
    found = model.predict(x[:20], 5, **given_filter)
    for row in range(20):
        wanted = [(label, s) for label, s in zip(full.labels[row], full.scores[row], strict=True) if label in kept][:5]
        here = found.labels[row] >= 0
        assert len(wanted) == here.sum()
        assert set(found.labels[row][here]) <= kept
        # Each tree of a forest names a few more labels than asked for; one that it does not name counts 0 for it.
        # So only a first answer that stands out is sure.
        if n_trees > 1 and not (wanted and wanted[0][1] > 0.1):
            continue
        sure = slice(None) if n_trees == 1 else slice(1)
        np.testing.assert_array_equal(found.labels[row][here][sure], [label for label, _ in wanted][sure])
        np.testing.assert_allclose(found.scores[row][here][sure], [s for _, s in wanted][sure], rtol=1e-5, atol=1e-6)


def test_filters_name_labels_that_exist():
    x, _ = problem()
    with pytest.raises(DataError, match=r"label 30 of the filter is outside 0\.\.29"):
        trained().predict(x, 3, allow=[1, 30])


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_one_row_gives_the_bytes_of_a_batch(n_trees, k):
    x, _ = problem()
    model = trained(n_trees=n_trees)
    top = model.predict(x[:30], k)
    for row in range(30):
        part = sparse.csr_matrix(x[row]).astype(np.float32)
        for found in (
            model.predict(part, k),
            model.predict(sparse.csr_array(part), k),
            model.predict(part.toarray(), k),
        ):
            np.testing.assert_array_equal(found.labels[0], top.labels[row])
            np.testing.assert_array_equal(found.scores[0], top.scores[row])
        labels, scores = model.query(part.indices, part.data, k)
        np.testing.assert_array_equal(labels, top.labels[row][: len(labels)])
        np.testing.assert_array_equal(scores, top.scores[row][: len(labels)])
        assert (top.labels[row][len(labels) :] == -1).all()


def test_one_row_out_of_order_or_with_repetitions_is_answered_as_its_sorted_self():
    x, _ = problem()
    model = trained()
    row = sparse.csr_matrix(x[3]).astype(np.float32)
    wanted = model.predict(row, 5)
    half = row.data / 2
    shuffled = sparse.csr_matrix(
        (
            np.concatenate([half, half])[::-1].copy(),
            np.concatenate([row.indices, row.indices])[::-1].copy(),
            [0, 2 * row.nnz],
        ),
        shape=row.shape,
    )
    for found in (model.predict(shuffled, 5).labels[0], model.query(shuffled.indices, shuffled.data, 5)[0]):
        np.testing.assert_array_equal(found, wanted.labels[0])


@pytest.mark.parametrize("kind", [list, lambda a: a.astype(np.float64), lambda a: np.repeat(a, 2)[::2]])
def test_a_query_may_come_in_any_numbers(kind):
    x, _ = problem()
    model = trained()
    row = sparse.csr_matrix(x[3]).astype(np.float32)
    wanted = model.query(row.indices, row.data, 5)
    for columns, values in ((row.indices.astype(np.int64), kind(row.data)), (kind(row.indices), row.data)):
        for found, want in zip(model.query(columns, values, 5), wanted, strict=True):
            np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ([0, 1], [1.0], r"columns \(2,\), values \(1,\)"),
        ([0, 10_000], [1.0, 1.0], r"column 10000 of the row is outside 0\.\."),
        ([-1], [1.0], "column -1"),
        (["a"], [1.0], "whole numbers"),
        ([2**70], [1.0], "whole numbers"),
    ],
)
def test_a_query_that_is_no_row_is_refused(columns, values, message):
    with pytest.raises(DataError, match=message):
        trained().query(columns, values, 5)


@pytest.mark.parametrize("ask", ["predict", "query"])
def test_one_row_with_a_value_that_is_no_number_is_refused(ask):
    x, _ = problem()
    row = sparse.csr_matrix(x[3]).astype(np.float32)
    row.data[1] = np.nan
    with pytest.raises(DataError, match=r"row 0: feature \d+ is NaN"):
        trained().predict(row, 5) if ask == "predict" else trained().query(row.indices, row.data, 5)


def test_a_forest_gives_the_mean_score_of_its_trees():
    x, _ = problem()
    model = trained(n_trees=3)
    assert not model.fitted_.trees[0].same_as(model.fitted_.trees[1])
    top = model.predict(x[:30], 30)  # all labels: no tree leaves one out
    for row in range(30):
        mean = np.mean([np.exp(log_scores(model, x[row], number)[1]) for number in range(3)], axis=0)
        np.testing.assert_allclose(top.scores[row], mean[top.labels[row]], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(top.scores[row], np.sort(mean)[::-1], rtol=1e-4, atol=1e-6)


def test_slack_saves_blocks_and_loses_little():
    x, _ = problem()
    model = trained()
    exact, loose, loosest = (model.search(x, 5, slack=slack) for slack in (0.0, 0.3, 100.0))
    assert exact.n_blocks.sum() > loose.n_blocks.sum() > loosest.n_blocks.sum()
    # What is found is found with its exact score; only what lies below a node that stayed closed may be missing.
    for row in range(x.shape[0]):
        wanted = dict(zip(exact.top.labels[row].tolist(), exact.top.scores[row].tolist(), strict=True))
        for label, score in zip(loose.top.labels[row].tolist(), loose.top.scores[row].tolist(), strict=True):
            assert wanted.get(label, score) == score
        assert loose.top.scores[row][-1] >= exact.top.scores[row][-1] * np.exp(-0.3) - 1e-6
    with pytest.raises(ParamError, match="slack must be a number from 0 up"):
        model.search(x, 5, slack=-1.0)


def test_max_blocks_stops_the_search():
    x, _ = problem()
    model = trained()
    free, bound = model.search(x, 5), model.search(x, 5, max_blocks=3)
    assert free.n_blocks.max() > 3
    assert bound.n_blocks.max() <= 3
    quick = free.n_blocks <= 3
    np.testing.assert_array_equal(bound.top.labels[quick], free.top.labels[quick])


# figures and files


def test_structure_and_search_figures_are_those_of_the_tree():
    x, y = problem()
    model = trained(balance_ratio=1.0)
    tree, counts = model.fitted_.trees[0], np.asarray(y.sum(axis=0)).ravel()
    facts = model.structure()
    assert facts["nodes"] == tree.n_nodes
    assert facts["largest leaf"] <= 2
    assert facts["mean leaf"] * facts["leaves"] == pytest.approx(30)
    assert facts["expected depth"] == pytest.approx(float(counts @ tree.depth_of_labels()) / counts.sum())
    found = model.search(x, 5)
    assert model.search_figures(x, 5) == {"depth@5": found.depth.mean(), "blocks@5": found.n_blocks.mean()}
    assert model.search_figures(x[:0], 5) == {}


def test_balance_brings_frequent_labels_to_the_root():
    flat, pulled = trained(), trained(balance_ratio=2.0)
    assert pulled.structure()["expected depth"] < flat.structure()["expected depth"]
    direct = trained(balance_ratio=2.0, path="direct")
    assert not direct.fitted_.trees[0].same_as(pulled.fitted_.trees[0])
    assert trained(path="direct").fitted_.trees[0].same_as(flat.fitted_.trees[0])


@pytest.mark.parametrize("more", [{}, {"n_trees": 2, "balance_ratio": 6.0, "cover": "greedy"}])
def test_threads_change_no_saved_byte(tmp_path, more):
    x, y = problem()
    for n_threads in (1, 2):
        LinearTree(**{**NARROW, **more, "n_threads": n_threads}).fit(x, y).save(tmp_path / str(n_threads))
    one, two = ((tmp_path / name / "arrays.safetensors").read_bytes() for name in "12")
    assert one == two


@pytest.mark.parametrize(
    ("n_labels", "max_leaf", "arity", "root_arity", "levels"),
    [
        (100_000, 256, 256, None, (5,)),
        (1000, 256, 256, None, (2,)),
        (10, 256, 256, None, (1,)),
        (1024, 1, 2, None, (1,)),
        (1024, 1, 16, None, (4,)),
        (512, 1, 16, None, (3,)),
        (1000, 256, 256, 4096, (2,)),  # one level is enough: nothing is wider
        (100_000, 256, 256, 4096, (9,)),
        (3_000_000, 256, 256, 4096, (12, 2)),
        (100_000_000, 256, 256, 4096, (12, 7)),
        (10_000_000_000, 256, 256, 4096, (12, 7)),  # 14 levels below the root are two of seven
    ],
)
def test_merged_levels(n_labels, max_leaf, arity, root_arity, levels):
    assert merged_levels(n_labels, max_leaf, arity, root_arity) == levels
    assert 2 ** levels[0] <= max(root_arity or arity, 2)
    assert all(2**step <= max(arity, 2) for step in levels[1:])


@given(st.integers(2, 60), st.integers(1, 12), st.integers(2, 5), st.integers(0, 2**16))
@settings(deadline=None, max_examples=50)
def test_popular_labels_come_first_in_their_leaf(n_labels, max_leaf, arity, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, n_labels)
    tree = build_tree("random", n_labels=n_labels, max_leaf=max_leaf, collapse=arity.bit_length() - 1, seed=seed)
    sorted_tree = popular_first(tree, counts)
    assert sorted_tree.n_children.tolist() == tree.n_children.tolist()
    for leaf in np.flatnonzero(tree.n_labels_in):
        place = slice(tree.first_label[leaf], tree.first_label[leaf] + tree.n_labels_in[leaf])
        before, after = tree.label_order[place].tolist(), sorted_tree.label_order[place].tolist()
        assert after == sorted(before, key=lambda label: -counts[label])  # ties as they were


def test_every_node_of_the_path_is_explained():
    x, _ = problem()
    model = trained(arity=4)
    tree = model.fitted_.trees[0]
    for label in range(30):
        reason = model.explain(x[3], label)
        path = tree.path(label)[1:].tolist()
        alone = tree.n_labels_in[path[-1]] == 1
        assert [node.node for node in reason.nodes] == path + ([] if alone else [tree.n_nodes + label])
        for node in reason.nodes:
            pushes = [part.contribution for part in reason.contributions if part.node == node.node]
            assert sum(pushes) == pytest.approx(node.margin, abs=1e-4)
        _, of_labels = log_scores(model, x[3])
        assert reason.score == pytest.approx(np.exp(of_labels[label]), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("k", [1, 5, 64, 65, 80])
def test_many_answers_and_few_are_the_same_best_labels(k):
    """Up to 64 labels lie in order, more in a heap; up to 64 answers of a forest are added up without sorting them."""
    x, y = problem(n_labels=120, n_features=80)
    model = LinearTree(n_trees=3, max_leaf=16, arity=4, exact=True, prune=0.0, n_threads=1, C=1.0).fit(x, y)
    state = model.fitted_
    for row in range(6):
        sums = np.zeros(state.n_labels)
        for number in range(3):
            scores = np.exp(np.maximum(log_scores(model, x[row], number)[1], LOWEST_SCORE))
            named = np.lexsort((np.arange(len(scores)), -scores.astype(np.float32)))[: k + 5]
            sums[named] += scores[named]
        top = model.predict(x[row], k)
        np.testing.assert_allclose(top.scores[0], np.sort(sums / 3)[::-1][:k], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(top.scores[0], sums[top.labels[0]] / 3, rtol=1e-3, atol=1e-6)
