"""Damaged input: exit code 2, one line that names file and line, no traceback, no half-written model."""

import gzip
import io

import numpy as np
import pytest
from scipy import sparse

GOOD = b"3 4 2\n0 0:1 1:1\n1 2:0.5\n0,1 3:1\n"


def npz_bytes(matrix):
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_matrix(matrix))
    return stream.getvalue()


# kind of damage -> (file name, content, the line the message must name or None, further words of the message)
XMC = {
    "fewer rows than the header says": ("a.txt", b"3 4 2\n0 0:1\n1 1:1\n", None, ["3"]),
    "more rows than the header says": ("a.txt", b"1 4 2\n0 0:1\n1 1:1\n", 3, []),
    "feature outside": ("a.txt", b"2 4 2\n0 0:1\n1 4:1\n", 3, ["4"]),
    "label outside": ("a.txt", b"2 4 2\n0 0:1\n2 1:1\n", 3, ["2"]),
    "negative feature": ("a.txt", b"2 4 2\n0 -1:1\n1 1:1\n", 2, []),
    "negative label": ("a.txt", b"2 4 2\n-1 1:1\n1 1:1\n", 2, []),
    "nan": ("a.txt", b"2 4 2\n0 0:nan\n1 1:1\n", 2, []),
    "inf": ("a.txt", b"2 4 2\n0 0:1\n1 1:inf\n", 3, []),
    "value too large": ("a.txt", b"2 4 2\n0 0:1\n1 1:1e99\n", 3, []),
    "value is a word": ("a.txt", b"2 4 2\n0 0:1\n1 1:x\n", 3, []),
    "feature is a word": ("a.txt", b"2 4 2\n0 0:1\n1 one:1\n", 3, []),
    "label is a word": ("a.txt", b"2 4 2\n0 0:1\nred 1:1\n", 3, []),
    "huge index": ("a.txt", b"2 4 2\n0 99999999999999999999:1\n1 1:1\n", 2, []),
    "header too large": ("a.txt", b"99999999999999999999 4 2\n0 0:1\n", 1, []),
    "nul bytes": ("a.txt", b"2 4 2\n0 0:1\n\x00\x00\x00\n", 3, []),
    "truncated gzip": ("a.txt.gz", gzip.compress(GOOD * 50)[:-20], None, ["a.txt.gz"]),
    "no gzip at all": ("a.txt.gz", GOOD, None, ["gzip"]),
    "damaged gzip": ("a.txt.gz", gzip.compress(GOOD)[:20] + b"\x00" * 40, None, []),
    "no zstandard at all": ("a.txt.zst", GOOD, None, []),
    "empty file": ("a.txt", b"", None, ["empty"]),
}
SVMLIGHT = {
    "word for a value": ("a.svm", b"1,2 1:0.5\n2 1:x\n", 2, []),
    "nan": ("a.svm", b"1,2 1:nan\n", 1, []),
    "negative index": ("a.svm", b"1 1:0.5\n1 -3:0.5\n", 2, []),
}
TABLES = {
    "broken json": ("a.jsonl", b'{"text": "a b", "labels": ["x"]}\n{"text": "c"\n', 2, []),
    "not an object": ("a.jsonl", b'{"text": "a b", "labels": ["x"]}\n[1]\n', 2, []),
    "text missing": ("a.jsonl", b'{"text": "a b", "labels": ["x"]}\n{"labels": ["x"]}\n', 2, ["text"]),
    "text is a number": (
        "a.jsonl",
        b'{"text": "a b", "labels": ["x"]}\n{"text": 3, "labels": ["x"]}\n',
        2,
        [],
    ),
    "empty label": ("a.jsonl", b'{"text": "a b", "labels": ["x"]}\n{"text": "c", "labels": [""]}\n', 2, []),
    "label is an object": (
        "a.jsonl",
        b'{"text": "a b", "labels": ["x"]}\n{"text": "c", "labels": [{}]}\n',
        2,
        [],
    ),
    "not utf-8": (
        "a.jsonl",
        b'{"text": "sch\xc3\xb6n", "labels": ["x"]}\n{"text": "caf\xe9", "labels": ["x"]}\n',
        2,
        ["UTF-8"],
    ),
    "utf-16": ("a.csv", "text,labels\na b,x\n".encode("utf-16") + b"\x00\xd8x\x00", None, ["utf-16"]),
    "too many cells": ("a.csv", b"text,labels\na b,x\nc,x,y,z\n", 3, []),
    "too few cells": ("a.csv", b"text,labels\na b,x\nc\n", 3, []),
    "quote never closed": ("a.csv", b'text,labels\n"a b,x\nc,y\n', None, []),
    "header alone": ("a.csv", b"text,labels\n", None, ["no rows"]),
    "no text column": ("a.csv", b"alpha,beta,gamma\n1,2,3\n", None, ["--text"]),
    "no labels anywhere": ("a.jsonl", b'{"text": "a b", "labels": []}\n', None, ["label"]),
    "truncated parquet": ("a.parquet", b"PAR1\x15\x04\x15", None, []),
    "fasttext without labels": ("a.txt", b"__label__a some words\n__label__ more words\n", 2, []),
    "no format fits": ("a.dat", b"\x7fELF\x02\x01\x01\x00\x00", None, []),
}
OTHER = {
    "broken npz": ("X.trn.npz", npz_bytes(np.eye(3))[:-30], None, []),
    "npz without its labels": ("X.trn.npz", npz_bytes(np.eye(3)), None, ["Y.trn.npz"]),
    "npz with nan": ("X.trn.npz", npz_bytes(np.array([[np.nan, 1.0]])), None, []),
    "arff without data": ("a.arff", b"@relation x\n@attribute a numeric\n", None, []),
    "arff value is a word": (
        "a.arff",
        b"@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute a numeric\n@data\n1,2\n1,x\n",
        6,
        [],
    ),
}
CASES = [
    pytest.param(*case, id=f"{group}: {kind}")
    for group, cases in (("xmc", XMC), ("svmlight", SVMLIGHT), ("table", TABLES), ("other", OTHER))
    for kind, case in cases.items()
]


