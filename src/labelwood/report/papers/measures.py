"""What is measured of one trained model: groups of lines, each line a table of figures by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.keyed_random import keyed_order
from labelwood.metrics.evaluate import evaluate
from labelwood.metrics.hits import hit_matrix
from labelwood.models.base import Model
from labelwood.models.neural.elias.analysis import decile_recall, label_deciles
from labelwood.models.neural.elias.model import ELIAS
from labelwood.report.compare_data import Parts
from labelwood.report.papers.elias_measures import elias_groups
from labelwood.report.papers.experiment import ANSWERS
from labelwood.topk import TopK

PLACES = 100
KS = (1, 3, 5, 10, 20, 100)
TRAINING_ROWS = 3000  # training rows whose figures are measured
DEPTHS = (1, 3)
SHARES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # per cent of the labels, the most frequent ones
Figures = dict[str, float]
Groups = dict[str, dict[str, Figures]]
Trained = Model[Any, Any]
Propensity = tuple[float, float]


def measured(model: Trained, parts: Parts, propensity: Propensity) -> Groups:
    """Group -> line -> figures of a trained model; the line of ANSWERS has no name of its own."""
    groups: Groups = {ANSWERS: {"": answer_figures(model, parts, propensity)}}
    for name, measure in _MORE.get(model.name, {}).items():
        groups[name] = measure(model, parts, propensity)
    if isinstance(model, ELIAS):
        groups |= elias_groups(model.fitted_, parts, lambda top: judged(top, parts, propensity))
    return groups


def answer_figures(model: Trained, parts: Parts, propensity: Propensity) -> Figures:
    """Metrics of test rows, "train P@k" and so on of training rows, the gap, and what a search costs."""
    start = time.process_time()
    top = model.predict(parts.test, _places(parts))
    seconds = time.process_time() - start
    figures = judged(top, parts, propensity)
    figures["test s"] = seconds
    figures["ms a row"] = 1000 * seconds / max(1, parts.test.n_rows)
    figures["MB"] = sum(array.nbytes for array in model.fitted_.arrays().values()) / 1e6
    some = parts.train.take(np.sort(keyed_order(parts.train.n_rows, 0)[:TRAINING_ROWS]))
    ks = [k for k in (1, 3, 5) if k <= parts.train.n_labels]
    of_training = evaluate(model.predict(some, max(ks)), some.y, ks=ks)
    figures |= {f"train {name}": of_training[name] for k in ks for name in (f"P@{k}", f"nDCG@{k}")}
    figures["gap"] = figures["train P@1"] - figures["P@1"]
    epochs = getattr(model.fitted_.settings, "epochs", None)
    if epochs is not None:
        figures["epochs"] = float(epochs)
    for k in DEPTHS:
        figures |= model.search_figures(parts.test, k)
    return figures


def judged(top: TopK, parts: Parts, propensity: Propensity) -> Figures:
    """The metrics of answers to the test rows."""
    test, train_y = parts.test, parts.train.y
    if test.n_labels > train_y.shape[1]:
        train_y = train_y.copy()
        train_y.resize((train_y.shape[0], test.n_labels))
    ks = [k for k in KS if k <= min(top.k, _places(parts))]
    a, b = propensity
    found = evaluate(top, test.y, train_y=train_y, ks=ks, A=a, B=b, filter_pairs=test.filter_pairs)
    return {name: value for name, value in found.items() if name.partition("@")[0] in ("P", "nDCG", "PSP", "R")}


def _places(parts: Parts) -> int:
    """Answers to ask for; pairs that are filtered out need spare places."""
    pairs = parts.test.filter_pairs
    spare = 0 if pairs is None or not len(pairs) else int(np.bincount(pairs[:, 0]).max())
    return min(PLACES + spare, parts.train.n_labels)


def imbalance(y: sparse.csr_matrix) -> dict[str, Figures]:
    """What the most frequent labels hold: of all positives, and of the rows one of their labels, three, or all."""
    counts = np.bincount(y.indices, minlength=y.shape[1])
    order = np.argsort(-counts, kind="stable")
    n_true = np.diff(y.indptr)[np.diff(y.indptr) > 0]
    lines = {}
    for share in SHARES:
        first = np.zeros(y.shape[1], np.float32)
        first[order[: max(1, round(share / 100 * y.shape[1]))]] = 1
        n_held = (y != 0).astype(np.float32)[np.diff(y.indptr) > 0] @ first
        lines[f"{share:g} % of the labels"] = {
            "labels, per cent": share,
            "positives, per cent": 100 * float(n_held.sum() / max(1, len(y.indices))),
            **{
                f"rows with {name}, per cent": 100 * float(np.mean(n_held >= np.minimum(n_true, wanted)))
                for name, wanted in (("one", 1), ("three", 3), ("all", y.shape[1]))
                if len(n_true)
            },
        }
    return lines


def _imbalance(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    return imbalance(parts.train.y)


def _recall_by_decile(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    """What each tenth of the labels, the most frequent ones first, adds to the recall of five answers."""
    counts = model.fitted_.trained_on.label_counts
    top, y = model.predict(parts.test, min(5, len(counts))), parts.test.y[:, : len(counts)]
    added = decile_recall(top.labels, hit_matrix(top, y).hit.astype(bool), np.diff(y.indptr), label_deciles(counts))
    return {f"decile {d + 1}": {"decile": d + 1.0, "R@5": float(value)} for d, value in enumerate(added)}


_Measure = Callable[[Trained, Parts, Propensity], dict[str, Figures]]
_MORE: dict[str, dict[str, _Measure]] = {
    "popular": {"labels": _imbalance},
    "glas": {"deciles": _recall_by_decile},
}
