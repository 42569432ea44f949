"""Language codes, detection by frequent words, stop words."""

import pytest

from labelwood.errors import ParamError
from labelwood.features.languages import (
    NAMES,
    checked_codes,
    detect,
    in_syllables,
    language_name,
    language_of_each,
    languages_of,
    stop_words,
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The history of the railways in the north", "en"),
        ("Die Geschichte der Eisenbahn in den Alpen", "de"),
        ("Suomen rautateiden historia ja nykypäivä", "fi"),
        ("Järnvägarnas historia och framtid i Sverige", "sv"),
        ("L'histoire des chemins de fer dans les Alpes", "fr"),
        ("La historia de los ferrocarriles en el norte del país", "es"),
        ("История железных дорог в России и на Кавказе", "ru"),
        ("De geschiedenis van het spoor en de tram", "nl"),
    ],
)
def test_the_language_of_a_sentence(text, code):
    assert detect(text) == code


def test_a_text_without_frequent_words_has_no_language():
    assert detect("XPath 3.1") is None
    assert detect("") is None
    assert languages_of(["", "42"]) == ()


def test_a_tie_goes_to_the_letters():
    assert detect("koira ja kissa on eläin") == "fi"  # ja and on are Estonian too


def test_a_rare_language_of_the_data_does_not_count():
    texts = ["the end of the road"] * 19 + ["das Ende und der Anfang"]
    assert languages_of(texts) == ("en",)
    assert languages_of(texts + ["das Ende und der Anfang"] * 9) == ("en", "de")


def test_each_text_has_one_of_the_given_languages():
    assert language_of_each(["das Ende der Welt", "the end", "42"], ("en", "de")) == [1, 0, 0]


def test_codes_are_checked_and_named_once():
    assert checked_codes("fi+sv+fi", "--lang") == ("fi", "sv")
    with pytest.raises(ParamError, match=r"--lang: unknown language 'fj'; did you mean"):
        checked_codes("fj", "--lang")


def test_stop_words_of_a_language_without_a_list():
    assert "und" in stop_words("de")
    assert "yi" in NAMES
    with pytest.raises(ParamError, match="no list of stop words for 'yi'"):
        stop_words("yi")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("古代戦争のリアルタイム戦略ゲーム", True),
        ("500 B.C. から 500 A.D. の期間に焦点をあてています", True),
        ("这是一个用于管理数据库的工具", True),
        ("고대 전쟁 실시간 전략 게임", True),
        ("เกมกลยุทธ์แบบเรียลไทม์", True),
        ("a real-time strategy game about ancient warfare", False),
        ("the word 茶 means tea", False),
        ("стратегия в реальном времени", False),
        ("शतरंज का खेल", True),
        ("לוח שחמט", False),
        ("2024-11-19 42", False),
        ("", False),
    ],
)
def test_scripts_whose_words_no_space_tells_apart(text, expected):
    assert in_syllables([text]) is expected


def test_most_texts_decide_about_the_script():
    assert in_syllables(["お茶", "茶碗", "tea bowl", "", "42"])
    assert not in_syllables(["お茶", "tea bowl", "tea pot"])
    assert not in_syllables([])


def test_languages_in_syllables_have_codes():
    assert checked_codes("ja+th", "--lang") == ("ja", "th")
    assert language_name("zh") == "Chinese"
    with pytest.raises(ParamError, match="languages are named by their codes: 'ja' for 'Japanese'"):
        checked_codes("Japanese", "--lang")
