"""Every kind of damage ends in a DataError with file and line; 'skip' leaves out just the damaged rows."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import labelwood as lw
from labelwood.data.reading import streams

XMC = {
    "index out of range": (b"2 3 4\n1 0:1\n2 3:1\n", 3, "feature 3 is outside 0..2"),
    "label out of range": (b"2 3 4\n1 0:1\n4 2:1\n", 3, "label 4 is outside 0..3"),
    "huge index": (b"1 3 4\n1 99999999999999999999:1\n", 2, "feature 99999999999999999999 is outside 0..2"),
    "negative index": (b"1 3 4\n1 -1:1\n", 2, "feature -1 is negative"),
    "negative label": (b"1 3 4\n-1 1:1\n", 2, "label -1 is negative"),
    "not a number": (b"2 3 4\n1 0:1\n1 1:abc\n", 3, "value 'abc' of feature 1 is not a number"),
    "empty value": (b"1 3 4\n1 1: 2:1\n", 2, "value '' of feature 1 is not a number"),
    "number with tail": (b"1 3 4\n1 1:0.5x\n", 2, "value '0.5x' of feature 1 is not a number"),
    "two points": (b"1 3 4\n1 1:0.5.5\n", 2, "value '0.5.5' of feature 1 is not a number"),
    "bare exponent": (b"1 3 4\n1 1:5e\n", 2, "value '5e' of feature 1 is not a number"),
    "hexadecimal": (b"1 3 4\n1 1:0x10\n", 2, "not a number"),
    "nan": (b"1 3 4\n1 1:NaN\n", 2, "value 'NaN' of feature 1 is not finite"),
    "inf": (b"1 3 4\n1 1:-inf\n", 2, "value '-inf' of feature 1 is not finite"),
    "too large": (b"1 3 4\n1 1:1e39\n", 2, "value '1e39' of feature 1 is too large for a 32-bit float"),
    "sum too large": (b"1 3 4\n1 1:3e38 1:3e38\n", 2, "feature 1, which comes several times"),
    "missing colon": (b"1 3 4\n1 1\n", 2, "expected feature:value, but got '1'"),
    "missing index": (b"1 3 4\n1 :5\n", 2, "expected feature:value, but got ':5'"),
    "junk at the end": (b"1 3 4\n1 1:5 junk\n", 2, "expected feature:value, but got 'junk'"),
    "comment": (b"1 3 4\n1 1:5 # x\n", 2, "expected feature:value, but got '#'"),
    "double comma": (b"1 3 4\n1,,2 1:5\n", 2, "label list '1,,2' is malformed"),
    "trailing comma": (b"1 3 4\n1, 1:5\n", 2, "label list '1,' is malformed"),
    "leading comma": (b"1 3 4\n,1 1:5\n", 2, "label list ',1' is malformed"),
    "label not a number": (b"1 3 4\nred 1:5\n", 2, "label list 'red' is malformed"),
    "NUL byte": (b"1 3 4\n1 1:\x005\n", 2, "NUL byte"),
    "binary": (b"1 3 4\n\xff\xfe\x01\n", 2, r"label list '\xff\xfe\x01' is malformed"),
    "carriage return inside": (b"1 3 4\n1 1:5\r2:1\n", 2, r"'5\x0d2:1'"),
}
HEADERS = {
    "empty file": (b"", 1, "the file is empty"),
    "only a byte-order mark": (b"\xef\xbb\xbf", 1, "the file is empty"),
    "missing header": (b"1 0:1\n2 1:1\n", 1, "expected a header of 3 whole numbers"),
    "negative header": (b"-1 3 4\n1 0:1\n", 1, "expected a header of 3 whole numbers"),
    "header too long": (b"1" * 10000 + b" 3 4\n", 1, "expected a header"),
    "too many columns": (b"1 99999999999 4\n1 0:1\n", 1, "99999999999 features are too many"),
    "too few rows": (b"3 3 4\n1 0:1\n2 1:1\n", 3, "the file ends after 2 rows, but the header announces 3"),
    "too many rows": (
        b"1 3 4\n1 0:1\n2 1:1\n3 1:1\n",
        3,
        "one row more than the 1 that the header announces",
    ),
    "bad row after too many": (b"1 3 4\n1 0:1\n2 1:1\nx\n", 3, "one row more than the 1"),
    "bad row before too many": (b"1 3 4\nx\n2 1:1\n", 2, "label list 'x' is malformed"),
}
SVMLIGHT = {
    "qid": (b"1 1:1\n1 qid:3 1:5\n", 2, "ranking data (qid)"),
    "feature not a number": (b"1 1:1\n1 x:5\n", 2, "expected feature:value, but got 'x:5'"),
    "value not a number": (b"1 1:1\n# fine\n1 4:x # comment\n", 3, "value 'x' of feature 4 is not a number"),
    "label with a fraction": (b"1 1:1\n1.5 1:5\n", 2, "label list '1.5' is malformed"),
    "beyond 31 bits": (b"1 1:1\n1 2147483648:5\n", 2, "feature 2147483648 is outside 0..2147483646"),
    "label beyond 31 bits": (b"1 1:1\n4294967297 1:5\n", 2, "label 4294967297 is outside 0..2147483646"),
    "NUL in a comment": (b"1 1:1 # a\x00b\n", 1, "NUL byte"),
    "only comments": (b"# nothing\n\n", 1, "only blank lines and comments"),
}


def stop(path, line, message, **options):
    with pytest.raises(lw.DataError) as caught:
        lw.read(path, **options)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [*XMC, *HEADERS])
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_xmc_damage_names_file_and_line(tmp_path, kind, suffix):
    content, line, message = {**XMC, **HEADERS}[kind]
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    stop(path, line, message, format="xmc")


@pytest.mark.parametrize("kind", XMC)
def test_xmc_damage_is_skipped_and_counted(tmp_path, kind):
    content, line, message = XMC[kind]
    path = tmp_path / "bad.txt"
    path.write_bytes(content.replace(content.split(b"\n")[0] + b"\n", b"9 3 4\n") + b"0,3 2:0.5\n")
    data = lw.read(path, on_bad_row="skip")
    assert (data.n_rows, data.n_features, data.n_labels) == (content.count(b"\n") - 1, 3, 4)
    assert data.x[-1].toarray().tolist() == [[0, 0, 0.5]]
    assert data.y[-1].indices.tolist() == [0, 3]
    skipped = [note for note in data.notes if "skipped 1 bad row" in note]
    assert len(skipped) == 1
    assert f"line {line}: " in skipped[0]
    assert message in skipped[0]
    found = content.count(b"\n")
    assert f"{path}: the header announces 9 rows, but the file has {found}" in data.notes


def test_skip_counts_many_and_shows_three(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"100 3 4\n" + b"".join(b"1 %d:1\n" % (i % 5) for i in range(100)))
    data = lw.read(path, on_bad_row="skip")
    assert data.n_rows == 60
    (note,) = data.notes
    assert "skipped 40 bad rows (line 5: " in note
    assert "line 6: " in note
    assert "line 10: " in note
    assert note.endswith(", ...)")


@pytest.mark.parametrize("kind", SVMLIGHT)
def test_svmlight_damage_names_file_and_line(tmp_path, kind):
    content, line, message = SVMLIGHT[kind]
    path = tmp_path / "bad.svm"
    path.write_bytes(content)
    stop(path, line, message)


def test_svmlight_damage_is_skipped_and_counted(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_bytes(b"# head\n1 1:1\n1 qid:4 2:2\n\n2 3:3\nx\n")
    data = lw.read(path, on_bad_row="skip")
    assert data.x.toarray().tolist() == [[1, 0, 0], [0, 0, 3]]
    assert any("skipped 2 bad rows (line 3: 'qid:4'" in note and "line 6: " in note for note in data.notes)


def test_svmlight_wider_than_allowed(tmp_path):
    path = tmp_path / "test.svm"
    path.write_bytes(b"1 0:1\n1 3:1\n")
    stop(path, 2, "feature 3 is outside 0..2", n_features=3)
    stop(path, 1, "feature 0 is outside 1..3", n_features=3, index_base=1)
    stop(path, 1, "label 1 is outside 0..0", n_labels=1)
    skipped = lw.read(path, n_features=3, on_bad_row="skip")
    assert skipped.x.toarray().tolist() == [[1, 0, 0]]
    path.write_bytes(b"1 1:1\n1 3:1\n")
    assert lw.read(path, n_features=3).x.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    stop(path, 2, "feature 3 is outside 0..2", n_features=3, index_base=0)


SPLIT = {
    "features out of range": (
        b"2 3\n0:1\n3:1\n",
        b"2 4\n0:1\n1:1\n",
        "trn_X_Xf.txt",
        3,
        "feature 3 is outside 0..2",
    ),
    "labels out of range": (
        b"2 3\n0:1\n2:1\n",
        b"2 4\n0:1\n4:1\n",
        "trn_X_Y.txt",
        3,
        "label 4 is outside 0..3",
    ),
    "label value": (
        b"1 3\n0:1\n",
        b"1 4\n0:yes\n",
        "trn_X_Y.txt",
        2,
        "value 'yes' of label 0 is not a number",
    ),
    "header": (
        b"2 3 4\n0:1\n",
        b"2 4\n0:1\n1:1\n",
        "trn_X_Xf.txt",
        1,
        "header of 2 whole numbers (rows, features)",
    ),
    "truncated": (b"2 3\n0:1\n2:1\n", b"2 4\n0:1\n", "trn_X_Y.txt", 2, "the file ends after 1 rows"),
}


@pytest.mark.parametrize("kind", SPLIT)
def test_split_damage_names_file_and_line(tmp_path, kind):
    x, y, name, line, message = SPLIT[kind]
    (tmp_path / "trn_X_Xf.txt").write_bytes(x)
    (tmp_path / "trn_X_Y.txt").write_bytes(y)
    with pytest.raises(lw.DataError) as caught:
        lw.read(tmp_path / "trn_X_Y.txt")
    assert str(caught.value).startswith(f"{tmp_path / name}, line {line}: ")
    assert message in str(caught.value)


def test_split_skip_keeps_features_and_labels_aligned(tmp_path):
    (tmp_path / "tst_X_Xf.txt").write_bytes(b"4 3\n0:1\n1:x\n2:1\n0:2\n")
    (tmp_path / "tst_X_Y.txt").write_bytes(b"4 4\n0:1\n1:1\n9:1\n3:1\n")
    (tmp_path / "filter_labels_test.txt").write_bytes(b"0 1\n1 2\n3 2\n")
    data = lw.read(tmp_path / "tst_X_Xf.txt", on_bad_row="skip")
    assert data.x.toarray().tolist() == [[1, 0, 0], [2, 0, 0]]
    assert data.y.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert data.filter_pairs.tolist() == [[0, 1], [1, 2]]
    assert len(data.notes) == 2


def test_split_pair_of_different_lengths(tmp_path):
    (tmp_path / "trn_X_Xf.txt").write_bytes(b"2 3\n0:1\n1:1\n")
    (tmp_path / "trn_X_Y.txt").write_bytes(b"1 4\n0:1\n")
    with pytest.raises(lw.DataError, match=r"trn_X_Xf\.txt has 2 rows, but .*trn_X_Y\.txt has 1"):
        lw.read(tmp_path / "trn_X_Xf.txt")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_line_without_end_is_refused_before_memory_is_gone(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 1000)
    path = tmp_path / f"long.txt{suffix}"
    fine = b" " + b"1:1 " * 249 + b"\n"  # 998 bytes
    content = b"3 3 4\n1 0:1\n" + fine + b"1 " + b"1:1 " * 5000
    path.write_bytes(gzip.compress(content) if suffix else content)
    stop(path, 4, "longer than 1,000 bytes")
    stop(path, 4, "longer than 1,000 bytes", on_bad_row="skip")


def test_blank_lines_at_the_end_are_no_rows(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(b"3 3 4\n1 0:1\n\n2 1:1\n\n \n\r\n")
    for policy in ("error", "skip"):
        data = lw.read(path, on_bad_row=policy)
        assert data.x.toarray().tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
        assert data.notes == ()


def test_truncated_and_damaged_gzip(tmp_path):
    random = np.random.default_rng(0)
    content = b"5000 9 9\n" + b"".join(b"1 %d:0.%d\n" % tuple(pair) for pair in random.integers(0, 9, (5000, 2)))
    packed = gzip.compress(content)
    path = tmp_path / "data.txt.gz"
    path.write_bytes(packed[:-100])
    with pytest.raises(lw.DataError, match="ends too early"):
        lw.read(path)
    path.write_bytes(packed[:-6] + b"\x01" + packed[-5:])
    with pytest.raises(lw.DataError, match="damaged gzip data"):
        lw.read(path)
    path.write_bytes(b"5000 9 9\n1 0:1\n")
    with pytest.raises(lw.DataError, match="damaged gzip data"):
        lw.read(path)


@pytest.mark.parametrize("case", ["missing", "folder"])
def test_no_file(tmp_path, case):
    path = tmp_path / "nothing.txt" if case == "missing" else tmp_path
    with pytest.raises(lw.DataError) as caught:
        lw.read(path, format="xmc")
    assert str(path) in str(caught.value)
