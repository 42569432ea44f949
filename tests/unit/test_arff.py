"""Mulan and MEKA ARFF, sparse and dense, fine and damaged."""

from __future__ import annotations

import pytest

import labelwood as lw

HEAD = (
    "% a comment\n@relation 'music'\n\n@attribute 'loud, very' numeric\n@ATTRIBUTE tempo REAL\n"
    '@attribute "say \\"hi\\"" {0,1}\n@attribute happy {0,1}\n@attribute sad {0, 1}\n@data\n'
)
DENSE = HEAD + "0.5,0,1,1,0\n% between\n\n0,-2e1,0,0,0\n 1 , 2 , '1' , 1 , 1 \n"
SPARSE = HEAD + "{0 0.5, 2 1, 3 1}\n{1 -20}\n{4 1, 0 1, 1 2, 2 1, 3 1}\n"
X = [[0.5, 0, 1], [0, -20, 0], [1, 2, 1]]
Y = [[1, 0], [0, 0], [1, 1]]
XML = (
    '<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">'
    '<label name="{}"><label name="{}"/></label></labels>'
)


def check(data, y_first=False):
    assert data.x.toarray().tolist() == X
    assert data.y.toarray().tolist() == Y
    assert data.feature_names == ("loud, very", "tempo", 'say "hi"')
    assert data.label_names == ("happy", "sad")


@pytest.mark.parametrize("content", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_labels_from_mulan_xml(tmp_path, content):
    (tmp_path / "music.xml").write_text(XML.format("sad", "happy"))
    for name in ("music.arff", "music-train.arff"):
        (tmp_path / name).write_text(content)
        check(lw.read(tmp_path / name))


def test_labels_from_a_count(tmp_path):
    (tmp_path / "music.arff").write_text(DENSE.replace("\n", "\r\n"))
    check(lw.read(tmp_path / "music.arff", n_labels=2))


def test_labels_from_meka(tmp_path):
    path = tmp_path / "music.arff"
    path.write_text(SPARSE.replace("'music'", "'music: -C -2 -split-number 3'"))
    check(lw.read(path))
    path.write_text(
        "@relation 'music: -C 2'\n@attribute happy {0,1}\n@attribute sad {0,1}\n@attribute x numeric\n"
        "@data\n1,0,3\n{2 4}\n"
    )
    data = lw.read(path)
    assert data.y.toarray().tolist() == [[1, 0], [0, 0]]
    assert data.x.toarray().tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "the file ends before @data"),
        ("@relation x\n@attribute a numeric\n", 2, "the file ends before @data"),
        ("@relation x\n@data\n", 2, "@data comes before any @attribute"),
        ("@relation x\nhello\n", 2, "expected @relation, @attribute or @data, but got 'hello'"),
        ("@relation x\n@attribute a\n", 2, "expected `@attribute name type`"),
        ("@relation x\n@attribute a string\n", 2, "attribute 'a' is of type 'string'"),
        ("@relation x\n@attribute a {red,blue}\n", 2, "takes values {red,blue} that are not numbers"),
        (HEAD, 9, "there are no rows"),
        (HEAD + "1,2,1,1\n", 10, "4 values for 5 attributes"),
        (HEAD + "1,2,1,1,0\n1,?,1,1,0\n", 11, "attribute 'tempo' is missing ('?')"),
        (HEAD + "{1 ?}\n", 10, "attribute 'tempo' is missing ('?')"),
        (HEAD + "1,x,1,1,0\n", 10, "attribute 'tempo' is 'x', which is not a number"),
        (HEAD + "1,1_0,1,1,0\n", 10, "attribute 'tempo' is '1_0', which is not a number"),
        (HEAD + "1,nan,1,1,0\n", 10, "attribute 'tempo' is nan; not a finite"),
        (HEAD + "1,1e39,1,1,0\n", 10, "attribute 'tempo' is 1e+39; not a finite"),
        (HEAD + "{1 inf}\n", 10, "attribute 'tempo' is inf; not a finite"),
        (HEAD + "1,1,1,2,0\n", 10, "label 'happy' is 2; a label is 0 or 1"),
        (HEAD + "1,1,3,1,0\n", 10, "is 3, which is not among its declared values"),
        (HEAD + "{5 1}\n", 10, "attribute 5 is outside 0..4"),
        (HEAD + "{-1 1}\n", 10, "expected `attribute value`, but got '-1 1'"),
        (HEAD + "{1 1, 1 2}\n", 10, "attribute 1 comes twice"),
        (HEAD + "{1 1\n", 10, "must end with '}'"),
        (HEAD + "{1 1,}\n", 10, "expected `attribute value`, but got ''"),
        (HEAD.replace("sad {0, 1}", "sad {1,0}") + "{1 1}\n", 10, "that of 'sad' is not 0"),
    ],
)
def test_damage_names_file_and_line(tmp_path, content, line, message):
    path = tmp_path / "bad.arff"
    path.write_text(content)
    with pytest.raises(lw.DataError) as caught:
        lw.read(path, n_labels=2)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert message in str(caught.value)


def test_bad_rows_are_skipped_and_counted(tmp_path):
    path = tmp_path / "bad.arff"
    path.write_text(HEAD + "0.5,0,1,1,0\n?,0,0,0,0\n0,-20,0,0,0\n{9 9}\n1,2,1,1,1\n")
    data = lw.read(path, n_labels=2, on_bad_row="skip")
    check(data)
    (note,) = data.notes
    assert "skipped 2 bad rows (line 11: " in note


def test_labels_that_are_not_told_or_do_not_fit(tmp_path):
    path = tmp_path / "music.arff"
    path.write_text(DENSE)
    with pytest.raises(lw.DataError, match="which attributes are labels is not known"):
        lw.read(path)
    with pytest.raises(lw.ParamError, match="n_labels must be from 1 to the 5"):
        lw.read(path, n_labels=6)
    path.write_text(DENSE.replace("'music'", "'m: -C 9'"))
    with pytest.raises(lw.DataError, match="says `-C 9`, but there are 5 attributes"):
        lw.read(path)
    for xml, message in (
        (XML.format("sad", "angry"), "label 'angry' is no attribute"),
        ("<labels></labels>", "names no labels"),
        ("<labels><label", r"music\.xml, line 1: damaged XML"),
    ):
        (tmp_path / "music.xml").write_text(xml)
        with pytest.raises(lw.DataError, match=message):
            lw.read(path)
