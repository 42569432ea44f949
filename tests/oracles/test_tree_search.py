"""Best-first and beam search against the exhaustive twin: S1, S2, S3 and S5 of any label tree."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwood import _native
from labelwood.labelindex.tree import LabelTree

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

LINKS = (0, 1, 2)  # squared hinge, cubed hinge, log sigmoid
NOTHING = np.zeros(0, np.uint8)


def random_tree(rng, n_labels, arity, max_leaf):
    """A tree of uneven splits: some leaves end early, some chains are long."""
    children, labels, level = [], [], [n_labels]
    order = rng.permutation(n_labels)
    while level:
        below = []
        for size in level:
            if size <= max_leaf or (size < 3 * max_leaf and rng.random() < 0.2):
                children.append(0)
                labels.append(size)
                continue
            n = int(rng.integers(2, min(arity, size) + 1))
            cuts = np.sort(rng.choice(np.arange(1, size), n - 1, replace=False))
            below += np.diff([0, *cuts, size]).tolist()
            children.append(n)
            labels.append(0)
        level = below
    return LabelTree.from_shape(children, labels, order)


class Searched:
    """A trained random tree, its dense twin and the native search over it."""

    def __init__(
        self, seed, n_labels, arity=3, max_leaf=4, link=0, n_rows=60, n_features=25, C=1.0, weights="half",
        most_together=1024,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        self.most_together = most_together
        self.link = link
        self.x = (rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.3)).astype(np.float32)
        self.y = rng.random((n_rows, n_labels)) < 0.1
        self.tree = random_tree(rng, n_labels, arity, max_leaf)
        self.blocks, self.first_block = twin.train_tree(self.x, self.y, self.tree, C=C, prune=0.01, weights=weights)
        weights, bias = twin.decode(self.blocks)
        self.exact = [
            twin.path_scores(self.tree, self.first_block, self.blocks, weights, bias, row, link) for row in self.x
        ]
        self.native = self.forest()

    def forest(self):
        """The native search over this one tree."""
        tree = self.tree
        native = _native.SearchTree(
            self.blocks.native, tree.first_child, tree.n_children, tree.first_label, tree.n_labels_in,
            tree.label_order, self.first_block, self.most_together,
        )  # fmt: skip
        return _native.Forest([self.blocks.native], [native], np.arange(self.x.shape[1], dtype=np.int32))

    def blocks_of(self, nodes):
        return int(sum(self.first_block[n + 1] - self.first_block[n] for n in nodes))

    def filters(self, labels):
        """(allowed places, open nodes) of a set of labels."""
        allowed = np.isin(self.tree.label_order, labels).astype(np.uint8)
        open_nodes = [np.isin(self.tree.labels_below(n), labels).any() for n in range(self.tree.n_nodes)]
        return allowed, np.array(open_nodes, np.uint8)

    def search(
        self, k, beam=0, max_blocks=0, allowed=NOTHING, opened=NOTHING, n_threads=1, slack=0.0, max_nodes=0, lead=0.0
    ):
        rows = twin.csr_rows(self.x)
        n = len(rows)
        labels, scores = np.full((n, k), -1, np.int32), np.full((n, k), -np.inf, np.float32)
        n_blocks = np.zeros(n, np.int32)
        self.native.top_k(
            rows.indptr, rows.indices, rows.data, self.link, beam, max_blocks, k, allowed, opened, labels, scores,
            n_blocks, n_threads, slack, max_nodes, 0, lead,
        )  # fmt: skip
        log_scores = np.full((n, k), -np.inf)
        np.log(scores, out=log_scores, where=labels >= 0)
        return labels, log_scores, n_blocks


def assert_top_k(labels, scores, exact):
    """Scores equal the k best exact ones; every label has the exact score that it claims (ties may swap)."""
    k = min(len(labels), len(exact))
    best = np.sort(exact)[::-1][:k]
    tolerance = 1e-4 * (1 + np.abs(best))
    assert np.all(np.abs(scores[:k] - best) <= tolerance)
    assert np.all(np.abs(exact[labels[:k]] - scores[:k]) <= tolerance)
    assert len(set(labels[:k].tolist())) == k
    assert np.all(np.diff(scores[:k]) <= 0)
    assert np.all(labels[k:] == -1)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(2, 6),
    st.integers(1, 8),
    st.sampled_from(LINKS),
    st.integers(1, 8),
    st.sampled_from((0, 1024)),
)
def test_best_first_and_a_wide_beam_equal_exhaustive_search(seed, n_labels, arity, max_leaf, link, k, most_together):
    case = Searched(seed, n_labels, arity, max_leaf, link, n_rows=20, most_together=most_together)
    widest = int(np.diff(case.tree.level_starts).max())
    for beam in (0, widest):
        labels, scores, n_blocks = case.search(k, beam)
        for i, exact in enumerate(case.exact):
            assert_top_k(labels[i], scores[i], exact.label)
        assert np.all(n_blocks <= len(case.blocks.child_start) - 1)


@pytest.mark.parametrize("link", LINKS)
def test_path_scores_never_grow_with_depth(link):
    case = Searched(1, 80, link=link)
    for exact in case.exact:
        parents = case.tree.parent[1:]
        assert np.all(exact.node[1:] <= exact.node[parents])
        assert np.all(exact.label <= exact.node[case.tree.leaf_of_labels])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("link", LINKS)
def test_best_first_opens_exactly_the_nodes_above_the_kth_label(link, k):
    """No exact search opens fewer: a closed node above the k-th score might hold a better label."""
    case = Searched(2, 80, link=link)
    _, _, n_blocks = case.search(k)
    exactly = 0
    for i, exact in enumerate(case.exact):
        kth = np.sort(exact.label)[-k]
        margin = 1e-4 * (1 + abs(kth))
        surely = case.blocks_of(np.flatnonzero(exact.node > kth + margin))
        perhaps = case.blocks_of(np.flatnonzero(exact.node > kth - margin))
        assert surely <= n_blocks[i] <= perhaps
        exactly += surely == perhaps
    assert exactly > len(case.exact) / 2  # ties apart, the bounds meet


def test_a_narrow_beam_looks_at_less_and_its_scores_are_true():
    case = Searched(3, 120, arity=4, max_leaf=3)
    full, narrow = case.search(5), case.search(5, beam=1)
    for i, exact in enumerate(case.exact):
        real = narrow[0][i] >= 0
        got = narrow[1][i][real]
        np.testing.assert_allclose(got, exact.label[narrow[0][i][real]], atol=1e-4 * (1 + np.abs(got).max()))
        assert narrow[2][i] <= case.tree.max_depth + 1
    assert np.all(narrow[1][:, 0] <= full[1][:, 0])
    assert 0 < np.sum(narrow[0][:, 0] == full[0][:, 0]) < len(full[0])
    wider = [case.search(1, beam=b)[1][:, 0] for b in (1, 2, 4, 1000)]
    assert [np.mean(w) for w in wider] == sorted(np.mean(w) for w in wider)


@pytest.mark.parametrize("beam", [0, 1000])
def test_only_allowed_labels_come_back(beam):
    case = Searched(4, 70)
    rng = np.random.default_rng(0)
    for wanted in (rng.choice(70, 20, replace=False), np.array([7]), np.zeros(0, np.int64)):
        labels, scores, n_blocks = case.search(5, beam, allowed=case.filters(wanted)[0], opened=case.filters(wanted)[1])
        for i, exact in enumerate(case.exact):
            hidden = np.full(70, -np.inf)
            hidden[wanted] = exact.label[wanted]
            k = min(5, len(wanted))
            assert set(labels[i, :k].tolist()) <= set(wanted.tolist())
            np.testing.assert_allclose(scores[i, :k], np.sort(hidden)[::-1][:k], rtol=1e-4, atol=1e-4)
            assert np.all(labels[i, k:] == -1)
        if len(wanted) == 1:  # only the path is opened
            assert np.all(n_blocks == case.blocks_of(case.tree.path(7)))
        if len(wanted) == 0:
            assert np.all(n_blocks == 0)


@pytest.mark.parametrize("beam", [0, 5])
def test_max_blocks_bounds_the_work(beam):
    case = Searched(5, 100, arity=2, max_leaf=2)
    unbounded = case.search(3, beam)
    for limit in (1, 3, 10):
        labels, scores, n_blocks = case.search(3, beam, max_blocks=limit)
        assert np.all(n_blocks <= limit)
        same = unbounded[2] < limit
        np.testing.assert_array_equal(labels[same], unbounded[0][same])
        np.testing.assert_array_equal(scores[same], unbounded[1][same])
    np.testing.assert_array_equal(case.search(3, beam, max_blocks=10**9)[0], unbounded[0])


def bounded_search(case, exact, k, slack, max_nodes, lead=0.0):
    """The rule itself, slow and plain: (scores of the k best labels, blocks, True if rounding can decide nothing)."""
    tree, closed, found, opened = case.tree, {0}, [], []
    clear, skipped = True, 0
    alone = (tree.n_children == 0) & (np.diff(case.first_block) == 0)
    best_first = tree.n_children[0] > 0 and not any(alone[node] for node in tree.children(0))
    while closed:
        # The best child of the root comes first, whatever it is.
        waits = (tree.n_children > 0) * (0 if best_first and len(opened) == 1 and not skipped else lead)
        standing = exact.node - waits
        ranked = sorted(closed, key=lambda node: (-standing[node], node))
        best = ranked[0]
        tolerance = 2e-5 * (1 + abs(exact.node[best]))
        clear &= len(ranked) == 1 or standing[best] - standing[ranked[1]] > tolerance
        if len(found) >= k:
            needed = sorted(found)[-k] + slack
            clear &= abs(exact.node[best] - needed) > tolerance
            if exact.node[best] <= needed:
                if not lead:
                    break
                closed.remove(best)
                skipped += 1
                if len(opened) + skipped == 1 + max_nodes:
                    break
                continue
        closed.remove(best)
        opened.append(best)
        if tree.n_children[best]:
            closed.update(tree.children(best))
        else:
            found += exact.label[tree.labels_below(best)].tolist()
        if len(opened) + skipped == 1 + max_nodes:  # the root does not count
            break
    return np.sort(found)[::-1][:k], case.blocks_of(opened), clear


@pytest.mark.parametrize("lead", [0.0, 0.4])
@pytest.mark.parametrize("slack", [0.0, 0.5])
@pytest.mark.parametrize("max_nodes", [1, 2, 5, 20, 70, 10**9])
def test_a_search_of_so_many_nodes_is_the_plain_one(max_nodes, slack, lead):
    case = Searched(12, 300, arity=40, max_leaf=3, link=2, n_rows=80)
    labels, scores, n_blocks = case.search(4, slack=slack, max_nodes=max_nodes, lead=lead)
    n_clear = 0
    for i, exact in enumerate(case.exact):
        expected, blocks, clear = bounded_search(case, exact, 4, slack, max_nodes, lead)
        if not clear:
            continue
        n_clear += 1
        assert n_blocks[i] == blocks
        real = labels[i] >= 0
        np.testing.assert_allclose(scores[i][real], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(exact.label[labels[i][real]], expected, rtol=1e-4, atol=1e-4)
    assert n_clear > 5


def test_nodes_with_more_than_256_children_have_several_blocks():
    case = Searched(6, 700, arity=300, max_leaf=300, n_rows=40)
    wide = LabelTree.from_shape(
        [270, *[0] * 270], [0, *[2] * 160, *[1] * 109, 271], np.random.default_rng(0).permutation(700)
    )
    case.tree = wide
    case.blocks, case.first_block = twin.train_tree(case.x, case.y, wide, prune=0.0)
    assert case.first_block[1] == 2  # the root: 270 children
    assert case.first_block[-1] - case.first_block[-2] == 2  # the last leaf: 271 labels
    weights, bias = twin.decode(case.blocks)
    case.native = case.forest()
    for beam in (0, 270):
        labels, scores, _ = case.search(6, beam)
        for i, row in enumerate(case.x):
            exact = twin.path_scores(wide, case.first_block, case.blocks, weights, bias, row, 0)
            assert_top_k(labels[i], scores[i], exact.label)


@pytest.mark.parametrize("level", _native.simd_levels())
def test_a_wide_root_of_long_rows_is_searched_exactly_at_every_level(level):
    """The root's rows are found by an index, more features than go together; answers fill one and more vectors."""
    case = Searched(11, 900, arity=300, max_leaf=300, n_rows=30, n_features=200)
    case.tree = LabelTree.from_shape([300, *[0] * 300], [0, *[3] * 300], np.random.default_rng(1).permutation(900))
    case.blocks, case.first_block = twin.train_tree(case.x, case.y, case.tree, prune=0.0)
    weights, bias = twin.decode(case.blocks)
    case.native = case.forest()
    assert np.diff(twin.csr_rows(case.x).indptr).max() > 64
    exact = [twin.path_scores(case.tree, case.first_block, case.blocks, weights, bias, row, 0).label for row in case.x]
    kept = _native.simd_level()
    assert _native.use_simd_level(level)
    try:
        for k in (1, 8, 9, 20, 40, 100):
            labels, scores, _ = case.search(k)
            for i in range(len(case.x)):
                assert_top_k(labels[i], scores[i], exact[i])
    finally:
        assert _native.use_simd_level(kept)