def test_there_are_more_than_twenty_kinds():
    assert len(CASES) > 40


def test_the_undamaged_file_is_fine(cli, tmp_path):
    (tmp_path / "a.txt").write_bytes(GOOD)
    assert cli("train", tmp_path / "a.txt", "--out", tmp_path / "model").code == 0


@pytest.mark.parametrize(("name", "content", "line", "words"), CASES)
def test_damage_is_told_in_one_line(cli, tmp_path, name, content, line, words):
    path = tmp_path / name
    path.write_bytes(content)
    done = cli("train", path, "--out", tmp_path / "model")
    assert done.code == 2, done
    assert done.out == ""
    told = [text for text in done.err.splitlines() if not text.startswith("note: ")]
    assert len(told) == 1, done.err
    assert told[0].startswith("labelwood: ")
    assert "Traceback" not in done.err
    assert name.partition(".")[0] in told[0], told[0]
    if line is not None:
        assert f"line {line}:" in told[0], told[0]
    for word in words:
        assert word in told[0], told[0]
    assert [p.name for p in tmp_path.iterdir()] == [name], "nothing half-written is left"


@pytest.mark.parametrize("name", ["absent.txt", "absent.jsonl", "absent.npz"])
def test_missing_files(cli, tmp_path, name):
    done = cli("train", tmp_path / name, "--out", tmp_path / "model")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert f"{name}: no such file" in done.err


def test_an_empty_folder(cli, tmp_path):
    (tmp_path / "folder").mkdir()
    done = cli("train", tmp_path / "folder", "--out", tmp_path / "model")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "folder" in done.err


def test_skipping_bad_rows_counts_and_tells(cli, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"4 4 2\n0 0:1\n1 9:1\n1 1:1\n0 2:nan\n")
    done = cli("train", path, "--out", tmp_path / "model", "--on-bad-row", "skip")
    assert done.code == 0, done.err
    assert "trained one-vs-all on 2 rows" in done.out
    assert "skipped 2 bad rows" in done.err
    assert "line 3" in done.err
    assert "line 5" in done.err
