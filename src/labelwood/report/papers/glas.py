"""GLaS: Guo et al., Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces, 2019."""

from __future__ import annotations

from typing import Any

from labelwood.report.papers.experiment import Experiment, Paper, Picture, Printed, Variant, printed

_SETS = ("amazoncat-13k", "wikilshtc-325k", "amazon-670k", "delicious-200k", "eurlex-4k", "wikipedia-500k")
_P, _N, _PSP = (tuple(f"{letters}@{k}" for k in (1, 3, 5)) for letters in ("P", "nDCG", "PSP"))
_PRECISION = (
    (94.21, 79.70, 64.84), (65.46, 45.44, 34.51), (46.38, 42.09, 38.56), (46.4, 40.49, 38.1), (77.5, 65.01, 54.37),
    (69.91, 49.08, 38.35),
)  # fmt: skip
_GAIN = (
    (94.21, 88.06, 86.08), (65.53, 57.92, 57.09), (46.32, 44.36, 42.84), (46.4, 41.83, 39.7), (77.69, 68.16, 62.71),
    (69.91, 58.87, 56.32),
)  # fmt: skip
_BOTH = (
    Variant("GLaS, preset paper", "glas", "paper", printed_as="GLaS"),
    Variant("GLaS, defaults", "glas", printed_as="GLaS"),
)
_GAP = ("train P@1", "P@1", "gap")
# Table 1: each line changes one setting of the base.
_TABLE_1: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("base", {}, 94.21),
    ("no regularizer", {"regularizer": "none"}, 92.34),
    ("spread-out", {"regularizer": "spreadout"}, 93.34),
    ("gravity", {"regularizer": "gravity"}, 93.42),
    ("lambda 1", {"weight": 1.0}, 93.68),
    ("lambda 100", {"weight": 100.0}, 93.75),
    ("rho 1.0", {"keep": 1.0}, 93.39),
    ("rho 0.6", {"keep": 0.6}, 94.08),
    ("B 1024", {"batch_size": 1024}, 94.04),
    ("B 2048", {"batch_size": 2048}, 93.98),
    ("d 256", {"dim": 256}, 93.24),
    ("d 512", {"dim": 512}, 93.82),
    ("linear map", {"map": "linear"}, 91.77),
)
# Algorithm 1 has neither the regularizer nor input dropout.
_UNREGULARIZED = {"regularizer": "none", "keep": 1.0}
_SMALL_DATA = "On data of a few thousand rows a batch of 4,096 is a step or two an epoch: use fit_batch there."


def _one_metric_set(metrics: tuple[str, ...], values: tuple[tuple[float, ...], ...]) -> tuple[Printed, ...]:
    rows = zip(_SETS, values, strict=True)
    return tuple(line for data, row in rows for line in printed(data, metrics, {"GLaS": row}))


def _by_epochs() -> tuple[Variant, ...]:
    """A point for both curves and every number of epochs; each is a training of its own, without an early stop."""
    return tuple(
        Variant(f"{curve}, {epochs} epochs", "glas", "paper", {**changes, "epochs": epochs, "patience": 0}, curve=curve)
        for curve, changes in (("algorithm 1", _UNREGULARIZED), ("GLaS", {}))
        for epochs in (1, 2, 5, 10, 20)
    )


PAPER = Paper(
    "glas",
    "Breaking the Glass Ceiling for Embedding-Based Classifiers for Large Output Spaces (Guo et al., NeurIPS 2019)",
    (
        Experiment(
            "figure 1",
            "P@1 of training and test rows by epochs",
            "section 3",
            ("amazoncat-13k",),
            _by_epochs(),
            ("epochs", *_GAP),
            picture=Picture("epochs", "train P@1", also=("P@1",)),
            note="The paper draws algorithm 1 alone, no numbers: training rows end near 100, test rows stay behind. "
            + _SMALL_DATA,
        ),
        Experiment(
            "table 1",
            "one setting after the other changed",
            "section 4, Ablation Study",
            ("amazoncat-13k",),
            tuple(Variant(title, "glas", "paper", changes, printed_as=title) for title, changes, _ in _TABLE_1),
            ("P@1", "P@3", "P@5"),
            printed("amazoncat-13k", ("P@1",), {title: (value,) for title, _, value in _TABLE_1}),
            n_seeds=3,
            note=_SMALL_DATA,
        ),
        Experiment(
            "table 2",
            "precision on training and test rows, with and without regularization",
            "section 4, Generalization Gap",
            ("amazoncat-13k", "amazon-670k"),
            (
                Variant("GLaS", "glas", "paper", printed_as="GLaS"),
                Variant("None", "glas", "paper", _UNREGULARIZED, printed_as="None"),
            ),
            _GAP,
            printed("amazoncat-13k", _GAP, {"GLaS": (98.77, 94.21, 4.56), "None": (99.23, 92.34, 6.89)})
            + printed("amazon-670k", _GAP, {"GLaS": (96.10, 46.32, 49.78), "None": (98.21, 44.53, 53.68)}),
            n_seeds=3,
            note=_SMALL_DATA,
        ),
        Experiment(
            "table 3", "P@k", "section 4", _SETS, _BOTH, _P, _one_metric_set(_P, _PRECISION),
            note="Delicious-200K was trained with the loss of the preset delicious-200k in the paper.",
        ),
        Experiment(
            "table 4", "PSP@k", "section 4", _SETS, _BOTH, _PSP,
            note="The paper has other propensities than the repository: its figures do not compare and are left out.",
        ),
        Experiment(
            "table 4b",
            "what each tenth of the labels, frequent ones first, adds to the recall of five answers",
            "section 4",
            _SETS,
            (Variant("GLaS", "glas", "paper"), Variant("None", "glas", "paper", _UNREGULARIZED)),
            ("decile", "R@5"),
            group="deciles",
            picture=Picture("decile", "R@5"),
            note="Not in the paper, which weighs labels by propensity: the same question as a picture. " + _SMALL_DATA,
        ),
        Experiment("table 6", "nDCG@k", "appendix", _SETS, _BOTH, _N, _one_metric_set(_N, _GAIN)),
    ),
)  # fmt: skip
