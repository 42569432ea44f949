"""What is measured of one trained model: groups of lines, each line a table of figures by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from labelwood.data.dataset import Dataset
from labelwood.data.keyed_random import keyed_order
from labelwood.metrics.evaluate import evaluate
from labelwood.models.base import Model
from labelwood.models.neural.elias.analysis import (
    clusters_per_label,
    kept_partition_edges,
    label_deciles,
    recall_curve,
)
from labelwood.models.neural.elias.search import LearnedIndex
from labelwood.report.compare_data import Parts
from labelwood.report.elias_parts import index_answers, part_answers
from labelwood.report.papers.experiment import ANSWERS
from labelwood.topk import TopK

PLACES = 100
KS = (1, 3, 5, 10, 20, 100)
TRAINING_ROWS = 3000  # training rows whose figures are measured
DEPTHS = (1, 3)
THRESHOLDS = np.linspace(0, 1, 21)
PRUNED = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
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
    return groups


def answer_figures(model: Trained, parts: Parts, propensity: Propensity) -> Figures:
    """Metrics of test rows, "train P@k" and so on of training rows, the gap, and what a search costs."""
    start = time.process_time()
    top = model.predict(parts.test, _places(parts))
    seconds = time.process_time() - start
    figures = judged(top, parts, propensity)
    figures["test s"] = seconds
    some = parts.train.take(np.sort(keyed_order(parts.train.n_rows, 0)[:TRAINING_ROWS]))
    ks = [k for k in (1, 3, 5) if k <= parts.train.n_labels]
    of_training = evaluate(model.predict(some, max(ks)), some.y, ks=ks)
    figures |= {f"train {name}": of_training[name] for k in ks for name in (f"P@{k}", f"nDCG@{k}")}
    figures["gap"] = figures["train P@1"] - figures["P@1"]
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


def _imbalance(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    """What share of all positives the most frequent labels hold."""
    counts = np.sort(np.bincount(parts.train.y.indices, minlength=parts.train.n_labels))[::-1]
    lines = {}
    for share in SHARES:
        first = max(1, round(share / 100 * len(counts)))
        held = 100 * float(counts[:first].sum() / max(1, counts.sum()))
        lines[f"{share:g} % of the labels"] = {"labels, per cent": share, "positives, per cent": held}
    return lines


def _elias_parts(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    state, test = model.fitted_, parts.test
    rows, first = state.inputs(test.x, test.texts), state.first_inputs(test.x, test.texts)
    return {name: judged(top, parts, propensity) for name, top in part_answers(state, rows, first_x=first)}


def _elias_pruned(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    """The first index, alone, without edges below each threshold."""
    from labelwood.matrices import normalized_rows

    rows = normalized_rows(_elias_rows(model, parts.test))
    whole = _edges(model.fitted_.members[0].index)
    lines = {}
    for threshold in PRUNED:
        index = model.fitted_.pruned(threshold, None, False).members[0].index
        lost = 100 * (1 - _edges(index) / max(1, whole))
        figures = judged(index_answers(index, rows), parts, propensity)
        lines[f"edges from {threshold:g}"] = {"pruned, per cent": lost, **figures}
    return lines


def _edges(index: LearnedIndex) -> int:
    return int(np.count_nonzero(index.edges >= 0))


def _elias_recall(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    from labelwood.metrics.hits import hit_matrix

    top = model.predict(parts.test, min(PLACES, parts.train.n_labels))
    hits = hit_matrix(top, parts.test.y)
    curve = recall_curve(hits.hit.astype(bool), np.diff(parts.test.y.indptr))
    places = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= len(curve)]
    return {f"{k} answers": {"answers": float(k), "recall": float(curve[k - 1])} for k in places}


def _elias_kept(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    state = model.fitted_
    index = state.members[0].index
    kept = kept_partition_edges(index.edges, index.edge_scores, state.partition, THRESHOLDS)
    return {
        f"from {threshold:.2f}": {"threshold": float(threshold), "kept, per cent": 100 * float(share)}
        for threshold, share in zip(THRESHOLDS, kept, strict=True)
    }


def _elias_homes(model: Trained, parts: Parts, propensity: Propensity) -> dict[str, Figures]:
    state = model.fitted_
    index = state.members[0].index
    homes = clusters_per_label(index.edges, index.edge_scores, state.n_labels)
    deciles = label_deciles(state.trained_on.label_counts)
    return {
        f"decile {decile + 1}": {"decile": float(decile + 1), "clusters": float(homes[deciles == decile].mean())}
        for decile in np.unique(deciles).tolist()
    }


def _elias_rows(model: Trained, data: Dataset) -> Any:
    return model.fitted_.inputs(data.x, data.texts)


_Measure = Callable[[Trained, Parts, Propensity], dict[str, Figures]]
_MORE: dict[str, dict[str, _Measure]] = {
    "popular": {"labels": _imbalance},
    "elias": {
        "parts": _elias_parts,
        "pruned": _elias_pruned,
        "recall": _elias_recall,
        "kept": _elias_kept,
        "homes": _elias_homes,
    },
}
