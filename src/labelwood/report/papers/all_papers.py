"""The papers that can be reproduced, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labelwood.errors import ParamError, unknown_name
from labelwood.report.papers import autoencoders, dxml, elias, glas, trees
from labelwood.report.papers.experiment import Experiment, Paper

_ALL: tuple[Paper, ...] = (trees.PAPER, glas.PAPER, dxml.PAPER, elias.PAPER, autoencoders.PAPER)
PAPERS = {paper.name: paper for paper in _ALL}


def find_paper(name: str) -> Paper:
    """The paper of that name; ParamError lists the known ones."""
    if name not in PAPERS:
        raise ParamError(unknown_name("paper", name, PAPERS))
    return PAPERS[name]


def chosen_experiments(paper: Paper, tables: Sequence[str], figures: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments of these table and figure numbers, all if none is given; ParamError lists what there is.

    "figure 7" takes 7a and 7b.
    """
    wanted = [f"table {number}" for number in tables] + [f"figure {number}" for number in figures]
    if not wanted:
        return paper.experiments
    for name in wanted:
        if not any(_is(experiment, name) for experiment in paper.experiments):
            raise ParamError(unknown_name("experiment", name, [experiment.name for experiment in paper.experiments]))
    return tuple(each for each in paper.experiments if any(_is(each, name) for name in wanted))


def with_lines(experiments: Sequence[Experiment], texts: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments with only the variants that have one of the texts in their titles, all if none is given.

    Experiments without such a variant are left out; ParamError lists the titles if all are.
    """
    if not texts:
        return tuple(experiments)
    kept = [
        replace(each, variants=tuple(one for one in each.variants if any(text in one.title for text in texts)))
        for each in experiments
    ]
    if not any(each.variants for each in kept):
        titles = dict.fromkeys(one.title for each in experiments for one in each.variants if one.title)
        raise ParamError(f"no line has {' or '.join(map(repr, texts))} in its title; there are: {', '.join(titles)}")
    return tuple(each for each in kept if each.variants)


def _is(experiment: Experiment, name: str) -> bool:
    return experiment.name == name or experiment.name.rstrip("abc") == name
