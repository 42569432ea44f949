"""Files as people have them: spreadsheets, odd CSV files, folders of documents, split files; what a user does."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import openpyxl
import pytest
import python_calamine

import labelwood as lw

ITEMS = """sku,title,body,price,tags
A1,Apple pie,With cinnamon,3.50,apple;dessert
A2,Orange juice,Cold and fresh,2,drink
A3,Apple juice,No sugar,2.1,apple;drink
A4,Chocolate cake,With cream,5,dessert
A5,Orange cake,,4,dessert
"""
NEW = "sku,title,body,price\nB1,Apple cake,with cream,3\nB2,=Cold juice,orange,2\n"


@pytest.fixture
def shop(cli, tmp_path):
    """The folder of a tagger trained on title and body of a CSV file, and the file of new items."""
    items, new = tmp_path / "items.csv", tmp_path / "new.csv"
    items.write_text(ITEMS)
    new.write_text(NEW)
    folder = tmp_path / "shop"
    done = cli("train", items, "--text", "title,body", "--labels", "tags", "--out", folder, "--threads", 1)
    assert done.code == 0, done.err
    return folder, new


def cells(path):
    return [row[0:] for row in python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()]


def test_a_csv_comes_back_with_tags_beside_it(cli, shop, tmp_path):
    model, new = shop
    out = tmp_path / "tagged.csv"
    done = cli("predict", model, new, "-k", 2, "--out", out, "--reasons")
    assert done.code == 0, done.err
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert list(rows[0]) == ["sku", "title", "body", "price", "tags", "scores", "reasons"]
    assert [row["sku"] for row in rows] == ["B1", "B2"]
    assert rows[0]["tags"] == "dessert;apple"  # joined as the training file's tags are
    assert [0 < float(score) < 1 for score in rows[0]["scores"].split(";")] == [True, True]
    assert rows[0]["reasons"].startswith("dessert: cake +")
    assert " | apple: apple +" in rows[0]["reasons"]


def test_a_csv_comes_back_as_a_spreadsheet(cli, shop, tmp_path):
    model, new = shop
    out = tmp_path / "tagged.xlsx"
    assert cli("predict", model, new, "-k", 1, "--out", out).code == 0
    table = cells(out)
    assert table[0] == ["sku", "title", "body", "price", "tags", "scores"]
    assert [row[4] for row in table[1:]] == ["dessert", "drink"]
    assert openpyxl.load_workbook(out)["rows"]["B3"].data_type == "s"  # "=Cold juice" is a text, no formula


def test_a_spreadsheet_is_trained_on_and_comes_back(cli, tmp_path):
    book = openpyxl.Workbook()
    book.create_sheet("cover", 0)
    sheet = book["Sheet"]
    header = ["sku", "title", "price", "bought", "tags"]
    rows = [[1, "apple pie", 3.5, None, "apple;dessert"], [2, "orange juice", 2, None, "drink"], header, [None] * 5]
    for row in [header, *rows, [3, "apple juice", 2, None, "apple;drink"], [4, "cream cake", 1, None, ""]]:
        sheet.append(row)
    path = tmp_path / "items.xlsx"
    book.save(path)
    done = cli("train", path, "--text", "title", "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0, done.err
    assert "sheet 'Sheet' is read; it is the first of 2 that holds something" in done.err
    assert "left out 1 repeated header row (first: row 4)" in done.err
    assert "left out 1 blank row (first: row 5)" in done.err
    assert "1 of 4 rows have no label and are left out" in done.err
    done = cli("predict", tmp_path / "m", path, "-k", 1, "--out", tmp_path / "tagged.xlsx")
    assert done.code == 0, done.err
    table = cells(tmp_path / "tagged.xlsx")
    assert table[0] == ["sku", "title", "price", "bought", "tags", "predicted_tags", "predicted_scores"]
    assert table[1][:3] == [1, "apple pie", 3.5]  # numbers stay numbers
    assert len(table) == 5


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_other_tables_hold_lists(cli, shop, tmp_path, suffix):
    model, new = shop
    out = tmp_path / f"tagged{suffix}"
    assert cli("predict", model, new, "-k", 2, "--out", out).code == 0
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(out).to_pylist()
    assert list(rows[0]) == ["sku", "title", "body", "price", "tags", "scores"]
    assert rows[0]["tags"] == ["dessert", "apple"]
    assert cli("predict", model, out, "-k", 1, "--out", tmp_path / f"again{suffix}").code == 0


def test_the_long_form_has_a_line_for_each_answer(cli, shop, tmp_path):
    model, new = shop
    out = tmp_path / "answers.csv"
    assert cli("predict", model, new, "-k", 2, "--out", out, "--shape", "long").code == 0
    assert out.read_text().splitlines()[0] == "id,rank,label,score"
    assert len(out.read_text().splitlines()) == 5
    for arguments, words in (
        (["--shape", "tall"], "--shape must be one of wide, long"),
        (["--reasons"], "--reasons are a column of a table"),
        (["--shape", "long", "--out", tmp_path / "a.xlsx"], "the ending must say the format"),
    ):
        done = cli("predict", model, new, *arguments)
        assert (done.code, words in done.err) == (2, True), done.err


def test_columns_of_training_are_used_for_prediction(cli, shop, tmp_path):
    model, new = shop
    remembered = cli("predict", model, new, "-k", 1)
    assert "guessed" not in remembered.err
    assert remembered.out == cli("predict", model, new, "-k", 1, "--text", "title,body").out
    assert remembered.out != cli("predict", model, new, "-k", 1, "--text", "body").out
    half = tmp_path / "half.csv"
    half.write_text("title,price\nApple cake,3\n")
    done = cli("predict", model, half)
    assert done.code == 2
    assert "trained with text from title, body, but body is not there" in done.err
    other = tmp_path / "other.csv"
    other.write_text("description\nApple cake\n")
    done = cli("predict", model, other)
    assert done.code == 0
    assert "note: the training columns title, body are not in this file" in done.err
    assert "note: text taken from column description (guessed)" in done.err


def test_evaluation_and_explanation_read_the_columns_of_training(cli, tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(ITEMS.replace("title", "Artikel").replace("tags", "Gruppen").replace("body", "Text"))
    model = tmp_path / "m"
    assert cli("train", path, "--text", "Artikel", "--labels", "Gruppen", "--out", model).code == 0
    done = cli("evaluate", model, path)
    assert done.code == 0, done.err
    assert done.err == ""  # nothing had to be guessed
    assert cli("explain", model, "--data", path, "--row", 1).code == 0


def test_the_title_of_a_narrow_table_stays_on_one_line(cli, shop, tmp_path):
    named = tmp_path / "items of the spring catalogue, second edition.csv"
    named.write_text(ITEMS)
    shown = cli("evaluate", shop[0], named, "-k", 1).out.splitlines()
    assert f"{shop[0]} on {named}: 5 rows, per cent" in shown


def test_several_label_columns(cli, tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("text,tag1,tag2\napple pie,apple,dessert\norange juice,drink,\ncake,dessert,\n")
    done = cli("train", path, "--labels", "tag1,tag2", "--out", tmp_path / "m")
    assert done.code == 0, done.err
    assert "each cell of tag1, tag2 is one label; --separator cuts them" in done.err
    data = lw.read(path, labels="tag1,tag2")
    assert data.label_names == ("apple", "dessert", "drink")
    assert data.y.toarray().tolist() == [[1, 1, 0], [0, 0, 1], [0, 1, 0]]
    path.write_text("text,tag1,tag2\napple pie,apple;fruit,dessert\n")
    assert lw.read(path, labels="tag1,tag2", separator=";").label_names == ("apple", "dessert", "fruit")


@pytest.mark.parametrize(
    ("encoding", "told"), [("cp1252", "read as Windows-1252 (Latin-1)"), ("utf-16", "read as UTF-16")]
)
def test_other_encodings_are_found_and_told(cli, tmp_path, encoding, told):
    path = tmp_path / "items.csv"
    text = "text,tags\nplain,x\nCrème brûlée “5 €”,dessert\ncafé,drink\n"
    path.write_bytes(text.encode(encoding))
    done = cli("data", "info", path)
    assert told in done.out
    assert "--encoding names another" in done.out
    assert lw.read(path).texts == ("plain", "Crème brûlée “5 €”", "café")
    assert lw.read(path, encoding=encoding).texts == lw.read(path).texts
    assert not any("UTF-8" in note for note in lw.read(path, encoding=encoding).notes)
    assert "must name a text encoding" in cli("data", "info", path, "--encoding", "zlib").err


def test_odd_lines_are_told(cli, tmp_path):
    path = tmp_path / "items.csv"
    header = ITEMS.splitlines()[0]
    path.write_text(ITEMS + f"\n\n{header}\nA6,Tea,hot,1,\n{header}\nA7,Coffee,hot,1,drink\n\n")
    done = cli("train", path, "--text", "title", "--out", tmp_path / "m")
    assert "left out 2 blank lines (first: line 7)" in done.err
    assert "left out 2 repeated header lines (first: line 9)" in done.err
    assert "1 of 7 rows have no label and are left out" in done.err
    assert "trained one-vs-all on 6 rows" in done.out
    done = cli("train", path, "--text", "title", "--out", tmp_path / "n", "--unlabelled", "negative")
    assert "1 of 7 rows have no label and are learnt as rows that no label fits" in done.err
    assert "trained one-vs-all on 7 rows" in done.out
    done = cli("train", path, "--out", tmp_path / "o", "--unlabelled", "maybe")
    assert (done.code, "skip, negative" in done.err) == (2, True)


def pdf_of(text):
    """A PDF file with one line of text."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return content + end % (table, len(content))


