"""Console: JSON without surprises, sizes and bars for people, tables that do not interpret names."""

import io
import json

import numpy as np
import pytest

from labelwood.cli import console


def test_json_has_only_what_json_knows(capsys):
    console.show_json(
        {"a": np.float32(0.5), "b": [np.nan, np.inf], "c": np.arange(2), 3: (1, "é"), "d": np.bool_(True)}
    )
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"a": 0.5, "b": [None, None], "c": [0, 1], "3": [1, "é"], "d": True}


def test_say_goes_to_stderr(capsys):
    console.say("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_sentences_are_broken_between_words_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "20")
    text = "the rows are kept in /a/very/long/path/of/a-folder here"
    assert console.prose(text, io.StringIO()) == text
    lines = console.prose(text, Terminal()).splitlines()
    assert lines == ["the rows are kept in", "/a/very/long/path/of/a-folder", "here"]


def test_tables_show_names_as_they_are(capsys):
    console.show_table("[bold]title", ("name", "value"), [("[red]x[/red]", "1"), ("\\[y]", "22")])
    out = capsys.readouterr().out
    for text in ("[bold]title", "[red]x[/red]", "\\[y]", "22"):
        assert text in out


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (3_200_000, "3.2 MB"),
        (5 * 10**9, "5.0 GB"),
        (10**15, "1000.0 TB"),
    ],
)
def test_sizes(n_bytes, text):
    assert console.size(n_bytes) == text


def test_counts():
    assert [console.count(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]


def test_bars_show_size_and_sign():
    assert console.bar(1.0, 1.0, 4) == "████"
    assert console.bar(-0.5, 1.0, 4) == "░░"
    assert console.bar(0.0, 0.0) == ""
