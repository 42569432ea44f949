"""What stems cost beside plain words: CPU seconds of fit_transform, of transform and of one row, one thread.

python benchmarks/speed/stems.py DATA_FOLDER --lang fi [--lemmas]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import labelwood as lw

SOME_ROWS, SINGLE = 20_000, 500


def cheapest(times: int, act: Callable[[], Any]) -> float:
    """The fewest CPU seconds of some runs."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    """Print one line for each kind of words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds train_raw.jsonl.gz")
    parser.add_argument("--lang", required=True)
    parser.add_argument("--lemmas", action="store_true", help="dictionary forms too")
    given = parser.parse_args()
    texts = lw.read(given.folder / "train_raw.jsonl.gz").texts
    kinds: list[tuple[str, dict[str, Any]]] = [("plain", {}), ("stems", {"stems": given.lang})]
    if given.lemmas:
        kinds.append(("dictionary forms", {"stems": given.lang, "lemmas": True}))
    plain = None
    for name, settings in kinds:
        vectorizer = lw.TfidfVectorizer(n_threads=1, **settings)
        fit = cheapest(3, lambda vectorizer=vectorizer: vectorizer.fit_transform(texts))
        rows = cheapest(3, lambda vectorizer=vectorizer: vectorizer.transform(texts[:SOME_ROWS]))
        one = cheapest(3, lambda vectorizer=vectorizer: [vectorizer.transform([text]) for text in texts[:SINGLE]])
        plain = plain or fit
        print(
            f"{name}: fit_transform of {len(texts)} rows {fit:.3f} CPU s ({fit / plain:.2f} times plain), transform of "
            f"{len(texts[:SOME_ROWS])} {rows:.3f} s, one row {1e6 * one / SINGLE:.0f} us",
            flush=True,
        )


if __name__ == "__main__":
    main()
