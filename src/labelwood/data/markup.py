"""Markup: HTML -> what a reader sees of it: no tags, scripts, styles and comments; entities as their characters.

Browsers mend broken markup, so nothing is refused here: what is no tag is text. The time is in proportion to the text:
a comment or script that does not end takes all the rest, and a tag that does not end is given up at the next "<" that
is outside of quotes. A "<" may be inside the quotes of earlier tags, but of no more than two: a quote never brings two
readings of the same text together.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

# What follows the name of a tag: attributes whose quoted values may hold "<" and ">"; with a quote that is never closed
# everything up to the next ">".
_ATTRIBUTES = r"""(?:[^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*|[^<>]*)"""
_NAME_ENDS = r"""(?=[\s/>"'])"""
_MARKUP = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rf"|<(script|style|template|noscript){_NAME_ENDS}{_ATTRIBUTES}(?<!/)>.*?(?:</\1(?=[\s/>])[^<>]*>|\Z)"
    rf"""|</?(?P<tag>[a-z][^\s/<>"']*){_NAME_ENDS}{_ATTRIBUTES}>"""
    r"|<[!?][^<>]*>",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
# Python refuses numbers of thousands of digits, and no character has one.
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{12,}|[xX][0-9a-fA-F]{12,});?")
# Elements that end a word, for a reader sees them on lines or in boxes of their own; then those inside of lines.
_BLOCKS = (
    "address article aside audio blockquote body br button canvas caption center dd details dialog div dl dt embed "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input legend li "
    "main menu nav object ol optgroup option p picture pre search section select summary svg table tbody td textarea "
    "tfoot th thead title tr ul video"
)
_IN_LINES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span "
    "strike strong sub sup time tt u var"
)
_APART, _KNOWN = frozenset(_BLOCKS.split()), frozenset(f"{_BLOCKS} {_IN_LINES}".split())
_ENTITY = re.compile("&(?:[a-z][a-z0-9]{1,31}|#[0-9]{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)
SOFT_HYPHEN = "\xad"  # is not seen within a line
# Some exports escape the markup itself, once (&lt;p&gt;) or twice (&amp;lt;p&amp;gt;): then no "<" is left.
_ESCAPED = re.compile("&(?:amp;)*(?:lt|#0*60|#x0*3c);", re.IGNORECASE)
MOST_ESCAPES = 2
# Whether texts are HTML shows in so many of them, and in so many characters of each.
LOOKED_AT, LOOKED_AT_CHARACTERS = 1_000, 20_000
MOST = 0.5


def html_text(page: str) -> str:
    """What a reader of an HTML page sees: its text without tags, scripts and styles, a block a line."""
    return _trimmed(_visible(page.replace("\n", " ")))


def without_markup(text: str) -> str:
    """What a reader sees of a text that may be HTML; a text without markup and soft hyphens as it is."""
    if "<" not in text and "&" not in text and SOFT_HYPHEN not in text:
        return text
    one_line = _with_markup(text).replace("\n", " ")
    seen = _visible(one_line)
    return text if seen == text.replace("\n", " ") else _trimmed(seen)


def are_html(texts: Sequence[str]) -> bool:
    """Whether at least half of the texts that are not empty are marked up; of many some are looked at."""
    some = [text for text in texts[:: -(-len(texts) // LOOKED_AT) or 1] if text and not text.isspace()]
    return bool(some) and sum(map(_is_html, some)) >= MOST * len(some)


def _with_markup(text: str) -> str:
    """The text with its markup as markup: unescaped if it has none but what was escaped once or twice is HTML."""
    if "<" in text or not _ESCAPED.search(text):
        return text
    unescaped = text
    for _ in range(MOST_ESCAPES):
        unescaped = html.unescape(_NO_CHARACTER.sub(" ", unescaped))
        if "<" in unescaped:
            return unescaped if _has_elements(unescaped[:LOOKED_AT_CHARACTERS]) else text
    return text


def _is_html(text: str) -> bool:
    """Whether a text is marked up, or was before it was escaped."""
    text = _with_markup(text[:LOOKED_AT_CHARACTERS])
    return "<" in text and _has_elements(text)


def _has_elements(text: str) -> bool:
    """Whether a text has an element with its end, a line break, or an entity beside a tag."""
    opened: set[str] = set()
    closed: set[str] = set()
    for match in _MARKUP.finditer(text):
        name = (match["tag"] or match[1] or "").lower()
        if name == "br":
            return True
        if match[1] and "</" in match[0]:  # a script or style, with its end
            return True
        if name in _KNOWN:
            (closed if match[0][1] == "/" else opened).add(name)
    return bool(opened & closed) or (bool(opened | closed) and _ENTITY.search(text) is not None)


def _visible(text: str) -> str:
    """The text without markup, a line break at each element that ends a word."""
    if "<" in text:
        text = _MARKUP.sub(_break, text)
    if "&" in text:
        text = html.unescape(_NO_CHARACTER.sub(" ", text))
    return text.replace(SOFT_HYPHEN, "")


def _trimmed(text: str) -> str:
    """The text without empty lines, and with single spaces."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _break(match: re.Match[str]) -> str:
    """A line break in place of an element that ends a word, nothing in place of others."""
    tag = match["tag"]
    return "\n" if tag is not None and tag.lower() in _APART else ""
