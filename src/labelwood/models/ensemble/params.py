"""The parameters of Ensemble."""

from __future__ import annotations

from dataclasses import dataclass

from labelwood.models.registry import AUTO
from labelwood.params import Params, param


@dataclass(frozen=True)
class EnsembleParams(Params):
    """Parameters of the ensemble."""

    models: str = param(
        AUTO,
        "auto: linear trees, similar rows and label names with a learned ranker; or names of models, commas between, "
        "whose scores are averaged",
    )
    settings: str | None = param(
        None, "parameters of the members, such as 'linear-tree.C=2 one-vs-all.C=1', blanks between", kind=str
    )
    weights: str | None = param(
        None, "the weights of averaged members, such as '2,1'; None: chosen on held-out rows", kind=str
    )
    holdout: float = param(
        0.1, "share of the rows held out to choose weights; 0: no ranker, equal weights", low=0, high=0.5
    )
    ranker_rows: int = param(10_000, "rows that the ranker learns from, at most", low=100)
    views: str = param(
        AUTO,
        "views of texts beside words: pairs, characters, 'pairs,characters' or none; auto: those by which held-out "
        "rows gain",
    )
    favour: float = param(
        0.0, "0: the most likely labels first; up to 1: rare labels first, by their inverse propensity", low=0, high=1
    )
