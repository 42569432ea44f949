"""The hyper-parameters of TfidfVectorizer: scikit-learn's names, meanings and defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labelwood.errors import ParamError
from labelwood.features.languages import AUTO, Language, stop_words
from labelwood.params import Declared, Range, param

MARKUP = "the texts are HTML: only what a reader sees of them counts"


@dataclass(frozen=True)
class _CountOrShare(Range):
    """A whole number of rows, or a share of all rows from 0.0 to 1.0."""

    kind: type = float

    def __str__(self) -> str:
        return "a whole number of rows from 1 up, or a share from 0.0 to 1.0"

    def accepts(self, value: Any) -> bool:
        """True for 1, 2, 3, ... and for floats in 0.0..1.0."""
        if isinstance(value, bool):
            return False
        if isinstance(value, int):
            return value >= 1
        return isinstance(value, float) and 0.0 <= value <= 1.0

    def parse(self, text: str) -> int | float:
        """'2' is two rows, '0.5' is half of them."""
        try:
            return int(text)
        except ValueError:
            return float(text)


@dataclass(frozen=True)
class NgramRange(Range):
    """A pair (shortest, longest)."""

    kind: type = tuple

    def __str__(self) -> str:
        return "a pair (shortest, longest) of whole numbers with 1 <= shortest <= longest <= 100"

    def accepts(self, value: Any) -> bool:
        """True for pairs like (1, 2)."""
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            return False
        if any(isinstance(n, bool) or not isinstance(n, int) for n in value):
            return False
        return bool(1 <= value[0] <= value[1] <= 100)

    def parse(self, text: str) -> tuple[int, ...]:
        """'1-2' or '1,2' is (1, 2)."""
        return tuple(int(part) for part in text.strip("()[] ").replace(",", "-").split("-"))


@dataclass(frozen=True)
class WordList(Range):
    """A collection of words, the code of a language, or None."""

    kind: type = list

    def __str__(self) -> str:
        return (
            'None, a list of words, or the code of a language such as "de" (max_df=0.5, say, leaves out what stands in '
            "half of all texts, in any language)"
        )

    def accepts(self, value: Any) -> bool:
        """True for None, for codes of languages with a list, and for lists, tuples and sets of strings."""
        if value is None:
            return True
        if isinstance(value, str):
            return _has_stop_words(value)
        return isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(word, str) for word in value)

    def parse(self, text: str) -> list[str] | str | None:
        """'the,of,and' is a list of three; 'de' is the German list; 'none' is None."""
        if text.lower() in ("none", "null", ""):
            return None
        if _has_stop_words(text):
            return text
        return [word.strip() for word in text.split(",") if word.strip()]


def _has_stop_words(code: str) -> bool:
    try:
        return bool(stop_words(code))
    except ParamError:
        return False


def _field(default: Any, help: str, allowed: Range) -> Any:
    return dataclasses.field(default=default, metadata={"range": allowed, "help": help})


@dataclass(frozen=True)
class TfidfParams(Declared):
    """How texts become tf-idf rows."""

    analyzer: str = param(
        "word", "word or character n-grams (char_wb: inside words)", choices=("word", "char", "char_wb")
    )
    ngram_range: tuple[int, int] = _field((1, 1), "shortest and longest n-gram", NgramRange(tuple))
    min_df: int | float = _field(1, "leave out tokens that stand in fewer rows", _CountOrShare(float))
    max_df: int | float = _field(1.0, "leave out tokens that stand in more rows", _CountOrShare(float))
    max_features: int | None = param(None, "keep only the most frequent tokens", low=1, high=2**31 - 1, kind=int)
    sublinear_tf: bool = param(False, "1 + ln(count) in place of the count")
    use_idf: bool = param(True, "weigh by inverse document frequency")
    smooth_idf: bool = param(True, "add one to all document frequencies")
    norm: str | None = _field("l2", "scale rows to length 1", Range(str, choices=("l1", "l2"), optional=True))
    lowercase: bool = param(True, "lower-case the texts first")
    markup: bool = param(False, MARKUP)
    min_token_length: int = param(2, "leave out words with fewer characters", low=1, high=1000)
    stop_words: Iterable[str] | None = _field(None, "words to leave out", WordList(list))
    stems: str | None = _field(None, "the language of the texts: inflected words become their stems", Language())
    lemmas: bool = param(False, "with stems: dictionary forms where there are some (extra [languages])")
    hashing: int | None = param(
        None, "number of hash buckets used in place of a vocabulary", low=1, high=2**31 - 1, kind=int
    )
    n_threads: int | None = param(None, "threads to use; None: all processors", low=1, high=4096, kind=int)

    def check_together(self, owner: str) -> None:
        """Refuse combinations in which a parameter would silently do nothing."""
        if self.hashing is not None:
            for name in ("min_df", "max_df", "max_features"):
                if getattr(self, name) != self.defaults()[name]:
                    raise ParamError(
                        f"{owner}: {name} needs a vocabulary, and hashing has none; leave one of the two out"
                    )
        if self.stems is not None and self.hashing is not None:
            raise ParamError(f"{owner}: stems need a vocabulary, and hashing has none; leave one of the two out")
        if self.lemmas and self.stems is None:
            raise ParamError(f'{owner}: lemmas need a language; give it with stems, such as stems="fi"')
        if self.analyzer != "word":
            for name in ("stop_words", "min_token_length", "stems"):
                if getattr(self, name) != self.defaults()[name]:
                    raise ParamError(
                        f"{owner}: {name} works with analyzer='word' only, but analyzer is {self.analyzer!r}"
                    )

    def as_dict(self) -> dict[str, Any]:
        """Parameter name -> value, ready for JSON."""
        values = super().as_dict()
        values["ngram_range"] = list(self.ngram_range)
        if self.stop_words is not None and not isinstance(self.stop_words, str):
            values["stop_words"] = sorted(self.stop_words)
        return values

    def words_left_out(self) -> list[str]:
        """The stop words, those of a language spelled out."""
        if isinstance(self.stop_words, str):
            return stop_words(self.stop_words)
        return list(self.stop_words or ())

    def languages(self) -> tuple[str, ...]:
        """The codes of the languages whose words are stemmed; () for none, or where they are yet to be detected."""
        return () if self.stems in (None, AUTO) else tuple(dict.fromkeys(str(self.stems).split("+")))

    def as_given(self) -> dict[str, Any]:
        """Parameter name -> value, as the constructor takes it."""
        return {**self.as_dict(), "ngram_range": tuple(self.ngram_range)}

    def row_limit(self, name: str, n_rows: int) -> float:
        """min_df or max_df as a number of rows."""
        value = getattr(self, name)
        return float(value) if isinstance(value, int) else value * n_rows
