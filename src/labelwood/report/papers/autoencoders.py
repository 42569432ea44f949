"""NeuralXC and HierarchicalXC: Extreme Classification using Autoencoders, with what its authors' code does."""

from __future__ import annotations

from labelwood.report.papers.experiment import Experiment, Paper, Variant, printed

_SETS = ("bibtex", "delicious", "mediamill", "eurlex-4k")
_NEURAL = (
    Variant("NeuralXC, preset paper", "neuralxc", "paper"),
    Variant("NeuralXC, defaults", "neuralxc"),
    Variant("the most frequent labels", "popular"),
    Variant("labels by chance", "random"),
)
_TABLE_2 = ("train P@5", "P@5", "train nDCG@5", "nDCG@5")
_DRAWN = "The paper draws curves and prints no numbers; its baseline gives every label with probability 1/2."


def _figure(number: int, what: str, metric: str) -> Experiment:
    metrics = tuple(f"{metric}@{k}" for k in (1, 3, 5))
    return Experiment(f"figure {number}", what, "section 5.3", _SETS, _NEURAL, metrics, n_seeds=3, note=_DRAWN)


PAPER = Paper(
    "autoencoders",
    "Extreme Classification using Autoencoders",
    (
        _figure(3, "NeuralXC: P@k of training rows", "train P"),
        _figure(4, "NeuralXC: P@k of test rows", "P"),
        _figure(5, "NeuralXC: nDCG@k of training rows", "train nDCG"),
        _figure(6, "NeuralXC: nDCG@k of test rows", "nDCG"),
        Experiment(
            "table 2",
            "HierarchicalXC",
            "section 5.3",
            ("bibtex", "mediamill"),
            (
                Variant("HierarchicalXC, preset paper", "hierarchicalxc", "paper", printed_as="HierarchicalXC"),
                Variant("HierarchicalXC, defaults", "hierarchicalxc", printed_as="HierarchicalXC"),
                Variant("the most frequent labels", "popular"),
                Variant("labels by chance", "random"),
            ),
            _TABLE_2,
            printed("bibtex", _TABLE_2, {"HierarchicalXC": (3.96, 4.10, 2.66, 2.69)})
            + printed("mediamill", _TABLE_2, {"HierarchicalXC": (1.02, 1.00, 1.12, 1.11)}),
            note="The published code has faults that explain its figures (docs/measurements/hierarchicalxc.md).",
        ),
    ),
)