@pytest.fixture
def library(tmp_path):
    """A folder of documents as Annif's users have them."""
    folder = tmp_path / "library"
    (folder / "more").mkdir(parents=True)
    (folder / "cats.txt").write_text("Cats and their kittens\nsleep all day.")
    (folder / "cats.tsv").write_text("<http://x.org/c1>\tcat\n<http://x.org/m>\tmammal\n")
    (folder / "dogs.md").write_bytes("# Dogs\n\nDogs bark in the café.".encode("cp1252"))
    (folder / "dogs.tsv").write_text("<http://x.org/d1>\tdog\n<http://x.org/m>\tmammal\n")
    page = "<html><head><title>Birds</title><style>b{}</style></head><body><p>Birds &amp; eggs</p><script>x</script>"
    (folder / "more" / "birds.html").write_text(page)
    (folder / "more" / "birds.tsv").write_text("<http://x.org/b1>\tbird\n")
    (folder / "more" / "fish.pdf").write_bytes(pdf_of("Fish swim in water"))
    (folder / "more" / "fish.tsv").write_text("<http://x.org/f1>\tfish\n")
    return folder


def test_a_folder_of_documents(cli, library, tmp_path):
    data = lw.read(library)
    assert data.row_ids == ("cats.txt", "dogs.md", "more/birds.html", "more/fish.pdf")
    assert data.texts == (
        "Cats and their kittens\nsleep all day.",
        "# Dogs\n\nDogs bark in the café.",
        "Birds\nBirds & eggs",
        "Fish swim in water",
    )
    assert data.label_names == ("bird", "cat", "dog", "fish", "mammal")
    assert "1 of 4 documents are not UTF-8" in "".join(data.notes)
    model = tmp_path / "m"
    done = cli("train", library, "--out", model)
    assert done.code == 0, done.err
    for path in library.rglob("*.tsv"):
        path.unlink()
    done = cli("predict", model, library, "-k", 1, "--out", tmp_path / "tagged.csv")
    assert done.code == 0, done.err
    rows = [line.rpartition(",")[0] for line in (tmp_path / "tagged.csv").read_text().splitlines()]
    assert rows[0] == "document,tags"
    assert rows[3:] == ["more/birds.html,bird", "more/fish.pdf,fish"]
    done = cli("train", library, "--out", tmp_path / "n")
    assert (done.code, "no document has labels; they stand beside it" in done.err) == (2, True)


