"""A served tagger of HTML texts: answers, reasons, journal and reading are those of the tagger."""

import pytest

import labelwood as lw
from labelwood.tagger.journal import read_journal

TEXTS = [
    "<p>apple&nbsp;pie</p><ul><li>cream</li></ul>",
    "<p>orange &amp; ice <b>juice</b></p>",
    "<div class='x'>cream cake</div>",
    "<p>lemon juice<br>cold</p>",
] * 3
LABELS = [["dessert"], ["drink"], ["dessert", "cake"], ["drink"]] * 3
MARKED, SEEN = "<div>ice&nbsp;cream</div><p>cake</p>", "ice cream\ncake"


def test_it_reads_html_as_its_tagger_does(start, tmp_path, write_tokens):
    tagger = lw.Tagger(n_threads=1).fit(TEXTS, LABELS)
    tagger.save(tmp_path / "t")
    service = start({"t": tmp_path / "t"}, tokens=write_tokens, learn=True)
    with lw.Client(service.url, token="write-token") as client:
        (marked, seen), (mine,) = client.predict([MARKED, SEEN], k=3), tagger.predict([MARKED], k=3)
        assert marked == seen
        assert [name for name, _ in marked] == [name for name, _ in mine]
        assert [score for _, score in marked] == pytest.approx([score for _, score in mine], abs=1e-6)
        assert client.explain(MARKED, "cake").words == client.explain(SEEN, "cake").words
        assert client.explain(MARKED, "cake").text() == tagger.explain(MARKED, "cake").text()
        client.learn([MARKED], [["dessert"]])
    journal = read_journal(tmp_path / "t")
    assert journal is not None
    assert MARKED in str(journal)  # as it came
