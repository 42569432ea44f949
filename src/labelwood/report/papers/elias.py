"""ELIAS: Gupta et al., End-to-End Learning to Index and Search in Large Output Spaces, NeurIPS 2022."""

from __future__ import annotations

from labelwood.report.papers.experiment import Experiment, Paper, Picture, Printed, Variant, printed

_SETS = ("lf-amazontitles-131k", "amazon-670k", "wikipedia-500k", "amazon-3m")
_INDEX = ("P@1", "P@3", "P@5", "R@10", "R@20", "R@100")
_ALL = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "R@10", "R@20", "R@100")
_SWEEP = ("P@1", "P@5", "R@10", "R@100")
_LINES = ("stage 1", "+ stage 2", "+ ranker", "+ calibration", "+ ensemble")
_ENCODER = (
    "The paper trains a text encoder together with the index; so does this where rows have texts; else rows are the "
    "sparse features."
)
_TABLE_8 = {
    "lf-amazontitles-131k": (
        (36.96, 24.67, 17.69, 37.47, 39.21, 28.29, 33.16, 37.44, 47.69, 51.74, 58.81),
        (37.90, 25.61, 18.45, 38.83, 40.76, 29.73, 35.16, 39.88, 50.12, 54.62, 62.88),
        (39.25, 26.46, 19.02, 40.22, 42.19, 30.54, 36.71, 41.72, 51.40, 55.39, 62.88),
        (39.26, 26.47, 19.02, 40.27, 42.23, 31.30, 37.05, 41.89, 51.40, 55.35, 62.88),
        (40.13, 27.11, 19.54, 41.26, 43.35, 31.05, 37.57, 42.88, 53.31, 57.79, 65.15),
    ),
    "amazon-670k": (
        (46.63, 41.65, 37.58, 44.02, 42.11, 29.89, 33.20, 35.66, 46.08, 52.29, 61.72),
        (48.68, 43.78, 40.04, 46.24, 44.68, 31.22, 34.94, 38.31, 50.33, 57.67, 68.95),
        (50.72, 45.25, 41.27, 47.91, 46.22, 30.93, 35.45, 39.57, 51.51, 58.43, 68.95),
        (51.41, 45.69, 41.62, 48.49, 46.77, 33.14, 36.77, 40.41, 51.97, 58.81, 68.97),
        (53.02, 47.18, 42.97, 50.11, 48.37, 34.32, 38.12, 41.93, 53.99, 61.33, 72.07),
    ),
    "wikipedia-500k": (
        (76.54, 57.65, 44.33, 69.54, 67.01, 32.61, 40.04, 43.48, 65.78, 72.06, 80.60),
        (77.81, 59.14, 45.85, 71.22, 68.97, 33.38, 41.88, 45.98, 68.33, 74.97, 84.70),
        (79.47, 61.08, 47.77, 73.35, 71.41, 32.10, 42.72, 48.25, 71.20, 77.24, 84.70),
        (80.46, 61.60, 48.03, 74.09, 72.01, 34.76, 44.97, 49.82, 71.36, 77.50, 84.70),
        (81.26, 62.51, 48.82, 75.12, 73.10, 35.02, 45.94, 51.13, 72.74, 79.17, 87.22),
    ),
    "amazon-3m": (
        (49.12, 46.31, 44.10, 47.46, 46.26, 16.32, 19.44, 21.57, 19.12, 27.90, 49.15),
        (49.93, 47.07, 44.85, 48.20, 46.97, 14.97, 17.46, 19.34, 18.94, 28.28, 52.93),
        (52.63, 49.87, 47.58, 51.04, 49.81, 15.79, 19.00, 21.35, 20.39, 29.97, 53.50),
        (52.63, 49.87, 47.58, 51.04, 49.81, 15.79, 19.00, 21.35, 20.39, 29.97, 53.50),
        (54.28, 51.40, 49.09, 52.65, 51.46, 15.85, 19.07, 21.52, 21.59, 31.76, 57.09),
    ),
}
_LAMBDAS = {
    0.0: (47.80, 39.45, 49.17, 66.05), 0.01: (48.30, 39.86, 49.73, 67.78), 0.02: (48.48, 39.94, 49.96, 68.27),
    0.05: (48.68, 40.05, 50.33, 68.95), 0.1: (48.72, 40.05, 50.19, 68.91), 0.2: (48.62, 39.96, 50.06, 68.82),
    0.5: (48.48, 39.76, 49.80, 68.55),
}  # fmt: skip
_KAPPAS = {
    100: (46.79, 36.60, 42.90, 56.38), 200: (47.88, 38.67, 46.96, 63.30), 500: (48.68, 40.04, 49.99, 68.48),
    1000: (48.68, 40.05, 50.33, 68.95), 2000: (48.58, 40.07, 50.27, 68.91), 5000: (48.57, 39.93, 50.15, 68.91),
    10000: (48.32, 39.73, 49.97, 68.84),
}  # fmt: skip
_ONE_INDEX = {"n_models": 1, "ranker": False, "calibration": False}
# One cluster that holds every label: each path scores 1, and p is the sigmoid of the label's classifier alone.
_NO_INDEX = {**_ONE_INDEX, "n_clusters": 1, "beam": 1, "warm_epochs": 0, "stage2_epochs": 0, "shortlist": 2**30}
_TABLE_2 = {
    "amazon-670k": ((48.50, 43.41, 39.67, 49.53, 56.60, 67.90), (48.68, 43.78, 40.04, 50.33, 57.67, 68.95)),
    "lf-amazontitles-131k": ((38.17, 25.66, 18.44, 50.29, 54.71, 62.80), (37.90, 25.61, 18.45, 50.12, 54.62, 62.88)),
}
_METHODS = ("one-vs-all with the same encoder", "ELIAS, one index")
_COSTS = ("ms a row", "train s", "MB")
_TABLE_6 = {  # on one GPU
    "lf-amazontitles-131k": (0.08, 5976.0, 650.0), "wikipedia-500k": (0.55, 119880.0, 2000.0),
    "amazon-670k": (0.57, 36360.0, 2400.0), "amazon-3m": (0.67, 135360.0, 5900.0),
}  # fmt: skip
_TOP_EDGES = {
    1000: (48.68, 40.04, 50.33, 68.95), 750: (48.70, 40.05, 50.34, 68.95), 500: (48.72, 40.05, 50.34, 68.95),
    300: (48.72, 40.05, 50.34, 68.95), 200: (48.71, 40.05, 50.32, 68.87), 100: (48.22, 39.04, 47.98, 64.80),
    50: (46.17, 33.85, 38.35, 49.48),
}  # fmt: skip
_EDGES_LEFT = {
    0.0: (48.68, 40.04, 50.33, 68.95), 20.89: (48.68, 40.05, 50.33, 68.96), 64.42: (48.68, 40.04, 50.33, 68.96),
    73.63: (48.68, 40.04, 50.33, 68.95), 84.52: (48.65, 40.02, 50.26, 68.82), 89.11: (48.40, 39.48, 48.98, 66.75),
    91.95: (47.70, 38.19, 46.38, 62.17), 93.13: (47.26, 37.42, 44.91, 59.53),
}  # fmt: skip
# One training gives tables 3, 8 and 9 and the figures of the learned index.
_WHOLE = (Variant("", "elias", "paper"),)


