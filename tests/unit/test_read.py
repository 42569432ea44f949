"""Finding the format, the pair, the names; index base; what the notes tell."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import labelwood as lw
from labelwood.data.formats import FORMATS
from labelwood.data.reading import sparse_rows
from labelwood.data.reading.read import find_format
from labelwood.progress import Callback

XMC = b"3 4 5\n0,3 1:0.25 3:1\n 2:1\n4 0:12.5\n"
X = [[0, 0.25, 0, 1], [0, 0, 1, 0], [12.5, 0, 0, 0]]
Y = [[1, 0, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


@pytest.fixture
def file(tmp_path):
    def make(name, content):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return make


def check(data):
    assert data.x.toarray().tolist() == X
    assert data.y.toarray().tolist() == Y
    assert data.x.dtype == np.float32


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz", "train", "data.dat"])
def test_xmc_is_found_from_its_header(file, name):
    path = file(name, XMC)
    data = lw.read(path)
    check(data)
    assert data.source == str(path)
    assert data.notes == ()


@pytest.mark.parametrize(
    "content",
    [
        XMC.replace(b"\n", b"\r\n"),
        XMC[:-1],
        b"\xef\xbb\xbf" + XMC,
        b"3 4 5\n3,0\t3:1\t1:0.25  \n 2:1e0 \n4 0:+1.25E1\n",
        b"3 4 5\n0,3,3 1:0.25 3:1 2:0\n2:1\n4 0:6 0:6.5\n",
        b" 3  4\t5 \n00,03 01:0.25000000 3:1.\n 2:1\n4 0:12.5\n\n\n",
    ],
    ids=[
        "crlf",
        "no newline at the end",
        "byte-order mark",
        "unsorted and tabs",
        "duplicates",
        "zeros and blanks",
    ],
)
def test_other_spellings_of_the_same_rows(file, content):
    check(lw.read(file("train.txt", content)))


def test_duplicates_are_counted_in_the_notes(file):
    path = file("train.txt", b"2 4 5\n3,3,3 1:1 1:2\n1,1 2:1\n")
    data = lw.read(path)
    assert data.x.toarray().tolist() == [[0, 3, 0, 0], [0, 0, 1, 0]]
    assert data.notes == (
        f"{path}: 1 entries repeat a feature of their row; their values were added up",
        f"{path}: 3 entries repeat a label of their row; each label counts once",
    )


def test_zst_is_read(tmp_path):
    import pyarrow

    path = tmp_path / "train.txt.zst"
    with pyarrow.output_stream(str(path), compression="zstd") as stream:
        stream.write(XMC)
    check(lw.read(path))


def test_steps_of_any_size_give_the_same(file, monkeypatch):
    rows = b"".join(b"%d %d:0.%d\n" % (i % 5, i % 4, i) for i in range(500))
    for name in ("train.txt", "train.txt.gz"):
        path = file(name, b"500 4 5\n" + rows)
        whole = lw.read(path)
        for size in (16, 64, 1000):
            monkeypatch.setattr(sparse_rows, "MAPPED_BYTES", size)
            monkeypatch.setattr(sparse_rows, "STREAM_BYTES", size)
            parts = lw.read(path)
            assert (whole.x != parts.x).nnz == 0
            assert (whole.y != parts.y).nnz == 0
        monkeypatch.undo()


def test_progress_is_told(file):
    seen = []
    lw.read(file("train.txt", XMC), progress=Callback(lambda *step: seen.append(step)))
    assert seen[-1] == ("reading train.txt", len(XMC), len(XMC))


def test_no_rows_and_no_columns(file):
    data = lw.read(file("a.txt", b"0 4 5\n"))
    assert (data.x.shape, data.y.shape) == ((0, 4), (0, 5))
    data = lw.read(file("b.txt", b"2 0 0\n \n\n"))
    assert (data.x.shape, data.y.shape) == ((2, 0), (2, 0))


@pytest.mark.parametrize("given", ["trn_X_Xf.txt", "trn_X_Y.txt.gz"])
def test_a_split_pair_is_found_from_either_name(file, tmp_path, given):
    file("trn_X_Xf.txt", b"3 4\n1:0.25 3:1\n2:1\n0:12.5\n")
    file("trn_X_Y.txt.gz", b"3 5\n0:1.0 3:1\n\n4:1\n")
    check(lw.read(tmp_path / given))
    check(lw.read(tmp_path))


def test_a_split_file_without_partner(file):
    path = file("trn_X_Xf.txt", b"1 1\n0:1\n")
    with pytest.raises(lw.DataError, match=r"the file with its labels, .*trn_X_Y\.txt, is not there"):
        lw.read(path)


def test_filter_pairs_are_found(file):
    file("tst_X_Y.txt", b"2 3\n0:1\n1:1\n")
    file("filter_labels_test.txt", b"0 2\n1 0\n1 2\n")
    file("filter_labels_train.txt", b"0 0\n")
    data = lw.read(file("tst_X_Xf.txt", b"2 2\n0:1\n1:1\n"))
    assert data.filter_pairs.tolist() == [[0, 2], [1, 0], [1, 2]]


@pytest.mark.parametrize(("pairs", "line"), [(b"0 2\n1 3\n", "line 2: label 3"), (b"0 1\n2 1\n", "pair 2: row 2")])
def test_filter_pairs_outside_the_data(file, pairs, line):
    file("tst_X_Y.txt", b"2 3\n0:1\n1:1\n")
    path = file("filter_labels_test.txt", pairs)
    with pytest.raises(lw.DataError) as caught:
        lw.read(file("tst_X_Xf.txt", b"2 2\n0:1\n1:1\n"))
    assert f"{path}, {line}" in str(caught.value)


def test_filter_lines_that_are_no_pairs(file):
    file("tst_X_Y.txt", b"2 3\n0:1\n1:1\n")
    file("filter_labels_test.txt", b"0 2\n1\n")
    with pytest.raises(lw.DataError, match="pair 2: expected two numbers"):
        lw.read(file("tst_X_Xf.txt", b"2 2\n0:1\n1:1\n"))


def test_names_beside_the_file(file):
    file("labels.txt.gz", b"10\tred\n11\tgreen\n12\tblue\n13\tgrey\n14\tpink\n")
    file("vocab.txt", "a\nb\nc\nd\u00e9\n".encode())
    data = lw.read(file("train.txt", XMC))
    assert data.label_names == ("red", "green", "blue", "grey", "pink")
    assert data.feature_names == ("a", "b", "c", "d\u00e9")
    assert data.notes == ()


def test_names_that_do_not_fit_are_left_out_and_noted(file):
    names = file("labels.txt", b"one\ntwo\n")
    latin = file("vocab.txt", b"a\nb\n\xe9\nd\n")
    file("Y.txt", b"1\n2\n3\n4\n5\n")
    data = lw.read(file("train.txt", XMC))
    assert data.label_names == ("1", "2", "3", "4", "5")
    assert data.feature_names is None
    assert data.notes == (
        f"{names}: 2 names for 5 labels; not used",
        f"{latin}, line 3: not valid UTF-8; not used for names",
    )


def test_index_base_is_found_and_told(file):
    from_one = file("one.svm", b"0,3 2:0.25 4:1\n 3:1 # nothing\n4 1:12.5\n")
    data = lw.read(from_one)
    check(data)
    assert data.notes == (
        f"{from_one}: features are numbered from 1 (no feature 0; the lowest is 1); index_base= overrides",
    )
    from_zero = file("zero.svm", b"0,3 1:0.25 3\n2:1\n4 0:12.5\n")
    data = lw.read(from_zero)
    check(data)
    assert data.notes == (f"{from_zero}: features are numbered from 0 (there is a feature 0); index_base= overrides",)
    data = lw.read(from_one, index_base=0)
    assert data.n_features == 5
    assert data.notes == ()


def test_widths_of_the_training_file(file):
    svm = file("test.svm", b"1 2:1\n")
    data = lw.read(svm, n_features=7, n_labels=9)
    assert (data.x.shape, data.y.shape) == ((1, 7), (1, 9))
    assert data.x.indices.tolist() == [1]
    xmc = file("test.txt", XMC)
    data = lw.read(xmc, n_features=7, n_labels=9)
    assert (data.x.shape, data.y.shape) == ((3, 7), (3, 9))
    with pytest.raises(lw.DataError, match="has 4 features, but n_features= allows 2"):
        lw.read(xmc, n_features=2)


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.txt", b"10 20 30\n", "xmc"),
        ("a.txt", b"1,2 3:0.5 4:1\n", "svmlight"),
        ("a.txt", b"# comment\n\n 3:0.5\n", "svmlight"),
        ("a.txt", b"1 7 9:2e-5 #c\n", "svmlight"),
        ("a.txt", b"1 " + b"3:0.5 " * 30000, "svmlight"),
        ("a.libsvm", b"1 2\n", "svmlight"),
        ("a.txt", b"% Mulan\n@RELATION x\n", "arff"),
        ("trn_X_Y.txt", b"1 2\n", "xmc-split"),
        ("X.npz", b"", "npz"),
    ],
)
def test_formats_are_found(file, name, content, format):
    assert find_format(file(name, content)) == format


def test_tables_go_to_the_table_reader(file):
    path = file("a.csv", b"t,l\nhello,x|y\nbye,y|z\n")
    data = lw.read(path, text="t", labels="l", separator="|")
    assert data.texts == ("hello", "bye")
    assert data.label_names == ("x", "y", "z")
    fixed = lw.read(path, text="t", labels="l", separator="|", label_names=["y", "x", "w"])
    assert fixed.y.toarray().tolist() == [[1, 1, 0], [1, 0, 0]]


def test_every_format_has_its_functions():
    for format in FORMATS.values():
        assert callable(format.reader())
        assert not format.write or callable(format.writer())
        known_as_folder = format.name == "documents"
        assert format.names or format.content or known_as_folder, f"{format.name} is never recognised"


def test_unknown_content_lists_the_formats(file):
    with pytest.raises(lw.DataError) as caught:
        lw.read(file("a.txt", b"Dear reader,\n"))
    assert all(name in str(caught.value) for name in FORMATS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xcm"}, "unknown format 'xcm'; did you mean 'xmc'"),
        ({"on_bad_row": "ignore"}, "on_bad_row= must be one of error, skip"),
        ({"index_base": 1}, "index_base= has no meaning for format 'xmc'"),
        ({"text": "t"}, "text= has no meaning for format 'xmc'"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"n_threads": True}, "n_threads must be"),
        ({"format": "svmlight", "index_base": 2}, "index_base must be 0, 1 or None"),
        ({"format": "svmlight", "n_features": -1}, "n_features must be from 0"),
    ],
)
def test_bad_options(file, options, message):
    with pytest.raises(lw.ParamError, match=message):
        lw.read(file("a.txt", XMC), **options)


def test_an_empty_file_of_unknown_name(file):
    with pytest.raises(lw.DataError, match=r"a\.txt, line 1: the file is empty"):
        lw.read(file("a.txt", b""))


def test_a_folder_must_hold_one_training_file(file, tmp_path):
    with pytest.raises(lw.DataError, match=r"neither documents nor a training file .* \(it has: nothing\)"):
        lw.read(tmp_path)
    file("test.txt", XMC)
    file("train.txt", XMC)
    check(lw.read(tmp_path))
    file("trn_X_Xf.txt", b"")
    with pytest.raises(lw.DataError, match=r"more than one training file; .*test\.txt, train\.txt, trn_X_Xf\.txt"):
        lw.read(tmp_path)
