"""Tables as other programs write them: lists in brackets, columns of 0 and 1, a line for every tag, Excel's own CSV."""

import csv
import sys

import numpy as np
import pytest

import labelwood as lw
from labelwood.errors import DataError, ParamError

TITLES = ["apple pie", "orange juice", "apple juice", "cream cake"]
TAGS = [["apple", "dessert"], ["drink"], ["apple", "drink"], ["cake"]]


def table(path, header, rows, **how):
    """A CSV file of rows."""
    with path.open("w", newline="", encoding=how.pop("encoding", "utf-8")) as stream:
        csv.writer(stream, **how).writerows([header, *rows])
    return path


def tags_of(data):
    return [[data.label_names[label] for label in row.indices] for row in data.y]


@pytest.mark.parametrize(
    "written",
    [
        lambda tags: "".join(f"<{tag}>" for tag in tags),  # Stack Exchange
        lambda tags: f"|{'|'.join(tags)}|",
        lambda tags: ";".join(tags) + ";",
        lambda tags: "\n".join(tags),  # Alt+Enter in a cell
        lambda tags: "{" + ",".join(tags) + "}",  # PostgreSQL
        lambda tags: "[" + ", ".join(tags) + "]",
        lambda tags: str(np.array(tags)),  # pandas writes arrays so
        lambda tags: str(tuple(tags)),
        lambda tags: str(set(tags)),
    ],
)
def test_cells_of_other_programs_are_cut(tmp_path, written):
    path = table(tmp_path / "a.csv", ["title", "tags"], zip(TITLES, map(written, TAGS), strict=True))
    assert tags_of(lw.read(path)) == TAGS


def test_an_empty_set_is_no_label(tmp_path):
    path = table(tmp_path / "a.csv", ["text", "tags"], [["apple pie", "{'apple'}"], ["tea", "set()"]])
    assert tags_of(lw.read(path)) == [["apple"], []]
    path = table(tmp_path / "a.csv", ["text", "tags"], [["apple pie", "[3 14]"], ["tea", "[]"]])
    assert tags_of(lw.read(path)) == [["3", "14"], []]


