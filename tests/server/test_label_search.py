"""Searching names: beginnings first, then words inside, in any language, as a plain scan finds them."""

import random
import time

import pytest

from labelwood.server.label_search import LabelSearch, plain_form

NAMES = [
    "Data protection",
    "protection of data",
    "Café au lait",
    "data",
    "Straße",
    "ÜBERSEE",
    "食品 安全",
    "x-ray",
    "",
    "Data",
]


def test_beginnings_then_words():
    search = LabelSearch(NAMES)
    assert [NAMES[label] for label in search.find("data", 10)] == [
        "data",
        "Data",
        "Data protection",
        "protection of data",
    ]
    assert [NAMES[label] for label in search.find("PROT", 10)] == ["protection of data", "Data protection"]
    assert [NAMES[label] for label in search.find("cafe", 10)] == ["Café au lait"]
    assert [NAMES[label] for label in search.find("café  AU", 10)] == ["Café au lait"]
    assert [NAMES[label] for label in search.find("strasse", 10)] == ["Straße"]
    assert [NAMES[label] for label in search.find("uber", 10)] == ["ÜBERSEE"]
    assert [NAMES[label] for label in search.find("安", 10)] == ["食品 安全"]
    assert [NAMES[label] for label in search.find("ray", 10)] == ["x-ray"]
    assert search.find("otection", 10) == []
    assert len(search.find("", 3)) == 3
    assert search.find("data", 1) == [3]


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_what_a_scan_finds(seed):
    chance = random.Random(seed)
    words = ["a", "ab", "abc", "éa", "b", "ba", "long" * 9, "long" * 9 + "er"]
    names = [" ".join(chance.choices(words, k=chance.randint(1, 4))) for _ in range(200)]
    search = LabelSearch(names)
    for question in ("a", "ab", "b a", "e", "long" * 9, "long" * 9 + "e", "long" * 8 + "x", "a long"):
        plain = [plain_form(name) for name in names]
        wanted = {i for i, name in enumerate(plain) if f" {name}".find(f" {question}") >= 0}
        assert set(search.find(question, 1000)) == wanted


def test_a_large_vocabulary_is_searched_quickly():
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghij", k=5)) for _ in range(2000)]
    search = LabelSearch([" ".join(chance.choices(words, k=3)) for _ in range(50_000)])
    times = []
    for question in ("a", "ab", "abc", words[0], f"{words[1]} {words[2]}", "zzz") * 5:
        started = time.perf_counter()
        search.find(question, 20)
        times.append(time.perf_counter() - started)
    assert sorted(times)[len(times) // 2] < 0.005