@pytest.mark.parametrize("weights", ["half", "int8"])
@pytest.mark.parametrize("level", _native.simd_levels())
def test_a_small_tree_scored_whole_answers_as_one_scored_node_by_node(level, weights):
    """The same bytes, in batches and row by row; leaves of one to many labels join, in lists, in bitmaps and whole."""
    for seed, n_labels, arity, max_leaf in ((21, 200, 20, 4), (22, 300, 90, 1), (23, 250, 30, 12)):
        cases = [
            Searched(seed, n_labels, arity, max_leaf, 1, n_rows=30, n_features=90, weights=weights, most_together=most)
            for most in (0, 2000)
        ]
        kept = _native.simd_level()
        assert _native.use_simd_level(level)
        try:
            for k in (3, 20, 80):
                for options in ({}, {"slack": 0.3, "max_nodes": 7}, {"beam": 3}, {"max_blocks": 4}):
                    for by_node, whole in zip(*(case.search(k, **options) for case in cases), strict=True):
                        np.testing.assert_array_equal(by_node, whole)
            for row in cases[0].x[:10]:
                columns = np.flatnonzero(row).astype(np.int32)
                answers = []
                for case in cases:
                    labels, scores = np.full(9, -1, np.int32), np.zeros(9, np.float32)
                    case.native.query(columns, row[columns], True, 1, 0, 9, labels, scores)
                    answers.append((labels.tolist(), scores.tobytes()))
                assert answers[0] == answers[1]
        finally:
            assert _native.use_simd_level(kept)


