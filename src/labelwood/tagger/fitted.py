"""FittedTagger: the words, the model and the names that a tagger answers with; immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, LabelwoodError, ModelFileError, ParamError
from labelwood.features.bag import BagVectorizer, FittedBag
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.features.tokens import as_texts
from labelwood.labelspace.names import name_ids, unknown_label
from labelwood.metrics.hierarchy import hierarchy_metrics
from labelwood.models.fitted import Fitted
from labelwood.models.persistence import restored, state_of
from labelwood.models.registry import model_class
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, part, prefixed
from labelwood.storage.words import packed, unpacked
from labelwood.tagger.allowed import allowed_answers
from labelwood.tagger.reasons import TagReason, Voter
from labelwood.topk import TopK, checked_k, empty
from labelwood.vocabulary.vocabulary import Vocabulary

KIND = "tagger"
MODEL, FEATURES, TEXTS, VOCABULARY = "model.", "features.", "texts.", "vocabulary."  # prefixes of the saved arrays
# The beginnings of the training texts, for models that name the rows that voted.
_TEXTS: Schema = {"utf8": ArrayRule("uint8", ("n_bytes",)), "ends": ArrayRule("int64", ("n_texts",), low=0)}
KEPT_CHARACTERS = 200

FittedWords = FittedTfidf | FittedBag
Vectorizers = type[TfidfVectorizer] | type[BagVectorizer]


def vectorizer_class(model_name: str) -> Vectorizers:
    """The vectorizer that makes what a model takes: tf-idf values, or counts of words and n-grams."""
    return BagVectorizer if model_class(model_name).text_features == "bag" else TfidfVectorizer


@dataclass(frozen=True, eq=False)
class FittedTagger:
    """What a tagger learnt: the words of its texts, the fitted model, and row texts where rows are reasons."""

    words: FittedWords
    model: Fitted[Any]
    texts: tuple[str, ...] | None = None
    vocabulary: Vocabulary | None = None

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of all labels."""
        return self.model.trained_on.label_names or ()

    @cached_property
    def ids(self) -> dict[str, int]:
        """Label name -> column."""
        return name_ids(self.label_names)

    def allowed(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> npt.NDArray[np.bool_] | None:
        """Which labels may be suggested, by the vocabulary; None if all of them."""
        include, exclude = list(include), list(exclude)
        if self.vocabulary is None:
            if include or exclude:
                raise ParamError("include and exclude need a tagger that was trained with a vocabulary")
            return None
        if not include and not exclude:
            return self._not_deprecated
        return self.vocabulary.allowed(self.label_names, include, exclude)

    @cached_property
    def _not_deprecated(self) -> npt.NDArray[np.bool_] | None:
        if self.vocabulary is None or not self.vocabulary.deprecated.any():
            return None
        fine = self.vocabulary.allowed(self.label_names)
        return None if fine.all() else fine

    # answering

    def rows(self, texts: Sequence[str], n_threads: int | None) -> sparse.csr_matrix:
        """What the model is asked with."""
        return self.model.inputs(self.words.rows(as_texts(texts), n_threads), texts)

    def predict(
        self,
        texts: Sequence[str],
        k: int,
        n_threads: int | None,
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> TopK:
        """The k best labels of each text that the vocabulary allows."""
        allowed = self.allowed(include, exclude)
        width = checked_k(k, self.model.n_labels)
        if not len(texts):
            return empty(0, width)
        if allowed is not None:
            x = self.rows(texts, n_threads)
            return allowed_answers(
                lambda rows, n: self.model.predict(x[rows], n, n_threads), allowed, len(texts), width
            )
        top = self.model.predict(self.rows(texts, n_threads), min(width, self.model.n_labels), n_threads)
        return top.cut(width)

    def explain(self, text: str, label: str, n_threads: int | None) -> TagReason:
        """Why one text gets a label."""
        if label not in self.ids:
            raise DataError(unknown_label(str(label), self.ids))
        why = self.model.explain(self.rows([text], n_threads), self.ids[label], n_threads)
        pushes = why.by_feature()
        rest = pushes.pop(-1, 0.0)
        names = self.words.words_behind(text, pushes)
        words = sorted(((names[f], push) for f, push in pushes.items()), key=lambda word: (-abs(word[1]), word[0]))
        voters = tuple(Voter(vote.row, self._text_of(vote.row), vote.contribution) for vote in why.voters())
        rest -= sum(voter.push for voter in voters)
        return TagReason(label, why.score, tuple(words), voters, rest, why)

    def _text_of(self, row: int) -> str:
        return self.texts[row] if self.texts is not None and row < len(self.texts) else ""

    def hierarchy_figures(
        self, top: TopK, y: sparse.csr_matrix, unknown: Sequence[str], ks: Sequence[int]
    ) -> dict[str, float]:
        """hP, hR and hF1 at each k where the vocabulary has broader concepts, else none; unknown: y's last columns."""
        if self.vocabulary is None or not len(self.vocabulary.broader):
            return {}
        return hierarchy_metrics(top, y, self.vocabulary.with_ancestors([*self.label_names, *unknown]), ks)

    # storage

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """(manifest fields, arrays) of the whole tagger; `restored_tagger` takes both back."""
        fields, arrays = state_of(self.model)
        fields["kind"] = KIND
        fields["facts"] = {"model": fields["facts"], "features": self.words.facts()}
        arrays = prefixed(MODEL, arrays) | prefixed(FEATURES, self.words.arrays())
        if self.texts is not None:
            arrays[f"{TEXTS}utf8"], arrays[f"{TEXTS}ends"] = packed(self.texts)
        if self.vocabulary is not None:
            fields["facts"]["vocabulary"] = self.vocabulary.facts()
            arrays |= prefixed(VOCABULARY, self.vocabulary.arrays())
        return fields, arrays

    def __copy__(self) -> FittedTagger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FittedTagger:
        return self  # it never changes

    def __reduce__(self) -> Any:
        return restored_tagger, self.state()


def restored_tagger(fields: Mapping[str, Any], arrays: Arrays) -> FittedTagger:
    """The tagger of saved fields and arrays; ModelFileError if its parts do not fit together."""
    facts = fields["facts"]
    if not {"model", "features"} <= set(facts) <= {"model", "features", "vocabulary"}:
        raise ModelFileError(
            f"tagger: its facts are 'model', 'features' and perhaps 'vocabulary', but here {sorted(facts)!r:.80}"
        )
    stray = [name for name in arrays if not name.startswith((MODEL, FEATURES, TEXTS, VOCABULARY))]
    if stray:
        raise ModelFileError(f"tagger: array {stray[0]!r:.80} belongs neither to the model nor to the features")
    model = restored({**fields, "facts": facts["model"]}, part(MODEL, arrays), "tagger")
    try:
        words = vectorizer_class(model.name).FittedState.restore(part(FEATURES, arrays), facts["features"])
        if model.trained_on.label_names is None:
            raise ModelFileError("a tagger needs label names, but there are none")
        if words.n_features != model.n_features:
            raise ModelFileError(f"{words.n_features} features for a model of {model.n_features}")
        texts = _restored_texts(part(TEXTS, arrays))
        vocabulary = _restored_vocabulary(part(VOCABULARY, arrays), facts.get("vocabulary"))
        tagger = FittedTagger(words, model, texts, vocabulary)
        _ = tagger.ids  # names that are not distinct are refused now
    except LabelwoodError as error:
        raise ModelFileError(f"tagger: {error}") from error
    return tagger


def _restored_vocabulary(arrays: Arrays, facts: Any) -> Vocabulary | None:
    if not arrays and facts is None:
        return None
    return Vocabulary.restore(arrays, facts)


def _restored_texts(arrays: Arrays) -> tuple[str, ...] | None:
    if not arrays:
        return None
    check_arrays(_TEXTS, arrays, {}, "texts")
    return unpacked(arrays["utf8"], arrays["ends"])
