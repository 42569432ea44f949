"""The label tree that LinearTree trains: given, read from a file, or built from label vectors and frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError
from labelwood.labelindex.build import build_tree
from labelwood.labelindex.hierarchy_file import read_hierarchy
from labelwood.labelindex.interpolated import balance_of_ratio
from labelwood.labelindex.splitting import Splitter
from labelwood.labelindex.spread_splitter import SMALLEST_PIECE, SpreadSplitter
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies
from labelwood.labelspace.name_vectors import name_vectors
from labelwood.labelspace.pifa import label_vectors
from labelwood.matrices import normalized_rows, unit_scales
from labelwood.models.fit_input import FitInput
from labelwood.models.linear.linear_tree_params import LinearTreeParams
from labelwood.progress import SILENT
from labelwood.spreading import current_spread, even_ranges
from labelwood.storage.steps import Key, current_steps

# Children of a node in the wide trees of a forest, at most, and labels of a leaf: Bonsai's 100 would leave the last of
# the solver's groups of 16 nearly empty.
WIDE = 96
# From so many labels on leaves are as large as in the other trees: at 96 labels there were two to three times as many
# nodes, and P@k the same within 0.15 (YSO-Finna-en and -fi, Debian-Depends with pairs of words, Rust-Commits).
MANY_LABELS = 10_000
# Children where two levels of them are needed anyway: on Rust-Commits P@3 of a forest was 0.2 better than with 96, and
# the tree trained in four fifths of the time.
WIDE_ON_TWO_LEVELS = 64
# Values of a label's vector, at most: labels with many rows have tens of thousands, of which the smallest say nothing
# and take most of the time and memory of the tree. One tree, means of two and four seeds, validation rows with pairs of
# words, P@1/3/5 with and without: Debian-Depends 75.54/53.71/42.30 and 75.42/53.75/42.34, EURLEX57K 88.29/77.14/64.28
# and 88.38/77.05/64.36. At 300 EURLEX57K's P@1 was 0.4 smaller (three trees).
MOST_VALUES = 1000
# The root of a tree by similarity has up to this many times `arity` children, if that is at least FROM_ARITY.
WIDER_ROOT, FROM_ARITY = 16, 256
# Of k-means: 20 take twice the time and are level (forest's P@1/3/5: YSO-Finna-en -0.3/-0.1/0, -fi +0.1/0/+0.1).
WIDE_ITERATIONS = 5


def given_tree(settings: LinearTreeParams, data: FitInput) -> LabelTree | None:
    """The user's tree, from `fit(tree=...)` or from the file of the setting `tree`; None if there is neither."""
    tree = data.tree
    if tree is None and settings.tree is not None:
        tree = read_hierarchy(settings.tree, data.n_labels, data.label_names)
    if tree is not None and tree.n_labels != data.n_labels:
        raise DataError(f"the tree given has {tree.n_labels} labels, but y has {data.n_labels}")
    return tree


def built_trees(settings: LinearTreeParams, data: FitInput) -> list[LabelTree]:
    """The trees of a forest. A run that goes on takes those that were finished, and makes no label vectors for them."""
    vectors: sparse.csr_matrix | Splitter | None = None

    def grown(number: int) -> LabelTree:
        nonlocal vectors
        if vectors is None:
            vectors = vectors_for_tree(settings, data)
        return built_tree(settings, data, vectors, number)

    steps = current_steps()
    if steps is None:
        return [grown(number) for number in range(settings.n_trees)]
    shared = _tree_key(settings, data)
    return [
        LabelTree.from_arrays(
            steps.arrays(shared.copy().add(number), lambda number=number: grown(number).to_arrays())  # type: ignore[misc]
        )
        for number in range(settings.n_trees)
    ]


def _tree_key(settings: LinearTreeParams, data: FitInput) -> Key:
    """What the trees of a forest depend on."""
    key = Key("tree").add(settings.saved(), data.x, data.y)
    key.add(data.row_weights is not None, *([] if data.row_weights is None else [data.row_weights]))
    if settings.label_features:
        key.add(list(data.label_names or ()), list(data.feature_names or ()))
    return key