@pytest.mark.parametrize("level", _native.simd_levels())
def test_a_forest_adds_up_what_its_trees_say(level):
    """In vectors for few answers, in a table for more, sorted for many: the mean of the trees, ties to the smaller."""
    cases = [Searched(31, 150, 4, max_leaf, 2, n_rows=25) for max_leaf in (3, 10, 30)]
    for case in cases[1:]:  # other trees over the same rows
        case.x, case.y = cases[0].x, cases[0].y
        case.blocks, case.first_block = twin.train_tree(case.x, case.y, case.tree, prune=0.01)
    trees = [
        _native.SearchTree(
            case.blocks.native, case.tree.first_child, case.tree.n_children, case.tree.first_label,
            case.tree.n_labels_in, case.tree.label_order, case.first_block,
        )
        for case in cases
    ]  # fmt: skip
    forest = _native.Forest([case.blocks.native for case in cases], trees, np.arange(25, dtype=np.int32))
    exact = []
    for case in cases:
        weights, bias = twin.decode(case.blocks)
        scores = [twin.path_scores(case.tree, case.first_block, case.blocks, weights, bias, row, 2) for row in case.x]
        exact.append([one.label for one in scores])
    rows = twin.csr_rows(cases[0].x)
    kept = _native.simd_level()
    assert _native.use_simd_level(level)
    try:
        for k, k_each in ((5, 10), (5, 21), (5, 22), (12, 150), (60, 60), (128, 150), (129, 150)):
            labels, scores = np.full((len(rows), k), -1, np.int32), np.zeros((len(rows), k), np.float32)
            forest.top_k(
                rows.indptr, rows.indices, rows.data, 2, 0, 0, k_each, NOTHING, NOTHING, labels, scores,
                np.zeros(len(rows), np.int32), 1,
            )  # fmt: skip
            for i in range(len(rows)):
                mean = np.zeros(150)
                for one in exact:
                    named = np.argsort(-one[i], kind="stable")[:k_each]
                    mean[named] += np.exp(one[i][named]) / 3
                np.testing.assert_allclose(scores[i], np.sort(mean)[::-1][:k], rtol=1e-4, atol=1e-6)
                np.testing.assert_allclose(scores[i], mean[labels[i]], rtol=1e-4, atol=1e-6)
    finally:
        assert _native.use_simd_level(kept)


