"""What `--budget` finds beside the default, and whether its validation figure is what test rows give.

    LABELWOOD_DATA=... python benchmarks/quality/budget.py CookingStackExchange Bibtex --budget 3m

For each data set: the ensemble with its default settings and the one that `labelwood.tune` finds in the given time,
both trained on all training rows (or `--take` of them) and judged once on the test rows. Texts go in as texts where
there are some. One thread. A killed run goes on: trials lie in --journal, finished data sets in its results.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from ensemble import read_data

import labelwood
from labelwood.tuning.recipe import answers, setting_text

KS = (1, 3, 5)
FIGURES = ("P@1", "P@5", "nDCG@5", "PSP@5")


def main() -> None:
    """Search and judge each data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", help="names of data sets below $LABELWOOD_DATA")
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--model", default="ensemble")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", action="store_true", help="the budget is CPU time: on a machine that others use too")
    parser.add_argument("--take", type=int, help="only so many of the training rows, chosen at random")
    parser.add_argument("--journal", type=Path, default=Path("budget-results"))
    options = parser.parse_args()
    options.journal.mkdir(parents=True, exist_ok=True)
    results = options.journal / "results.jsonl"
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for name in options.data:
        run = {"data": name, "budget": options.budget, "model": options.model, "seed": options.seed}
        run["take"] = options.take
        found = next((result for result in done if {key: result[key] for key in run} == run), None)
        if found is None:
            found = run | judged(name, options)
            with results.open("a") as stream:
                stream.write(json.dumps(found) + "\n")
        print(line_of(found), flush=True)


def judged(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of the default and of the tuned settings on one data set."""
    train, test = (texts_alone(part) for part in read_data(name, "given"))
    if options.take and options.take < len(train):
        train = train.take(np.sort(np.random.default_rng(1).permutation(len(train))[: options.take]))
    now = time.process_time if options.cpu else time.monotonic
    start = now()
    folder = options.journal / f"{name}-{options.model}-{options.take}-{options.seed}"
    tuned = labelwood.tune(
        train, budget=options.budget, model=options.model, seed=options.seed, n_threads=1, out=folder, now=now
    )
    seconds = now() - start
    for line in tuned.table():
        print("    " + "  ".join(line))
    for sentence in tuned.sentences():
        print(f"    {sentence}", flush=True)
    figures = {"tuned": on_test(tuned.trained, train, test)}
    if tuned.choice.setting:
        nothing = {"seed": options.seed, "n_threads": 1}
        if train.x is None:
            default: Any = labelwood.Tagger(options.model, model_params=nothing, keep_rows=False).fit(train)
        else:
            kind: Any = labelwood.Ensemble if options.model == "ensemble" else labelwood.LinearTree
            default = kind(**nothing).fit(train)
        figures["default"] = on_test(default, train, test)
    else:
        figures["default"] = figures["tuned"]
    choice = tuned.choice
    return {
        "rows": len(train),
        "labels": train.n_labels,
        "seconds": round(seconds, 1),
        "trials": len(tuned.trials),
        "setting": setting_text(choice.setting),
        "validation": {"default": choice.default, "chosen": choice.chosen, "expected": choice.expected},
        "gain": [choice.gain.mean, choice.gain.error],
        "test": figures,
    }


def texts_alone(data: labelwood.Dataset) -> labelwood.Dataset:
    """The texts where there are some, without the features that came with them."""
    return data if data.texts is None else replace(data, x=None, feature_names=None)


def on_test(trained: Any, train: labelwood.Dataset, test: labelwood.Dataset) -> dict[str, float]:
    """The figures of a trained model on the test rows."""
    found = labelwood.evaluate(answers(trained, test, max(KS)), test.y, train_y=train.y, ks=KS)
    return {name: found[name] for name in FIGURES}


def line_of(found: dict[str, Any]) -> str:
    """A row of the table in docs/measurements/budget.md."""
    validation, test = found["validation"], found["test"]
    figures = " | ".join(f"{validation[name]:.2f}" for name in ("default", "chosen", "expected"))
    gain = test["tuned"]["nDCG@5"] - test["default"]["nDCG@5"]
    return (
        f"| {found['data']} ({found['rows']:,} rows) | {found['setting']} | {found['trials']} in "
        f"{found['seconds']:.0f} s | {figures} "
        f"| {test['default']['nDCG@5']:.2f} | {test['tuned']['nDCG@5']:.2f} | {gain:+.2f} "
        f"| {test['tuned']['nDCG@5'] - validation['expected']:+.2f} |"
    )


if __name__ == "__main__":
    main()