def test_documents_with_keys_and_damage(cli, library):
    for path in library.rglob("*.tsv"):
        path.with_suffix(".key").write_text("animal\nlife\n")
        path.unlink()
    assert lw.read(library).label_names == ("animal", "life")
    (library / "scan.pdf").write_bytes(b"%PDF-1.4\nnothing")
    with pytest.raises(lw.DataError, match=r"library, document 5: scan\.pdf: not a readable PDF file"):
        lw.read(library)
    data = lw.read(library, on_bad_row="skip")
    assert data.n_rows == 4
    assert "skipped 1 bad row (document 5: scan.pdf" in data.notes[-1]
    (library / "scan.pdf").write_bytes(pdf_of(""))
    with pytest.raises(lw.DataError, match=r"scan\.pdf: no text in it \(is it a scan\?\)"):
        lw.read(library)
    assert "--text has no meaning for format 'documents'" in cli("data", "info", library, "--text", "a").err


def test_a_document_on_stdin_is_one_document(shop):
    model, _ = shop
    command = [sys.executable, "-m", "labelwood", "predict", str(model), "-", "-k", "1", "--quiet"]
    text = b"A cake\n\nwith cream\n"
    lines = subprocess.run(command, input=text, capture_output=True, timeout=60)
    assert len(lines.stdout.splitlines()) == 3
    one = subprocess.run([*command, "--document"], input=text, capture_output=True, timeout=60)
    assert one.returncode == 0, one.stderr
    assert [json.loads(line)["labels"][0]["label"] for line in one.stdout.splitlines()] == ["dessert"]