def vectors_for_tree(settings: LinearTreeParams, data: FitInput) -> sparse.csr_matrix | Splitter:
    """The unit vector of every label: its rows, and the words of its name if label_features is above 0.

    Where work is spread, the vectors are made in shards, which stay where they are: a splitter knows them.
    """
    if settings.label_features and (data.label_names is None or data.feature_names is None):
        raise DataError(
            "label_features needs the names of labels and features: fit a Dataset that has both, or use a Tagger"
        )
    spread = current_spread()
    n_shards = min(spread.n_parts, data.n_labels // SMALLEST_PIECE)
    if n_shards < 2:
        return _vectors(settings, data, data, data.label_names, settings.n_threads)
    ranges = even_ranges(np.bincount(data.y.indices, minlength=data.n_labels).tolist(), n_shards)
    bare = replace(data, texts=None, column_names=None, tree=None, negatives=None, called=None, progress=SILENT)
    shards = spread.map(
        vector_shard,
        [spread.share(bare)],
        [(settings, first, last) for first, last in ranges],
        keep=True,
        what="label vectors",
        progress=data.progress,
    )
    return SpreadSplitter(spread, shards, [0, *(last for _, last in ranges)])


def vector_shard(
    data: FitInput, settings: LinearTreeParams, first: int, last: int, *, n_threads: int | None = None
) -> sparse.csr_matrix:
    """The unit vectors of the labels first .. last - 1, made of the rows that have one of them."""
    y = data.y[:, first:last]
    having = np.flatnonzero(np.diff(y.indptr))
    rows = replace(data.take(having), y=y[having])
    names = None if data.label_names is None else data.label_names[first:last]
    return _vectors(settings, rows, data, names, n_threads)


def _vectors(
    settings: LinearTreeParams,
    rows: FitInput,
    data: FitInput,
    label_names: Sequence[str] | None,
    n_threads: int | None,
) -> sparse.csr_matrix:
    """The vectors of the labels of `rows`; data: all rows, by which words of names are weighed."""
    scales = unit_scales(rows.x)
    x = normalized_rows(rows.x) if scales is None else rows.x
    weights = scales if rows.row_weights is None else rows.row_weights * (1 if scales is None else scales)
    vectors = label_vectors(x, rows.y, max_features=MOST_VALUES, row_weights=weights, n_threads=n_threads)
    if not settings.label_features:
        return vectors
    names = name_vectors(label_names or (), data.feature_names or (), data.x)
    return normalized_rows((vectors + settings.label_features * names).astype(np.float32).tocsr())


def built_tree(
    settings: LinearTreeParams, data: FitInput, vectors: sparse.csr_matrix | Splitter, number: int
) -> LabelTree:
    """Tree `number` of a forest, between balanced 2-means and a frequency code as `balance` says.

    Every third tree by similarity alone is one of wide, unbalanced clusters instead.
    """
    y, weights = data.y, data.row_weights
    if _is_wide(settings, number):
        max_leaf = settings.max_leaf if data.n_labels >= MANY_LABELS else min(settings.max_leaf, WIDE)
        tree = build_tree(
            "wide",
            vectors=vectors,
            arity=min(settings.arity, WIDE if data.n_labels <= WIDE * max_leaf else WIDE_ON_TWO_LEVELS),
            max_leaf=max_leaf,
            max_iterations=WIDE_ITERATIONS,
            seed=settings.seed + number,
            n_threads=settings.n_threads,
            progress=data.progress,
        )
        return popular_first(tree, _weight_of_labels(data))
    balance = settings.balance
    if settings.balance_ratio is not None:
        balance = balance_of_ratio(settings.balance_ratio)
    direct = settings.path == "direct"
    needs_cover = balance > (0 if direct else 1)
    tree = build_tree(
        "direct" if direct else "interpolated",
        vectors=vectors,
        frequencies=label_frequencies(y, weights=weights) if y.nnz else np.ones(y.shape[1]),
        cover_frequencies=cover_frequencies(y, settings.cover, weights=weights) if needs_cover and y.nnz else None,
        balance=balance,
        smoothing=settings.smoothing,
        rounding=settings.rounding,
        round_each=settings.round_each,
        max_leaf=settings.max_leaf,
        collapse=merged_levels(y.shape[1], settings.max_leaf, settings.arity, _root_arity(settings, balance)),
        seed=settings.seed + number,
        n_threads=settings.n_threads,
        progress=data.progress,
    )
    return popular_first(tree, _weight_of_labels(data))


def _weight_of_labels(data: FitInput) -> npt.NDArray[Any]:
    """The number of each label's rows, or the sum of their weights."""
    of_entries = None if data.row_weights is None else np.repeat(data.row_weights, np.diff(data.y.indptr))
    return np.bincount(data.y.indices, of_entries, minlength=data.n_labels)


def _is_wide(settings: LinearTreeParams, number: int) -> bool:
    """True for every third tree of a forest by similarity alone: it follows the natural clusters, of any size.

    Balanced trees that differ only by their seed agree too much, and cut through large groups of labels. One tree of
    unbalanced clusters (as Bonsai's, Khandagale et al. 2020) among three, validation rows, P@1/3/5: Rust-Commits
    -0.1/+0.4/+0.2, Debian-Depends +0.1/+0.3/+0.2, Bibtex +0.2/+0.2/+0.2, CookingStackExchange -0.1/+0.1/+0.1,
    CVE-Products +0.1/+0.1/0.
    """
    return settings.wide_trees and number % 3 == 2 and not settings.balance and not settings.balance_ratio


def popular_first(tree: LabelTree, counts: npt.NDArray[Any]) -> LabelTree:
    """The same tree with the labels of every leaf from many rows (`counts`) to few.

    The solver takes 16 neighbouring labels at once and visits a row while any of them needs it; labels with as many
    rows need it about as long. Saves 7% (S) to 12% (EURLEX57K) of all visits.
    """
    leaves = np.flatnonzero(tree.n_labels_in)
    leaves = leaves[np.argsort(tree.first_label[leaves], kind="stable")]
    leaf_of_place = np.repeat(np.arange(len(leaves)), tree.n_labels_in[leaves])
    order = tree.label_order[np.lexsort((-counts[tree.label_order], leaf_of_place))]
    return LabelTree.from_shape(tree.n_children, tree.n_labels_in, order)


def _root_arity(settings: LinearTreeParams, balance: float) -> int:
    """The most children of the root: a wide root goes with trees by similarity alone, whose levels are even."""
    if settings.root_arity is not None:
        return int(settings.root_arity)
    return settings.arity * WIDER_ROOT if settings.arity >= FROM_ARITY and not balance else int(settings.arity)


def merged_levels(n_labels: int, max_leaf: int, arity: int, root_arity: int | None = None) -> tuple[int, ...]:
    """How many levels of a binary tree become one, from the root down, the last number again and again.

    Nodes have at most `arity` children. Where one level of them is not enough, the root takes as many as it may
    (root_arity; None: arity), and the levels below are even. Without a wider root all levels are even: 100,000 labels
    in leaves of 256 need 9 binary levels, and 5 and 4 (32 and 16 children) train in about half the time of 8 and 1
    (256 and 2), at the same precision within 0.5.
    """
    binary_levels = max(1, math.ceil(math.log2(max(2, n_labels / max_leaf))))
    most, most_of_root = arity.bit_length() - 1, (root_arity or arity).bit_length() - 1
    if binary_levels <= most or most_of_root <= most:
        return (_even_step(binary_levels, most),)
    of_root = min(binary_levels, most_of_root)
    below = binary_levels - of_root
    return (of_root, _even_step(below, most)) if below else (of_root,)


def _even_step(levels: int, most: int) -> int:
    """How many of `levels` become one, so that none is more than `most` of them and all are even."""
    return math.ceil(levels / math.ceil(levels / most))
