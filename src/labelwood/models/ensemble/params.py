"""The parameters of Ensemble."""

from __future__ import annotations

from dataclasses import dataclass

from labelwood.models.ensemble.text_meaning import ENCODERS
from labelwood.models.registry import AUTO
from labelwood.params import Params, param

RANKED = "ranked"  # of `models`: a ranker even for few rows


@dataclass(frozen=True)
class EnsembleParams(Params):
    """Parameters of the ensemble."""

    models: str = param(
        AUTO,
        "auto: linear trees, similar rows and label names with a learned ranker, from 1,000 rows on; ranked: with "
        "fewer rows too; or names of models, commas between, whose scores are averaged",
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
    encoder: str = param(
        AUTO,
        "dense vectors of texts: minilm, a transformer; static, a table of token vectors, thousands of texts a second; "
        "none; auto: static where its package is installed, rows are few and held-out rows gain by it",
        choices=ENCODERS,
    )
    text_model: str | None = param(
        None,
        "folder of the encoder (or hub name of a transformer); None: the installed MiniLM or WordLlama",
        kind=str,
    )
    max_tokens: int = param(128, "tokens of a text that its dense vector is made of, the first ones", low=3, high=10**5)
    favour: float = param(
        0.0, "0: the most likely labels first; up to 1: rare labels first, by their inverse propensity", low=0, high=1
    )
