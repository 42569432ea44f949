"""LinearTree: linear classifiers in a label tree, searched best first; the workhorse for large label sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.classes import Classes
from labelwood.labelspace.growth import grown_labels
from labelwood.labelspace.pifa import label_features
from labelwood.models.base import Model
from labelwood.models.fit_input import FitInput, checked_input
from labelwood.models.linear.cost_choice import is_worth_choosing
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.kept_rows import EarlierRows, KeptRows
from labelwood.models.linear.linear_tree_params import PRESETS, LinearTreeParams, SearchResult
from labelwood.models.linear.state_training import trained_state, with_chosen_cost
from labelwood.models.linear.state_update import updated_state
from labelwood.models.linear.weight_blocks import spared_memory, training_memory
from labelwood.progress import SILENT, Progress
from labelwood.topk import TopK


class LinearTree(Model[LinearTreeParams, FittedLinearTree]):
    """A tree of linear classifiers: every child has one for "some right label is below me, given my parent".

    The tree comes from balanced 2-means on label vectors (Parabel, Prabhu et al. 2018), pulled towards a frequency
    code by `balance` (interpolated label trees). Scores are exp of the sum of link(margin) along the path, in (0, 1].
    """

    name = "linear-tree"
    Parameters = LinearTreeParams
    FittedState = FittedLinearTree
    PRESETS = PRESETS
    is_label_tree = True

    # training

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
        tree: LabelTree | None = None,
        negatives: Any = None,
    ) -> LinearTree:
        """The model itself, trained; see Model.fit.

        sample_weight: how much each row counts, in the classifiers and in the tree. tree: your own tree over the
        labels, in place of the one made here. negatives: a matrix (n_rows, n_labels) whose entries name rows that each
        label's leaf, and the nodes above it, should also learn from.
        """
        data = checked_input(
            x, y, sample_weight=sample_weight, groups=groups, tree=tree, negatives=negatives, progress=progress
        )
        return self._learn(data, memory)

    @staticmethod
    def _train(settings: LinearTreeParams, data: FitInput) -> FittedLinearTree:
        return trained_state(settings, data)

    @staticmethod
    def _settled(settings: LinearTreeParams, data: FitInput) -> LinearTreeParams:
        return with_chosen_cost(settings, data)

    @staticmethod
    def _training_memory(settings: LinearTreeParams, data: FitInput) -> int:
        # label vectors, then the blocks of every tree
        x, y = data.x, data.y
        copies = 1 if settings.negatives == "tfn" else 2  # the rows of a node; all rows, where they are searched
        needed = training_memory(x, y, settings.n_threads, per_weight=8 + 6 * settings.n_trees, copies=copies)
        if settings.C is None and is_worth_choosing(x, y):
            needed += 8 * x.nnz + 8 * y.nnz
        if settings.keep_rows:
            needed += 8 * x.nnz + 8 * y.nnz
        if settings.negatives != "tfn":  # beams of two levels, and their (row, node) pairs while they are sorted
            needed += 64 * settings.match_beam * x.shape[0]
        return needed

    @staticmethod
    def _spared_memory(settings: LinearTreeParams, data: FitInput) -> int | None:
        # The rows of the root, gathered; the solver's numbers; the labels by row and by column; one part of the blocks.
        x, y = data.x, data.y
        if settings.keep_rows or settings.negatives != "tfn" or data.negatives is not None:
            return None
        weights = label_features(x, y, settings.n_threads)
        return int(spared_memory(x, settings.n_threads) + 40 * y.nnz + (8 + 6) * weights // 8)

    def partial_fit(
        self,
        x: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        earlier: Any = None,
        changed: Iterable[int] = (),
        progress: Progress = SILENT,
    ) -> LinearTree:
        """The model itself, taught new rows x with labels y (or a Dataset); an untrained model is fitted.

        Columns of y beyond those known, and ids or names that are not known, are new labels; columns of x beyond those
        known are new features. Only nodes above a label of a new row are trained again, from their present weights, on
        the new rows and the earlier ones (a sample of them, where these are many). The earlier rows are those the model
        kept (keep_rows=True) with their weights, or `earlier`: a pair (x, y), a Dataset or EarlierRows. changed: labels
        whose nodes are trained again too, their leaves from nothing: those of rows that were taken back. sample_weight:
        how much each new row counts. Retired labels in y are answered again.
        """
        if self._fitted is None:
            return self.fit(x, y, sample_weight=sample_weight, progress=progress)
        state = self.fitted_
        data = checked_input(x, y, sample_weight=sample_weight, progress=progress, what="partial_fit")
        self._check_width(x, data.x)
        new_y, classes = grown_labels(state.trained_on.classes, data.y, data.classes, by_column=isinstance(x, Dataset))
        before = self._earlier_rows(earlier, classes, data.x.shape[1])
        again = state.checked_labels(changed, "changed")
        self._fitted = updated_state(state, replace(data, y=new_y, classes=classes), before, again, self._threads())
        return self

    def _check_width(self, x: Any, rows: sparse.csr_matrix) -> None:
        """Refuse rows that have fewer columns than the model, or others: those of a data frame are known by name."""
        trained_on = self.fitted_.trained_on
        if rows.shape[1] <= trained_on.n_features or trained_on.column_names is not None:
            self._checked_features(x)

    def _earlier_rows(self, earlier: Any, classes: Classes, n_features: int) -> EarlierRows:
        kept = self.fitted_.kept_rows
        if earlier is None and kept is not None:
            return kept.earlier()
        if earlier is None:
            raise DataError(
                "partial_fit needs the rows that the model was trained on: train it with keep_rows=True, or give "
                "partial_fit(x, y, earlier=(x, y))"
            )
        rows = earlier if isinstance(earlier, EarlierRows) else self._given_rows(earlier, classes, n_features)
        if rows.y.shape[1] > classes.n:
            raise DataError(f"the earlier rows have {rows.y.shape[1]} labels, the model with the new rows {classes.n}")
        return rows

    def _given_rows(self, earlier: Any, classes: Classes, n_features: int) -> EarlierRows:
        """The earlier rows of a pair (x, y) or a Dataset, checked."""
        if not isinstance(earlier, (Dataset, tuple, list)):
            raise DataError(f"earlier must be a pair (x, y) or a Dataset, but is {type(earlier).__name__}")
        pair = (earlier, None) if isinstance(earlier, Dataset) else tuple(earlier)
        if len(pair) != 2:
            raise DataError(f"earlier must be a pair (x, y) or a Dataset, but has {len(pair)} parts")
        data = checked_input(*pair, what="earlier")
        self._check_width(pair[0], data.x)
        if data.x.shape[1] > n_features:
            raise DataError(f"the earlier rows have {data.x.shape[1]} features, the new rows {n_features}")
        y = data.y
        if not isinstance(earlier, Dataset) and (data.classes.names is not None or data.classes.ids is not None):
            y, _ = grown_labels(classes, y, data.classes, by_column=False)
        return KeptRows(data.x, y).earlier()

    # labels that are gone

    def retire(self, labels: Iterable[int]) -> LinearTree:
        """The model itself, which never answers these labels again; saved models remember it."""
        state = self.fitted_
        self._fitted = state.with_retired(np.union1d(state.retired, state.checked_labels(labels, "retire")))
        return self

    def unretire(self, labels: Iterable[int]) -> LinearTree:
        """The model itself, which answers these retired labels again, as it was trained to."""
        state = self.fitted_
        self._fitted = state.with_retired(np.setdiff1d(state.retired, state.checked_labels(labels, "unretire")))
        return self

    # answering

    def predict(
        self,
        x: Any,
        k: int = 5,
        *,
        allow: Iterable[int] | None = None,
        deny: Iterable[int] | None = None,
        beam: int | None = None,
    ) -> TopK:
        """The k best labels of every row of x, best first; -1 padded.

        allow, deny: only these labels, or all but these; the search itself skips the others, and is exact. beam: nodes
        kept per level, if it should differ from the trained setting; 0: exact best-first search.
        """
        if allow is None and deny is None and beam is None:
            return (self._fitted or self._state()).one_row(x, k) or super().predict(x, k)
        return self.search(x, k, allow=allow, deny=deny, beam=beam).top

    def search(
        self,
        x: Any,
        k: int = 5,
        *,
        allow: Iterable[int] | None = None,
        deny: Iterable[int] | None = None,
        beam: int | None = None,
        max_blocks: int = 0,
        slack: float | None = None,
        max_nodes: int = 0,
    ) -> SearchResult:
        """The answers of `predict` with what they cost, and ways to bound it.

        max_blocks stops each tree's search after so many blocks, max_nodes after so many nodes below the root. slack
        (0: exact) takes labels below a closed node to be worth at most the node's log score minus slack, and so leaves
        out nodes that would hardly matter. If nothing is given, all are as learned in training, else 0. The order of
        nodes that max_nodes counts is as learned too: nodes above others come later than their scores say.
        """
        return self.fitted_.search(
            self._rows(x),
            k,
            allow=allow,
            deny=deny,
            beam=beam,
            max_blocks=max_blocks,
            slack=slack,
            max_nodes=max_nodes,
            n_threads=self._threads(),
        )

    def query(
        self, columns: npt.NDArray[np.int32], values: npt.NDArray[np.float32], k: int = 5
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """(labels, scores) of one row given by its rising columns and their values: the quickest way to ask.

        The same answer as `predict` on that row; fewer than k labels may come back.
        """
        # Not by way of fitted_: a call more would be felt here.
        state: FittedLinearTree = self._fitted or self._state()
        return state.query(columns, values, k)
