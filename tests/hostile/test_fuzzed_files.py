"""Random and mutated files end in a DataError or in data, never in anything else."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw

SEEDS = {
    "a.txt": b"4 9 5\n0,3 1:0.25 8:1e-3\n 2:1\n4 0:12.5 3:-7 3:1\n1,2\n",
    "a.svm": b"0,3 1:0.25 8:1e-3 # note\n 2:1\n4 5 6:12.5 3:-7\n1,2 9\n",
    "a.arff": b"@relation 'a: -C 2'\n@attribute 'l 1' {0,1}\n@attribute l2 {0,1}\n@attribute x numeric\n"
    b"@data\n{0 1, 2 0.5}\n1,0,3\n% end\n",
    "trn_X_Xf.txt": b"3 4\n0:1 3:0.5\n\n1:2\n",
}
ALPHABET = np.frombuffer(b"0123456789 ,.:;#-+eE\n\r\t\0{}'\"%@?nai\xff\xc3", np.uint8)


def mutated(seed: bytes, random: np.random.Generator) -> bytes:
    data = bytearray(seed)
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(0, len(data) + 1))
        kind = random.integers(0, 4)
        if kind == 0:
            data[place:place] = bytes(random.choice(ALPHABET, int(random.integers(1, 4))))
        elif kind == 1:
            del data[place : place + int(random.integers(1, 8))]
        elif kind == 2 and place < len(data):
            data[place] = int(random.integers(0, 256))
        else:
            data = data[:place]
    return bytes(data)


def survive(path, **options):
    for policy in ("error", "skip"):
        try:
            data = lw.read(path, on_bad_row=policy, **options)
        except lw.DataError as error:
            message = str(error)
            named = str(path.parent) in message and "\n" not in message
        else:
            named = np.isfinite(data.features().data).all() and data.y.shape[0] == data.x.shape[0]
        assert named


@pytest.mark.parametrize("name", SEEDS)
def test_mutations(tmp_path, name):
    random = np.random.default_rng(5)
    path = tmp_path / name
    (tmp_path / "trn_X_Y.txt").write_bytes(b"3 2\n0:1\n1:1\n0:1\n")
    formats = {"a.txt": "xmc", "a.svm": "svmlight", "a.arff": "arff", "trn_X_Xf.txt": "xmc-split"}
    for _ in range(400):
        path.write_bytes(mutated(SEEDS[name], random))
        survive(path, format=formats[name])


@pytest.mark.parametrize("format", ["xmc", "svmlight", "arff"])
def test_random_bytes(tmp_path, format):
    random = np.random.default_rng(6)
    for number in range(150):
        path = tmp_path / "noise.txt"
        size = int(random.integers(0, 300))
        noise = random.choice(ALPHABET, size) if number % 2 else random.integers(0, 256, size).astype(np.uint8)
        path.write_bytes((b"3 9 9\n" if number % 3 == 0 else b"") + noise.tobytes())
        survive(path, format=format)


def test_mutated_compressed_files(tmp_path):
    import gzip

    random = np.random.default_rng(8)
    packed = gzip.compress(SEEDS["a.txt"])
    for _ in range(200):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(mutated(packed, random))
        survive(path, format="xmc")


def test_mutated_npz(tmp_path):
    random = np.random.default_rng(9)
    buffer = io.BytesIO()
    sparse.save_npz(buffer, sparse.random(5, 7, 0.4, format="csr", dtype=np.float32, random_state=1))
    sparse.save_npz(tmp_path / "Y.trn.npz", sparse.eye(5, format="csr"))
    for _ in range(300):
        path = tmp_path / "X.trn.npz"
        path.write_bytes(mutated(buffer.getvalue(), random))
        survive(path)
