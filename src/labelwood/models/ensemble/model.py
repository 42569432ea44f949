"""Ensemble: candidates from several sides ranked by what was learnt on held-out rows, or a weighted mean of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from labelwood.errors import ParamError
from labelwood.models.base import Model
from labelwood.models.ensemble.cross_fitting import (
    FEWEST_ROWS,
    NO_VIEWS,
    SMALLEST_ROWS,
    ranked_sides,
    ranking_memory,
    ranks,
)
from labelwood.models.ensemble.fitted import FittedEnsemble
from labelwood.models.ensemble.left_out import lesson_rows, ranked_without
from labelwood.models.ensemble.members import PlannedMember, given_weights, held_out_weights, members_of, planned
from labelwood.models.ensemble.network import is_quick as has_network
from labelwood.models.ensemble.params import RANKED, EnsembleParams
from labelwood.models.ensemble.stages import stages_of, stages_without
from labelwood.models.ensemble.text_view import CHARACTERS, PAIRS
from labelwood.models.fit_input import FitInput
from labelwood.progress import Stage

_INSIDE = "linear-tree"
_TREES = {"words": 1, PAIRS: 1, CHARACTERS: 1}
# Nodes per level that a search keeps: 99.8% of the ten best labels of an exact search in 40% of its time (characters of
# YSO-Finna-en). Weights of one byte.
_TREE = {"beam": 10, "weights": "int8"}
_BY_LABEL = {"eps": 0.25, "max_passes": 20, "prune": 0.1}  # of one-vs-all inside: as accurate here, and small
_WORDS_ALONE = 3  # trees of words where there are neither texts to have other views of nor networks


class Ensemble(Model[EnsembleParams, FittedEnsemble]):
    """The most accurate model without a GPU: linear trees, similar rows, label names and one learned ranker.

    With models="auto": three linear trees, the most similar training rows, the words of label names, and labels that
    stand beside others propose candidates; boosted trees, trained on answers to rows that the sides had not seen, rank
    them. Below 1,000 rows, and with models="one-vs-all,linear-tree" or other names: the mean of the models' scores with
    weights from greedy selection with replacement (Caruana et al., ICML 2004) on held-out rows.
    """

    name = "ensemble"
    Parameters = EnsembleParams
    FittedState = FittedEnsemble
    takes_texts = True
    trains_several = True

    @staticmethod
    def _train(settings: EnsembleParams, data: FitInput) -> FittedEnsemble:
        if ranks(settings, data.x.shape[0]):
            ranked = ranked_sides(settings, members_inside(settings, data), data)
            models = ranked.sides.models
            return FittedEnsemble(settings, data.trained_on(), models, np.full(len(models), 1 / len(models)), ranked)
        if settings.models == RANKED:
            raise ParamError(
                f"Ensemble: models={RANKED!r} needs {FEWEST_ROWS} rows, no weights and a holdout above 0, but there "
                f"are {data.x.shape[0]} rows, weights={settings.weights!r}, holdout={settings.holdout!r}"
            )
        for name in ("views", "encoder", "favour"):
            if getattr(settings, name) != EnsembleParams.defaults()[name]:
                raise ParamError(
                    f"Ensemble: {name} is a choice of the ranker, and here is none: it needs {SMALLEST_ROWS} rows, and "
                    "neither models nor weights given, nor holdout=0"
                )
        members = members_of(settings, data.n_labels, data.x.nnz)
        weights = given_weights(settings.weights, len(members))
        if weights is None:
            weights = held_out_weights(settings, members, data)
        trained = [
            member.trained(data, f"{member.model.name}, {place} of {len(members)}")
            for place, (member, weight) in enumerate(zip(members, weights, strict=True), start=1)
            if weight > 0
        ]
        return FittedEnsemble(settings, data.trained_on(), tuple(trained), weights[weights > 0])

    @classmethod
    def _train_without(
        cls,
        settings: EnsembleParams,
        data: FitInput,
        parts: Sequence[npt.NDArray[np.int64]],
        like: FittedEnsemble | None = None,
    ) -> Iterator[FittedEnsemble]:
        if not ranks(settings, data.x.shape[0]):
            yield from super()._train_without(settings, data, parts, like)
            return
        known = None if like is None or like.ranked is None else like.ranked.sides
        inside = members_inside(settings, data)
        for held, ranked in zip(parts, ranked_without(settings, inside, data, parts, known), strict=True):
            models, n_rows = ranked.sides.models, data.x.shape[0] - len(held)
            seen = replace(data.trained_on(), n_rows=n_rows, label_counts=ranked.sides.label_counts)
            yield FittedEnsemble(settings, seen, models, np.full(len(models), 1 / len(models)), ranked)

    @staticmethod
    def _stages(settings: EnsembleParams, data: FitInput) -> list[Stage]:
        return stages_of(settings, data) if ranks(settings, data.x.shape[0]) else []

    @staticmethod
    def _stages_without(
        settings: EnsembleParams, data: FitInput, parts: Sequence[npt.NDArray[np.int64]]
    ) -> list[Stage]:
        return stages_without(settings, data, parts) if ranks(settings, data.x.shape[0]) else []

    @staticmethod
    def _cheap_to_leave_out(settings: EnsembleParams, data: FitInput) -> npt.NDArray[np.bool_] | None:
        n_rows = data.x.shape[0]
        if not ranks(settings, n_rows):
            return None
        return ~np.isin(np.arange(n_rows), lesson_rows(settings, n_rows, data.groups))

    def finds_by_name(self, n_rows: int) -> bool:
        """Whether labels without a row are found by their names: where there is a ranker."""
        return ranks(self._settings(), n_rows)

    @staticmethod
    def _training_memory(settings: EnsembleParams, data: FitInput) -> int:
        if ranks(settings, data.x.shape[0]):
            return ranking_memory(settings, members_inside(settings, data), data)
        copies = 8 * (data.x.nnz + data.y.nnz)  # the rows that are not held out
        members = members_of(settings, data.n_labels, data.x.nnz)
        return int(copies + sum(member.model._training_memory(member.settings, data) for member in members))


def members_inside(settings: EnsembleParams, data: FitInput) -> dict[str, PlannedMember]:
    """The linear trees of words and of each view of texts, by name, and one-vs-all ("by label")."""
    alone = data.texts is None or settings.views == NO_VIEWS
    alone = alone and not has_network(data.x.shape[0], data.x.shape[1], data.n_labels)
    trees = {**_TREES, "words": _WORDS_ALONE} if alone else dict(_TREES)
    inside = {name: planned(settings, [_INSIDE], {"n_trees": n, **_TREE})[0] for name, n in trees.items()}
    return {**inside, "by label": planned(replace(settings, settings=None), ["one-vs-all"], _BY_LABEL)[0]}
