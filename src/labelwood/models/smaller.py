"""Smaller and faster states made of trained ones, without training: fewer trees, weights in bytes, small ones gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labelwood.errors import ParamError
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.fitted import FittedEnsemble
from labelwood.models.fitted import Fitted
from labelwood.models.linear.block_edits import stored_as
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.one_vs_all import FittedOneVsAll

INT8 = "int8"


@dataclass(frozen=True)
class Cut:
    """What is taken from a state; None: nothing.

    weights: "int8" stores one byte a weight. prune: weights smaller than this go. n_trees: of each forest, at most.
    beam: nodes per level that a search of the trees keeps, at most. ranker_trees: of an ensemble's ranker, at most.
    """

    weights: str | None = None
    prune: float | None = None
    n_trees: int | None = None
    beam: int | None = None
    ranker_trees: int | None = None

    def __str__(self) -> str:
        parts = {
            "trees": self.n_trees, "ranker": self.ranker_trees, "beam": self.beam, "prune": self.prune,
        }  # fmt: skip
        told = [f"{name}={value:g}" for name, value in parts.items() if value is not None]
        return ",".join([*told, *([self.weights] if self.weights else [])]) or "whole"


def smaller(state: Fitted[Any], cut: Cut, n_threads: int | None = None) -> Fitted[Any]:
    """The state after a cut; ParamError if its kind of model has nothing that can be cut."""
    if isinstance(state, FittedLinearTree):
        return _smaller_tree(state, cut, n_threads)
    if isinstance(state, FittedOneVsAll):
        return _smaller_flat(state, cut, n_threads)
    if isinstance(state, FittedEnsemble):
        return _smaller_ensemble(state, cut, n_threads)
    raise ParamError(f"{state.name} cannot be made smaller after training")


def can_be_smaller(state: Fitted[Any]) -> bool:
    """Whether there is something to cut."""
    if isinstance(state, FittedEnsemble):
        return any(can_be_smaller(member) for member in state.members)
    return isinstance(state, (FittedLinearTree, FittedOneVsAll))


def linear_parts(state: Fitted[Any]) -> list[FittedLinearTree | FittedOneVsAll]:
    """The linear models that a state is made of: itself, or members."""
    if isinstance(state, FittedEnsemble):
        return [part for member in state.members for part in linear_parts(member)]
    return [state] if isinstance(state, (FittedLinearTree, FittedOneVsAll)) else []


def has_halves(state: Fitted[Any]) -> bool:
    """Whether some of its weights are half floats, so that bytes would be smaller."""
    return any(
        "scale" not in blocks.arrays
        for part in linear_parts(state)
        for blocks in (part.blocks if isinstance(part, FittedLinearTree) else (part.blocks,))
    )


def ranker_size(state: Fitted[Any]) -> int:
    """The trees of an ensemble's ranker; 0 without one."""
    if isinstance(state, FittedEnsemble) and state.ranked is not None:
        return len(state.ranked.ranker.feature)
    return 0


def _smaller_tree(state: FittedLinearTree, cut: Cut, n_threads: int | None) -> FittedLinearTree:
    settings = state.settings
    n_trees = min(settings.n_trees, cut.n_trees or settings.n_trees)
    beam = settings.beam
    if cut.beam is not None:
        beam = min(beam or cut.beam, cut.beam)
    weights, prune = cut.weights or settings.weights, cut.prune or 0.0
    blocks = tuple(stored_as(part, weights, n_threads, prune) for part in state.blocks[:n_trees])
    told = replace(
        settings, n_trees=n_trees, beam=beam, weights=weights, prune=max(settings.prune, prune), keep_rows=False
    )
    return replace(state, settings=told, trees=state.trees[:n_trees], blocks=blocks, kept_rows=None)


def _smaller_flat(state: FittedOneVsAll, cut: Cut, n_threads: int | None) -> FittedOneVsAll:
    now = INT8 if "scale" in state.blocks.arrays else "half"
    blocks = stored_as(state.blocks, cut.weights or now, n_threads, cut.prune or 0.0)
    return replace(
        state, settings=replace(state.settings, prune=max(state.settings.prune, cut.prune or 0.0)), blocks=blocks
    )


def _smaller_ensemble(state: FittedEnsemble, cut: Cut, n_threads: int | None) -> FittedEnsemble:
    members = tuple(smaller(member, cut, n_threads) if can_be_smaller(member) else member for member in state.members)
    ranked = state.ranked
    if ranked is not None:
        ranked = replace(ranked, sides=replace(ranked.sides, models=members), ranker=_fewer(ranked.ranker, cut))
    return replace(state, members=members, ranked=ranked)


def _fewer(ranker: BoostedTrees, cut: Cut) -> BoostedTrees:
    """The first trees of a ranker: each corrects those before it, so that any number of the first ones is a ranker."""
    n = cut.ranker_trees
    if n is None or n >= len(ranker.feature):
        return ranker
    return replace(
        ranker, feature=ranker.feature[:n], threshold=ranker.threshold[:n], left=ranker.left[:n], value=ranker.value[:n]
    )
