"""read_table: what each format means, what is guessed, and how labels become columns."""

import gzip
import json

import numpy as np
import pytest

from labelwood.data.formats import format_names, recognised
from labelwood.data.reading.start import Start
from labelwood.data.reading.streams import plain_name
from labelwood.data.reading.table import read_table
from labelwood.errors import DataError, ParamError


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def labels_of(data):
    return [[data.label_names[column] for column in data.y[row].indices] for row in range(len(data))]


def noted(data, words):
    return any(words in note for note in data.notes)


def test_csv_with_header_separator_and_ids(tmp_path):
    path = put(tmp_path, "a.csv", 'uid,title,body,tags\n7,Big,"a ""b"",\nc",x|y\n8,Small,d,\n')
    data = read_table(path, format="csv")
    assert data.texts == ('Big\na "b",\nc', "Small\nd")
    assert labels_of(data) == [["x", "y"], []]
    assert data.row_ids == ("7", "8")
    assert data.x is None
    assert noted(data, "text taken from column title + body (guessed)")
    assert noted(data, "labels taken from column tags (guessed)")
    assert noted(data, "labels cut at '|'")


def test_semicolon_csv_is_found_and_told(tmp_path):
    data = read_table(put(tmp_path, "a.csv", "text;labels\nhello, you;x,y\n"), format="csv")
    assert data.texts == ("hello, you",)
    assert labels_of(data) == [["x", "y"]]
    assert noted(data, "columns are separated by ';'")


def test_pandas_index_column_and_printed_lists(tmp_path):
    data = read_table(put(tmp_path, "a.csv", ",text,labels\n0,hello,\"['x', 'y, z']\"\n1,you,[]\n"), format="csv")
    assert labels_of(data) == [["x", "y, z"], []]


def test_named_columns_beat_the_guess(tmp_path):
    path = put(tmp_path, "a.csv", "text,other,labels,mine\nt,o,l,m\n")
    data = read_table(path, format="csv", text="other,text", labels="mine")
    assert data.texts == ("o\nt",)
    assert labels_of(data) == [["m"]]
    assert not noted(data, "guessed")


def test_two_columns_without_header(tmp_path):
    path = put(tmp_path, "a.tsv", 'x;y\t"the" quick brown fox\nz\t"jumps over the dog\n')
    data = read_table(path, format="tsv")
    assert data.texts == ('"the" quick brown fox', '"jumps over the dog')
    assert labels_of(data) == [["x", "y"], ["z"]]
    assert noted(data, "no header line; column 2 read as text")


@pytest.mark.parametrize(("cells", "separator"), [
    (["a|b,c", "d"], "|"),
    (["Paris, France; Rome, Italy", "Berlin, Germany"], ";"),
    (["a,b", "c"], ","),
    (["a b", "c"], ""),
    (["a,b"] * 500 + ["odd|one,c"], ","),
])  # fmt: skip
def test_separator_is_found_over_the_column(tmp_path, cells, separator):
    path = put(tmp_path, "a.jsonl", "".join(json.dumps({"text": "t", "labels": cell}) + "\n" for cell in cells))
    expected = [sorted(part.strip() for part in (cell.split(separator) if separator else [cell])) for cell in cells]
    assert labels_of(read_table(path, format="jsonl")) == expected
    assert labels_of(read_table(path, format="jsonl", separator=separator)) == expected


def test_empty_separator_never_cuts(tmp_path):
    path = put(tmp_path, "a.csv", "text,label\nt,x|y\n")
    assert labels_of(read_table(path, format="csv", separator="")) == [["x|y"]]


def test_table_without_labels(tmp_path):
    path = put(tmp_path, "a.csv", "id,text\n1,t\n")
    data = read_table(path, format="csv", labels="", label_names=["x", "y"])
    assert data.y.shape == (1, 2)
    assert data.y.nnz == 0
    with pytest.raises(DataError, match=r"no column looks like labels.*columns: id, text"):
        read_table(path, format="csv")


