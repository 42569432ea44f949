"""The tokenizer's Unicode tables against the running Python, for the code points that both know."""

import unicodedata

from labelwood import _native
from labelwood.features.tfidf import TfidfVectorizer

WORD, SPACE, CASED, IGNORABLE, HAS_LOWER = 1, 2, 4, 8, 16
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
# Characters that a later version of Unicode changed: the version. 1734 was a mark that str.lower looks past.
CHANGED = {0x1734: (14, 0, 0)}
SAME_VERSION = _native.unicode_version() == unicodedata.unidata_version


def version(text):
    return tuple(int(part) for part in text.split("."))


def known_to_both(code, ours):
    """False for characters that only the newer of the two Unicode versions has, or that it changed."""
    if SAME_VERSION:
        return True
    if code in CHANGED:
        return (version(unicodedata.unidata_version) < CHANGED[code]) == (
            version(_native.unicode_version()) < CHANGED[code]
        )
    if version(unicodedata.unidata_version) < version(_native.unicode_version()):
        return unicodedata.category(chr(code)) != "Cn"
    return ours != 0  # the newer Python may know more, but must not contradict what the table says


def python_class(code):
    char = chr(code)
    cased = (char + "\u03a3").lower().endswith("\u03c2")
    ignorable = not cased and ("A" + char + "\u03a3").lower().endswith("\u03c2")
    return (
        WORD * (char.isalnum() or char == "_")
        + SPACE * char.isspace()
        + CASED * cased
        + IGNORABLE * ignorable
        + HAS_LOWER * (char.lower() != char)
    )


def test_classes_are_pythons():
    different = []
    for code in CODES:
        ours = _native.unicode_class(code)
        if ours != python_class(code) and known_to_both(code, ours):
            different.append(hex(code))
    assert different == []


def test_ascii_and_outside_are_as_they_must_be():
    assert [chr(code) for code in range(128) if _native.unicode_class(code) & WORD] == [
        *"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    ]
    assert _native.unicode_class(0x110000) == 0
    assert _native.unicode_class(0xD800) == 0


def test_lower_case_of_every_character_is_pythons():
    chars = [chr(code) for code in CODES if chr(code) != "|"]
    found = "".join(TfidfVectorizer(analyzer="char").tokens("|".join(chars))).split("|")
    assert len(found) == len(chars)
    different = [
        char
        for char, ours in zip(chars, found, strict=True)
        if ours != char.lower() and known_to_both(ord(char), _native.unicode_class(ord(char)))
    ]
    assert different == []


def test_every_character_survives_decoding_and_encoding():
    chars = TfidfVectorizer(analyzer="char", lowercase=False)
    spaces = [code for code in CODES if chr(code).isspace()]
    text = "".join(chr(code) for code in CODES if code not in set(spaces))
    assert "".join(chars.tokens(text)) == text
    assert all(chars.tokens(chr(code)) == [chr(code)] for code in spaces)
