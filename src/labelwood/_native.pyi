"""
labelwood's C++ kernels: plain arrays in and out; the Python modules around it hold the policy.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def max_threads() -> int:
    """The number of threads that a call with n_threads=0 uses."""

def train_boosting(bins: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], hits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], min_items: int, rate: float, ridge: float, base: float, negative_weight: float, item_share: float, feature_share: float, seed: int, n_threads: int, feature: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], bin: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], left: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fill the trees' arrays (n_trees, 2 n_leaves - 1) by boosting on features in bins (n_features, n_items); logistic loss.
    """

class BoostedTrees:
    """Boosted trees, packed for answering."""

    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], base: float, n_features: int) -> None: ...

    def margins(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int, margins: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Fill margins with base plus what the trees say of every item's features (n_items, n_features).
        """

class CandidateSides:
    """
    The arrays of all sides that propose labels; see native/models/ensemble/candidates.hpp.
    """

    def __init__(self, n_features: int, label_rows: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def near(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_near: int, most_postings: int) -> None:
        """Training rows by column and their labels."""

    def learned(self, units: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], unit_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], unit_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], projection: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], projection_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], row_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_near: int, most_proposed: int) -> None:
        """Training rows in a space where rows with the same labels lie together."""

    def meaning(self, rows: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], row_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], told: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], told_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], centres: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], centre_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], names: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], name_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_column: int, n_near: int, most_rows: int, most_told: int, most_names: int) -> None:
        """
        Dense vectors of training texts, and of labels: what tells them, the mean of their texts, their names.
        """

    def names(self, column_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], word_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], word_labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], word_shares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], mass: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], matched: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], least_share: float, smallest_share: float, whole: float, most_proposed: int) -> None:
        """The words of label names."""

    def letters(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_column: int, least_share: float, most_proposed: int) -> None:
        """The runs of characters of label names."""

    def beside(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_sure: int, most_proposed: int) -> None:
        """The companions of every label."""

    def phrases(self, right: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """How often a name in the text was right."""

    def favour(self, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """What the chance of each label is multiplied with."""

    def table(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_said: int, labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_models: int, n_threads: int) -> tuple:
        """
        (candidates of each row, their labels, what is known of each) for rows and the models' answers to them.
        """

    def look_again(self, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], chances: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, columns: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Fill columns with what the chances of each row's candidates by a first ranker say of each of them.
        """

    def top_k(self, ranker: BoostedTrees, first: BoostedTrees | None, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_said: int, labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_models: int, n_threads: int, best_labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], chances: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], closest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Fill best_labels and chances with the candidates that the ranker likes best, closest with the cosines of the most similar training rows.
        """

def sparse_rows_times_dense(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """
    CSR rows times a float32 table (n_columns, dim), written to out (n_rows, dim).
    """

def dense_rows_times_dense(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """
    Dense rows times a float32 table (n_columns, dim), written to out; a row's result is the same in any batch.
    """

def adam_rows(rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], mean: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], square: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, t: int, n_threads: int) -> None:
    """
    Step t of Adam on the given distinct rows of a table, in place; rows that are not named are left alone.
    """

def hit_matrix(labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, hits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 0) -> int:
    """
    Fill hits (n, k) with 1 where a predicted label is true; gives back the first row with a label twice or outside 0..n_labels-1, or -1.
    """

def best_weights(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 0) -> None:
    """
    Fill best (n, k) with the k largest weights among each row's labels, largest first, 0 where there are fewer.
    """

def hsoftmax_fit(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], place_of_label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], place_of_inner: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], input: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], output: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], *, plt: bool, rate: float, epochs: int, seed: int, n_threads: int, progress: object, shuffle: bool = True) -> None:
    """
    Trains input and output vectors in place over the rows of `order`, which is shuffled unless told otherwise. Repeatable with one thread; several write to the same vectors without locks.
    """

def flat_fit(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], input: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], output: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], *, loss: str, cumulative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_negatives: int, rate: float, epochs: int, seed: int, n_threads: int, progress: object, shuffle: bool = True) -> None:
    """
    Trains input vectors and one output vector a label in place, without a tree; loss: softmax, ova or negatives. Otherwise as hsoftmax_fit.
    """

class HierarchicalSoftmax:
    """Answers from the vectors of a trained hierarchical softmax."""

    def __init__(self, child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], place_of_label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], place_of_inner: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], input: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], input_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], output: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], output_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], plt: bool) -> None: ...

    def top_k(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_visited: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None:
        """
        Writes the best labels of every row by exact best-first search, and how many inner nodes it looked at.
        """

def to_halves(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], halves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Writes values as half floats; beyond their range the largest finite one.
    """

