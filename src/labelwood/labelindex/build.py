"""One door to all label trees: build_tree(kind, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labelwood.errors import ParamError, unknown_name
from labelwood.labelindex.balanced import balanced_tree
from labelwood.labelindex.huffman import fano_tree, huffman_tree
from labelwood.labelindex.interpolated import interpolated_tree
from labelwood.labelindex.random_tree import random_tree
from labelwood.labelindex.tree import LabelTree
from labelwood.labelindex.wide import wide_tree
from labelwood.progress import SILENT, Progress

TREE_KINDS = ("balanced", "interpolated", "direct", "wide", "huffman", "fano", "random")


def build_tree(
    kind: str,
    *,
    vectors: Any = None,
    frequencies: Any = None,
    cover_frequencies: Any = None,
    n_labels: int | None = None,
    max_leaf: int = 100,
    collapse: int | Sequence[int] = 1,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress = SILENT,
    **settings: Any,
) -> LabelTree:
    """The label tree of a kind; `settings` go to its builder.

    "balanced" (arity, equal_depth) and "wide" (arity, max_depth) need vectors; "interpolated" and "direct"
    (balance or balance_ratio, smoothing, rounding, round_each, max_depth) vectors, frequencies and perhaps
    cover frequencies; all four take max_iterations and tolerance. "huffman" and "fano" need frequencies;
    "random" (arity, equal_depth) needs n_labels, or takes the number of vectors or frequencies.
    collapse: so many consecutive levels become one (1: as built): up to 2^collapse children in a binary tree; several
    numbers are for the levels from the root down.
    """
    if kind not in TREE_KINDS:
        raise ParamError(unknown_name("kind of label tree", kind, TREE_KINDS))
    given = {"vectors": vectors, "frequencies": frequencies}
    for name in _NEEDS[kind]:
        if given[name] is None:
            raise ParamError(f"a label tree of kind {kind!r} needs {name}")
    shared = {"max_leaf": max_leaf, "seed": seed, "n_threads": n_threads, "progress": progress, **settings}
    try:
        if kind == "balanced":
            tree = balanced_tree(vectors, **shared)
        elif kind == "wide":
            tree = wide_tree(vectors, **shared)
        elif kind in ("interpolated", "direct"):
            direct = kind == "direct"
            tree = interpolated_tree(vectors, frequencies, cover_frequencies, direct=direct, **shared)
        elif kind == "random":
            count = n_labels if n_labels is not None else _count(vectors, frequencies)
            tree = random_tree(count, max_leaf=max_leaf, seed=seed, **settings)
        else:
            coder = huffman_tree if kind == "huffman" else fano_tree
            tree = coder(frequencies, max_leaf=max_leaf, **settings)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise ParamError(f"label tree of kind {kind!r}: {error}") from None
        raise
    return tree if collapse in (1, (1,)) else tree.collapse(collapse)


_NEEDS = {
    "balanced": ("vectors",),
    "wide": ("vectors",),
    "interpolated": ("vectors", "frequencies"),
    "direct": ("vectors", "frequencies"),
    "huffman": ("frequencies",),
    "fano": ("frequencies",),
    "random": (),
}


def _count(vectors: Any, frequencies: Any) -> int:
    if vectors is not None:
        return int(vectors.shape[0])
    if frequencies is not None:
        return len(frequencies)
    raise ParamError("a label tree of kind 'random' needs n_labels")
