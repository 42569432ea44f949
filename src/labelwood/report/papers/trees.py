"""Interpolated label trees: Baharav et al., Enabling Efficiency-Precision Trade-offs for Label Trees, CIKM 2021."""

from __future__ import annotations

from typing import Any

from labelwood.report.balance_sweep import CURVES, RATIOS
from labelwood.report.papers.experiment import Experiment, Paper, Picture, Variant

_IMBALANCE = (Variant("labels", "popular"),)


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
            ("labels, per cent", "positives, per cent"),
            group="labels",
            picture=Picture("labels, per cent", "positives, per cent"),
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
            "figure 6",
            "how unevenly labels are used, public data sets",
            "appendix",
            ("amazoncat-13k", "wikipedia-500k", "amazon-670k"),
            _IMBALANCE,
            ("labels, per cent", "positives, per cent"),
            group="labels",
            picture=Picture("labels, per cent", "positives, per cent"),
        ),
    ),
)
