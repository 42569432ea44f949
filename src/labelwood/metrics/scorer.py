"""scorer: any metric of `evaluate` as scikit-learn's `scoring=`."""

from __future__ import annotations

import re
from typing import Any

from labelwood.errors import ParamError

_METRIC = re.compile(r"(?P<name>[A-Za-z0-9-]+)@(?P<k>[1-9]\d*)")
_KNOWN = ("P", "R", "nDCG", "RP", "PSP", "PSnDCG", "PSR", "coverage", "micro-F1", "macro-F1", "sample-F1")


class Scorer:
    """A metric that scikit-learn can call: scorer(estimator, x, y) -> per cent, larger is better."""

    def __init__(self, metric: str) -> None:
        named = _METRIC.fullmatch(metric) if isinstance(metric, str) else None
        if named is None:
            examples = ", ".join(f"{name}@5" for name in _KNOWN)
            raise ParamError(f"a metric is a name, @ and a number of answers ({examples}, ...), but here is {metric!r}")
        self.metric = metric
        self.k = int(named["k"])

    def __repr__(self) -> str:
        return f"scorer({self.metric!r})"

    def __call__(self, estimator: Any, x: Any, y: Any) -> float:
        """The metric of the estimator's answers for x, whose labels are y: a model, a tagger, or a pipeline of them."""
        judge, rows = _last(estimator, x)
        figures = judge.evaluate(rows, y, ks=(self.k,))
        if self.metric not in figures:
            raise ParamError(f"unknown metric {self.metric!r} (known: {', '.join(figures)})")
        return float(figures[self.metric])


def scorer(metric: str) -> Scorer:
    """What scikit-learn's `scoring=` takes, for a metric of `evaluate` such as "nDCG@5" or "PSP@3"; per cent.

    Propensities come from the labels that the estimator was trained on.
    """
    return Scorer(metric)


def _last(estimator: Any, x: Any) -> tuple[Any, Any]:
    """(the model or tagger at the end of searches and pipelines, x as it reaches it)."""
    while not hasattr(estimator, "evaluate"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            if len(estimator.steps) > 1:
                x = estimator[:-1].transform(x)
            estimator = estimator.steps[-1][1]
        else:
            raise ParamError(f"a scorer judges models and taggers of labelwood, but got {type(estimator).__name__}")
    return estimator, x
