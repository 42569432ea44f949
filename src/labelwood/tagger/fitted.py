"""FittedTagger: the words, the model and the names that a tagger answers with; immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.calibration.fitted import FittedCalibration
from labelwood.errors import DataError, LabelwoodError, ModelFileError, ParamError
from labelwood.features.bag import BagVectorizer, FittedBag
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.features.tokens import as_texts
from labelwood.labelspace.names import name_ids, packed, unknown_label, unpacked
from labelwood.models.fitted import Fitted
from labelwood.models.persistence import restored, state_of
from labelwood.models.registry import model_class
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, part, prefixed
from labelwood.tagger.reasons import TagReason, Voter
from labelwood.topk import PAD, TopK, checked_k, empty

KIND = "tagger"
MODEL, FEATURES, TEXTS, CALIBRATION = "model.", "features.", "texts.", "calibration."  # prefixes of the saved arrays
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
    """What a tagger learnt: the words of its texts, the fitted model, and row texts where rows are reasons.

    calibration: how sure answers are and which labels are assigned, if that was learnt. fingerprint: of the training
    rows.
    """

    words: FittedWords
    model: Fitted[Any]
    texts: tuple[str, ...] | None = None
    calibration: FittedCalibration | None = None
    fingerprint: str | None = None

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of all labels."""
        return self.model.trained_on.label_names or ()

    @cached_property
    def ids(self) -> dict[str, int]:
        """Label name -> column."""
        return name_ids(self.label_names)

    # answering

    def rows(self, texts: Sequence[str], n_threads: int | None) -> sparse.csr_matrix:
        """What the model is asked with."""
        return self.model.inputs(self.words.rows(as_texts(texts), n_threads), texts)

    def predict(self, texts: Sequence[str], k: int, n_threads: int | None) -> TopK:
        """The k best labels of each text."""
        width = checked_k(k, self.model.n_labels)
        if not len(texts):
            return empty(0, width)
        top = self.model.predict(self.rows(texts, n_threads), min(width, self.model.n_labels), n_threads)
        return top.cut(width)

    def sure(self) -> FittedCalibration:
        """How sure answers are; ParamError if that was not learnt."""
        if self.calibration is None:
            raise ParamError(
                "this tagger has not learnt how sure it is: train it with assign='f1' (or another rule) "
                "on at least 50 rows with labels"
            )
        return self.calibration

    def known(self, texts: Sequence[str], n_threads: int | None) -> npt.NDArray[np.bool_]:
        """Which texts hold a word that the tagger knows."""
        return np.asarray(np.diff(self.words.rows(as_texts(texts), n_threads).indptr) > 0)

    def assigned(self, texts: Sequence[str], k: int | None, n_threads: int | None) -> TopK:
        """The labels that each text is given, at most k, with probabilities; a text without a known word gets none."""
        sure = self.sure()
        if k is not None:
            checked_k(k, self.model.n_labels)
        if not len(texts):
            return empty(0, k or 1)
        features = self.words.rows(as_texts(texts), n_threads)
        answers = self.model.predict(self.model.inputs(features, texts), sure.width, n_threads)
        unknown = np.diff(features.indptr) == 0
        answers.labels[unknown], answers.scores[unknown] = PAD, -np.inf
        top = sure.assigned(answers)
        return top if k is None else top.cut(k)

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

    # storage

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """(manifest fields, arrays) of the whole tagger; `restored_tagger` takes both back."""
        fields, arrays = state_of(self.model)
        fields["kind"] = KIND
        fields["facts"] = {"model": fields["facts"], "features": self.words.facts()}
        arrays = prefixed(MODEL, arrays) | prefixed(FEATURES, self.words.arrays())
        if self.texts is not None:
            arrays[f"{TEXTS}utf8"], arrays[f"{TEXTS}ends"] = packed(self.texts)
        if self.calibration is not None:
            fields["facts"]["calibration"] = self.calibration.facts()
            arrays |= prefixed(CALIBRATION, self.calibration.arrays())
        fields["data_fingerprint"] = self.fingerprint
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
    if set(facts) - {"calibration"} != {"model", "features"}:
        raise ModelFileError(f"tagger: its facts are 'model' and 'features', but here {sorted(facts)!r:.80}")
    stray = [name for name in arrays if not name.startswith((MODEL, FEATURES, TEXTS, CALIBRATION))]
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
        calibration = _restored_calibration(part(CALIBRATION, arrays), facts.get("calibration"), model)
        tagger = FittedTagger(words, model, texts, calibration, fields.get("data_fingerprint"))
        _ = tagger.ids  # names that are not distinct are refused now
    except LabelwoodError as error:
        raise ModelFileError(f"tagger: {error}") from error
    return tagger


def _restored_texts(arrays: Arrays) -> tuple[str, ...] | None:
    if not arrays:
        return None
    check_arrays(_TEXTS, arrays, {}, "texts")
    return unpacked(arrays["utf8"], arrays["ends"])


def _restored_calibration(arrays: Arrays, facts: Any, model: Fitted[Any]) -> FittedCalibration | None:
    if not arrays and facts is None:
        return None
    return FittedCalibration.restore(arrays, facts, model.trained_on.label_counts)
