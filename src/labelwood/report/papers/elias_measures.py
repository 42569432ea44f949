"""What the figures of the ELIAS paper show of a trained model, as numbers: edges, true labels, homes, modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import normalized_rows
from labelwood.metrics.hits import hit_matrix
from labelwood.models.neural.elias.analysis import (
    clusters_per_label,
    decile_recall,
    kept_partition_edges,
    label_deciles,
    recall_curve,
)
from labelwood.models.neural.elias.calibration import log_q
from labelwood.models.neural.elias.fitted import FittedELIAS
from labelwood.models.neural.elias.index import edges_above, strongest_edges
from labelwood.models.neural.elias.search import LearnedIndex
from labelwood.models.neural.forward import unit_rows
from labelwood.report.compare_data import Parts
from labelwood.report.elias_parts import index_answers, part_answers
from labelwood.topk import TopK

PLACES = 100
THRESHOLDS = np.linspace(0, 1, 21)
PRUNED = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
TOP_SHARES = (1.0, 0.75, 0.5, 0.3, 0.2, 0.1, 0.05)  # of a cluster's places, as 1000 to 50 of the paper's 1000
BINS = 10  # of the scores of edges
MOST_POINTS = 200  # training rows of a label whose spread is measured
LEAST_POINTS = 10
N_SAMPLED = 200  # labels of each kind; the paper draws six
Figures = dict[str, float]
Judge = Callable[[TopK], Figures]


def elias_groups(state: FittedELIAS, parts: Parts, judge: Judge) -> dict[str, dict[str, Figures]]:
    """Group -> line -> figures of a trained ELIAS; judge: the metrics of answers to the test rows."""
    test = parts.test
    x = state.inputs(test.x, test.texts)
    rows = normalized_rows(state.views(x)[0])
    index = state.members[0].index
    answers = state.predict(x, min(PLACES, state.n_labels))
    deciles = label_deciles(state.trained_on.label_counts)
    first = state.first_inputs(test.x, test.texts)
    return {
        "parts": {name: judge(top) for name, top in part_answers(state, x, first_x=first)},
        "pruned": _pruned(index, rows, judge),
        "pruned to the strongest": _strongest(index, rows, judge),
        "recall": _recall(answers, test.y),
        "recall by decile": _decile_recall(answers, test.y, deciles),
        "edges": edge_histogram(index),
        "true labels": _true_scores(state, rows, test.y, deciles),
        "kept": _kept(state, index),
        "homes": _homes(state, index, deciles),
        "modes": _modes(state, parts),
    }


def edge_histogram(index: LearnedIndex) -> dict[str, Figures]:
    """How many edges have scores in each tenth of 0..1 (figure 3 of the paper), per cent."""
    scores = index.edge_scores[index.edges >= 0]
    counts, _ = np.histogram(scores, BINS, (0.0, 1.0))
    return {
        f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}": {
            "score": (place + 0.5) / BINS,
            "edges, per cent": 100 * float(count) / max(1, len(scores)),
        }
        for place, count in enumerate(counts.tolist())
    }


def spread(vectors: npt.NDArray[Any]) -> float:
    """How far apart unit vectors (n, dim) are: 1 less the mean cosine of two different ones; 0 if all are alike."""
    n = len(vectors)
    total = vectors.astype(np.float64).sum(axis=0)
    return float(1 - (total @ total - n) / (n * (n - 1)))


def _pruned(index: LearnedIndex, rows: sparse.csr_matrix, judge: Judge) -> dict[str, Figures]:
    """The first index, alone, without edges below each threshold."""
    keeps = {f"edges from {least:g}": edges_above(index.edges, index.edge_scores, least) for least in PRUNED}
    return {name: _without_edges(index, keep, rows, judge) for name, keep in keeps.items()}


def _strongest(index: LearnedIndex, rows: sparse.csr_matrix, judge: Judge) -> dict[str, Figures]:
    """The first index, alone, with the strongest edges of each cluster."""
    width = index.edges.shape[1]
    tops = dict.fromkeys(max(1, round(share * width)) for share in TOP_SHARES)
    return {
        f"top {top}": {
            "edges of a cluster": float(top),
            **_without_edges(index, strongest_edges(index.edges, index.edge_scores, top), rows, judge),
        }
        for top in tops
    }


def _without_edges(index: LearnedIndex, keep: npt.NDArray[np.bool_], rows: sparse.csr_matrix, judge: Judge) -> Figures:
    lost = 100 * (1 - float(keep.sum()) / max(1, int((index.edges >= 0).sum())))
    return {"pruned, per cent": lost, **judge(index_answers(index.pruned(keep, renormalize=False), rows))}


def _recall(answers: TopK, y: sparse.csr_matrix) -> dict[str, Figures]:
    curve = recall_curve(hit_matrix(answers, y).hit.astype(bool), np.diff(y.indptr))
    places = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= len(curve)]
    return {f"{k} answers": {"answers": float(k), "recall": float(curve[k - 1])} for k in places}


def _decile_recall(answers: TopK, y: sparse.csr_matrix, deciles: npt.NDArray[np.int64]) -> dict[str, Figures]:
    added = decile_recall(answers.labels, hit_matrix(answers, y).hit.astype(bool), np.diff(y.indptr), deciles)
    return {f"decile {d + 1}": {"decile": d + 1.0, "recall": float(value)} for d, value in enumerate(added)}


def _true_scores(
    state: FittedELIAS, rows: sparse.csr_matrix, y: sparse.csr_matrix, deciles: npt.NDArray[np.int64]
) -> dict[str, Figures]:
    """The mean scores p of the index and q of the ranker over true labels on the shortlist, by decile (figure 4)."""
    if state.ranker is None:
        return {}
    short = state.members[0].index.shortlist(rows)
    _, log_p, margins = state.ranker.judged(rows, short.labels, short.log_p, 0)
    true = hit_matrix(TopK(short.labels, short.log_p), y).hit.astype(bool)
    of, p, q = deciles[short.labels[true]], np.exp(log_p[true]), np.exp(log_q(margins)[true])
    return {
        f"decile {d + 1}": {"decile": d + 1.0, "index": float(p[of == d].mean()), "ranker": float(q[of == d].mean())}
        for d in np.unique(of).tolist()
    }


def _kept(state: FittedELIAS, index: LearnedIndex) -> dict[str, Figures]:
    kept = kept_partition_edges(index.edges, index.edge_scores, state.partition, THRESHOLDS)
    return {
        f"from {threshold:.2f}": {"threshold": float(threshold), "kept, per cent": 100 * float(share)}
        for threshold, share in zip(THRESHOLDS, kept, strict=True)
    }


def _homes(state: FittedELIAS, index: LearnedIndex, deciles: npt.NDArray[np.int64]) -> dict[str, Figures]:
    homes = clusters_per_label(index.edges, index.edge_scores, state.n_labels)
    return {
        f"decile {decile + 1}": {"decile": float(decile + 1), "clusters": float(homes[deciles == decile].mean())}
        for decile in np.unique(deciles).tolist()
    }


def _modes(state: FittedELIAS, parts: Parts) -> dict[str, Figures]:
    """How far apart the training rows of labels with one cluster and with several are (figures 8 and 9, as a number).

    Labels of both kinds have 10 training rows at least; rows as the encoder of the first index sees them.
    """
    index, train = state.members[0].index, parts.train
    by_label = train.y.tocsc()
    homes = clusters_per_label(index.edges, index.edge_scores, state.n_labels)
    enough = np.diff(by_label.indptr) >= LEAST_POINTS
    lines = {}
    for name, kind in (("one cluster", homes == 1), ("two to five clusters", (homes > 1) & (homes < 6))):
        labels = np.flatnonzero(kind & enough)
        labels = np.sort(labels[keyed_order(len(labels), 0)[:N_SAMPLED]])
        spreads = [
            _spread_of(state, parts, by_label.indices[by_label.indptr[n] : by_label.indptr[n + 1]]) for n in labels
        ]
        if spreads:
            lines[name] = {"labels": float(len(labels)), "spread": float(np.mean(spreads))}
    return lines


def _spread_of(state: FittedELIAS, parts: Parts, points: npt.NDArray[Any]) -> float:
    some = parts.train.take(np.sort(points[keyed_order(len(points), 0)[:MOST_POINTS]]).astype(np.int64))
    rows = normalized_rows(state.views(state.inputs(some.x, some.texts))[0])
    return spread(unit_rows(state.members[0].index.vectors(rows)))
