"""What the settings of a preset are worth: precision on held-out training rows, or with --test on the test rows.

The defaults, the preset, and the preset with one setting after the other put back to its default (--settings). A fifth
of the training rows is held out; nothing is chosen on the test rows.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from labelwood.models.registry import model_class

DATA = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
HELD_OUT = 0.2


def rows(name: str, test: bool) -> tuple[Any, Any, Any, Any]:
    """(training x, y, other x, y)."""
    train = lw.read(DATA / name / "train.txt.gz")
    x, y = train.features(), train.y
    if test:
        other = lw.read(DATA / name / "test.txt.gz")
        return x, y, other.features(), other.y
    order = np.random.default_rng(0).permutation(x.shape[0])
    n_held = int(HELD_OUT * len(order))
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    return x[kept], y[kept], x[held], y[held]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a data set of LABELWOOD_DATA")
    parser.add_argument("model")
    parser.add_argument("preset")
    parser.add_argument("--settings", nargs="*", default=[], help="put back one by one; 'all': every one that differs")
    parser.add_argument("--test", action="store_true", help="train on all training rows, ask the test rows")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    cls = model_class(options.model)
    settings, defaults = cls.preset_settings(options.preset), cls.Parameters.defaults()
    back = options.settings
    if back == ["all"]:
        back = [name for name, value in settings.items() if value != defaults[name]]
    variants: dict[str, dict[str, Any]] = {"defaults": {}, f"preset {options.preset}": dict(settings)}
    variants |= {f"with {name}={defaults[name]!r}": {**settings, name: defaults[name]} for name in back}
    x, y, other_x, other_y = rows(options.data, options.test)
    print(f"{options.data}, {options.model}: {x.shape[0]:,} rows to learn from, {other_x.shape[0]:,} to ask")
    print("| | P@1 | P@3 | P@5 | fit, CPU s |\n|---|---|---|---|---|")
    for name, given in variants.items():
        start = time.process_time()
        model = cls(**{"n_threads": options.threads, **given}).fit(x, y)
        used = time.process_time() - start
        found = model.evaluate(other_x, other_y)
        print(f"| {name} | {found['P@1']:.2f} | {found['P@3']:.2f} | {found['P@5']:.2f} | {used:.1f} |", flush=True)


if __name__ == "__main__":
    main()