class LabelIndex:
    """A trained cluster index over arrays that may be memory-mapped."""

    def __init__(self, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], inner: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, inner_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, outer: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, outer_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, activation: int, added: int, cluster_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], cluster_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], edge_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], label_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], label_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, beam: int) -> None: ...

    def search(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], log_path: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], logits: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Fill the arrays (n, room) with every row's shortlist; a row has the same bits in any batch.
        """

class ScoreBlend:
    """
    w T(p, q, base, log(1 + count), t) + (1 - w) base with base = p^a q^b, T a small tree, t what others vote.
    """

    def __init__(self, power_p: float, power_q: float, weight: float, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lowest: float) -> None: ...

    def scores(self, log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], voted: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None:
        """Fill out with the score of every pair."""

    def top(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], margins: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], top_labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], top_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], vote_weight: float = 0.0, voted: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, vote_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        Fill in the best labels of every row; counts are those of all labels, margins those of the ranker, votes those of others.
        """

def kmeans_nodes(vectors: LabelVectors, first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], key: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_clusters: int, max_iterations: int, tolerance: float, seed: int, n_threads: int, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Split the nodes of one level into clusters, reordering `order` in place; fills counts (n_nodes, n_clusters).
    """

def pifa_counts(x_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], max_features: int, n_threads: int, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fill counts with the number of features that each label's vector keeps.
    """

def pifa_fill(x_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fill columns and values with the label vectors whose row pointers come from pifa_counts.
    """

def greedy_cover(row_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, cover: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Fill cover with the greedy cover frequencies of the labels."""

def simd_level() -> str:
    """The instruction level in use."""

def simd_levels() -> list[str]:
    """The instruction levels that this CPU can run, slowest first."""

def use_simd_level(name: str) -> bool:
    """True if the level is now in use; for tests."""

def ranked_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], normalize: bool, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], scaled: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    The number of entries whose column has a rank; they are written to features and scaled, one longer than columns.
    """

def merged_block(parts: list, bytes: bool) -> dict:
    """
    The arrays of WeightBlocks of one block with the classifiers of all parts, at most 256.
    """

def converted_blocks(n_features: int, child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], top_bits: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], top_rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], word_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_offset: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], payload_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], payload: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> dict:
    """
    The arrays of WeightBlocks from those of a model that an earlier version saved; the weights stay the same.
    """

class WeightBlocks:
    """
    The compressed weights of sibling classifiers, over arrays that may be memory-mapped.
    """

    def __init__(self, n_features: int, child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], top_bits: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], top_rank: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], word_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], payload_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], payload: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], margins: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Fill labels and margins with the best children of every row over all blocks.
        """

    def block_margins(self, block: int, features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], margins: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Fill margins with those of one row under all classifiers of a block."""

    def margins_of(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], margins: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int, by_feature: BlocksByFeature | None = None) -> None:
        """
        Fill margins with those of the classifiers `places` (n, m) of every row; 0 where a place is -1.
        """

    def judge(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], unknown_log_p: float, out_labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], out_log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], margins: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Fill in shortlists (n, room) with the best classifiers' labels added, their log p, and the margins of all.
        """

    def rebuilt(self, prune: float, bytes: bool, n_threads: int) -> dict:
        """
        The arrays of the same classifiers without the weights below prune, in half floats or in bytes.
        """

    def next_level(self, first_node: int, first_child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_block: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], link: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, nodes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], next_nodes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], next_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Fill next_nodes and next_scores with the best children of every row's nodes of one level.
        """

class BlocksByFeature:
    """
    A copy of blocks of equal size (but for the last) in the order of the features.
    """

    def __init__(self, blocks: WeightBlocks) -> None: ...

class SearchTree:
    """A label tree whose nodes own weight blocks."""

    def __init__(self, blocks: WeightBlocks, first_child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_children: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels_in: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_block: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], most_together: int = 1024) -> None: ...

class Forest:
    """Label trees that are asked together."""

    def __init__(self, blocks: list, trees: list, feature_rank: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], link: int, beam: int, max_blocks: int, k_each: int, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], open: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_blocks: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], n_threads: int, slack: float = 0.0, max_nodes: int = 0, n_sure: int = 0, lead: float = 0.0) -> None:
        """
        Fill labels, scores and blocks evaluated of every row by best-first (beam 0) or beam search.
        """

    def query(self, columns: object, values: object, normalize: bool, link: int, beam: int, k_each: int, labels: object, scores: object, slack: float = 0.0, max_nodes: int = 0, n_sure: int = 0, lead: float = 0.0) -> int:
        """
        The number of labels found for one row given by columns and values; fills labels and scores.
        """

def search_ranges(vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], probes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int, found: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fill found and scores (n, k) with the vectors of the probed ranges that have the largest product (+ bias).
    """

