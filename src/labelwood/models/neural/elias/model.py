"""ELIAS: labels found through a learned index of clusters; ELIAS++ with a sparse ranker and calibrated scores."""

from __future__ import annotations

import copy
from typing import Any

from scipy import sparse

from labelwood.models.base import Model
from labelwood.models.fit_input import FitInput
from labelwood.models.neural.elias.fitted import FittedELIAS
from labelwood.models.neural.elias.inputs import BOW, takes_as_it_is
from labelwood.models.neural.elias.settings import PRESETS, ELIASParams


class ELIAS(Model[ELIASParams, FittedELIAS]):
    """End-to-end learning to index and search in large output spaces (Gupta et al., NeurIPS 2022).

    An encoder gives each row a vector; clusters and their labels are found through a learned sparse graph; label
    classifiers and a sparse linear ranker score the labels found. Scores lie in 0..1.
    """

    name = "elias"
    Parameters = ELIASParams
    FittedState = FittedELIAS
    PRESETS = PRESETS

    @staticmethod
    def _train(settings: ELIASParams, data: FitInput) -> FittedELIAS:
        from labelwood.models.neural.elias.training import train

        return train(settings, data)

    @staticmethod
    def _training_memory(settings: ELIASParams, data: FitInput) -> int:
        from labelwood.models.neural.elias.training import memory_of_training

        return memory_of_training(settings, data)

    @property
    def reads_texts(self) -> bool:
        """True unless the encoder is "bow"; before fit also for "auto", which takes texts where there are some."""
        encoder = self.get_params()["encoder"] if self._fitted is None else self.parameters_.encoder
        return bool(encoder != BOW)

    def finds_by_name(self, n_rows: int) -> bool:
        """Whether labels without a row are found by their names: with zero_shot."""
        return bool(self.get_params()["zero_shot"])

    def pruned(self, *, threshold: float | None = None, top: int | None = None, renormalize: bool = False) -> ELIAS:
        """A copy whose clusters keep only edges with a score from `threshold` up, or their `top` strongest edges.

        renormalize: the softmax of a cluster is taken over the edges that remain (as in the authors' code) instead of
        keeping their scores (as in the paper). Labels that lose all edges are never found.
        """
        smaller = copy.copy(self)
        smaller._fitted = self.fitted_.pruned(threshold, top, renormalize)
        return smaller

    def _checked_features(self, x: Any) -> sparse.csr_matrix:
        state = self.fitted_
        if state.reader is None and takes_as_it_is(x, state.n_features):
            return x
        return super()._checked_features(x)
