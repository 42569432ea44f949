"""What `labelwood learn` costs beside `labelwood train`, and what it is worth: CPU time, and P@5 on the new labels.

python benchmarks/speed/learning.py [DATA_FOLDER] [--seeds 0 1 2] [--held-out] [--quick]

DATA_FOLDER (default: EURLEX57K) holds train_raw.jsonl.gz and test_raw.jsonl.gz. A draw takes labels out of the training
rows, with all rows that have one; other rows fill these up to 1,000. A tagger is trained on the rest and learns the
1,000 rows; another one is trained on all. Commands are measured in processes of their own, with interpreter, reading
and saving: `train` as it is (with held-out rows for probabilities) and without these, and `learn`; then the calls of
Tagger.fit and Tagger.learn alone. P@5 of the new labels: right answers among the first five that are new labels,
divided by five times the test rows that have one. --held-out asks a fifth of the training rows in place of the test
rows, to choose settings by. The last two columns: how probable the tagger that learnt calls new labels among its first
five answers, and how often they are right.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw

DATA = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
FEWEST_ROWS, MOST_ROWS = 3, 25  # of a new label: 100 labels must fit into 1,000 rows
K = 5
COLUMNS = (
    *("seed", "new labels", "rows", "train, CPU s", "train --assign none", "learn"),
    *("of train", "of train --assign none", "Tagger.fit", "Tagger.learn", "of fit"),
    *(f"P@{K} of new labels, full fit (right)", "learn", f"P@{K} of all labels, full fit", "learn"),
    *("new labels: probability", "right"),
)
Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of JSON lines, labels as names."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return [{"text": row["text"], "labels": [f"t{label}" for label in row["labels"]]} for row in rows]


def drawn(
    rows: list[Row], asked: list[Row], n_labels: int, n_rows: int, seed: int
) -> tuple[set[str], list[Row], list[Row]]:
    """(new labels, earlier rows, rows to learn): labels that asked rows have too, with every row of theirs.

    No other label is new: each keeps a row among the earlier ones.
    """
    random = np.random.default_rng(seed)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for label in row["labels"]:
            places.setdefault(label, []).append(place)
    in_asked = {label for row in asked for label in row["labels"]}
    fitting = sorted(label for label in in_asked if FEWEST_ROWS <= len(places.get(label, ())) <= MOST_ROWS)
    left = {label: len(of_label) for label, of_label in places.items()}
    chosen: set[str] = set()
    taken: set[int] = set()

    def take(new: list[int], but: set[str]) -> bool:
        """Whether these rows were taken: not if a label that is not among `but` would lose its last row."""
        lost = Counter(label for place in new for label in rows[place]["labels"])
        if any(left[label] == n and label not in but for label, n in lost.items()):
            return False
        left.update({label: left[label] - n for label, n in lost.items()})
        taken.update(new)
        return True

    for label in random.permutation(fitting).tolist():
        new = [place for place in places[label] if place not in taken]
        # Every label that is still to come must have room.
        room = n_rows - len(taken) - (n_labels - len(chosen) - 1) * FEWEST_ROWS
        if len(chosen) < n_labels and left[label] and len(new) <= room and take(new, {*chosen, label}):
            chosen.add(label)
    for place in random.permutation(len(rows)).tolist():
        if len(taken) < n_rows and place not in taken:
            take([place], chosen)
    earlier = [row for place, row in enumerate(rows) if place not in taken]
    return chosen, earlier, [rows[place] for place in sorted(taken)]


def written(path: Path, rows: list[Row]) -> Path:
    """The file of these rows as JSON lines."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def command_cpu(*arguments: str | int | Path) -> float:
    """The CPU seconds of a labelwood command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "labelwood", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def call_cpu(call: Callable[[Any, Any], object], rows: list[Row]) -> float:
    """The CPU seconds of a tagger's fit or learn."""
    texts, labels = [row["text"] for row in rows], [row["labels"] for row in rows]
    begin = time.process_time()
    call(texts, labels)
    return time.process_time() - begin


def precision(tagger: lw.Tagger, asked: list[Row], labels: set[str] | None) -> tuple[float, int]:
    """(P@5, right answers) of some labels on the rows that have one; None: of all labels on all rows."""
    rows = [row for row in asked if labels is None or labels & set(row["labels"])]
    answers = tagger.predict([row["text"] for row in rows], K)
    right = 0
    for row, answered in zip(rows, answers, strict=True):
        wanted = set(row["labels"]) if labels is None else set(row["labels"]) & labels
        right += len(wanted & {name for name, _ in answered})
    return 100 * right / (K * len(rows)), right


