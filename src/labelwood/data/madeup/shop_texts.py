"""A readable catalogue of products with tags: texts for demonstrations and tests, made from our own grammar.

Tags follow from what a product is: its department, kind, material, features and use, and combinations of
them, as in "waterproof hiking boots". The text may name such a property or only describe it ("keeps you dry
in a downpour"), may mention other products, and a tagger forgets some tags: learnable, but not trivial.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.madeup.shop_words import ASIDES, BRANDS, CLOSINGS, DEPARTMENTS, FEATURES, MATERIALS, USES
from labelwood.errors import ParamError

# How often a true property is tagged.
TAGGED = {
    "department": 0.96,
    "kind": 0.98,
    "material": 0.4,
    "material kind": 0.55,
    "feature": 0.8,
    "feature kind": 0.45,
    "use": 0.85,
    "brand kind": 0.3,
}
FEATURE_ODDS = (0.5, 0.32, 0.2, 0.14)
USED = 0.7
WRONG_TAG = 0.03
NAMED = 0.6


@dataclass(frozen=True)
class _Kind:
    """One product kind and how often it is sold."""

    department: str
    tag: str
    other_name: str
    materials: tuple[str, ...]
    features: tuple[str, ...]
    uses: tuple[str, ...]
    share: float


def make_texts(n_rows: int, *, n_labels: int = 300, seed: int = 0) -> Dataset:
    """A catalogue of n_rows products: texts (title, line break, description) with the most usual tags.

    The columns depend on n_labels alone, so catalogues of different seeds fit together as training and test
    data.
    """
    if n_rows < 1:
        raise ParamError(f"n_rows must be at least 1, but is {n_rows}")
    if seed < 0:
        raise ParamError(f"seed must be from 0 up, but is {seed}")
    names = tag_names(n_labels)
    column = {name: place for place, name in enumerate(names)}
    random = _Draws(seed)
    texts, indices, indptr = [], [], [0]
    for _ in range(n_rows):
        text, tags = _product(random)
        texts.append(text)
        indices += sorted({column[tag] for tag in tags if tag in column})
        indptr.append(len(indices))
    y = sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(n_rows, len(names)))
    ids = [f"item-{row + 1:06d}" for row in range(n_rows)]
    return Dataset(None, y, texts, names, row_ids=ids, source=f"synthetic catalogue (seed {seed})")


def tag_names(n_labels: int) -> tuple[str, ...]:
    """The n_labels most usual tags of the catalogue, sorted by name."""
    ranked = _ranked_tags()
    if not 1 <= n_labels <= len(ranked):
        raise ParamError(f"n_labels must be from 1 to {len(ranked)}, the tags of the catalogue, but is {n_labels}")
    return tuple(sorted(ranked[:n_labels]))


class _Draws:
    """Choices from one stream of uniform numbers, which NumPy keeps the same between its versions."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.Generator(np.random.PCG64(seed))
        self._buffer: list[float] = []

    def uniform(self) -> float:
        if not self._buffer:
            self._buffer = self._source.random(4096).tolist()
        return self._buffer.pop()

    def chance(self, probability: float) -> bool:
        return self.uniform() < probability

    def one(self, items: Sequence[str]) -> str:
        return items[int(self.uniform() * len(items))]

    def weighted(self, shares: Sequence[float]) -> int:
        left = self.uniform() * sum(shares)
        for place, share in enumerate(shares):
            left -= share
            if left < 0:
                return place
        return len(shares) - 1


@functools.cache
def _kinds() -> tuple[_Kind, ...]:
    """All product kinds; popularity by Zipf's law, the first products of departments before the second."""
    places = [(place, department) for department, kinds in DEPARTMENTS.items() for place in range(len(kinds))]
    kinds = []
    for rank, (place, department) in enumerate(sorted(places, key=lambda item: item[0])):
        tag, other, materials, features, uses = DEPARTMENTS[department][place]
        words = [tuple(words.split(",")) for words in (materials, features, uses)]
        kinds.append(_Kind(department, tag, other, words[0], words[1], words[2], 1 / (rank + 4)))
    return tuple(kinds)


