"""What copies among the texts do to assigned tags: every training text four times, held out row by row or together.

python benchmarks/quality/copies.py DATA_FOLDER MODEL [--rows N]

DATA_FOLDER holds train_raw.jsonl.gz. A fifth of its rows are new texts; the others, N at most, are trained on, four
times each. Asked are new texts, texts that were trained on, and half of both. One thread; no test row is asked.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from labelwood.data.groups import copies_of
from labelwood.labelspace.names import label_matrix, name_ids, padded_counts
from labelwood.report.judgement import Judgement, judged

TIMES = 4


def main() -> None:
    """Print a line for each way to hold rows out and each kind of texts asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--rows", type=int, metavar="N")
    options = parser.parse_args()
    with gzip.open(options.folder / "train_raw.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    share = copies_of([row["text"] for row in rows], label_matrix([row["labels"] for row in rows], {})[0])[1]
    print(f"{100 * share:.1f}% of {len(rows):,} training texts have a copy", flush=True)
    random = np.random.default_rng(0)
    order = random.permutation(len(rows))
    n_new = len(rows) // 5
    new, taught = order[:n_new], order[n_new:][: options.rows]
    seen = random.permutation(taught)[:n_new]
    half = min(n_new, len(seen)) // 2
    asked = {"new": new, "half of both": np.concatenate([new[:half], seen[:half]]), "trained on": seen}
    copies = np.tile(taught, TIMES)
    print("| training rows | held-out precision | recall | texts asked | precision | recall | F1 | off by |")
    for what, chosen, groups in (
        ("once each", taught, None),
        (f"{TIMES} times each, row by row", copies, np.arange(len(copies))),
        (f"{TIMES} times each, copies together", copies, None),
    ):
        start = time.process_time()
        tagger = lw.Tagger(options.model, assign="f1", n_threads=1)
        tagger.fit(*texts_and_labels(rows, chosen), groups=groups)
        said, seconds = tagger.calibration_.held_out, time.process_time() - start
        for kind, places in asked.items():
            shown = judgement(tagger, *texts_and_labels(rows, places))
            figures = [100 * said["precision"], 100 * said["recall"]]
            figures += [shown.assigned[name].value for name in ("precision", "recall", "f1")]
            cells = [f"{figure:.1f}" for figure in (*figures, 100 * shown.sure.error)]
            print("|", " | ".join([what, *cells[:2], kind, *cells[2:]]), "|", flush=True)
        print(f"  {what}: {seconds:.1f} CPU s", flush=True)


def texts_and_labels(rows: list[dict[str, Any]], places: Any) -> tuple[list[str], list[list[str]]]:
    """The texts and names of labels of some rows."""
    return [rows[place]["text"] for place in places], [
        [str(name) for name in rows[place]["labels"]] for place in places
    ]


def judgement(tagger: lw.Tagger, texts: list[str], labels: list[list[str]]) -> Judgement:
    """What the tags that it assigns to the texts are worth."""
    y, _ = label_matrix(labels, name_ids(tagger.label_names))
    counts = padded_counts(tagger.fitted_.label_counts, y.shape[1])
    ranked = tagger.fitted_.ranked(texts, 5, 1)
    return judged(tagger.predict_top(texts, assign=True), ranked, y, counts)


if __name__ == "__main__":
    main()
