"""DXML: Zhang, Yan, Wang and Zha, Deep Extreme Multi-label Learning, ICMR 2018."""

from __future__ import annotations

import math

from labelwood.report.papers.experiment import Experiment, Paper, Variant, printed

_P, _N = ("P@1", "P@3", "P@5"), ("nDCG@1", "nDCG@3", "nDCG@5")
_SMALL, _LARGE = ("bibtex", "delicious", "mediamill"), ("wiki10-31k", "delicious-200k", "amazon-670k")
_SILENT = (
    "The paper does not print the settings of DeepWalk, the number of epochs, the batch size and the share of dropout; "
    "the preset's are ours (docs/methods/presets.md)."
)


def _variants(preset: str) -> tuple[Variant, ...]:
    return (
        Variant("DXML, preset paper", "dxml", preset, printed_as="DXML"),
        Variant("DXML, defaults", "dxml", printed_as="DXML"),
        Variant("one-vs-all, defaults", "one-vs-all", printed_as="1-vs-All"),
        Variant("LEML", "leml", printed_as="LEML"),
        Variant("FastXML", "fastxml", printed_as="FastXML"),
        Variant("KNN, all neighbours alike", "knn", changes={"temperature": math.inf}, printed_as="KNN"),
    )


PAPER = Paper(
    "dxml",
    "Deep Extreme Multi-label Learning (Zhang et al., ICMR 2018)",
    (
        Experiment(
            "table 2",
            "P@k on small data sets, means over ten splits",
            "section 4.2",
            _SMALL,
            _variants("paper"),
            _P,
            printed("bibtex", _P, {
                "DXML": (66.03, 40.21, 27.51), "SLEEC": (65.08, 39.64, 28.87), "1-vs-All": (62.62, 39.09, 28.79),
                "KNN": (57.04, 34.38, 25.44), "LEML": (62.54, 38.41, 28.21), "FastXML": (63.42, 39.23, 28.86),
            }) + printed("delicious", _P, {
                "DXML": (68.17, 62.02, 57.45), "SLEEC": (67.59, 61.38, 56.56), "1-vs-All": (65.02, 58.88, 53.28),
                "KNN": (64.95, 58.89, 54.11), "LEML": (65.67, 60.55, 56.08), "FastXML": (69.61, 64.12, 59.27),
            }) + printed("mediamill", _P, {
                "DXML": (88.73, 74.05, 58.83), "SLEEC": (87.82, 73.45, 59.17), "1-vs-All": (83.57, 65.50, 48.57),
                "KNN": (82.97, 67.91, 54.23), "LEML": (84.01, 67.20, 52.80), "FastXML": (84.22, 67.33, 53.04),
            }),
            n_splits=10,
            note=_SILENT,
        ),
        Experiment(
            "table 3",
            "P@k on large data sets",
            "section 4.2",
            _LARGE,
            _variants("paper-large")[:2],
            _P,
            printed("wiki10-31k", _P, {"DXML": (86.45, 70.88, 61.31), "SLEEC": (85.88, 72.98, 62.70)})
            + printed("delicious-200k", _P, {"DXML": (48.13, 43.85, 39.83), "SLEEC": (47.85, 42.21, 39.43)})
            + printed("amazon-670k", _P, {"DXML": (37.67, 33.72, 29.86), "SLEEC": (35.05, 31.25, 28.56)}),
            note=_SILENT,
        ),
        Experiment(
            "table 4",
            "nDCG@k on small data sets, means over ten splits",
            "section 4.2",
            _SMALL,
            _variants("paper"),
            _N,
            printed("bibtex", _N, {
                "DXML": (66.03, 60.71, 62.03), "SLEEC": (65.08, 60.47, 62.64), "1-vs-All": (62.62, 59.13, 61.58),
                "KNN": (57.04, 52.29, 54.64), "LEML": (62.54, 58.22, 60.53), "FastXML": (63.42, 59.51, 61.70),
            }) + printed("delicious", _N, {
                "DXML": (68.17, 63.45, 59.89), "SLEEC": (67.59, 62.87, 59.28), "1-vs-All": (65.02, 60.43, 56.28),
                "KNN": (64.95, 60.32, 56.77), "LEML": (65.67, 61.77, 58.47), "FastXML": (69.61, 65.47, 61.90),
            }) + printed("mediamill", _N, {
                "DXML": (88.73, 81.87, 80.03), "SLEEC": (87.82, 81.50, 79.22), "1-vs-All": (83.57, 73.84, 68.18),
                "KNN": (82.97, 75.44, 72.83), "LEML": (84.01, 75.23, 71.96), "FastXML": (84.22, 75.41, 72.37),
            }),
            n_splits=10,
            note=_SILENT,
        ),
        Experiment(
            "table 5",
            "nDCG@k on large data sets",
            "section 4.2",
            _LARGE,
            _variants("paper-large")[:2],
            _N,
            printed("wiki10-31k", _N, {"DXML": (86.45, 76.32, 67.11), "SLEEC": (85.88, 76.02, 68.13)})
            + printed("delicious-200k", _N, {"DXML": (48.13, 43.95, 41.73), "SLEEC": (47.85, 43.52, 41.37)})
            + printed("amazon-670k", _N, {"DXML": (37.67, 33.93, 32.47), "SLEEC": (35.05, 32.74, 31.53)}),
            note=_SILENT,
        ),
        Experiment(
            "table 6",
            "seconds of training and of answering all test rows",
            "section 4.2",
            _SMALL,
            _variants("paper")[:2],
            ("train s", "test s"),
            printed("bibtex", ("train s", "test s"), {"DXML": (353, 2.1), "SLEEC": (307, 1.5)})
            + printed("delicious", ("train s", "test s"), {"DXML": (1630, 7.8), "SLEEC": (1763, 6.1)})
            + printed("mediamill", ("train s", "test s"), {"DXML": (9403, 40.2), "SLEEC": (9906, 35.3)}),
            n_splits=10,
            note="The paper trained DXML on a GPU; here the seconds are processor time.",
        ),
        Experiment(
            "table 6b",
            "clusters of the training rows, of which a row sees the nearest",
            "section 3.4",
            _SMALL,
            tuple(
                Variant(f"{clusters} clusters", "dxml", "paper", {"n_clusters": clusters}, curve="clusters")
                for clusters in (1, 2, 5, 10, 20)
            ),
            (*_P, "test s"),
            note="Not in the paper, which gives no number of clusters: what they cost in precision and save in time.",
        ),
        Experiment(
            "figure 2",
            "with and without the ReLU",
            "section 4.2",
            ("delicious-200k",),
            (
                Variant("DXML, preset paper-large", "dxml", "paper-large"),
                Variant("the same, linear", "dxml", "paper-large", {"nonlinear": False}),
            ),
            _P,
            n_seeds=3,
            note="The paper draws the figure and prints no numbers.",
        ),
    ),
)  # fmt: skip
