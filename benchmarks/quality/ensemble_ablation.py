"""What each side of the ensemble adds: a ranker learns and answers without it, on validation rows.

    python benchmarks/quality/ensemble_ablation.py Bibtex CookingStackExchange

Data sets lie in $LABELWOOD_DATA. 3,000 of the training rows are asked about (a quarter of smaller sets), the rest is
trained on. The sides are trained once. For every line a small ranker learns from their answers without the columns of
one side and without the labels that no other side proposes. So a view's line shows what its answers are worth, not what
it costs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from ensemble import METRICS, VALIDATION_ROWS, read_data, told

import labelwood
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.cross_fitting import Lessons, learnt, trained_sides
from labelwood.models.ensemble.dense_rows import MOST_OF_NAMES, MOST_OF_ROWS, MOST_TOLD
from labelwood.models.ensemble.label_letters import MOST_PROPOSED as MOST_LETTERS
from labelwood.models.ensemble.label_words import SMALLEST_SHARE
from labelwood.models.ensemble.model import members_inside
from labelwood.models.ensemble.pairs import ranks_within
from labelwood.models.ensemble.ranked import hits_of
from labelwood.models.fit_input import checked_input
from labelwood.topk import empty

SMALL_TREES = 75
KEPT = 10
WORST_RANK = 99
OF_NAMES = {
    "words of names": ("share", "strength", "right", "matched", "mass", "words", "rank"),
    "names in the text": ("times", "alone", "first", "right"),
    "characters of names": ("letters", "letters cosine", "letters rank", "letters cosine rank"),
}
# Parts of what texts mean, their columns, and below which rank each proposes labels.
OF_MEANING = {
    "similar texts by meaning": (("votes", "closest", "first ten", "rank"), MOST_OF_ROWS),
    "labels told by meaning": (("told", "told rank"), MOST_TOLD),
    "centres of labels": (("centre",), -np.inf),
    "names by meaning": (("name", "name rank"), MOST_OF_NAMES),
}


def main() -> None:
    """Print a table for each data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", help="names of data sets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranker-rows", type=int, default=4000, help="rows that the rankers learn from")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="parameters of the ensemble")
    parser.add_argument("--take", type=int, help="only so many of the training rows")
    options = parser.parse_args()
    for name in options.data:
        train, _ = read_data(name, "given")
        order = np.random.default_rng(0).permutation(len(train))[: options.take]
        n_judged = min(VALIDATION_ROWS, len(order) // 4)
        judged, train = train.take(np.sort(order[:n_judged])), train.take(np.sort(order[n_judged:]))
        print(f"{name}, {train.n_rows} rows: {' / '.join(METRICS)}", flush=True)
        ablate(
            train,
            judged,
            options.seed,
            options.ranker_rows,
            labelwood.Ensemble.Parameters.parse(options.set, "ensemble"),
        )


def ablate(train: labelwood.Dataset, judged: labelwood.Dataset, seed: int, ranker_rows: int, given: dict) -> None:
    """Prints the figures with everything and without each side."""
    start = time.process_time()
    settings = labelwood.Ensemble(seed=seed, n_threads=1, ranker_rows=ranker_rows, **given)._settings()
    data = checked_input(train)
    members = members_inside(settings, data)
    found = learnt(settings, members, data)
    sides = trained_sides(settings, found.planned, data, found.texts, found.by_label, "")
    rows = sides.rows(judged.features(), judged.texts, 1)
    asked = Lessons(*sides.table(rows, 1), judged.y)
    print(f"  sides: {time.process_time() - start:.0f} CPU s", flush=True)
    for what, columns, proposed in without_each(found.lessons, asked, sides.columns):
        both = []
        for lessons, keep in zip((found.lessons, asked), proposed, strict=True):
            both.append(Lessons(lessons.keys[keep], lessons.table[keep][:, columns], lessons.y))
        learns, answers = both
        ranker = BoostedTrees.fit(learns.table, hits_of(learns.keys, learns.y), seed, 1, SMALL_TREES)
        print(f"  {what}: {told(best(answers, ranker), train, judged)}", flush=True)


def without_each(learns: Lessons, asked: Lessons, names: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray, list]]:
    """(what is left out, the columns that stay, for both tables the candidates that stay)."""
    groups = list(dict.fromkeys(name.partition(": ")[0] for name in names))
    parts: dict[str, list[str]] = {
        group: [name for name in names if name.startswith(f"{group}: ")] for group in groups if group != "name"
    }
    parts |= {what: [f"name: {column}" for column in columns] for what, columns in OF_NAMES.items()}
    if parts.pop("meaning", None):
        parts |= {what: [f"meaning: {column}" for column in columns] for what, (columns, _) in OF_MEANING.items()}
    both_rights = {what: columns for what, columns in parts.items() if "name: right" in columns}
    for what, columns in both_rights.items():  # two columns of names have one name
        parts[what] = [column for column in columns if column != "name: right"]
    numbers = {what: [names.index(column) for column in columns] for what, columns in parts.items()}
    rights = [number for number, name in enumerate(names) if name == "name: right"]
    for number, what in zip(rights, both_rights, strict=True):
        numbers[what].append(number)
    everything = np.arange(len(names))
    whole = [np.ones(len(lessons.keys), bool) for lessons in (learns, asked)]
    yield "everything", everything, whole
    for what, gone in numbers.items():
        if all(np.ptp(lessons.table[:, gone], axis=0).max() == 0 for lessons in (learns, asked)):
            continue  # a side that is not there
        proposed = []
        for lessons in (learns, asked):
            others = [other for other in numbers if other != what]
            proposed.append(np.any([names_label(other, lessons.table, numbers[other]) for other in others], axis=0))
        yield f"without {what}", np.setdiff1d(everything, gone), proposed
    every_name = [number for what in OF_NAMES for number in numbers[what]]
    if any(np.ptp(lessons.table[:, every_name], axis=0).max() > 0 for lessons in (learns, asked)):
        proposed = [
            np.any(
                [names_label(other, lessons.table, numbers[other]) for other in numbers if other not in OF_NAMES],
                axis=0,
            )
            for lessons in (learns, asked)
        ]
        yield "without all of names", np.setdiff1d(everything, every_name), proposed


def names_label(what: str, table: np.ndarray, columns: list[int]) -> np.ndarray:
    """Which candidates a side proposes."""
    if what == "similar rows" or what == "beside":
        return table[:, columns[0]] > 0
    if what == "words of names":
        return table[:, columns[0]] >= SMALLEST_SHARE
    if what == "names in the text":
        return table[:, columns[0]] > 0
    if what == "characters of names":
        return table[:, columns[2:]].min(axis=1) < MOST_LETTERS
    if what == "learned":
        return table[:, columns[3]] < WORST_RANK
    if what in OF_MEANING:
        return table[:, columns[-1]] < OF_MEANING[what][1]
    if what in ("frequency", "row", "agreement"):
        return np.zeros(len(table), bool)
    return table[:, columns[1]] < WORST_RANK  # a model


def best(asked: Lessons, ranker: BoostedTrees) -> labelwood.TopK:
    """The answers that a ranker gives."""
    n_rows, n_labels = asked.y.shape
    rows, margins = asked.keys // n_labels, ranker.margins(asked.table, 1)
    ranks = ranks_within(rows, margins, asked.keys)
    first = ranks < KEPT
    top = empty(n_rows, KEPT)
    top.labels[rows[first], ranks[first]] = asked.keys[first] % n_labels
    top.scores[rows[first], ranks[first]] = margins[first]
    return top


if __name__ == "__main__":
    main()
