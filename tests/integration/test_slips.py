"""Slips of the first afternoon: what a person types or hands over by mistake, and the one line that says so."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import labelwood as lw
from labelwood.errors import DataError, ParamError

ROWS = [
    ("apple pie", "apple;dessert"),
    ("orange juice", "drink"),
    ("apple juice", "apple;drink"),
    ("cream cake", "cake"),
]


@pytest.fixture
def table(tmp_path):
    """A CSV file with a title, a body and tags that semicolons separate."""
    path = tmp_path / "items.csv"
    path.write_text("title,body,tags\n" + "".join(f"{text},about {text},{tags}\n" for text, tags in ROWS * 3))
    return path


@pytest.fixture
def shop(cli, table, tmp_path):
    """The folder of a tagger trained on the table."""
    folder = tmp_path / "shop"
    assert cli("train", table, "--out", folder, "--threads", 1).code == 0
    return folder


def one_line(done, *words):
    """The last line on stderr, which must name the words; nothing was done."""
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    line = done.err.strip().splitlines()[-1]
    for word in words:
        assert word in line, line
    return line


def test_a_separator_that_no_cell_holds_is_told(cli, table, tmp_path):
    done = cli("train", table, "--separator", ",", "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0
    assert "no label cell holds the separator ',', so each cell is one label; did you mean --separator ';'" in done.err
    assert "(found in 6 of 12 cells)?" in done.err
    for right in (";", ""):  # "" asks for whole cells
        done = cli("train", table, "--separator", right, "--out", tmp_path / f"m{len(right)}", "--threads", 1)
        assert "no label cell holds" not in done.err


def test_a_single_row_is_learnt(cli, tmp_path):
    (tmp_path / "one.csv").write_text("text,tags\nhello world,a;b\n")
    done = cli("train", tmp_path / "one.csv", "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0, done.err
    assert '"a"' in cli("predict", tmp_path / "m", tmp_path / "one.csv").out


def test_one_label_for_all_is_told(cli, tmp_path):
    (tmp_path / "same.csv").write_text("text,tags\n" + "apple pie,fruit\norange juice,fruit\n" * 30)
    done = cli("train", tmp_path / "same.csv", "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0
    assert "note: there is only one label, so there is nothing to tell apart" in done.err


@pytest.mark.parametrize("header", ["id,artikel", "Produkt,Merkmale"])
def test_a_header_with_other_names_is_no_row(cli, shop, tmp_path, header):
    (tmp_path / "new.csv").write_text(f"{header}\n7,apple cake\n")
    for command in ("predict", "evaluate"):
        one_line(cli(command, shop, tmp_path / "new.csv"), "new.csv", "--text")
    done = cli("predict", shop, tmp_path / "new.csv", "--text", header.split(",")[1])
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 1


def test_lines_of_other_formats_need_no_header(cli, shop, tmp_path):
    (tmp_path / "new.tsv").write_text("apple cake\t<http://a/apple>\n")
    (tmp_path / "new.txt").write_text("__label__apple apple cake\n")
    for name in ("new.tsv", "new.txt"):
        assert cli("predict", shop, tmp_path / name).code == 0, name
    assert cli("learn", shop, tmp_path / "new.txt").code == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--assign", "f2"], "--assign must be one of"),
        (["--unlabelled", "drop"], "--unlabelled must be one of skip, negative"),
        (["--on-bad-row", "ignore"], "--on-bad-row must be one of error, skip"),
        (["--memory", "lots"], "--memory must be a size such as 8G"),
        (["--lang", "english"], "'en' for 'english'"),
        (["--vocab", "nowhere.ttl"], "nowhere.ttl: no such file"),
        (["--tree", "nowhere.txt"], "nowhere.txt: no such file"),
        (["--preset", "paper"], "--preset paper needs --model"),
    ],
)
def test_options_are_named_as_they_were_typed(cli, table, tmp_path, given, said):
    line = one_line(cli("train", table, "--out", tmp_path / "m", *given), said)
    assert "Errno" not in line
    assert not (tmp_path / "m").exists()


def test_bytes_of_two_encodings_name_the_ways_out(cli, tmp_path):
    (tmp_path / "mixed.csv").write_bytes("text,tags\ncrème,é\n".encode() + b"cr\xe8me,x\n")
    done = cli("train", tmp_path / "mixed.csv", "--out", tmp_path / "m")
    one_line(done, "mixed.csv, line 3: byte 3 is not valid UTF-8", "(--encoding)", "(--on-bad-row skip)")
    done = cli("train", tmp_path / "mixed.csv", "--on-bad-row", "skip", "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0, done.err


def test_a_folder_says_which_file_is_read(cli, table, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.csv").write_bytes(table.read_bytes())
    done = cli("train", folder, "--out", tmp_path / "m", "--threads", 1)
    assert f"note: {folder}: its training file train.csv is read" in done.err


@pytest.mark.parametrize("name", ["test.csv", "tst.csv"])
def test_evaluation_of_a_folder_reads_its_test_file(cli, shop, table, tmp_path, name):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.csv").write_bytes(table.read_bytes())
    done = cli("evaluate", shop, folder)
    assert f"note: {folder}: its training file train.csv is read" in done.err
    (folder / name).write_text("title,body,tags\napple tart,about apple tart,apple\n")
    done = cli("evaluate", shop, folder)
    assert f"note: {folder}: its test file {name} is read" in done.err
    assert "1 row, per cent" in done.out
    assert "training file" not in done.err


def test_corrections_without_tags_are_told(cli, shop, tmp_path):
    (tmp_path / "new.csv").write_text("title,body,tags\nstale bread,old,\napple tart,new,apple\n")
    done = cli("learn", shop, tmp_path / "new.csv")
    assert done.code == 0, done.err
    assert "note: 1 row without tags: it learns that no tag fits them" in done.err


def test_a_new_name_loses_the_spaces_at_its_ends(cli, shop):
    assert "'drink' is now 'drinks'" in cli("labels", shop, "rename", "drink", " drinks ").out
    one_line(cli("labels", shop, "rename", "drinks", "   "), "must have words")


def test_a_row_without_a_file_is_refused(cli, shop):
    one_line(cli("explain", shop, "apple", "--row", "3"), "--row is a row of --data")


def test_words_that_nobody_knows_are_told(cli, shop):
    done = cli("explain", shop, "zzzz")
    assert done.code == 0
    assert "no word that the tagger knows" in done.err
    assert "no word" not in cli("explain", shop, "apple").err


@pytest.mark.parametrize("text", ["apple", "red apple", "apple and/or cake"])
def test_a_text_in_place_of_a_file_is_told_where_to_go(cli, shop, text):
    one_line(cli("predict", shop, text), "a text comes from stdin")
    assert "stdin" not in one_line(cli("predict", shop, "new.csv"), "new.csv: no such file")


def test_a_file_of_no_known_format_lists_their_names(cli, tmp_path):
    (tmp_path / "note.txt").write_text("hello\n")
    line = one_line(cli("train", tmp_path / "note.txt", "--out", tmp_path / "m"), "give --format, one of xmc, ")
    assert len(line) < 300


def test_a_model_is_no_data_and_data_is_no_model(cli, shop, table, tmp_path):
    one_line(cli("train", shop, "--out", tmp_path / "m"), f"{shop}: is the folder of a saved model, not of data")
    for command in ("predict", "evaluate"):
        one_line(cli(command, table, shop), f"{shop} is the model and {table} is not", "the model comes first")
        one_line(cli(command, shop, shop), "not of data")
        one_line(cli(command, table, table), "a model is a folder")


def test_columns_the_wrong_way_round_are_told(cli, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "tags,text\n" + "".join(f"this is a long text with the number {i} about pies,pie\n" for i in range(9))
    )
    done = cli("train", path, "--out", tmp_path / "m", "--threads", 1)
    assert "note: a label has 48 characters and a text 3: are --text and --labels the wrong way round?" in done.err
    done = cli("train", path, "--text", "tags", "--labels", "text", "--out", tmp_path / "n", "--threads", 1)
    assert "wrong way" not in done.err


def test_tags_with_spaces_between_them_are_told(cli, tmp_path):
    tags = ["red", "blue", "green", "small", "large", "old"]
    cells = [f"{a} {b} {c}" for a in tags for b in tags for c in tags if a < b < c]
    path = tmp_path / "rows.csv"
    path.write_text("text,tags\n" + "".join(f"thing {i},{cell}\n" for i, cell in enumerate(cells)))
    done = cli("train", path, "--out", tmp_path / "m", "--threads", 1)
    assert "what is between them with --separator (cut at spaces they would be 6 labels)" in done.err
    path.write_text("text,tags\n" + "".join(f"thing {i},the name of {i}\n" for i in range(40)))
    assert "cut at spaces" not in cli("train", path, "--out", tmp_path / "n", "--threads", 1).err


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a file system that takes no files")
def test_a_place_that_takes_no_files_is_told_before_training(cli, shop, table):
    line = one_line(cli("train", table, "--out", "/proc/m"), "/proc/m: the folder /proc ")
    assert "guessed" not in line
    one_line(cli("predict", shop, table, "--out", "/proc/tagged.csv"), "the folder /proc ")


@pytest.mark.parametrize("word", ["remove", "delete"])
def test_who_wants_a_tag_gone_is_told_how(cli, shop, word):
    one_line(cli("labels", shop, word, "drink"), "retire takes a tag out of all answers")


def test_what_comes_next_is_told(cli, table, xmc, tmp_path):
    folder = tmp_path / "a shop"
    told = cli("train", table, "--out", folder, "--threads", 1).err.splitlines()[-1]
    assert told == (
        f"next: labelwood evaluate '{folder}' FILE, or labelwood predict '{folder}' FILE --out tagged.csv, "
        f"or labelwood serve '{folder}'"
    )
    assert "next:" not in cli("train", table, "--out", tmp_path / "q", "--threads", 1, "-q").err
    assert "next:" not in cli("train", table, "--out", tmp_path / "j", "--threads", 1, "--json").err


def test_a_tag_that_is_no_concept_is_told(cli, tmp_path):
    (tmp_path / "names.tsv").write_text("id\tfi\ny:1\tkoira\ny:2\tkissa\ny:3\tlintu\n")
    (tmp_path / "rows.csv").write_text("text,tags\nkoira haukkuu,y:1\nkissa nukkuu,y:2\nlintu laulaa,y:3\n")
    vocabulary = ("--vocab", tmp_path / "names.tsv", "--lang", "fi", "--threads", 1)
    assert cli("train", tmp_path / "rows.csv", *vocabulary, "--out", tmp_path / "m").code == 0
    (tmp_path / "more.csv").write_text("text,tags\nkoiran ruoka,koirat;lintu\n")
    done = cli("learn", tmp_path / "m", tmp_path / "more.csv", "--separator", ";")
    assert done.code == 0, done.err
    assert "1 new tag: 'koirat'" in done.out
    assert "note: 'koirat' is new beside 'koira': `labelwood labels DIR merge` makes them one" in done.err
    assert "note: 1 new tag not in the vocabulary: koirat" in done.err
    done = cli("labels", tmp_path / "m", "merge", "koirat", "koira")
    assert done.code == 0, done.err


def test_another_column_of_labels_is_told(cli, shop, table):
    done = cli("evaluate", shop, table, "--labels", "body", "--text", "title")
    assert "the model knows none of the labels" in done.err
    assert "knows none" not in cli("evaluate", shop, table).err


# in a notebook


@pytest.fixture(scope="module")
def tagger():
    texts, cells = zip(*ROWS, strict=True)
    return lw.Tagger("one-vs-all", n_threads=1).fit(list(texts), [cell.split(";") for cell in cells])


def test_what_a_notebook_shows_is_short(tagger, table):
    data = lw.read(table)
    assert repr(data) == f"Dataset(n_rows=12, with texts, n_labels=4, source={str(table)!r})"
    assert len(repr(tagger.fitted_)) < 200
    assert repr(tagger.fitted_.model) == "FittedOneVsAll(n_features=6, n_labels=4)"
    assert repr(tagger.explain("apple pie", "apple")).startswith("apple: apple +")


def test_answers_are_shown_a_row_a_line():
    top = lw.TopK(np.array([[3, 1], [2, -1], [-1, -1]]), np.array([[0.75, 0.5], [1.0, -np.inf], [-np.inf, -np.inf]]))
    lines = ["TopK(n_rows=3, k=2): label: score", "  row 0: 3: 0.75, 1: 0.5", "  row 1: 2: 1", "  row 2: no label"]
    assert repr(top) == "\n".join(lines)
    many = repr(top[[0] * 1000])
    assert many.endswith("  ...")
    assert len(many.splitlines()) == 7
    assert copy.copy(top).k == pickle.loads(pickle.dumps(top)).k == 2


def test_the_best_answer_is_explained_without_a_label(tagger):
    best = tagger.predict(["apple juice"], k=1)[0][0][0]
    assert tagger.explain("apple juice") == tagger.explain("apple juice", best)


@pytest.mark.parametrize("name", ["n_trees", "beam", "CC"])
def test_parameters_of_one_model_need_its_name(name):
    with pytest.raises(ParamError, match=rf"has no parameter '{name}', and 'auto' may be one-vs-all or linear-tree"):
        lw.Tagger(model_params={name: 1}).fit(["red apple", "blue sea"], [["x"], ["y"]])
    assert lw.Tagger(model_params={"C": 2.0}).fit(["red apple", "blue sea"], [["x"], ["y"]]).model_.C == 2.0


def test_a_data_frame_is_no_list_of_texts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"title": ["a b", "c d", "e f"], "body": ["x", "y", "z"], "tags": [["p"], ["q"], ["p"]]})
    told = r"texts must be a column, but a table with columns title, body came; write table\['title'\]"
    with pytest.raises(DataError, match=told):
        lw.Tagger().fit(frame[["title", "body"]], frame["tags"])
    frame.loc[1, "title"] = None
    for kind in (object, "string"):
        with pytest.raises(DataError, match=r"texts, row 1: .*; leave rows without a text out, or give ''"):
            lw.Tagger().fit(frame["title"].astype(kind), frame["tags"])
    with pytest.raises(DataError, match=r"labels, row 1: .*a row without labels is an empty list"):
        lw.Tagger().fit(frame["body"], frame["tags"].where(frame.index != 1))