def search_candidates(vectors: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, candidates: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int, found: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fill found and scores (n, k) with the candidates that have the largest product (+ bias); -1 is no candidate.
    """

def train_network(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_epochs: int, batch: int, rate: float, seed: int, n_threads: int, first: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], first_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], second: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], second_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Train relu(x first + first_bias) and its weights second (n_labels, n_hidden) in place: Adam, logistic loss of all labels.
    """

def ask_network(first: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], second_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], second_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fill labels and scores (n_rows, k) with the best labels of rows brought to length 1; columns behind the features say nothing.
    """

class RowParser:
    """Parses sparse text rows, block by block; see native/data/parse.hpp."""

    def __init__(self, labels: bool, svmlight: bool = False, n_features: int = -1, n_labels: int = -1, index_base: int = 0, keep_going: bool = False, item: str = 'feature') -> None: ...

    def feed(self, text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], last: bool, n_threads: int) -> int:
        """
        Parse the whole lines of a block and give the number of bytes used; with `last` the rest is a line too.
        """

    def assemble(self, x_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], y_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], y_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], bad_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None:
        """
        Write all rows into arrays of the sizes n_rows + 1, x_size, y_size and n_bad, and forget them.
        """

    @property
    def faults(self) -> list[tuple[int, str]]:
        """(line, message) of the first bad rows."""

    @property
    def stopped(self) -> bool:
        """True after a fault, unless keep_going."""

    @property
    def n_lines(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_bad(self) -> int:
        """Bad rows met; they are kept as empty rows."""

    @property
    def last_filled_row(self) -> int:
        """The last row that is not a blank line; -1: none."""

    @property
    def x_size(self) -> int: ...

    @property
    def y_size(self) -> int: ...

    @property
    def duplicate_features(self) -> int: ...

    @property
    def duplicate_labels(self) -> int: ...

    @property
    def lowest_feature(self) -> int: ...

    @property
    def highest_feature(self) -> int:
        """-1: there is no feature."""

    @property
    def highest_label(self) -> int:
        """-1: there is no label."""

def format_rows(x_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, last: int, labels: bool, svmlight: bool, index_base: int, n_threads: int) -> bytes:
    """The text of the rows first..last, one a line."""

class RowSplitter:
    """Cuts the training rows of a node in two, as FastXML does."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: float, max_passes: int, eps: float) -> None: ...

    def split(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, sides: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> int:
        """
        The number of weights of the separator, which are written to columns and weights; sides: 1 for rows that go right.
        """

class RowForest:
    """Trees over rows, ready to answer."""

    def __init__(self, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, n_labels: int) -> None: ...

    def top_k(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Writes the labels with the largest mean shares over the leaves that each row ends in.
        """

    def leaves(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """Writes the leaf of each row in each tree."""

def shortlist(edge_labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], edge_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_labels: int, cluster_scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], beam: int, forced_clusters: object | None, forced_labels: object | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], paths: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """
    Fill labels, paths and path scores of every row's shortlist; forced: (starts, ids) per row, or None.
    """

def shortlist_products(labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """
    Fill out with vectors[r] . weights[labels[r, j]] + bias; 0 where the label is -1.
    """

def narrow_shortlists(labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], named: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], unknown: float, out_labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], out_log_p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fill in the most likely labels of every row and the named ones; the places beside those of the named ones tell how many.
    """

class TextRows:
    """
    What the sides see of texts: features, the columns of views, where label names stand.
    """

    def __init__(self, n_features: int) -> None: ...

    def view(self, rules: object, vocabulary: object, idf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most_of_row: int) -> None:
        """One more view, behind those before."""

    def names(self, phrases: tuple, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int) -> None:
        """The names of labels, words with blanks between."""

    def rows(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], texts: tuple, n_threads: int) -> tuple:
        """(row pointers, columns, values) of features beside what the texts say."""

class TokenRules:
    """How texts are cut into tokens."""

    def __init__(self, *, analyzer: str, min_n: int, max_n: int, lowercase: bool, min_length: int, stop_words: Sequence[str]) -> None: ...

class Vocabulary:
    """Tokens by number, for fast look-up; does not change."""

    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def __len__(self) -> int: ...

    def find(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of every token, -1 for unknown ones."""

    def find_words(self, words: list) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The number of every word of a list, -1 for unknown ones."""

def count_tokens(texts: tuple, rules: TokenRules, *, min_rows: float, max_rows: float, max_tokens: int, want_totals: bool, want_rows: bool, n_threads: int) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], int, tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
    """
    The tokens of the texts and their counts: (token bytes, token offsets, rows with the token, occurrences, number of different tokens before the limits, (row pointers, columns, counts)). max_tokens 0 and n_threads 0: no limit.
    """

def look_up_tokens(texts: tuple, rules: TokenRules, vocabulary: Vocabulary, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Counts of the tokens that the vocabulary knows: (row pointers, columns, counts).
    """

def hash_tokens(texts: tuple, rules: TokenRules, n_buckets: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Counts of the tokens in columns hash % n_buckets: (row pointers, columns, counts).
    """

def merge_counts(pointers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], column_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Counts with every column moved to column_of[column] (-1: left out); those of a row that meet are added up.
    """

def token_strings(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list:
    """The tokens at some places as a list of str."""

def distinct_tokens(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Different tokens in ascending order of their bytes: (where each first comes, the number of every token among them).
    """

def split_text(text: str, rules: TokenRules) -> list:
    """The tokens of one text."""

def token_hash(token: str) -> int:
    """The 64-bit hash of a token, the same on every platform."""

def weigh_rows(pointers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], idf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sublinear: bool, norm: str, n_threads: int, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Writes the tf-idf values of counted rows; an empty idf stands for ones.
    """

def unicode_version() -> str:
    """The Unicode version of the tokenizer's tables."""

def unicode_class(code: int) -> int:
    """
    The class bits of a code point: 1 word, 2 space, 4 cased, 8 ignorable before or behind a sigma, 16 has a lower case.
    """

def train_nodes(*, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, label_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_cost: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child_bound: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], extra_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], extra_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], all_rows: bool = False, extra_alone: bool = False, child_cost: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, loss: int, eps: float, max_passes: int, bias: float, prune: float, untrained: float, cost_positive: float, cost_negative: float, rare_power: float, cluster_cost: float, seed: int, n_threads: int, bytes: bool = False, start_blocks: WeightBlocks | None = None, start_first_block: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, start_children: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, first_new_row: int = 0, groups_before: int = 0, progress: object, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, row_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple:
    """
    (weight block arrays, groups solved, passes made) of the child classifiers of tree nodes. Rows: indptr, indices, data, row_cost (factors of the cost of each row's errors; 0 leaves a row out), row_scale (factors of each row's values), numbers (the feature of each column, where indices are columns); labels: label_start, label_rows; nodes: child_* and extra_*; where to begin: start_*; groups_before: groups of the nodes before these, if all are trained in parts; see native/models/linear/node_training.hpp.
    """