@functools.cache
def _ranked_tags() -> tuple[str, ...]:
    """Every tag, the most usual first, by the expected number of products that carry it."""
    expected: defaultdict[str, float] = defaultdict(float)
    brand_shares = _falling(len(BRANDS))
    total = sum(kind.share for kind in _kinds())
    for kind in _kinds():
        share = kind.share / total
        expected[kind.department] += share * TAGGED["department"]
        expected[kind.tag] += share * TAGGED["kind"]
        for material, part in zip(kind.materials, _falling(len(kind.materials)), strict=True):
            expected[material] += share * part * TAGGED["material"]
            expected[_with(material, kind)] += share * part * TAGGED["material kind"]
        for feature, odds in zip(kind.features, FEATURE_ODDS, strict=False):
            expected[feature] += share * odds * TAGGED["feature"]
            expected[_with(feature, kind)] += share * odds * TAGGED["feature kind"]
        for use in kind.uses:
            expected[use] += share * USED / len(kind.uses) * TAGGED["use"]
        for brand, part in zip(BRANDS, brand_shares, strict=True):
            expected[_with(brand, kind)] += share * part * TAGGED["brand kind"]
    return tuple(sorted(expected, key=lambda tag: (-expected[tag], tag)))


def _falling(n: int) -> list[float]:
    """Shares that fall like 1, 1/2, 1/3, ..."""
    weights = [1 / (place + 1) for place in range(n)]
    return [weight / sum(weights) for weight in weights]


def _with(word: str, kind: _Kind) -> str:
    return kind.tag if kind.tag.startswith(word) else f"{word} {kind.tag}"


def _product(random: _Draws) -> tuple[str, list[str]]:
    """(text, tags) of one product."""
    kinds = _kinds()
    kind = kinds[random.weighted(_kind_shares())]
    material = kind.materials[random.weighted(_falling(len(kind.materials)))]
    features = [word for word, odds in zip(kind.features, FEATURE_ODDS, strict=False) if random.chance(odds)]
    use = random.one(kind.uses) if random.chance(USED) else None
    brand = BRANDS[random.weighted(_falling(len(BRANDS)))]
    tags = _tags(random, kind, material, features, use, brand)
    return _text(random, kind, material, features, use, brand), tags


@functools.cache
def _kind_shares() -> tuple[float, ...]:
    return tuple(kind.share for kind in _kinds())


def _tags(random: _Draws, kind: _Kind, material: str, features: list[str], use: str | None, brand: str) -> list[str]:
    possible = [
        ("kind", kind.tag),
        ("department", kind.department),
        ("material", material),
        ("material kind", _with(material, kind)),
        ("brand kind", _with(brand, kind)),
    ]
    for feature in features:
        possible += [("feature", feature), ("feature kind", _with(feature, kind))]
    if use is not None:
        possible.append(("use", use))
    tags = [tag for sort, tag in possible if random.chance(TAGGED[sort])]
    if random.chance(WRONG_TAG):
        tags.append(random.one(tuple(FEATURES)))
    return tags or [kind.tag]


def _text(random: _Draws, kind: _Kind, material: str, features: list[str], use: str | None, brand: str) -> str:
    """Title and description; a property is named in the title, or told in a sentence that may not name it."""
    name = kind.tag if random.chance(0.75) else kind.other_name
    title = [brand] if random.chance(0.8) else []
    sentences = []
    for feature in features:
        if random.chance(NAMED / 2):
            title.append(feature)
        else:
            sentences.append(random.one(FEATURES[feature]))
    if random.chance(NAMED):
        title.append(material)
    if random.chance(0.6) or material not in title:
        sentences.append(random.one(MATERIALS[material]))
    title.append(name)
    if use is not None:
        sentences.append(random.one(USES[use]))
    if random.chance(0.12):
        sentences.append(random.one(ASIDES).format(other=random.one(tuple(other.tag for other in _kinds()))))
    if len(sentences) < 2 or random.chance(0.5):
        sentences.append(random.one(CLOSINGS))
    heading = " ".join(title)
    return f"{heading[0].upper()}{heading[1:]}\n{' '.join(sentences)}"
