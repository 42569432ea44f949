"""Hierarchical precision, recall and F1: an answer near the truth in the thesaurus is not wholly wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class BranchFigures:
    """What answers are worth in one branch: how many are given, true and right, and the shares in per cent.

    A label of several branches counts in each.
    """

    branch: int
    given: int
    true: int
    right: int

    @property
    def precision(self) -> float:
        """The share of the given labels that is right."""
        return 100.0 * self.right / max(1, self.given)

    @property
    def recall(self) -> float:
        """The share of the true labels that is given."""
        return 100.0 * self.right / max(1, self.true)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 200.0 * self.right / max(1, self.given + self.true)


def branch_figures(top: TopK, y: Any, branches: sparse.csr_matrix) -> list[BranchFigures]:
    """Precision, recall and F1 of all answers by branch of the thesaurus; the branch with most true labels first.

    branches: ones (n_labels, n_branches) where a label belongs to a branch. Branches without answers and without
    true labels are left out.
    """
    truth = as_labels(y)
    if truth.shape != (len(top), branches.shape[0]):
        raise DataError(
            f"y is {truth.shape}, but there are {len(top)} answered rows and branches of {branches.shape[0]} labels"
        )
    answered, true = _answers(top, top.k, truth.shape[1]), _ones(truth)

    def by_branch(matrix: sparse.csr_matrix) -> list[int]:
        of_label = np.bincount(matrix.indices, minlength=truth.shape[1])
        return [int(n) for n in np.asarray(branches.T @ of_label).ravel()]

    counts = zip(by_branch(answered), by_branch(true), by_branch(answered.multiply(true).tocsr()), strict=True)
    figures = [BranchFigures(branch, *numbers) for branch, numbers in enumerate(counts)]
    used = [figure for figure in figures if figure.given or figure.true]
    return sorted(used, key=lambda figure: (-figure.true, -figure.given, figure.branch))


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