def test_document_is_for_stdin(cli, shop):
    model, new = shop
    done = cli("predict", model, new, "--document")
    assert (done.code, "--document is for texts from standard input" in done.err) == (2, True)


@pytest.fixture
def splits(tmp_path):
    """A data file of 6 rows, each with its own feature, and three splits of it."""
    rows = "".join(f"{row % 2} {row}:1\n" for row in range(6))
    (tmp_path / "data.txt").write_text(f"6 6 2\n{rows}")
    (tmp_path / "toy_trSplit.txt").write_text("1 6 2\n2 5 3\n3 4 4\n4 3 5\n")
    (tmp_path / "toy_tstSplit.txt").write_text("5 2 1\n6 1 6\n")
    return tmp_path


def test_split_files(cli, splits):
    data, train, test = (splits / name for name in ("data.txt", "toy_trSplit.txt", "toy_tstSplit.txt"))
    assert lw.read(data, split=train, split_column=2).x.indices.tolist() == [5, 4, 3, 2]
    done = cli("train", data, "--split", train, "--split-column", 3, "--out", splits / "m")
    assert done.code == 0, done.err
    assert "on 4 rows" in done.out
    assert json.loads(cli("evaluate", splits / "m", data, "--split", test, "--json").out)["n_rows"] == 2
    assert json.loads(cli("evaluate", splits / "m", data, "--split-column", 3, "--json").out)["n_rows"] == 2
    out = ["--out-train", splits / "a.svm", "--out-test", splits / "b.svm"]
    assert cli("data", "split", data, "--split-column", 2, *out).code == 0
    assert lw.read(splits / "b.svm", index_base=1).x.indices.tolist() == [1, 0]
    test.unlink()
    assert cli("data", "split", data, "--split", train, *out, "--force").code == 0
    assert lw.read(splits / "b.svm", index_base=1).x.indices.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("content", "column", "words"),
    [
        ("1 2\n", 3, "line 1: has 2 columns, but --split-column asks for 3"),
        ("1\n7\n", 1, "line 2: '7' is not a row number from 1 to 6"),
        ("0\n", 1, "line 1: '0' is not a row number from 1 to 6"),
        ("1\n1\n", 1, "row 1 stands in column 1 twice"),
        ("\n", 1, "no row numbers in it"),
    ],
)
def test_bad_split_files_are_refused(cli, splits, content, column, words):
    path = splits / "bad.txt"
    path.write_text(content)
    done = cli("data", "info", splits / "data.txt", "--split", path, "--split-column", column)
    assert (done.code, words in done.err) == (2, True), done.err


