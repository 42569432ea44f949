"""The figures of a learned label index: its edges, where labels live, and what it finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwood.errors import ParamError
from labelwood.models.neural.elias.analysis import clusters_per_label, kept_partition_edges, label_deciles, plane

if TYPE_CHECKING:
    from labelwood.models.neural.elias.model import ELIAS

THRESHOLDS = np.linspace(0, 1, 21)


def write_figures(model: ELIAS, folder: str | Path) -> list[Path]:
    """The PNG files that were written into `folder`; ParamError if matplotlib is not installed.

    Recall and its deciles were measured on the rows held out in training; a model trained without such has neither.
    """
    try:
        from matplotlib.figure import Figure  # without pyplot: no window system, no global state
    except ImportError:
        raise ParamError("figures need matplotlib: pip install 'labelwood[report]'") from None
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    state = model.fitted_
    index = state.members[0].index
    real = index.edges >= 0
    homes = clusters_per_label(index.edges, index.edge_scores, state.n_labels)
    deciles = label_deciles(state.trained_on.label_counts)
    tenths = np.arange(1, 11)
    per_decile = [homes[deciles == d].mean() if np.any(deciles == d) else 0.0 for d in range(10)]
    of_partition = kept_partition_edges(index.edges, index.edge_scores, state.partition, THRESHOLDS)
    written = []

    def figure(name: str, title: str, across: str, up: str, draw: Any) -> None:
        page = Figure(figsize=(6, 4), layout="constrained")
        axes = page.add_subplot()
        draw(axes)
        axes.set(title=title, xlabel=across, ylabel=up)
        page.savefig(target / f"{name}.png", dpi=120)
        written.append(target / f"{name}.png")

    scores = index.edge_scores[real]
    figure("edges", "Scores of the edges", "score", "edges", lambda axes: axes.hist(scores, bins=40, log=True))
    figure(
        "partition",
        "Edges of stage 1 that are kept",
        "edges with a score from",
        "share of the edges of stage 1",
        lambda axes: axes.plot(THRESHOLDS, of_partition),
    )
    figure(
        "clusters",
        "Clusters of a label (edge above 0.25)",
        "decile of labels, frequent to rare",
        "clusters",
        lambda axes: axes.bar(tenths, per_decile),
    )
    places = plane(index.label_weight)
    several = homes > 1

    def draw_map(axes: Any) -> None:
        for chosen, name in ((~several, "one cluster or none"), (several, "several clusters")):
            axes.scatter(places[chosen, 0], places[chosen, 1], s=4, label=name)
        axes.legend()

    figure("map", "Label classifiers on their principal plane", "first component", "second component", draw_map)
    if "recall" in state.held_out:
        recall = state.held_out["recall"]
        figure(
            "recall",
            "Recall on held-out rows",
            "answers",
            "recall, per cent",
            lambda axes: axes.plot(np.arange(1, len(recall) + 1), recall),
        )
        figure(
            "deciles",
            "What each decile adds to R@100",
            "decile of labels, frequent to rare",
            "recall, per cent",
            lambda axes: axes.bar(tenths, state.held_out["deciles"]),
        )
    return written
