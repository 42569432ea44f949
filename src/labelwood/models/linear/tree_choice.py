"""The label tree that LinearTree trains: given, read from a file, or built from label vectors and frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError
from labelwood.labelindex.build import build_tree
from labelwood.labelindex.hierarchy_file import read_hierarchy
from labelwood.labelindex.interpolated import balance_of_ratio
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies
from labelwood.labelspace.name_vectors import name_vectors
from labelwood.labelspace.pifa import label_vectors
from labelwood.matrices import normalized_rows
from labelwood.models.base import Words
from labelwood.progress import Progress

WIDE = 100  # children of a node and labels of a leaf in the wide trees of a forest, at most, as in Bonsai


def own_tree(given: LabelTree | None, parameters: Any, n_labels: int, words: Words) -> LabelTree | None:
    """The user's tree, from `fit(tree=...)` or from the file of the parameter `tree`; None if there is neither."""
    if given is None and parameters.tree is not None:
        given = read_hierarchy(parameters.tree, n_labels, words.label_names)
    if given is not None and given.n_labels != n_labels:
        raise DataError(f"the tree given has {given.n_labels} labels, but y has {n_labels}")
    return given


def vectors_for_tree(x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, words: Words) -> sparse.csr_matrix:
    """The unit vector of every label: its rows, and the words of its name if label_features is above 0."""
    vectors = label_vectors(normalized_rows(x), y, n_threads=parameters.n_threads)
    if not parameters.label_features:
        return vectors
    if words.label_names is None or words.feature_names is None:
        raise DataError(
            "label_features needs the names of labels and features: fit a Dataset that has both, or use a Tagger"
        )
    names = name_vectors(words.label_names, words.feature_names, x)
    return normalized_rows((vectors + parameters.label_features * names).astype(np.float32).tocsr())


def built_tree(
    vectors: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, number: int, progress: Progress
) -> LabelTree:
    """Tree `number` of a forest, between balanced 2-means and a frequency code as `balance` says.

    Every third tree by similarity alone is one of wide, unbalanced clusters instead.
    """
    if _is_wide(parameters, number):
        tree = build_tree(
            "wide",
            vectors=vectors,
            arity=min(parameters.arity, WIDE),
            max_leaf=leaf_size(parameters, number),
            seed=parameters.seed + number,
            n_threads=parameters.n_threads,
            progress=progress,
        )
        return popular_first(tree, np.diff(y.tocsc().indptr))
    balance = parameters.balance
    if parameters.balance_ratio is not None:
        balance = balance_of_ratio(parameters.balance_ratio)
    direct = parameters.path == "direct"
    needs_cover = balance > (0 if direct else 1)
    tree = build_tree(
        "direct" if direct else "interpolated",
        vectors=vectors,
        frequencies=label_frequencies(y) if y.nnz else np.ones(y.shape[1]),
        cover_frequencies=cover_frequencies(y, parameters.cover) if needs_cover and y.nnz else None,
        balance=balance,
        max_leaf=parameters.max_leaf,
        collapse=merged_levels(y.shape[1], parameters.max_leaf, parameters.arity),
        seed=parameters.seed + number,
        n_threads=parameters.n_threads,
        progress=progress,
    )
    return popular_first(tree, np.diff(y.tocsc().indptr))


def leaf_size(parameters: Any, number: int) -> int:
    """The most labels in a leaf of tree `number` of a forest."""
    return min(parameters.max_leaf, WIDE) if _is_wide(parameters, number) else int(parameters.max_leaf)


def _is_wide(parameters: Any, number: int) -> bool:
    """True for every third tree of a forest by similarity alone: it follows the natural clusters, of any size.

    Balanced trees that differ only by their seed agree too much, and cut through large groups of labels. One tree of
    unbalanced clusters (as Bonsai's, Khandagale et al. 2020) among three, validation rows, P@1/3/5: Rust-Commits
    -0.1/+0.4/+0.2, Debian-Depends +0.1/+0.3/+0.2, Bibtex +0.2/+0.2/+0.2, CookingStackExchange -0.1/+0.1/+0.1,
    CVE-Products +0.1/+0.1/0.
    """
    return number % 3 == 2 and not parameters.balance and not parameters.balance_ratio


def popular_first(tree: LabelTree, counts: npt.NDArray[np.integer[Any]]) -> LabelTree:
    """The same tree with the labels of every leaf from many rows (`counts`) to few.

    The solver takes 16 neighbouring labels at once and visits a row while any of them needs it; labels with as many
    rows need it about as long. Saves 7% (S) to 12% (EURLEX57K) of all visits.
    """
    leaves = np.flatnonzero(tree.n_labels_in)
    leaves = leaves[np.argsort(tree.first_label[leaves], kind="stable")]
    leaf_of_place = np.repeat(np.arange(len(leaves)), tree.n_labels_in[leaves])
    order = tree.label_order[np.lexsort((-counts[tree.label_order], leaf_of_place))]
    return LabelTree.from_shape(tree.n_children, tree.n_labels_in, order)


def merged_levels(n_labels: int, max_leaf: int, arity: int) -> int:
    """How many levels of a binary tree become one, so that nodes have at most `arity` children and levels are even.

    100,000 labels in leaves of 256 need 9 binary levels: 5 and 4 (32 and 16 children) train in about half the time of
    8 and 1 (256 and 2), at the same precision within 0.5.
    """
    binary_levels = max(1, math.ceil(math.log2(max(2, n_labels / max_leaf))))
    most = arity.bit_length() - 1
    steps = math.ceil(binary_levels / most)
    return math.ceil(binary_levels / steps)
