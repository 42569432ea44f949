"""Candidates of all sides and their ranking, native against a plain twin."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.models.ensemble.near_rows import row_codes
from labelwood.models.ensemble.sides import column_names

_spec = importlib.util.spec_from_file_location("candidates_twin", Path(__file__).with_name("candidates_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

N_FEATURES, N_ROWS, N_WORDS, N_LABELS, N_RUNS = 30, 50, 12, 70, 15
FIRST_RUN = N_FEATURES + 2  # columns between that are none of the sides'
SETTINGS = {
    "n_near": 7, "least_share": 0.2, "smallest_share": 0.5, "whole": 0.97, "most_names": 3, "n_sure": 2,
    "most_beside": 4, "least_letters": 0.3, "most_letters": 2, "most_postings": 40, "n_learned": 12, "most_learned": 3,
}  # fmt: skip


NO_UNITS = np.zeros((N_FEATURES, 0), np.int8), np.ones(N_FEATURES, np.float32), np.zeros(0, np.float32)


def random_matrix(random, n_rows, n_columns, density):
    values = random.uniform(0.1, 1, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < density)
    return values.astype(np.float32)


def csr(dense):
    matrix = sparse.csr_matrix(dense)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)


def in_bytes(lines):
    """(bytes, scales, the lines that these stand for)."""
    scale = np.maximum(np.abs(lines).max(axis=1), 1e-9).astype(np.float32) / 127
    small = np.rint(lines / scale[:, None]).astype(np.int8)
    return small, scale, small * scale[:, None]


def problem(seed, names=True, learned=None):
    """(native sides, the same arrays dense); learned: the hidden units of a learned space, None for no space."""
    random = np.random.default_rng(seed)
    train = random_matrix(random, N_ROWS, N_FEATURES, 0.2)
    train /= np.maximum(np.linalg.norm(train, axis=1, keepdims=True), 1e-9)
    words = random_matrix(random, N_WORDS, N_LABELS, 0.2)
    words /= np.maximum(words.sum(axis=0), 1e-9)
    arrays = {
        "train": train, "train_labels": random_matrix(random, N_ROWS, N_LABELS, 0.1) > 0,
        "column_words": (random_matrix(random, N_FEATURES, N_WORDS, 0.1) > 0).astype(np.float32),
        "word_labels": words if names else None, "beside": random_matrix(random, N_LABELS, N_LABELS, 0.3),
        **{name: random.random(N_LABELS).astype(np.float32)
           for name in ("mass", "words", "right", "matched", "phrase_right", "label_rows")},
    }  # fmt: skip
    letters = random_matrix(random, N_RUNS, N_LABELS, 0.2)
    # Shares of whole names would all be 1 but for rounding, which differs between processors: no two are equal here.
    length = np.maximum(np.linalg.norm(letters, axis=0), 1e-9) / random.uniform(0.8, 1, N_LABELS)
    arrays["letters"] = (letters / length).astype(np.float32)
    sides = _native.CandidateSides(N_FEATURES, arrays["label_rows"])
    label_starts, labels, _ = csr(arrays["train_labels"].astype(np.float32))
    small, scale, arrays["train"] = in_bytes(train.T)
    arrays["train"] = arrays["train"].T
    filled = np.flatnonzero(train.T)
    starts, rows, _ = csr(train.T)
    near = SETTINGS["n_near"], SETTINGS["most_postings"]
    sides.near(starts, row_codes(starts, rows), small.ravel()[filled], scale, label_starts, labels, *near)
    if learned is not None:
        projection, rows = random.normal(size=(N_FEATURES + learned, 8)), random.normal(size=(N_ROWS, 8))
        *projected, wide_projection = in_bytes(projection)
        *placed, wide_rows = in_bytes(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        units, unit_scale, wide_units = in_bytes(random.normal(size=(N_FEATURES, max(learned, 1))))
        units, wide_units = np.ascontiguousarray(units[:, :learned]), wide_units[:, :learned]
        bias = random.normal(size=learned).astype(np.float32)
        sides.learned(units, unit_scale, bias, *projected, *placed, SETTINGS["n_learned"], SETTINGS["most_learned"])
        arrays["learned"] = {"units": wide_units, "unit_bias": bias, "projection": wide_projection, "rows": wide_rows}
    sides.beside(*csr(arrays["beside"]), SETTINGS["n_sure"], SETTINGS["most_beside"])
    sides.letters(*csr(arrays["letters"]), FIRST_RUN, SETTINGS["least_letters"], SETTINGS["most_letters"])
    sides.phrases(arrays["phrase_right"])
    if names:
        starts, words_of_columns, _ = csr(arrays["column_words"])
        sides.names(
            starts, words_of_columns, *csr(words), *(arrays[n] for n in ("mass", "words", "right", "matched")),
            *(SETTINGS[n] for n in ("least_share", "smallest_share", "whole", "most_names")),
        )  # fmt: skip
    return sides, arrays


def queries(seed, n_models, n_rows=20, width=6):
    """(dense rows, dense characters, names said, answers, the same for the kernel); some have a stored 0 alone."""
    random = np.random.default_rng(seed + 1000)
    x = random_matrix(random, n_rows, N_FEATURES, 0.2)
    x[::7] = 0
    runs = random_matrix(random, n_rows, N_RUNS, 0.3)
    said, answers = [], []
    labels = np.full((n_rows, n_models, width), -1, np.int32)
    scores = np.full((n_rows, n_models, width), -np.inf, np.float32)
    starts, columns, values = [0], [], []
    first_said = FIRST_RUN + N_RUNS
    for row in range(n_rows):
        found = sorted(random.choice(N_LABELS, random.integers(0, 4), replace=False).tolist())
        said.append({label: (1.0 + random.integers(3), 1.0 + random.integers(2), 1.0 + label) for label in found})
        mine = []
        for m in range(n_models):
            n = int(random.integers(0, width + 1))
            chosen = random.choice(N_LABELS, n, replace=False).tolist()
            given = np.sort(random.random(n).astype(np.float32))[::-1].tolist()
            labels[row, m, :n], scores[row, m, :n] = chosen, given
            mine.append(list(zip(chosen, given, strict=True)))
        answers.append(mine)
        used = sorted({*np.flatnonzero(x[row]).tolist(), row % N_FEATURES})
        heard = np.flatnonzero(runs[row])
        columns += [*used, N_FEATURES + 1, *(FIRST_RUN + heard).tolist()]
        values += [*x[row, used].tolist(), 5.0, *runs[row, heard].tolist()]
        for block in range(3):
            columns += [first_said + block * N_LABELS + label for label in found]
            values += [said[-1][label][block] for label in found]
        starts.append(len(columns))
    asked = np.array(starts, np.int64), np.array(columns, np.int32), np.array(values, np.float32), first_said
    flat = labels.reshape(n_rows, -1), scores.reshape(n_rows, -1), n_models
    return x, runs, said, answers, (*asked, *flat)


@pytest.mark.parametrize("level", _native.simd_levels())
def test_every_instruction_level_finds_the_same_nearest_rows(level):
    tables, before = [], _native.simd_level()
    for used in (before, level):
        assert _native.use_simd_level(used)
        try:
            sides, _ = problem(3, True, 21)
            *_, asked = queries(3, 2)
            tables.append(sides.table(*asked, 1))
        finally:
            _native.use_simd_level(before)
    for ours, theirs in zip(*tables, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("names", "learned"), [(True, None), (False, None), (True, 0), (True, 21)])
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_table_is_that_of_the_twin(seed, n_models, names, learned):
    sides, arrays = problem(seed, names, learned)
    x, runs, said, answers, asked = queries(seed, n_models)
    counts, labels, table = sides.table(*asked, 2)
    assert counts.sum() == len(labels) == len(table)
    starts = np.concatenate([[0], np.cumsum(counts)])
    for row in range(len(x)):
        expected = twin.table_of(x[row], runs[row], said[row], answers[row], arrays, SETTINGS)
        mine = labels[starts[row] : starts[row + 1]]
        assert mine.tolist() == sorted(expected)
        for place, label in enumerate(mine.tolist()):
            np.testing.assert_allclose(table[starts[row] + place], expected[label], rtol=2e-5, atol=1e-6)


def random_trees(random, n_features, n_trees=9, n_leaves=8):
    shape = (n_trees, 2 * n_leaves - 1)
    feature, left = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
    for tree in range(n_trees):
        leaves, n_nodes = [0], 1
        while n_nodes < shape[1] and random.random() < 0.95:
            node = leaves.pop(int(random.integers(len(leaves))))
            feature[tree, node], left[tree, node] = random.integers(n_features), n_nodes
            leaves += [n_nodes, n_nodes + 1]
            n_nodes += 2
    value = random.normal(size=shape).astype(np.float32)
    return feature, random.random(shape).astype(np.float32), left, value, 0.3


@pytest.mark.parametrize("level", _native.simd_levels())
@pytest.mark.parametrize("n_leaves", [1, 8, 31, 32, 60])  # trees of more than 31 leaves are walked through
@pytest.mark.parametrize("n_items", [0, 1, 15, 16, 17, 300])
def test_margins_are_those_of_the_twin(n_items, n_leaves, level):
    random = np.random.default_rng(n_items)
    trees = random_trees(random, 5, n_leaves=n_leaves)
    items = random.random((n_items, 5)).astype(np.float32)
    margins, before = np.empty(n_items, np.float32), _native.simd_level()
    assert _native.use_simd_level(level)
    try:
        _native.BoostedTrees(*trees, 5).margins(items, 2, margins)
    finally:
        _native.use_simd_level(before)
    np.testing.assert_allclose(margins, [twin.margin_of(trees, item) for item in items], rtol=1e-5, atol=1e-6)


def test_nodes_that_two_lead_to_are_walked_through():
    """Each node of a chain leads to the next one on both sides of its children: as a tree it has 2^29 leaves."""
    n_nodes = 61
    feature, left = (
        np.zeros((1, n_nodes), np.int32),
        np.minimum(np.arange(n_nodes) + 1, n_nodes - 2)[None].astype(np.int32),
    )
    feature[0, n_nodes - 2 :] = -1
    threshold, value = np.full((1, n_nodes), 0.5, np.float32), np.arange(n_nodes, dtype=np.float32)[None]
    margins = np.empty(2, np.float32)
    items = np.array([[0.0], [1.0]], np.float32)
    _native.BoostedTrees(feature, threshold, left, value, 0.0, 1).margins(items, 1, margins)
    trees = feature, threshold, left, value, 0.0
    np.testing.assert_array_equal(margins, [twin.margin_of(trees, item) for item in items])


@pytest.mark.parametrize(("negative_weight", "item_share", "feature_share"), [(1.0, 1.0, 1.0), (2.5, 0.6, 0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_boosted_trees_are_those_of_the_twin(seed, negative_weight, item_share, feature_share):
    random = np.random.default_rng(seed)
    n_items, n_bins = 300, np.array([7, 12, 2], np.int32)
    bins = np.stack([random.integers(0, n, n_items) for n in n_bins]).astype(np.uint8)
    hits = (bins[0] + bins[1] * (bins[2] == 1) + random.normal(0, 3, n_items) > 9).astype(np.uint8)
    settings = {"min_items": 9, "rate": 0.3, "ridge": 2.0, "base": -0.4, "negative_weight": negative_weight}
    settings |= {"item_share": item_share, "feature_share": feature_share, "seed": seed}
    n_trees, n_leaves = 4, 6
    shape = (n_trees, 2 * n_leaves - 1)
    feature, cut, left = np.full(shape, -1, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    value = np.zeros(shape, np.float32)
    _native.train_boosting(bins, n_bins, hits, *settings.values(), 2, feature, cut, left, value)
    *expected, expected_value = twin.grown(bins, n_bins, hits, settings, n_trees, n_leaves)
    for mine, twins in zip((feature, cut, left), expected, strict=True):
        np.testing.assert_array_equal(mine, twins)
    np.testing.assert_allclose(value, expected_value, rtol=1e-3, atol=1e-6)


def test_a_space_that_does_not_fit_is_refused():
    sides, _ = problem(0)
    lines, scales = np.zeros((N_FEATURES, 8), np.int8), np.ones(N_FEATURES, np.float32)
    for n_rows, n_dims in ((N_ROWS - 1, 8), (N_ROWS, 7)):
        with pytest.raises(ValueError, match="a vector for each"):
            sides.learned(
                *NO_UNITS, lines, scales, np.zeros((n_rows, n_dims), np.int8), np.ones(n_rows, np.float32), 3, 3
            )
    rows, bias = (np.zeros((N_ROWS, 8), np.int8), np.ones(N_ROWS, np.float32)), np.ones(2, np.float32)
    with pytest.raises(ValueError, match="see each feature"):
        sides.learned(np.zeros((N_FEATURES - 1, 2), np.int8), scales, bias, lines, scales, *rows, 3, 3)
    with pytest.raises(ValueError, match="a vector for each"):  # the units have none
        sides.learned(np.zeros((N_FEATURES, 2), np.int8), scales, bias, lines, scales, *rows, 3, 3)


def test_late_trees_ask_the_best_alone_and_give_whole_margins():
    sides, _ = problem(5)
    x, _, _, _, asked = queries(5, 2)
    counts, _, table = sides.table(*asked, 1)
    trees = list(random_trees(np.random.default_rng(2), table.shape[1], n_trees=120))
    trees[3] = trees[3] * 0.9 ** np.arange(120, dtype=np.float32)[:, None]  # as boosting: late trees add little
    k = 2
    assert counts.max() > 20 + 4 * k  # so that some candidates are left out
    best, chances = np.empty((len(x), k), np.int32), np.empty((len(x), k), np.float32)
    closest = np.empty(len(x), np.float32)
    sides.top_k(_native.BoostedTrees(*trees, table.shape[1]), None, *asked, 1, best, chances, closest)
    starts = np.concatenate([[0], np.cumsum(counts)])
    for row in range(len(x)):
        here = slice(starts[row], starts[row + 1])
        expected = sorted((twin.margin_of(trees, item) for item in table[here]), reverse=True)[:k]
        n = len(expected)
        np.testing.assert_allclose(chances[row, :n], 1 / (1 + np.exp(-np.array(expected))), rtol=1e-5)


@pytest.mark.parametrize("k", [1, 4, 40])
def test_the_best_are_those_of_the_table(k):
    sides, _ = problem(5)
    x, _, _, _, asked = queries(5, 2)
    counts, labels, table = sides.table(*asked, 1)
    trees = random_trees(np.random.default_rng(1), table.shape[1])
    best, chances = np.empty((len(x), k), np.int32), np.empty((len(x), k), np.float32)
    closest = np.full(len(x), np.nan, np.float32)
    sides.top_k(_native.BoostedTrees(*trees, table.shape[1]), None, *asked, 2, best, chances, closest)
    starts = np.concatenate([[0], np.cumsum(counts)])
    for row in range(len(x)):
        here = slice(starts[row], starts[row + 1])
        expected = {
            int(label): 1 / (1 + np.exp(-twin.margin_of(trees, item)))
            for label, item in zip(labels[here], table[here], strict=True)
        }
        n = min(k, len(expected))
        if expected:  # all candidates of a row have it
            assert closest[row] == table[here][0, column_names(("words", "pairs")).index("row: closest row")]
        assert (best[row, n:] == -1).all()
        assert np.isneginf(chances[row, n:]).all()
        np.testing.assert_allclose(chances[row, :n], sorted(expected.values(), reverse=True)[:n], rtol=1e-5)
        np.testing.assert_allclose(chances[row, :n], [expected[label] for label in best[row, :n].tolist()], rtol=1e-5)


def test_what_likely_candidates_say_of_the_others_is_that_of_the_twin():
    sides, arrays = problem(2)
    random = np.random.default_rng(7)
    counts = np.array([0, 1, 2, 30], np.int64)
    labels = [np.sort(random.choice(N_LABELS, n, replace=False)).astype(np.int32) for n in counts]
    chances = [random.random(n).astype(np.float32) for n in counts]
    columns = np.full((counts.sum(), 8), np.nan, np.float32)
    sides.look_again(counts, np.concatenate(labels), np.concatenate(chances), 2, columns)
    expected = [twin.seen_again(a, b, arrays["beside"]) for a, b in zip(labels, chances, strict=True)]
    np.testing.assert_allclose(columns, np.vstack(expected), rtol=1e-5, atol=1e-6)


def test_a_second_ranker_sees_what_the_first_says_of_the_others():
    sides, arrays = problem(5)
    x, _, _, _, asked = queries(5, 2)
    counts, labels, table = sides.table(*asked, 1)
    width, random = table.shape[1], np.random.default_rng(3)
    first, second = random_trees(random, width), random_trees(random, width + 8)
    k = 40  # so that every candidate is looked at twice
    best, chances = np.empty((len(x), k), np.int32), np.empty((len(x), k), np.float32)
    rankers = _native.BoostedTrees(*second, width + 8), _native.BoostedTrees(*first, width)
    sides.top_k(*rankers, *asked, 2, best, chances, np.empty(len(x), np.float32))
    starts = np.concatenate([[0], np.cumsum(counts)])
    for row in range(len(x)):
        here = slice(starts[row], starts[row + 1])
        likely = 1 / (1 + np.exp(-np.array([twin.margin_of(first, item) for item in table[here]])))
        items = np.hstack([table[here], twin.seen_again(labels[here], likely, arrays["beside"])])
        expected = sorted((1 / (1 + np.exp(-twin.margin_of(second, item))) for item in items), reverse=True)[:k]
        np.testing.assert_allclose(chances[row, : len(expected)], expected, rtol=1e-5)


def test_rows_and_trees_that_do_not_fit_are_refused():
    sides, _ = problem(0)
    _, _, _, _, (starts, columns, values, first_said, labels, scores, n_models) = queries(0, 1)
    for wrong in (
        (starts, columns[::-1].copy(), values, first_said, labels, scores, n_models),
        (starts[:-1].copy(), columns, values, first_said, labels, scores, n_models),
        (starts, columns, values, 0, labels, scores, n_models),
        (starts, columns, values, first_said, labels + N_LABELS, scores, n_models),
        (starts, columns, values, first_said, labels, scores, 5),
    ):
        with pytest.raises(ValueError, match=r"rise|fit|after|label|answers|one a row"):
            sides.table(*wrong, 1)
    feature, threshold, left, value, base = random_trees(np.random.default_rng(0), 5)
    with pytest.raises(ValueError, match="feature that is not there"):
        _native.BoostedTrees(feature, threshold, left, value, base, 1)
    with pytest.raises(ValueError, match="outside its tree"):
        _native.BoostedTrees(feature, threshold, left * 0, value, base, 5)