def sureness(tagger: lw.Tagger, asked: list[Row], labels: set[str]) -> tuple[float, float]:
    """(mean probability, share that is right) of some labels where they are among the first five answers."""
    probable, right = [], []
    matrix = tagger.predict_proba([row["text"] for row in asked], K)
    for row, start, end in zip(asked, matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        for label, probability in zip(matrix.indices[start:end], matrix.data[start:end], strict=True):
            if tagger.label_names[label] in labels:
                probable.append(probability)
                right.append(tagger.label_names[label] in row["labels"])
    return float(np.mean(probable)), float(np.mean(right))


def compare(rows: list[Row], asked: list[Row], n_labels: int, n_rows: int, seed: int, threads: int) -> list[float]:
    """Three CPU shares of learn, then the right answers of new labels by a full fit and by learn; prints a line.

    The shares: of train, of train without calibration, of the call of fit alone.
    """
    new_labels, earlier, lesson = drawn(rows, asked, n_labels, n_rows, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before, every = written(folder / "earlier.jsonl", earlier), written(folder / "all.jsonl", [*earlier, *lesson])
        corrections = written(folder / "corrections.jsonl", lesson)
        usual = ("--threads", threads, "--quiet")
        train = ("train", "--model", "linear-tree", "--keep-rows", *usual)
        command_cpu(*train, before, "--out", folder / "learnt")
        fit_cpu = command_cpu(*train, every, "--out", folder / "fitted")
        plain_cpu = command_cpu(*train, every, "--out", folder / "plain", "--assign", "none")
        tagger = lw.load(folder / "learnt")
        tagger.n_threads = threads
        learn_call = call_cpu(tagger.learn, lesson)
        learn_cpu = command_cpu("learn", folder / "learnt", corrections, *usual)
        learnt, fitted = lw.load(folder / "learnt"), lw.load(folder / "fitted")
        again = lw.Tagger("linear-tree", keep_rows=True, n_threads=threads)
        fit_call = call_cpu(again.fit, [*earlier, *lesson])
        (learnt_new, learnt_right), (fitted_new, fitted_right) = (
            precision(tagger, asked, new_labels) for tagger in (learnt, fitted)
        )
        sure = sureness(learnt, asked, new_labels)
        learnt_all, fitted_all = (precision(tagger, asked, None)[0] for tagger in (learnt, fitted))
    shares = [learn_cpu / fit_cpu, learn_cpu / plain_cpu, learn_call / fit_call]
    cells = [
        *(f"{number:,}" for number in (seed, len(new_labels), len(lesson))),
        *(f"{seconds:.2f}" for seconds in (fit_cpu, plain_cpu, learn_cpu)),
        *(f"{share:.1%}" for share in shares[:2]),
        *(f"{seconds:.2f}" for seconds in (fit_call, learn_call)),
        f"{shares[2]:.1%}",
        f"{fitted_new:.2f} ({fitted_right})",
        f"{learnt_new:.2f} ({learnt_right})",
        *(f"{value:.2f}" for value in (fitted_all, learnt_all)),
        *(f"{value:.3f}" for value in sure),
    ]
    print(f"| {' | '.join(cells)} |", flush=True)
    return [*shares, fitted_right, learnt_right]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, help="a folder of texts (default: EURLEX57K of LABELWOOD_DATA)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one draw each")
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--held-out", action="store_true", help="ask held-out training rows, not the test rows")
    parser.add_argument("--quick", action="store_true", help="CookingStackExchange, 40 labels and 300 rows")
    given = parser.parse_args()
    if given.quick:
        given.data, given.labels, given.rows = DATA / "CookingStackExchange", 40, 300
    folder = given.data or DATA / "EURLEX57K"
    rows = read_rows(folder / "train_raw.jsonl.gz")
    if given.held_out:
        order = np.random.default_rng(0).permutation(len(rows))
        held = set(order[: len(rows) // 5].tolist())
        asked = [row for place, row in enumerate(rows) if place in held]
        rows = [row for place, row in enumerate(rows) if place not in held]
    else:
        asked = read_rows(folder / "test_raw.jsonl.gz")
    which = "held-out" if given.held_out else "test"
    print(f"{folder.name}: {len(rows):,} rows, {len(asked):,} {which} rows; {given.threads} thread(s)")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    lines = [compare(rows, asked, given.labels, given.rows, seed, given.threads) for seed in given.seeds]
    train, plain, call, fitted, learnt = np.array(lines).T
    print(
        f"learn costs {train.mean():.1%} of train, {plain.mean():.1%} of train --assign none, {call.mean():.1%} of fit"
        f"; {learnt.sum():.0f} right answers of new labels for {fitted.sum():.0f} of a full fit, "
        f"{learnt.sum() / max(fitted.sum(), 1):.1%}"
    )


if __name__ == "__main__":
    main()
