"""Tables whose columns are named in other languages than English, as people export them: read without being asked."""

import openpyxl
import pytest

import labelwood as lw

# (header, a cell of text, what it is joined from), with tags that commas separate
TABLES = {
    "German": ("Artikelnr;Titel;Beschreibung;Preis;Schlagwörter", "Titel + Beschreibung", "Schlagwörter"),
    "German, capitals": ("ARTIKELNR;TITEL;INHALT;PREIS;SCHLAGWOERTER", "TITEL + INHALT", "SCHLAGWOERTER"),
    "Finnish": ("Tunnus;Otsikko;Kuvaus;Hinta;Asiasanat", "Otsikko + Kuvaus", "Asiasanat"),
    "Swedish": ("Nr;Rubrik;Innehåll;Pris;Ämnesord", "Rubrik + Innehåll", "Ämnesord"),
    "French": ("Réf;Titre;Résumé;Prix;Mots-clés", "Titre + Résumé", "Mots-clés"),
    "French, plain": ("Ref;titre;resume;Prix;mots_cles", "titre + resume", "mots_cles"),
    "Spanish": ("Ref;Título;Descripción;Precio;Etiquetas", "Título + Descripción", "Etiquetas"),
    "Italian": ("Rif;Titolo;Descrizione;Prezzo;Parole chiave", "Titolo + Descrizione", "Parole chiave"),
}
ROWS = [
    ("1", "Äpfel aus Schöndorf", "frisch gepflückt", "1,20", "Obst, süß"),
    ("2", "Crème brûlée", "für zwei", "4,50", "Nachtisch, süß"),
    ("3", "Birnen", "reif und süß", "2,10", "Obst"),
]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig"])
@pytest.mark.parametrize("language", TABLES)
def test_columns_are_found_and_told(cli, tmp_path, language, encoding):
    header, text, labels = TABLES[language]
    path = tmp_path / "export.csv"
    path.write_bytes("".join(f"{line}\r\n" for line in [header, *map(";".join, ROWS)]).encode(encoding))
    done = cli("train", path, "--out", tmp_path / "m", "--threads", 1)
    assert done.code == 0, done.err
    assert f"note: text taken from column {text} (guessed)\n" in done.err
    assert f"note: labels taken from column {labels} (guessed)\n" in done.err
    data = lw.read(path)
    assert data.texts[1] == "Crème brûlée\nfür zwei"
    assert data.label_names == ("Nachtisch", "Obst", "süß")
    if language == "Finnish":
        assert data.row_ids == ("1", "2", "3")
    # New rows without the label column come back with tags beside them, also in a spreadsheet.
    out = tmp_path / "tagged.csv"
    assert cli("predict", tmp_path / "m", path, "-k", 1, "--out", out).code == 0
    assert out.read_text("utf-8-sig").splitlines()[0] == f"{header};tags;scores"


def test_a_spreadsheet_with_german_names(cli, tmp_path):
    book = openpyxl.Workbook()
    for row in [TABLES["German"][0].split(";"), *ROWS]:
        book.active.append(list(row))
    book.save(tmp_path / "Artikel.xlsx")
    done = cli("data", "info", tmp_path / "Artikel.xlsx")
    assert done.code == 0, done.err
    assert lw.read(tmp_path / "Artikel.xlsx").texts[0] == "Äpfel aus Schöndorf\nfrisch gepflückt"


def test_english_names_come_first(tmp_path):
    (tmp_path / "rows.csv").write_text("Beschreibung,description,Kategorien,tags\neins,one,zwei,two\n")
    data = lw.read(tmp_path / "rows.csv")
    assert data.texts == ("one",)
    assert data.label_names == ("two",)


def test_other_columns_that_fit_are_told(cli, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("Titel;Beschreibung;Schlagwörter;Kategorien\nApfel;rund;Obst;Essen\nBirne;süß;Obst;Essen\n")
    done = cli("train", path, "--out", tmp_path / "m", "--threads", 1)
    assert "note: labels taken from column Schlagwörter (guessed; Kategorien would fit, too)" in done.err
    done = cli("train", path, "--labels", "Schlagwörter,Kategorien", "--out", tmp_path / "n", "--threads", 1)
    assert done.code == 0, done.err
    assert "labels taken from" not in done.err


def test_two_columns_with_foreign_names_have_a_header(tmp_path):
    (tmp_path / "rows.csv").write_text("Asiasanat;Otsikko\nkoirat;Koiran hoito\nkissat;Kissan hoito\n")
    data = lw.read(tmp_path / "rows.csv")
    assert data.texts == ("Koiran hoito", "Kissan hoito")
    assert data.label_names == ("kissat", "koirat")


def test_a_split_keeps_every_column(cli, tmp_path):
    path, parts = tmp_path / "Artikel.csv", (tmp_path / "train.csv", tmp_path / "test.xlsx")
    lines = [TABLES["German"][0], *(f"{number};{';'.join(row[1:])}" for number, row in enumerate(ROWS * 4))]
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    done = cli("data", "split", path, "--test", 0.25, "--out-train", parts[0], "--out-test", parts[1])
    assert done.code == 0, done.err
    assert done.err.count("note: text taken from") == 1
    train = parts[0].read_text("utf-8-sig").splitlines()
    assert train[0] == lines[0]
    assert set(train[1:]) < set(lines[1:])
    sheet = [list(row) for row in openpyxl.load_workbook(parts[1]).active.iter_rows(values_only=True)]
    assert sheet[0] == lines[0].split(";")
    assert {";".join(row) for row in sheet[1:]} == set(lines[1:]) - set(train[1:])
    assert cli("train", parts[0], "--out", tmp_path / "m", "--threads", 1).code == 0
    done = cli("evaluate", tmp_path / "m", parts[1])
    assert done.code == 0, done.err
    assert "are not in this file" not in done.err


def test_a_split_keeps_the_lines_of_a_text_together(cli, tmp_path):
    path, parts = tmp_path / "rows.csv", [tmp_path / "train.csv", tmp_path / "test.csv"]
    lines = [f"{text},{tag}\n" for text in "abcdefghij" for tag in ("x", "y", "z")]
    path.write_text("text,tag\n" + "".join(f"text {line}" for line in lines))
    assert cli("data", "split", path, "--out-train", parts[0], "--out-test", parts[1]).code == 0
    train, test = map(lw.read, parts)
    assert (train.n_rows, test.n_rows) == (8, 2)
    assert not set(train.texts) & set(test.texts)
    assert train.y.nnz == 24
