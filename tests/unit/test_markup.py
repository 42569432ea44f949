"""HTML texts: what a reader sees of them, when texts count as HTML, and that no text takes long or grows."""

import html
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwood as lw
from labelwood.cli.choices import words_choice
from labelwood.data.markup import are_html, html_text, without_markup
from labelwood.errors import ParamError
from labelwood.features.bag import BagVectorizer
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tokens import as_read

PRODUCT = '<div class="desc"><p>Straw&nbsp;<b>hat</b></p><ul><li>Size&nbsp;5</li><li>Cotton &amp; linen</li></ul></div>'
LONG = 100_000


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (PRODUCT, "Straw hat\nSize 5\nCotton & linen"),
        ("<title>T</title><script>a<b</script><p>One <b>two</b>\nthree<br>four &lt;5&gt;</p><ul><li>x<li>y</ul>",
         "T\nOne two three\nfour <5>\nx\ny"),
        ("<b>bo</b>ld and <I>italic</I>", "bold and italic"),
        ("<td>one</td><td>two</td><TR>three<BR/>four", "one\ntwo\nthree\nfour"),
        ("a<!-- <b>hidden</b> -->b<!-->c<!--->d", "abcd"),
        ("<style>p { color: red }</style>red<SCRIPT src='x'>if (1 < 2) '</p>'</Script >dress", "reddress"),
        ("<script src='x' />after", "after"),
        ("<noscript>no</noscript><template><p>no</p></template>yes", "yes"),
        ("""<img alt="a > b <i>" src='x">'>text""", "text"),
        ("<a href=\"x>link</a> and <p title='y>more", "link and\nmore"),
        ("<!DOCTYPE html><?xml version='1'?><![CDATA[x]]><o:p>Office</o:p><my-box>box</my-box>", "Officebox"),
        ("&eacute;t&#233; &#x20AC;5 &quot;x&quot; soft&shy;ware", "été €5 \"x\" software"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),  # decoded once
    ],
)  # fmt: skip
def test_what_a_reader_sees(text, seen):
    assert without_markup(text) == html_text(text) == seen


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("text", [PRODUCT, "Line<br/>break", "<p>Five &lt; six</p>", "x\n<b>bold</b>\ny"])
def test_markup_that_was_escaped_is_markup(text, times):
    escaped = text
    for _ in range(times):
        escaped = html.escape(escaped)
    assert "<" not in escaped
    assert without_markup(escaped) == without_markup(text)
    assert are_html([escaped])


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Write &lt;p&gt; before it", "Write <p> before it"),  # no element that ends: a text about markup
        ("5 &lt; 6 &amp;lt; 7", "5 < 6 &lt; 7"),
        ("<p>Write &lt;b&gt;x&lt;/b&gt;</p>", "Write <b>x</b>"),  # markup of its own: what is escaped is text
        (html.escape(html.escape(html.escape("<p>x</p>"))), html.escape(html.escape("<p>x</p>"))),
    ],
)
def test_other_escaped_signs_are_decoded_once(text, seen):
    assert without_markup(text) == seen


@pytest.mark.parametrize(
    "text",
    ["", "&", "& &;", "<<>>", " \n two  spaces\n", "5 < 6 and 7 > 6", "R&D at AT&T", "a <- b -> c <3 <", "</>", "<1>"],
)  # fmt: skip
def test_what_is_no_markup_stays_as_it_is(text):
    assert without_markup(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("<p>cut off <b", "cut off <b"),
        ("cut off <a href='x", "cut off <a href='x"),
        ("before <!-- never closed <p>x</p>", "before"),
        ("before <script>never closed <p>x</p>", "before"),
        ("</p></div>only ends</b>", "only ends"),
        ("<p><p><p><b>never closed", "never closed"),
        ("<b <i>two</i>", "<b two"),
    ],
)  # fmt: skip
def test_broken_markup_is_mended_as_browsers_do(text, seen):
    assert without_markup(text) == seen


def test_impossible_characters_are_no_error():
    seen = without_markup("x &#xD800; &#0; &#99999999; &#" + "9" * 5000 + "; &#x" + "f" * 5000 + " y")
    assert seen.split()[0] == "x"
    assert seen.split()[-1] == "y"
    seen.encode()


UNITS = ["<", "<a", "</", "<!", "<!--", "<script>", "<script ", "</script", "<style></style"]
SIGNS = ["&", "&a", "&notit", "&#9", "&#x", "&amp;", "&lt;", "&amp;lt;", "&lt;p&gt;", "&#60;a "]
QUOTED = ['<a "', "<a \"'", '<a \'""', "<a =\"'", "<a \"<b '", '<template "', "<br ='"]