def _lines_printed() -> tuple[Printed, ...]:
    return tuple(
        line for data, rows in _TABLE_8.items() for line in printed(data, _ALL, dict(zip(_LINES, rows, strict=True)))
    )


PAPER = Paper(
    "elias",
    "End-to-End Learning to Index and Search in Large Output Spaces (Gupta et al., NeurIPS 2022)",
    (
        Experiment(
            "table 2", "one index against scoring all labels", "section 4", tuple(_TABLE_2),
            tuple(
                Variant(title, "elias", "paper", changes, printed_as=title)
                for title, changes in zip(_METHODS, (_NO_INDEX, _ONE_INDEX), strict=True)
            ),
            (*_INDEX, "train s", "ms a row"),
            tuple(
                line for data, rows in _TABLE_2.items()
                for line in printed(data, _INDEX, dict(zip(_METHODS, rows, strict=True)))
            ),
            note=_ENCODER,
        ),
        Experiment(
            "table 3", "what each part adds", "section 4", ("amazon-670k", "lf-amazontitles-131k"), _WHOLE, _INDEX,
            _lines_printed(), group="parts", note=_ENCODER,
        ),
        Experiment(
            "table 6", "what it costs", "appendix, table 6", tuple(_TABLE_6),
            (Variant("ELIAS, preset paper", "elias", "paper", printed_as="ELIAS"),), _COSTS,
            tuple(line for data, row in _TABLE_6.items() for line in printed(data, _COSTS, {"ELIAS": row})),
            note=_ENCODER + " Printed: on one GPU; measured: CPU seconds, three indexes with their ranker.",
        ),
        Experiment(
            "table 7", "one index: lambda and kappa varied", "appendix, table 7", ("amazon-670k",),
            tuple(
                Variant(f"lambda {value:g}", "elias", "paper",
                        {**_ONE_INDEX, "stage1_lambda": value, "shortlist_loss": value},
                        printed_as=f"lambda {value:g}", curve="lambda")
                for value in _LAMBDAS
            ) + tuple(
                Variant(f"kappa {value}", "elias", "paper", {**_ONE_INDEX, "kappa": value},
                        printed_as=f"kappa {value}", curve="kappa")
                for value in _KAPPAS
            ),
            _SWEEP,
            printed("amazon-670k", _SWEEP, {f"lambda {value:g}": row for value, row in _LAMBDAS.items()})
            + printed("amazon-670k", _SWEEP, {f"kappa {value}": row for value, row in _KAPPAS.items()}),
            note=_ENCODER + " P@5 of lambda 0.1 to 0.5 are read from a broken layout.",
        ),
        Experiment(
            "table 8", "what each part adds, all metrics", "appendix, table 8", _SETS, _WHOLE, _ALL, _lines_printed(),
            group="parts", note=_ENCODER,
        ),
        Experiment(
            "table 9a", "the index after weak edges are removed", "appendix, table 9", ("amazon-670k",), _WHOLE,
            ("pruned, per cent", *_SWEEP),
            printed("amazon-670k", _SWEEP, {f"{share:g} % pruned": row for share, row in _EDGES_LEFT.items()}),
            group="pruned",
            note=_ENCODER + " The paper: 84.52 % of the edges removed cost 0.03 points of P@1 and 0.13 of R@100.",
        ),
        Experiment(
            "table 9b", "the index with the strongest edges of each cluster", "appendix, table 9", ("amazon-670k",),
            _WHOLE, ("edges of a cluster", "pruned, per cent", *_SWEEP),
            printed("amazon-670k", _SWEEP, {f"top {top}": row for top, row in _TOP_EDGES.items()}),
            group="pruned to the strongest",
            note=_ENCODER + " The paper: 200 of 1000 edges cost nothing, 100 cost 4 points of R@100.",
        ),
        Experiment(
            "figure 3", "scores of the learned edges", "section 3", ("amazon-670k",), _WHOLE,
            ("score", "edges, per cent"), group="edges", picture=Picture("score", "edges, per cent"),
            note=_ENCODER + " The paper: most edges end near 0 or near 1.",
        ),
        Experiment(
            "figure 4", "scores of true labels by decile of frequency", "section 3", ("amazon-670k",), _WHOLE,
            ("decile", "index", "ranker"), group="true labels", picture=Picture("decile", "ranker", also=("index",)),
            note=_ENCODER + " Means; the paper: the ranker underestimates rare labels, the index is more balanced.",
        ),
        Experiment(
            "figure 5a", "recall by number of answers", "section 4", ("amazon-670k",), _WHOLE, ("answers", "recall"),
            group="recall", picture=Picture("answers", "recall", log=True), note=_ENCODER,
        ),
        Experiment(
            "figure 5b", "what each decile of labels adds to R@100", "section 4", ("amazon-670k",), _WHOLE,
            ("decile", "recall"), group="recall by decile", picture=Picture("decile", "recall"), note=_ENCODER,
        ),
        Experiment(
            "figure 7a", "share of the edges of stage 1 that are kept", "appendix, figure 7", ("amazon-670k",), _WHOLE,
            ("threshold", "kept, per cent"), group="kept", picture=Picture("threshold", "kept, per cent"),
            note=_ENCODER + " The paper: almost 60 % remain with good confidence.",
        ),
        Experiment(
            "figure 7b", "clusters of a label by decile of frequency", "appendix, figure 7", ("amazon-670k",), _WHOLE,
            ("decile", "clusters"), group="homes", picture=Picture("decile", "clusters"),
            note=_ENCODER + " The paper: frequent labels have more clusters than rare ones.",
        ),
        *(
            Experiment(
                f"figure {number}", "how far apart the training rows of a label are", "appendix, figures 8 and 9",
                ("amazon-670k",), _WHOLE, ("labels", "spread"), group="modes",
                note=_ENCODER + " The paper draws six labels of each kind by t-SNE: the rows of labels with several "
                "clusters lie in several groups, those of labels with one cluster in one. Here as a number: 1 less the "
                "mean cosine of two rows of a label.",
            )
            for number in (8, 9)
        ),
    ),
)  # fmt: skip
