"""CPU time of tf-idf on the EURLEX57K training texts: labelwood against scikit-learn, same settings, same matrix.

Each measurement runs in a fresh process that reads the texts first and then counts the process's CPU time
(user + system, all threads) of fit_transform alone.

    python benchmarks/speed/tfidf.py [--rows N] [--repeats N]

The libraries take turns, and the least CPU time of each counts: other load on the machine only ever adds to it.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("LABELWOOD_DATA", ROOT.parent / "shared" / "data")) / "EURLEX57K" / "train_raw.jsonl.gz"
SETTINGS = {
    "defaults": {},
    "word 1-2 grams, min_df=2": {"ngram_range": [1, 2], "min_df": 2},
}
HOMES = {"labelwood": "labelwood.features.tfidf", "scikit-learn": "sklearn.feature_extraction.text"}


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def read_texts(n_rows: int) -> list[str]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line, _ in zip(lines, range(n_rows), strict=False)]


def measure(library: str, settings: dict, n_rows: int, out: Path) -> None:
    """Runs inside the fresh process: fits, saves matrix and names, prints the figures."""
    texts = read_texts(n_rows)
    settings = {**settings, "ngram_range": tuple(settings.get("ngram_range", (1, 1)))}
    vectorizer = importlib.import_module(HOMES[library]).TfidfVectorizer(**settings)
    cpu, wall = cpu_seconds(), time.perf_counter()
    matrix = vectorizer.fit_transform(texts)
    cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sparse.save_npz(out / "matrix.npz", matrix.astype(np.float32), compressed=False)
    names = "\n".join(vectorizer.get_feature_names_out())
    (out / "names.txt").write_text(names, encoding="utf-8")
    megabytes = sum(len(text) for text in texts) / 1e6
    print(json.dumps({"cpu": cpu, "wall": wall, "peak_mb": peak, "megachars": megabytes, "rows": len(texts)}))


def run(library: str, settings: dict, n_rows: int, out: Path) -> dict:
    out.mkdir()
    command = [
        sys.executable,
        __file__,
        "--measure",
        library,
        "--settings",
        json.dumps(settings),
        "--rows",
        str(n_rows),
    ]
    done = subprocess.run([*command, "--out", str(out)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def check_equal(a: Path, b: Path) -> float:
    """The largest relative difference of two results; stops the run if they are not one matrix."""
    if (a / "names.txt").read_bytes() != (b / "names.txt").read_bytes():
        raise SystemExit("the vocabularies differ")
    x, y = sparse.load_npz(a / "matrix.npz"), sparse.load_npz(b / "matrix.npz")
    x.sort_indices()
    y.sort_indices()
    if x.shape != y.shape or not np.array_equal(x.indptr, y.indptr) or not np.array_equal(x.indices, y.indices):
        raise SystemExit("the matrices have different entries")
    return float(np.max(np.abs(x.data - y.data) / np.abs(y.data)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=45_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--measure", choices=HOMES)
    parser.add_argument("--settings", default="{}")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, json.loads(options.settings), options.rows, options.out)
        return
    if not DATA.exists():
        raise SystemExit(f"{DATA} is missing; set LABELWOOD_DATA to the folder that holds EURLEX57K")
    for name, settings in SETTINGS.items():
        found: dict[str, dict] = {}
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as folder:
                for library in HOMES:
                    figures = run(library, settings, options.rows, Path(folder) / library)
                    if library not in found or figures["cpu"] < found[library]["cpu"]:
                        found[library] = figures
                difference = check_equal(*(Path(folder) / library for library in HOMES))
        print(f"{name} ({found['labelwood']['rows']} texts, {found['labelwood']['megachars']:.0f} million characters)")
        for library, figures in found.items():
            print(
                f"  {library:13s} {figures['cpu']:7.2f} s CPU {figures['wall']:7.2f} s wall "
                f"{figures['peak_mb']:7.0f} MB peak"
            )
        ratio = found["scikit-learn"]["cpu"] / found["labelwood"]["cpu"]
        print(f"  {ratio:.1f} times less CPU; largest relative difference {difference:.1e}")


if __name__ == "__main__":
    main()