def test_a_line_break_can_be_named_as_programs_write_it(tmp_path):
    path = table(tmp_path / "a.csv", ["text", "tags"], [["apple pie", "a|b\nc"], ["tea", "d"]])
    assert tags_of(lw.read(path, separator="\\n")) == [["a|b", "c"], ["d"]]


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("x", ""), ("TRUE", "FALSE"), ("1.0", "0.0"), ("yes", "no")])
def test_columns_that_say_yes_are_labels(cli, tmp_path, yes, no):
    cells = [
        [title, *(yes if tag in tags else no for tag in ("apple", "drink"))]
        for title, tags in zip(TITLES, TAGS, strict=True)
    ]
    path = table(tmp_path / "a.csv", ["title", "apple", "drink"], cells * 3)
    done = cli("train", path, "--labels", "apple,drink", "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0, done.err
    assert "a row has the labels whose columns hold" in done.err
    assert "each cell" not in done.err
    assert lw.load(tmp_path / "m").label_names == ("apple", "drink")
    new = table(tmp_path / "b.csv", ["title", "apple", "drink"], [["hot tea", no, yes]])
    assert "1 new row" in cli("learn", tmp_path / "m", new).out
    assert tags_of(lw.read(path, labels=["apple", "drink"], separator=""))[0] != ["apple"]  # cells, as one asked


def test_a_line_for_every_tag_is_a_row_for_every_text(cli, tmp_path):
    lines = [[f"{title} {n}", tag] for n in range(10) for title, tags in zip(TITLES, TAGS, strict=True) for tag in tags]
    path = table(tmp_path / "a.csv", ["title", "tag"], lines)
    data = lw.read(path)
    assert data.n_rows == 40
    assert tags_of(data)[:4] == TAGS
    assert "40 of 60 lines say one label each of 20 texts" in cli("data", "info", path).out
    numbered = table(tmp_path / "b.csv", ["id", "title", "tag"], [[n, *line] for n, line in enumerate(lines)])
    assert lw.read(numbered).n_rows == 40
    doubled = table(tmp_path / "c.csv", ["title", "tags"], [["apple pie", "apple"]] * 40)
    assert lw.read(doubled).n_rows == 40  # the same line again is no other label


def test_a_column_of_single_labels_that_all_differ_is_doubted(cli, tmp_path):
    path = table(
        tmp_path / "a.csv", ["title", "tags"], [[title, f"{title} / {n}"] for n in range(9) for title in TITLES]
    )
    assert (
        "36 labels in 36 cells; if a cell holds several, name what is between them with --separator"
        in cli("data", "info", path).out
    )


def test_names_that_are_hardly_meant_so_are_told(cli, tmp_path):
    rows = [["apple pie", "Apple"], ["apple juice", "apple"], ["tea", "NaN"], ["cake", "-"]]
    out = cli("data", "info", table(tmp_path / "a.csv", ["title", "tags"], rows)).out
    assert "2 rows have the label '-', 'NaN': if that means no label, leave the cells empty" in out
    assert (
        "1 label is spelt in several ways that differ in capitals or spaces alone, such as 'Apple' and 'apple'" in out
    )


def test_excel_gets_back_what_it_can_open(cli, tmp_path):
    rows = [[f"Käse: {title}", ",".join(tags)] for title, tags in zip(TITLES, TAGS, strict=True)]
    how = {"encoding": "cp1252", "delimiter": ";"}
    old = table(tmp_path / "old.csv", ["Titel", "Tags"], rows, **how)
    assert cli("train", old, "--text", "Titel", "--out", tmp_path / "m", "--threads", 1).code == 0
    assert cli("predict", tmp_path / "m", old, "-k", 1, "--out", tmp_path / "new.csv").code == 0
    written = (tmp_path / "new.csv").read_bytes()
    assert written.startswith(b"\xef\xbb\xbfTitel;Tags;")
    assert "Käse: apple pie;apple,dessert;" in written.decode("utf-8-sig")
    assert lw.read(tmp_path / "new.csv", text="Titel", labels="Tags").n_rows == 4
    plain = table(tmp_path / "plain.csv", ["Titel"], [["apple"]])
    assert cli("predict", tmp_path / "m", plain, "--text", "Titel", "--out", tmp_path / "p.csv").code == 0
    assert (tmp_path / "p.csv").read_bytes().startswith(b"Titel,tags")


def test_line_ends_and_first_lines_of_excel(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text,tags\rapple pie,a\rtea,b\r")  # "CSV (Macintosh)"
    assert tags_of(lw.read(tmp_path / "a.csv")) == [["a"], ["b"]]
    (tmp_path / "b.csv").write_bytes(b"sep=;\r\ntext;tags\r\napple, pie;a\r\n")
    assert lw.read(tmp_path / "b.csv").texts == ("apple, pie",)
    (tmp_path / "c.csv").write_bytes(b'"text";"tags";"a, b, c, d"\n"apple";"x";1\n')
    assert tags_of(lw.read(tmp_path / "c.csv")) == [["x"]]


@pytest.mark.parametrize(
    ("module", "ending", "extra"), [("openpyxl", ".xlsx", "excel"), ("pyarrow", ".parquet", "parquet")]
)
def test_a_missing_package_is_told_before_the_work(cli, tmp_path, monkeypatch, module, ending, extra):
    path = table(tmp_path / "a.csv", ["title", "tags"], zip(TITLES, map(";".join, TAGS), strict=True))
    assert cli("train", path, "--out", tmp_path / "m", "--threads", 1).code == 0
    monkeypatch.setitem(sys.modules, module, None)
    done = cli("predict", tmp_path / "m", tmp_path / "not there.csv", "--out", tmp_path / f"b{ending}")
    assert done.code == 2
    assert f'pip install "labelwood[{extra}]"' in done.err


# in a notebook


def test_other_things_in_place_of_a_list_of_texts_are_named(tmp_path, monkeypatch):
    path = table(tmp_path / "a.csv", ["title", "tags"], [["apple", "a"]])
    with pytest.raises(DataError, match=r"the name of a file came; labelwood.read\('.*a\.csv'\) gives its rows"):
        lw.Tagger().fit(str(path))
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(TITLES, TAGS)
    for wrong, said in (
        ({"text": "apple"}, "a dict with the keys 'text' came"),
        (lw.read(path), "a Dataset came; write data.texts"),
        ("apple pie", r"one string came; write \[text\]"),
    ):
        with pytest.raises(DataError, match=said):
            tagger.predict(wrong)
    with pytest.raises(ParamError, match=r"write OneVsAll\(\) for OneVsAll"):
        lw.Tagger(lw.OneVsAll).fit(TITLES, TAGS)
    with pytest.raises(DataError, match="read takes the path of a file, but got list"):
        lw.read([["apple", "a"]])


def test_a_matrix_without_names_is_no_truth_for_names():
    pandas = pytest.importorskip("pandas")
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(TITLES, TAGS)
    frame = pandas.DataFrame([[int(tag in tags) for tag in tagger.label_names] for tags in TAGS])
    for judge in (tagger.evaluate, tagger.learn):
        with pytest.raises(
            DataError, match="a matrix without names of its columns, but the tagger knows labels by name"
        ):
            judge(TITLES, frame.to_numpy())
    frame.columns = list(tagger.label_names)
    assert tagger.evaluate(TITLES, frame)["P@1"] == 100.0
    by_number = lw.Tagger("one-vs-all", n_threads=1).fit(TITLES, frame.to_numpy())
    assert by_number.evaluate(TITLES, frame.to_numpy())["P@1"] == 100.0


def test_a_column_of_arrow_is_a_list_of_texts():
    arrow = pytest.importorskip("pyarrow")
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(arrow.array(TITLES), arrow.array(TAGS))
    assert tagger.predict(arrow.chunked_array([TITLES[:1], TITLES[1:]]), k=1)[1][0][0] == "drink"


# corrections


def test_slips_in_new_tags_are_named(cli, tmp_path):
    rows = [[n, title, ";".join(tags)] for n, (title, tags) in enumerate(zip(TITLES, TAGS, strict=True))]
    folder = tmp_path / "m"
    path = table(tmp_path / "a.csv", ["id", "title", "tags"], rows)
    assert cli("train", path, "--out", folder, "--threads", 1).code == 0
    new = [["n1", "apple tart", "Apple;desert;tart"], ["n2", "hot tea", "drinks7"]]
    done = cli("learn", folder, table(tmp_path / "b.csv", ["id", "title", "tags"], new))
    assert "'Apple' is new beside 'apple': `labelwood labels DIR merge` makes them one" in done.err
    assert "'desert' is new beside 'dessert'" in done.err
    assert done.err.count("is new beside") == 2
    assert "1 row became a row of 'dessert'" in cli("labels", folder, "merge", "desert", "dessert").out


def test_a_merged_tag_is_judged_as_what_is_answered(cli, tmp_path):
    folder = tmp_path / "m"
    path = table(tmp_path / "a.csv", ["title", "tags"], zip(TITLES, map(";".join, TAGS), strict=True))
    assert cli("train", path, "--out", folder, "--threads", 1).code == 0
    assert cli("labels", folder, "merge", "cake", "dessert").code == 0
    old = table(tmp_path / "b.csv", ["title", "tags"], [["cream cake", "cake;dessert"], ["cream cake", "cake"]])
    done = cli("evaluate", folder, old, "-k", 1)
    assert "unknown" not in done.err
    assert " P                                100.00" in done.out
    assert lw.load(folder).evaluate(lw.read(old))["R@1"] == 100.0


def test_an_id_that_many_rows_share_names_none(cli, tmp_path):
    rows = [
        ["customer 1", f"{title} {n}", ";".join(tags)]
        for n in range(3)
        for title, tags in zip(TITLES, TAGS, strict=True)
    ]
    folder = tmp_path / "m"
    path = table(tmp_path / "a.csv", ["id", "title", "tags"], rows)
    assert cli("train", path, "--out", folder, "--threads", 1).code == 0
    new = [["customer 1", "hot tea", "drink"], ["customer 1", "cold tea", "drink"]]
    done = cli("learn", folder, table(tmp_path / "b.csv", ["id", "title", "tags"], new))
    assert "2 new rows, 0 corrected" in done.out


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        (r"['C:\Users']", [r"C:\Users"]),  # no escape that Python knows
        (r"['C:\data', 'b']", [r"C:\data", "b"]),  # Python takes it, and warns
        (r"['\x' 'b']", [r"\x", "b"]),
        ("[a\rb, c]", ["a b", "c"]),
        ("{a\r\nb}", ["a b"]),
        (f"[{'a' * 140_000},b]", ["a" * 140_000, "b"]),
    ],
)
def test_lists_that_only_look_like_those_of_a_language_are_cut_at_commas(tmp_path, cell, tags):
    data = lw.read(table(tmp_path / "rows.csv", ["text", "labels"], [["one", cell], ["two", cell]]))
    assert tags_of(data) == [tags, tags]


def test_lists_of_nothing_usable_are_told_or_one_label(tmp_path):
    def rows(cell):
        path = tmp_path / "rows.csv"
        path.write_text(f'text,labels\none,"{cell}"\ntwo,"{cell}"\n')  # csv of Python 3.10 writes no NUL
        return path

    with pytest.raises(DataError, match=r"rows\.csv, line 2: a label holds a NUL character"):
        lw.read(rows("['a\0b']"))
    for cell in ("[" + "1" * 5000 + "]", "[1 " + "1" * 5000 + "]"):  # longer numbers than Python reads
        assert lw.read(rows(cell)).label_names == (cell[1:-1],)