def test_two_split_files_must_be_named(cli, splits):
    (splits / "other_trSplit.txt").write_text("1\n")
    done = cli("data", "info", splits / "data.txt", "--split-column", 1)
    assert done.code == 2
    assert "there is other_trSplit.txt, toy_trSplit.txt; name one with --split" in done.err
    done = cli("data", "info", splits / "data.txt", "--split", splits / "toy_trSplit.txt", "--on-bad-row", "skip")
    assert "--split counts every row" in done.err


def test_a_lost_column_does_not_pass_unseen(tmp_path):
    with pytest.raises(lw.DataError, match="1 values of column 'sku' for 2 rows"):
        lw.Dataset(None, np.ones((2, 1)), texts=["a", "b"], columns={"sku": ["A1"]})


# small things that made people hesitate


def test_lists_of_json_lines_are_texts_in_a_spreadsheet(cli, shop, tmp_path):
    new = tmp_path / "new.jsonl"
    lines = [
        {"title": "Apple cake", "body": "", "tags": ["apple", "dessert"]},
        {"title": "Juice", "body": "", "tags": []},
    ]
    new.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "tagged.xlsx"
    assert cli("predict", shop[0], new, "--out", out, "-k", 1).code == 0
    head, first, second = cells(out)
    assert (first[head.index("tags")], second[head.index("tags")]) == ("apple;dessert", "")


def test_a_text_in_place_of_a_file_is_told_the_way(cli, shop):
    done = cli("predict", shop[0], "Apple cake with cream")
    assert done.code == 2
    assert f"no such file; a text comes from stdin: echo 'the text' | labelwood predict {shop[0]} -" in done.err


def test_a_value_for_an_option_without_one_is_named(cli, shop, tmp_path):
    done = cli("predict", shop[0], shop[1], "--out", tmp_path / "o.csv", "--reasons", "2")
    assert (done.code, "One argument too many, or an option that takes no value: '2'." in done.err) == (2, True)


def test_what_is_missing_is_explained(cli, shop):
    done = cli("train", shop[1])
    assert "Missing option '--out' / '-o': The folder to save the model in." in done.err


def test_a_named_language_is_told_of_the_trial_of_others(cli, tmp_path):
    rows = tmp_path / "hunde.csv"
    rows.write_text("text,labels\n" + "".join(f"Der Hund Nummer {n} bellt,{'ab'[n % 2]}\n" for n in range(2500)))
    done = cli("train", rows, "--lang", "de", "--model", "popular", "--assign", "none", "--out", tmp_path / "m")
    assert "--lang auto would try dictionary forms and runs of letters on held-out rows too" in done.err


def test_a_file_of_zeros_is_refused_in_a_short_line(cli, tmp_path):
    zeros = tmp_path / "zeros.csv"
    zeros.write_bytes(bytes(100_000))
    done = cli("train", zeros, "--out", tmp_path / "m")
    assert done.code == 2
    assert "no column looks like text" in done.err
    assert len(done.err) < 500
    assert "\0" not in done.err


def test_many_columns_are_not_all_listed(cli, tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{n}" for n in range(300)) + "\n" + ",".join("1" * 300) + "\n")
    assert "c8, c9 and 290 more" in cli("train", wide, "--out", tmp_path / "m").err


def test_nothing_is_learnt_from_a_file_that_is_no_table_of_the_tagger(cli, shop, tmp_path):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("left,right\n1,2\n")
    before = (shop[0] / "manifest.json").read_bytes()
    done = cli("learn", shop[0], wrong)
    assert done.code == 2
    assert "has no header line that is recognised, but the training table had one (title, body, tags)" in done.err
    assert (shop[0] / "manifest.json").read_bytes() == before
