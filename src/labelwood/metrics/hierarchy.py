"""Hierarchical precision, recall and F1: an answer near the truth in the thesaurus is not wholly wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import DataError
from labelwood.matrices import as_labels
from labelwood.topk import PAD, TopK


def hierarchy_metrics(top: TopK, y: Any, ancestors: sparse.csr_matrix, ks: Sequence[int]) -> dict[str, float]:
    """hP@k, hR@k and hF1@k in per cent: shared concepts of answers and truth, both with all their ancestors.

    ancestors: ones (n_labels, n_concepts) where a concept is the label's own or above it, such as
    `Vocabulary.with_ancestors` gives. Sums run over all rows (Kiritchenko, Matwin and Famili, 2005): hP = shared /
    answered, hR = shared / true, hF1 = 2 shared / (answered + true).
    """
    truth = as_labels(y)
    if truth.shape != (len(top), ancestors.shape[0]):
        raise DataError(
            f"y is {truth.shape}, but there are {len(top)} answered rows and ancestors of {ancestors.shape[0]} labels"
        )
    above = sparse.csr_matrix(ancestors, dtype=np.int64)
    true_concepts = _ones(_ones(truth) @ above)
    figures: dict[str, float] = {}
    for k in ks:
        answered = _ones(_answers(top, k, truth.shape[1]) @ above)
        shared = int(answered.multiply(true_concepts).sum())
        n_answered, n_true = answered.nnz, true_concepts.nnz
        figures[f"hP@{k}"] = 100.0 * shared / max(1, n_answered)
        figures[f"hR@{k}"] = 100.0 * shared / max(1, n_true)
        figures[f"hF1@{k}"] = 200.0 * shared / max(1, n_answered + n_true)
    return figures


def _answers(top: TopK, k: int, n_labels: int) -> sparse.csr_matrix:
    """Ones where a label is among the first k answers of a row."""
    labels = top.labels[:, :k]
    kept = labels != PAD
    pointers = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return sparse.csr_matrix(
        (np.ones(int(kept.sum()), np.int64), labels[kept], pointers), shape=(len(labels), n_labels)
    )


def _ones(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same places, each a one."""
    ones = sparse.csr_matrix(matrix, copy=True)
    ones.eliminate_zeros()
    ones.data = np.ones(ones.nnz, np.int64)
    return ones
