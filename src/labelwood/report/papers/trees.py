"""Interpolated label trees: Baharav et al., Enabling Efficiency-Precision Trade-offs for Label Trees, CIKM 2021."""

from __future__ import annotations

from typing import Any

from labelwood.report.balance_sweep import CURVES, RATIOS
from labelwood.report.papers.experiment import Experiment, Paper, Picture, Variant, printed

_IMBALANCE = (Variant("labels", "popular"),)
_HELD = tuple(f"rows with {name}, per cent" for name in ("one", "three", "all"))
_SHARES = ("labels, per cent", "positives, per cent", *_HELD)
_PICTURE = Picture("labels, per cent", _HELD[0], log=True, also=_HELD[1:])


def _parabel() -> tuple[Variant, ...]:
    """A point for every curve and lambda'; where a setting changes nothing it stands once, on the first curve."""
    variants = []
    # The red curve of the paper's figure: straight from balanced 2-means to a code of the greedy cover frequencies.
    for curve, settings in {**CURVES, "greedy, direct": {"path": "direct", "cover": "greedy"}}.items():
        for ratio in RATIOS:
            if ratio == 0 and curve != "marginal":
                continue
            changes: dict[str, Any] = {**settings, "balance_ratio": ratio}
            variants.append(Variant(f"{curve}, lambda' {ratio:g}", "linear-tree", "paper", changes, curve=curve))
    return tuple(variants)


def _fasttext() -> tuple[Variant, ...]:
    points = [
        Variant(f"interpolated, lambda' {ratio:g}", "hsoftmax", "paper", {"balance_ratio": ratio}, curve="interpolated")
        for ratio in RATIOS
    ]
    return (*points, Variant("Huffman's tree", "hsoftmax", "paper", {"tree": "huffman"}, curve="Huffman"))


PAPER = Paper(
    "trees",
    "Enabling Efficiency-Precision Trade-offs for Label Trees in Extreme Classification (Baharav et al., CIKM 2021)",
    (
        Experiment(
            "figure 1",
            "how unevenly labels are used",
            "section 1",
            ("wikipedia-500k",),
            _IMBALANCE,
            _SHARES,
            printed("wikipedia-500k", _HELD[:1], {"1 % of the labels": (50.0,)}),
            group="labels",
            picture=_PICTURE,
            note="The paper draws the share of rows that have at least one of the most frequent labels; in words: 1 % "
            "of the labels for 50 % of the rows.",
        ),
        Experiment(
            "figure 3",
            "Parabel with interpolated trees: precision against expected depth",
            "section 5.1",
            ("amazon-670k", "wikipedia-500k"),
            _parabel(),
            ("P@1", "P@3", "depth@1", "depth@3"),
            picture=Picture("depth@1", "P@1"),
            note="Figures only. In words: Wikipedia-500K with 28 % less expected depth at equal precision; a small "
            "lambda raises precision slightly; the greedy cover frequencies cost P@3.",
        ),
        Experiment(
            "figure 4",
            "fastText with interpolated trees: P@1 against expected depth",
            "section 5.2",
            ("amazoncat-13k", "wikipedia-500k"),
            _fasttext(),
            ("P@1", "P@3", "depth@1"),
            picture=Picture("depth@1", "P@1"),
            note="Figures only. In words: Wikipedia-500K, 40.6 % more accuracy than Huffman at 6.5 % more depth.",
        ),
        Experiment(
            "figure 5",
            "Parabel with interpolated trees on data of a shop: precision against expected depth",
            "section 5.3",
            ("amazon-670k",),
            tuple(variant for variant in _parabel() if variant.curve == "marginal"),
            ("P@1", "P@3", "depth@1", "depth@3"),
            picture=Picture("depth@1", "P@1", also=("P@3",)),
            note="The shop's data are not public, Amazon-670K is the public set of its kind; name your own with --on. "
            "Figures only. In words: depth@1 falls by 10 % at least at equal P@1, by 20 % on the largest set; depth@3 "
            "falls less.",
        ),
        Experiment(
            "figure 6",
            "how unevenly labels are used, public data sets",
            "appendix",
            ("amazoncat-13k", "wikipedia-500k", "amazon-670k"),
            _IMBALANCE,
            _SHARES,
            group="labels",
            picture=_PICTURE,
            note="Figure 6c and 6d: three labels of a row, or all that it has, are among the most frequent ones.",
        ),
    ),
)