def test_json_array_and_lines_are_the_same(tmp_path):
    rows = [{"id": 1, "text": "a", "labels": ["x"]}, {"id": "b", "text": "c", "labels": []}]
    array = read_table(put(tmp_path, "a.json", json.dumps(rows, indent=1)), format="jsonl")
    lines = read_table(put(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))), format="jsonl")
    assert array.texts == lines.texts == ("a", "c")
    assert array.row_ids == lines.row_ids == ("1", "b")
    assert labels_of(array) == labels_of(lines) == [["x"], []]


def test_repository_rows_drop_labels_of_no_relevance(tmp_path):
    put(tmp_path, "Y.txt", "zero\none\ntwo\n")
    row = {"uid": "u", "title": "T", "content": "C", "target_ind": [0, 2], "target_rel": [1.0, 0.0]}
    data = read_table(put(tmp_path, "trn.json", json.dumps(row)), format="jsonl")
    assert data.texts == ("T\nC",)
    assert data.label_names == ("zero", "one", "two")
    assert labels_of(data) == [["zero"]]
    assert noted(data, "label numbers are columns of Y.txt (3 names)")


def test_label_file_with_repeated_names(tmp_path):
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(b"10\tbank\n20\triver\n30\tbank\n"))
    data = read_table(put(tmp_path, "a.jsonl", '{"text": "t", "labels": [2, 1]}\n'), format="jsonl")
    assert data.label_names == ("bank (10)", "river", "bank (30)")
    assert labels_of(data) == [["river", "bank (30)"]]


def test_numbers_without_label_file_are_names_by_size(tmp_path):
    data = read_table(put(tmp_path, "a.csv", "text,labels\nt,10|9\nu,2\n"), format="csv")
    assert data.label_names == ("2", "9", "10")


def test_number_strings_in_json_are_names(tmp_path):
    put(tmp_path, "labels.txt", "zero\none\n")
    data = read_table(put(tmp_path, "a.jsonl", '{"text": "t", "labels": ["1"]}\n'), format="jsonl")
    assert data.label_names == ("1",)


def test_columns_do_not_depend_on_row_order(tmp_path):
    one = read_table(put(tmp_path, "a.csv", "text,labels\nt,b|a\nu,c\n"), format="csv")
    two = read_table(put(tmp_path, "b.csv", "text,labels\nu,c\nt,a|b\n"), format="csv")
    assert one.label_names == two.label_names == ("a", "b", "c")


def test_fixed_label_names(tmp_path):
    path = put(tmp_path, "a.csv", "text,labels\nt,b|new|a\nu,new\n")
    data = read_table(path, format="csv", label_names=["b", "unused", "a"])
    assert data.label_names == ("b", "unused", "a")
    np.testing.assert_array_equal(data.y.toarray(), [[1, 0, 1], [0, 0, 0]])
    assert noted(data, "1 unknown labels left out (2 entries; most often 'new')")
    with pytest.raises(DataError, match="holds 'b' twice"):
        read_table(path, format="csv", label_names=["b", "b"])


def test_fasttext(tmp_path):
    path = put(tmp_path, "a.txt", "__label__a __label__b-c  hello  world\nno label\nlate __label__a word\n")
    data = read_table(path, format="fasttext")
    assert data.texts == ("hello  world", "no label", "late word")
    assert labels_of(data) == [["a", "b-c"], [], ["a"]]
    odd = read_table(put(tmp_path, "b.txt", "__label__a, __label__b text\n"), format="fasttext")
    assert odd.label_names == ("a,", "b")
    assert noted(odd, "end with a comma")


def test_annif_lines_and_json(tmp_path):
    data = read_table(put(tmp_path, "a.tsv", "a text\t<http://x/1> <http://x/2>\nother\t\n"), format="annif")
    assert labels_of(data) == [["http://x/1", "http://x/2"], []]
    rows = [
        {
            "document_id": "d1",
            "text": "t",
            "subjects": [{"uri": "u1", "label": "bank"}, {"uri": "u3", "label": "z"}],
        },
        {"document_id": "d2", "text": "t", "subjects": [{"uri": "u2", "label": "bank"}]},
    ]
    train = read_table(put(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))), format="annif")
    assert train.row_ids == ("d1", "d2")
    assert train.label_names == ("bank (u1)", "bank (u2)", "z")
    # A test file where the name is not ambiguous still finds the column.
    path = put(tmp_path, "t.jsonl", json.dumps(rows[1]))
    assert labels_of(read_table(path, format="annif", label_names=train.label_names)) == [["bank (u2)"]]