class LabelVectors:
    """
    The vectors of labels, read where they are; matrices add the next labels.
    """

    def __init__(self, n_columns: int) -> None: ...

    @overload
    def add(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def add(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def gather(self) -> None:
        """Copy the vectors next to each other, for sets that are read often."""

    def __len__(self) -> int: ...

class SplitOptions:
    """How label sets are split; see native/labelindex/twomeans.hpp."""

    def __init__(self) -> None: ...

    @property
    def weighted(self) -> bool: ...

    @weighted.setter
    def weighted(self, arg: bool, /) -> None: ...

    @property
    def similarity(self) -> float: ...

    @similarity.setter
    def similarity(self, arg: float, /) -> None: ...

    @property
    def exponent(self) -> float: ...

    @exponent.setter
    def exponent(self, arg: float, /) -> None: ...

    @property
    def frequency(self) -> float: ...

    @frequency.setter
    def frequency(self, arg: float, /) -> None: ...

    @property
    def cover(self) -> float: ...

    @cover.setter
    def cover(self, arg: float, /) -> None: ...

    @property
    def smoothing(self) -> float: ...

    @smoothing.setter
    def smoothing(self, arg: float, /) -> None: ...

    @property
    def fano(self) -> float: ...

    @fano.setter
    def fano(self, arg: float, /) -> None: ...

    @property
    def round_each(self) -> bool: ...

    @round_each.setter
    def round_each(self, arg: bool, /) -> None: ...

    @property
    def round_left(self) -> bool: ...

    @round_left.setter
    def round_left(self, arg: bool, /) -> None: ...

    @property
    def max_iterations(self) -> int: ...

    @max_iterations.setter
    def max_iterations(self, arg: int, /) -> None: ...

    @property
    def tolerance(self) -> float: ...

    @tolerance.setter
    def tolerance(self, arg: float, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def n_threads(self) -> int: ...

    @n_threads.setter
    def n_threads(self, arg: int, /) -> None: ...

def split_nodes(vectors: LabelVectors, frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cover_frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], want_left: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], key: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], n_left: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], objective: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], options: SplitOptions) -> None:
    """
    Split the nodes of one level in two, reordering `order` in place; fills n_left and objective.
    """

def halve_by_weight(ratios: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fill alpha with the optimal halves by weight (one label may be fractional).
    """

def random_walks(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], neighbors: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cumulative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_walks: int, seed: int, n_threads: int, walks: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Fill walks (n_nodes * n_walks, length): row v * n_walks + w is a random walk from node v, -1 after its end.
    """

def skip_gram(walks: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], negative_cumulative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], window: int, negatives: int, epochs: int, learning_rate: float, seed: int, vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], contexts: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Train vectors and contexts (n_nodes, dim) on walks, in place, by skip-gram with negative samples.
    """
