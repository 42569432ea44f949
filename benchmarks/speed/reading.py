"""How fast XMC text is read: MB/s on one core, and against scikit-learn's svmlight reader on the same rows.

    python benchmarks/speed/reading.py [train.txt.gz]

Both readers run in this process, one after the other, --repeats times each; the best CPU time counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import labelwood as lw
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.sparse_rows import read_rows
from labelwood.data.reading.xmc_format import ONE_FILE

DATA = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


def best(function, repeats):
    """(least CPU seconds of all threads, CPU seconds of the first run, last result)."""
    seconds = []
    result = None
    for _ in range(repeats):
        result = None  # give the memory back before the next run
        start = time.process_time()
        result = function()
        seconds.append(time.process_time() - start)
    return min(seconds), seconds[0], result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=DATA / "EURLEX57K" / "train.txt.gz")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = gzip.decompress(options.file.read_bytes())
        plain, bare, packed = folder / "train.txt", folder / "rows.svm", folder / "rows.svm.gz"
        plain.write_bytes(text)
        rows = text.split(b"\n", 1)[1]
        bare.write_bytes(rows)
        packed.write_bytes(gzip.compress(rows, 6))  # the file as it came, without its header
        megabytes = len(text) / 1e6
        del text, rows

        def parse():
            return read_rows(plain, ONE_FILE, BadRows(plain), n_threads=1)

        parse_best, parse_first, _ = best(parse, options.repeats)
        plain_best, _, ours = best(lambda: lw.read(plain, n_threads=1), options.repeats)
        gz_best, gz_first, _ = best(lambda: lw.read(options.file, n_threads=1), options.repeats)
        gz_threads, _, _ = best(lambda: lw.read(options.file), options.repeats)
        kind = {"multilabel": True, "zero_based": True, "dtype": np.float32, "n_features": ours.n_features}
        peer_plain, _, theirs = best(lambda: load_svmlight_file(str(bare), **kind), options.repeats)
        peer_gz, _, _ = best(lambda: load_svmlight_file(str(packed), **kind), options.repeats)
    x, labels = theirs
    assert (abs(ours.x - x) > 1e-6).nnz == 0
    assert all(tuple(ours.y.indices[ours.y.indptr[i] : ours.y.indptr[i + 1]]) == labels[i] for i in range(len(labels)))
    with tempfile.TemporaryDirectory() as name:
        write_best, _, _ = best(lambda: lw.write(ours, Path(name) / "out.txt", n_threads=1), options.repeats)
    result = {
        "file": str(options.file),
        "megabytes": megabytes,
        "parse MB/s a core": megabytes / parse_best,
        "parse MB/s a core, first run": megabytes / parse_first,
        "lw.read plain MB/s a core": megabytes / plain_best,
        "lw.read gz CPU s": gz_best,
        "lw.read gz CPU s, first run": gz_first,
        "lw.read gz CPU s, all threads": gz_threads,
        "scikit-learn plain CPU s": peer_plain,
        "scikit-learn gz CPU s": peer_gz,
        "times faster, plain": peer_plain / plain_best,
        "times faster, gz": peer_gz / gz_best,
        "times faster, gz, our first run": peer_gz / gz_first,
        "write MB/s a core": megabytes / write_best,
    }
    for key, value in result.items():
        print(f"{key:32} {value:.4g}" if isinstance(value, float) else f"{key:32} {value}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