def test_pecos_and_libmultilabel(tmp_path):
    data = read_table(put(tmp_path, "a.txt", "0,2\tfirst text\n1::0.5,2::0.1\tsecond\n\tthird\n"), format="pecos")
    assert labels_of(data) == [["0", "2"], ["1", "2"], []]
    assert noted(data, "1 lines grade their labels")
    two = read_table(put(tmp_path, "b.txt", "x y\ttext, one\nz\ttwo\n"), format="libmultilabel")
    assert labels_of(two) == [["x", "y"], ["z"]]
    three = read_table(put(tmp_path, "c.txt", "id1\tx y\ttext one\nid2\tz\ttwo\n"), format="libmultilabel")
    assert three.row_ids == ("id1", "id2")
    assert labels_of(three) == [["x", "y"], ["z"]]


@pytest.mark.parametrize(("name", "head", "expected"), [
    ("a.csv", b"x", "csv"),
    ("a.csv.gz", b"text,labels", "csv"),
    ("a.jsonl.zst", b"", "jsonl"),
    ("a.json", b"[", "jsonl"),
    ("a.parquet", b"PAR1", "parquet"),
    ("a.txt", b"__label__a hello\n", "fasttext"),
    ("a.tsv", b"text\tlabels\na\tb\n", "tsv"),
    ("a.tsv", b"some text\t<http://x> <http://y>\nmore\t\n", "annif"),
    ("a.txt", b"0,1,2\tsome text\n3\tmore\n", "pecos"),
    ("a.txt", b"lab1 lab2\tsome longer text\nlab3\tmore of it\n", "libmultilabel"),
    ("a.txt", b"id1\tlab1 lab2\ta text\nid2\tlab\tmore text\n", "libmultilabel"),
    ("a.txt", b'{"text": 1}\n', "jsonl"),
    ("a.txt", b"3 5 2\n0,1 0:0.5 3:0.1\n", "xmc"),
    ("a.tsv", b"3\t5\t2\n4\t5\t6\n", "libmultilabel"),
    ("a.tsv", b"3 5 2\n", "tsv"),
    ("a.tab", b"1\n", "tsv"),
    ("a.txt", b"1,3 1:0.5 3:0.1\n", "svmlight"),
    ("a.txt", b"1,3\t1:0.5\t3:0.1\n", "svmlight"),
    ("a.txt", b"", None),
    ("a.txt", b"Dear reader,\n", None),
    ("a.arff", b"@relation x", "arff"),
    ("a.npz", b"PK\x03\x04\tx", "npz"),
])  # fmt: skip
def test_sniffing(name, head, expected):
    format = recognised(Start(plain_name(name), head))
    assert (format and format.name) == expected


def test_sniffing_leaves_out_a_cut_last_line():
    assert recognised(Start("a.txt", b"0,1\ttext\n5,")).name == "pecos"


def test_unknown_format_and_policy(tmp_path):
    path = put(tmp_path, "a.csv", "text,labels\nt,x\n")
    with pytest.raises(ParamError, match="unknown table format 'cvs'; did you mean 'csv'"):
        read_table(path, format="cvs")
    with pytest.raises(ParamError, match="on_bad_row= must be one of error, skip"):
        read_table(path, format="csv", on_bad_row="ignore")
    tables = {"csv", "tsv", "jsonl", "parquet", "excel", "documents", "fasttext", "annif", "pecos", "libmultilabel"}
    tables |= {"label-studio", "argilla"}
    assert tables == set(format_names("texts"))


def test_progress_is_reported(tmp_path):
    seen = []

    class Seen:
        def step(self, what, done, total):
            seen.append((what, done, total))

    path = put(tmp_path, "a.csv", "text,labels\n" + "t,x\n" * 10_001)
    read_table(path, format="csv", progress=Seen())
    assert seen == [("reading rows", 10_000, 0), ("reading rows", 10_001, 10_001)]