def test_one_leaf_is_one_vs_all():
    """L3: a tree of a single leaf has the classifiers of one-vs-all, trained on rows that have a label."""
    case = Searched(7, 40, max_leaf=40)
    assert case.tree.n_nodes == 1
    labelled = case.y.any(axis=1)
    flat = twin.train_flat(case.x[labelled], case.y[labelled][:, case.tree.label_order], prune=0.01)
    for name, array in case.blocks.arrays.items():
        np.testing.assert_array_equal(array, flat.arrays[name], err_msg=name)


def test_threads_and_levels_do_not_change_the_answer():
    case = Searched(8, 90)
    kept = _native.simd_level()
    for k in (4, 12, 30, 60):
        first = case.search(k)
        for level in _native.simd_levels():
            assert _native.use_simd_level(level)
            for n_threads in (1, 2):
                for a, b in zip(first, case.search(k, n_threads=n_threads), strict=True):
                    np.testing.assert_array_equal(a, b)
    assert _native.use_simd_level(kept)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("first_child", 0, 0),  # its own child: a search would never end
        ("first_child", 0, 2**31 - 1),
        ("n_children", 0, -1),
        ("n_children", 0, 10**6),
        ("first_label", -1, -5),
        ("first_label", -1, 10**6),
        ("n_labels_in", -1, 10**6),
        ("first_block", 1, -1),
        ("first_block", 1, 10**6),
    ],
)
def test_trees_that_do_not_fit_the_blocks_are_refused(name, place, value):
    case = Searched(9, 30)
    tree = case.tree
    arrays = {
        "first_child": tree.first_child, "n_children": tree.n_children, "first_label": tree.first_label,
        "n_labels_in": tree.n_labels_in, "label_order": tree.label_order, "first_block": case.first_block,
    }  # fmt: skip
    _native.SearchTree(case.blocks.native, **arrays)
    arrays[name] = arrays[name].copy()
    arrays[name][place] = value
    with pytest.raises(ValueError):
        _native.SearchTree(case.blocks.native, **arrays)