FRONTS = [
    ("<", "a"),
    ("<a", " "),
    ("<a ", "x"),
    ("<a ", '"'),
    ('<a "', '"'),
    ("<!--", "-"),
    ("&#", "9"),
    ("<script>", "</script"),
]


@pytest.mark.parametrize(("front", "unit"), [*(("", unit) for unit in UNITS + SIGNS + QUOTED), *FRONTS])
def test_no_text_takes_long(front, unit):
    text = front + unit * (LONG // len(unit))
    begin = time.process_time()
    assert len(without_markup(text)) <= len(text)
    are_html([text])
    assert time.process_time() - begin < 0.5  # some 20 ms; a slow pattern takes minutes


def test_no_mixture_takes_long():
    draw = random.Random(7)
    for _ in range(40):
        unit = "".join(draw.choices(["<a ", "<script ", '"', "'", "<", "x ", "<!--", "&#", "=", ">", "</script"], k=7))
        begin = time.process_time()
        assert len(without_markup(unit * (LONG // len(unit)))) <= LONG
        assert time.process_time() - begin < 0.5, unit


@given(st.text(st.characters(exclude_characters="<&\xad", exclude_categories=())))
@settings(max_examples=200, deadline=None)
def test_texts_without_signs_of_markup_are_the_same_object(text):
    assert without_markup(text) is text


PIECES = [
    "<p>", "</p>", "<b", "<br/>", "<!--", "-->", "&amp;", "&lt;", "&amp;lt;p&amp;gt;", "&#", "'", '"', ">", "<script>",
    "a b", "\n", "é",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)))
@settings(max_examples=300, deadline=None)
def test_nothing_fails_or_grows(parts):
    text = "".join(parts)
    assert len(without_markup(text)) <= len(text)
    html_text(text)


def test_when_texts_are_html():
    assert are_html([PRODUCT, "plain", ""])  # the empty one has no say
    assert are_html(["one<br>two"])
    assert are_html(["<li>two&nbsp;words"])
    assert are_html(["<style>p{}</style>"])
    assert not are_html([])
    assert not are_html(["", " "])
    assert not are_html([PRODUCT, "plain", "plain"])
    assert not are_html(["how do I centre a <div> in a <span>", "a script in <script> is", "R&D &amp; more"])
    assert not are_html(["List<String> and </String>", "<foo>bar</foo>"])
    assert are_html([PRODUCT] * 3_000 + ["plain"] * 2_999)
    assert not are_html([PRODUCT] * 2_900 + ["plain"] * 3_100)


@pytest.mark.parametrize("kind", [TfidfVectorizer, BagVectorizer])
def test_vectorizers_read_html_if_they_are_told(kind):
    vectorizer = kind(markup=True)
    rows = vectorizer.fit_transform([PRODUCT, "a <p>scarf</p>"])
    words = set(vectorizer.feature_names)
    assert {"straw", "hat", "size", "cotton", "linen", "scarf"} <= words
    assert not {"div", "class", "desc", "nbsp", "amp"} & words
    assert (vectorizer.transform([PRODUCT, "a <p>scarf</p>"]) != rows).nnz == 0
    restored = kind.from_arrays(vectorizer.fitted_.arrays(), vectorizer.fitted_.facts())
    assert (restored.transform([PRODUCT]) != rows[0]).nnz == 0
    assert "div" in kind().fit([PRODUCT]).feature_names
    with pytest.raises(ParamError, match="markup must be True or False"):
        kind(markup="yes").fit([PRODUCT])


def test_a_vectorizer_of_html_takes_more_html():
    vectorizer = TfidfVectorizer(markup=True).fit([PRODUCT])
    vectorizer.partial_fit(["<section>wool</section>", "caf&eacute; cafe&#769;"])
    assert "wool" in vectorizer.vocabulary_
    assert "section" not in vectorizer.vocabulary_
    assert "café" in vectorizer.vocabulary_
    assert vectorizer.tokens("<i>Wool</i>") == ["wool"]


def test_old_states_read_texts_as_before():
    state = TfidfVectorizer().fit([PRODUCT]).fitted_
    facts = state.facts()
    del facts["parameters"]["markup"]
    assert not TfidfVectorizer.from_arrays(state.arrays(), facts).fitted_.parameters.markup


def test_texts_are_composed_after_they_are_read():
    assert as_read(["<p>cafe&#769;</p>"], True) == ("café",)
    assert as_read(["<p>cafe\N{COMBINING ACUTE ACCENT}</p>"], False) == ("<p>café</p>",)


SHOP = [
    ("<p class='sea'>Towel for the <b>beach</b></p>", ["beach"]),
    ("<p class='sea'>Straw&nbsp;hat, beach &amp; sun</p>", ["beach", "hats"]),
    ("<div>Wool hat<script>track('hat')</script></div>", ["hats"]),
    ("<ul><li>Lamp</li><li>oak</li></ul>", ["home"]),
    ("Oak table", ["home"]),
] * 4


@pytest.mark.parametrize("model", ["auto", "linear-tree", "hsoftmax", "ensemble"])
def test_a_tagger_learns_from_what_a_reader_sees(model):
    texts, labels = [text for text, _ in SHOP], [names for _, names in SHOP]
    tagger = lw.Tagger(model, n_threads=1).fit(texts, labels)
    (note,) = [note for note in tagger.notes_ if "HTML" in note]
    assert note.startswith("the texts are HTML: learned from what a reader sees of them")
    words = set(tagger.vectorizer_.feature_names)
    assert not {"nbsp", "class", "sea", "li", "track", "script"} & words
    plain = lw.Tagger(model, n_threads=1).fit([without_markup(text) for text in texts], labels)
    assert words == set(plain.vectorizer_.feature_names)
    asked, seen = "<td>Towel</td><td>oak&nbsp;hat</td>", "Towel\noak hat"
    assert tagger.predict([asked], k=3) == plain.predict([seen], k=3) == tagger.predict([seen], k=3)
    assert tagger.explain(asked).words == plain.explain(seen).words
    raw = lw.Tagger(model, n_threads=1, features={"markup": False}).fit(texts, labels)
    assert "nbsp" in raw.vectorizer_.feature_names
    assert not any("HTML" in note for note in raw.notes_)


def test_a_text_about_tags_stays_as_it_is_in_plain_data():
    said = ("centre a <div>block</div> with css", "python list comprehension", "sort a list in python")
    texts = [f"{text} {number}" for number in range(4) for text in said]
    tagger = lw.Tagger(n_threads=1).fit(texts, [["css"], ["python"], ["python"]] * 4)
    assert "div" in tagger.vectorizer_.feature_names
    assert tagger.notes_ == ()
    told = lw.Tagger(n_threads=1, features={"markup": True}).fit(texts, [["css"], ["python"], ["python"]] * 4)
    assert "div" not in told.vectorizer_.feature_names
    assert told.notes_ == ()


def test_a_saved_tagger_reads_and_learns_html(tmp_path):
    texts, labels = [text for text, _ in SHOP], [names for _, names in SHOP]
    tagger = lw.Tagger(n_threads=1).fit(texts, labels)
    tagger.save(tmp_path / "t")
    loaded = lw.load(tmp_path / "t")
    asked = "<p>hat&nbsp;lamp</p>"
    assert loaded.predict([asked]) == tagger.predict([asked])
    learnt = loaded.learn(["<section>Wool&nbsp;scarf</section>", SHOP[0][0]], [["scarves"], ["beach", "home"]])
    assert (learnt.n_new, learnt.n_corrected) == (1, 1)  # the text is found again as it came
    assert "section" not in loaded.vectorizer_.feature_names
    assert loaded.predict(["<i>scarf</i>"], k=1)[0][0][0] == "scarves"
    again = lw.Tagger.from_fitted(loaded.fitted_).fit(texts, labels)
    assert again.vectorizer_.feature_names == tagger.vectorizer_.feature_names


def test_corrected_texts_are_answered_as_they_were_corrected():
    texts, labels = [text for text, _ in SHOP], [names for _, names in SHOP]
    tagger = lw.Tagger("hsoftmax", n_threads=1, keep_rows=True).fit(texts, labels)
    assert tagger.learn(["<p>Very <b>odd</b> thing</p>"], [["home"]]).how == "kept"
    assert tagger.predict(["<p>Very <b>odd</b> thing</p>"], k=1)[0][0][0] == "home"


def test_the_language_of_html_is_that_of_its_words():
    style = '<div class="the and of"><p style="color: of the and">{}</p></div>'
    german = [style.format("Der Hut ist aus Stroh und für den Strand")] * 5
    (why,) = words_choice(german, views=False)[1]
    assert "the texts look German" in why
    assert "German" not in words_choice(german, views=False, features={"markup": False})[1][0]


@pytest.mark.parametrize("text", ["<p>Do\xadnau</p>", "Do&shy;nau", "Do\xadnau", "<p>Do\xad&#110;au</p>"])
def test_a_soft_hyphen_is_not_seen_however_it_is_written(text):
    assert without_markup(text) == "Donau"