def test_no_room_for_an_answer_is_refused():
    case = Searched(10, 30)
    with pytest.raises(ValueError, match="at least one"):
        case.search(0)
    column, value = np.zeros(1, np.int32), np.ones(1, np.float32)
    for k, k_each in ((0, 1), (1, 0), (0, 0)):
        with pytest.raises(ValueError, match="at least one"):
            case.native.query(column, value, True, 0, 0, k_each, np.zeros(k, np.int32), np.zeros(k, np.float32))


def test_answers_go_into_arrays_of_their_kind_only():
    case = Searched(10, 30)
    row = (np.zeros(1, np.int32), np.ones(1, np.float32), True, 0, 0, 1)
    locked = np.zeros(1, np.int32)
    locked.flags.writeable = False
    for labels in (np.zeros(1, np.int64), np.zeros((1, 1), np.int32), np.zeros(4, np.int32)[::2], locked, [0]):
        with pytest.raises(ValueError, match="int32 and float32"):
            case.native.query(*row, labels, np.zeros(1, np.float32))
    with pytest.raises(ValueError, match="int32 and float32"):
        case.native.query(*row, np.zeros(1, np.int32), np.zeros(1, np.float64))


@pytest.mark.parametrize("link", LINKS)
def test_margins_that_are_no_numbers_come_last(link):
    """An infinite weight of a damaged file times two opposite values is no number: such labels sink."""
    weights = np.zeros((2, 40), np.float32)
    weights[:, ::2] = 1
    blocks = twin.encode(weights, np.linspace(0, 1, 40))
    twin.replace_weights(blocks, 1, np.inf)
    tree = LabelTree.from_shape([0], [40], np.arange(40))
    native = _native.SearchTree(
        blocks.native, tree.first_child, tree.n_children, tree.first_label, tree.n_labels_in, tree.label_order,
        np.array([0, 1]),
    )  # fmt: skip
    forest = _native.Forest([blocks.native], [native], np.arange(2, dtype=np.int32))
    labels, scores = np.zeros(40, np.int32), np.zeros(40, np.float32)
    found = forest.query(
        np.arange(2, dtype=np.int32), np.array([1, -1], np.float32), False, link, 0, 40, labels, scores
    )
    assert found == 40
    np.testing.assert_array_equal(labels, [*range(39, 0, -2), *range(0, 40, 2)])
    assert not np.isnan(scores).any()
