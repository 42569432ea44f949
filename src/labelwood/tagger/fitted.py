"""FittedTagger: the words, the model and the names that a tagger answers with; immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.calibration.fitted import FittedCalibration
from labelwood.calibration.row_context import LOOKED
from labelwood.errors import DataError, LabelwoodError, ModelFileError, ParamError
from labelwood.features.bag import BagVectorizer, FittedBag
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.labelspace.names import name_ids, padded_counts, unknown_label
from labelwood.metrics.hierarchy import hierarchy_metrics
from labelwood.models.fitted import Fitted
from labelwood.models.persistence import restored, state_of
from labelwood.models.registry import model_class
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, part, prefixed
from labelwood.storage.words import packed, unpacked
from labelwood.tagger.allowed import allowed_answers
from labelwood.tagger.concepts import are_concepts
from labelwood.tagger.kept_rows import KeptRows, no_rows
from labelwood.tagger.label_states import LabelStates
from labelwood.tagger.late_answers import LateAnswers
from labelwood.tagger.reasons import TagReason, Voter
from labelwood.topk import PAD, TopK, checked_k, empty
from labelwood.vocabulary.vocabulary import Vocabulary

KIND = "tagger"
MODEL, FEATURES, TEXTS = "model.", "features.", "texts."  # prefixes of the saved arrays
CALIBRATION, ROWS, VOCABULARY, NAMES = "calibration.", "rows.", "vocabulary.", "names."
# The beginnings of the training texts, for models that name the rows that voted.
_TEXTS: Schema = {"utf8": ArrayRule("uint8", ("n_bytes",)), "ends": ArrayRule("int64", ("n_texts",), low=0)}
KEPT_CHARACTERS = 200
_NAMES: Schema = {"counts": ArrayRule("int32", ("n_labels",), low=0)}

FittedWords = FittedTfidf | FittedBag
Vectorizers = type[TfidfVectorizer] | type[BagVectorizer]


def vectorizer_class(model_name: str) -> Vectorizers:
    """The vectorizer that makes what a model takes: tf-idf values, or counts of words and n-grams."""
    return BagVectorizer if model_class(model_name).text_features == "bag" else TfidfVectorizer


def beginnings(texts: Iterable[str]) -> tuple[str, ...]:
    """What is shown of each text where rows are reasons."""
    return tuple(" ".join(text[:KEPT_CHARACTERS].split()) for text in texts)


@dataclass(frozen=True, eq=False)
class FittedTagger:
    """What a tagger learnt: the words of its texts, the fitted model, and row texts where rows are reasons.

    The words may be more than the model knows: words that came later have columns behind the model's. rows: the
    training rows, for later corrections. labels: what people decided about labels since.
    calibration: how sure answers are and which labels are assigned, if that was learnt. fingerprint: of the training
    rows. name_counts: how many of the rows that taught each of the model's labels are its names; None for no such rows.
    """

    words: FittedWords
    model: Fitted[Any]
    texts: tuple[str, ...] | None = None
    calibration: FittedCalibration | None = None
    fingerprint: str | None = None
    rows: KeptRows | None = None
    labels: LabelStates = field(default_factory=LabelStates)
    vocabulary: Vocabulary | None = None
    name_counts: npt.NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        """Its sizes, not its rows and arrays."""
        return f"FittedTagger(model={self.model!r}, n_texts={self.n_texts}, assigns={self.calibration is not None})"

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of all labels: the model's, then those that came later."""
        return (self.model.trained_on.label_names or ()) + self.labels.added

    @cached_property
    def ids(self) -> dict[str, int]:
        """Label name -> column."""
        return name_ids(self.label_names)

    def concept(self, name: str) -> str:
        """The id of the concept of this name, if labels are concepts; else, and of a label, the name itself."""
        if name in self.ids or self.vocabulary is None or not self._knows_concepts:
            return name
        return self.vocabulary.concept_named(name) or name

    def label_named(self, name: str) -> str:
        """The label of this name, or that had it before it was renamed, or the concept of this name; else the name."""
        former = self.labels.former
        if name in self.ids or name not in former:
            concept = self.concept(name)
            return concept if concept in self.ids else former.get(concept, concept)
        return former[name]

    def meant(self, name: str) -> str:
        """The label that a person means by a name: `label_named`, and of a merged label the other one."""
        label = self.label_named(name)
        return self.labels.merged.get(label, label)

    def called(self) -> dict[str, int]:
        """What people call the labels -> their numbers: the names of concepts, else the labels themselves."""
        if self.vocabulary is None or not self._knows_concepts:
            return self.ids
        return {self.vocabulary.name(label): number for label, number in self.ids.items()}

    @cached_property
    def _knows_concepts(self) -> bool:
        return self.vocabulary is not None and are_concepts(self.label_names, self.vocabulary)

    @property
    def label_counts(self) -> npt.NDArray[np.int64]:
        """The texts that taught the model each of its labels; names of labels do not count."""
        counts = self.model.trained_on.label_counts
        if self.name_counts is None:
            return counts
        own: npt.NDArray[np.int64] = counts - padded_counts(self.name_counts.astype(np.int64), len(counts))
        return np.maximum(own, 0)

    @property
    def n_texts(self) -> int:
        """The texts that the model was trained on."""
        return self.model.trained_on.n_rows - (0 if self.name_counts is None else int(self.name_counts.sum()))

    @property
    def kept(self) -> KeptRows:
        """The rows that are kept, perhaps none."""
        return no_rows() if self.rows is None else self.rows

    @cached_property
    def late(self) -> LateAnswers:
        """What is answered beyond the model."""
        return LateAnswers.of(self.model, self.label_names, self.labels, self.rows, self.words.n_features)

    def allowed(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> npt.NDArray[np.bool_] | None:
        """Which labels may be answered; None if all of them."""
        include, exclude = list(include), list(exclude)
        if not include and not exclude:
            return self._not_deprecated
        wanted = {label for choice in include for label in self.chosen(choice)}
        out = {label for choice in exclude for label in self.chosen(choice)}
        fine = np.array([(not include or name in wanted) and name not in out for name in self.label_names], bool)
        return fine if self._not_deprecated is None else fine & self._not_deprecated

    def chosen(self, what: str) -> set[str]:
        """The labels that one choice names: `label_named`, or with a vocabulary what that calls "below:ID" and such."""
        label = self.label_named(what)
        if label in self.ids:
            return {label}
        if self.vocabulary is None:
            raise DataError(unknown_label(what, self.ids))
        return {self.labels.former.get(concept, concept) for concept in self.vocabulary.chosen(what)}

    @cached_property
    def _not_deprecated(self) -> npt.NDArray[np.bool_] | None:
        if self.vocabulary is None or not self.vocabulary.deprecated.any():
            return None
        fine = self.vocabulary.allowed(self.label_names)
        return None if fine.all() else fine

    # answering

    def inputs(self, texts: Sequence[str], n_threads: int | None) -> sparse.csr_matrix:
        """What the model is asked with."""
        seen = self.words.read(texts)
        return self._inputs(self.words.rows(seen, n_threads), seen)

    def _inputs(self, x: sparse.csr_matrix, texts: Sequence[str]) -> sparse.csr_matrix:
        """What the model is asked with, from rows over all words; texts as a reader sees them."""
        known = x if x.shape[1] == self.model.n_features else x[:, : self.model.n_features]
        return self.model.inputs(known, texts)

    def predict(
        self,
        texts: Sequence[str],
        k: int,
        n_threads: int | None,
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> TopK:
        """The k best labels of each text, of those that are allowed."""
        return self.predict_known(texts, k, n_threads, include=include, exclude=exclude)[0]

    def predict_known(
        self,
        texts: Sequence[str],
        k: int,
        n_threads: int | None,
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> tuple[TopK, npt.NDArray[np.bool_]]:
        """(the k best allowed labels of each text, which texts hold a word that the tagger knows)."""
        allowed = self.allowed(include, exclude)
        width = checked_k(k, len(self.label_names))
        if not len(texts):
            return empty(0, width), np.zeros(0, bool)
        seen = self.words.read(texts)
        x = self.words.rows(seen, n_threads)
        known = np.asarray(np.diff(x.indptr) > 0)
        inputs = self._inputs(x, seen)
        if allowed is None:
            return self._best(inputs, x, texts, width, n_threads), known

        def best_of(rows: npt.NDArray[np.int64], n: int) -> TopK:
            return self._best(inputs[rows], x[rows], [texts[row] for row in rows], n, n_threads)

        return allowed_answers(best_of, allowed, len(texts), width), known

    def predict_rows(self, x: sparse.csr_matrix, k: int, n_threads: int | None) -> TopK:
        """The k best labels of rows over the words; what was learnt about single texts has no say."""
        allowed, width = self.allowed(), checked_k(k, len(self.label_names))
        model_x = x[:, : self.model.n_features]

        def best_of(rows: Any, n: int) -> TopK:
            return self.late.predict_rows(self.model, model_x[rows], x[rows], n, n_threads)

        if allowed is None:
            return best_of(slice(None), width)
        return allowed_answers(best_of, allowed, x.shape[0], width)

    def _best(self, inputs: Any, x: sparse.csr_matrix, texts: Sequence[str], width: int, n_threads: int | None) -> TopK:
        """The best labels of the model and of what was learnt after it."""
        if self.late.plain:
            return self.model.predict(inputs, min(width, self.model.n_labels), n_threads).cut(width)
        return self.late.predict(self.model, inputs, x, texts, width, n_threads)

    def sure(self) -> FittedCalibration:
        """How sure answers are, for all labels of today; ParamError if that was not learnt."""
        if self._calibration_now is None:
            raise ParamError(
                "this tagger has not learnt how sure it is: train it with assign='f1' (or another rule) "
                "on at least 50 rows with labels"
            )
        return self._calibration_now

    @cached_property
    def _calibration_now(self) -> FittedCalibration | None:
        """The calibration with the rows that labels have by now; new labels count as rare ones."""
        counts = padded_counts(self.model.trained_on.label_counts, len(self.label_names))
        if self.calibration is None:
            return None
        # Labels that wait are answered by their examples, which are about as often right as they look (one-vs-all on
        # CookingStackExchange, held-out rows: 0.225 on average, 0.197 right): only what a model was taught shrinks.
        taught = self.model.n_labels > self.calibration.n_judged
        n_judged = self.calibration.n_judged if taught else len(counts)
        return replace(self.calibration, counts=counts, n_judged=n_judged)

    def known(self, texts: Sequence[str], n_threads: int | None) -> npt.NDArray[np.bool_]:
        """Which texts hold a word that the tagger knows."""
        return np.asarray(np.diff(self.words.rows(self.words.read(texts), n_threads).indptr) > 0)

    def assigned(
        self,
        texts: Sequence[str],
        k: int | None,
        n_threads: int | None,
        *,
        threshold: float | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> TopK:
        """The labels that each text is given, at most k, with probabilities; a text without a known word gets none.

        threshold: the least probability of a label, in place of the learnt rule.
        """
        sure, include, exclude = self.sure(), list(include), list(exclude)
        if k is not None:
            checked_k(k, len(self.label_names))
        if not len(texts):
            return empty(0, k or 1)
        answers, known = self.predict_known(texts, sure.width, n_threads, include=include, exclude=exclude)
        certain = self.late.certain(texts)
        unknown = ~(known | certain)
        answers.labels[unknown], answers.scores[unknown] = PAD, -np.inf
        # A label that may not be answered is still a rival of those that may.
        among = self.predict(texts, self._looked, n_threads) if (include or exclude) else None
        top = _with_certain(sure.assigned(answers, among, threshold), answers, certain)
        return top if k is None else top.cut(k)

    def ranked(self, texts: Sequence[str], k: int, n_threads: int | None) -> TopK:
        """The k best labels of each text with probabilities in place of scores, most probable first."""
        among = self.predict(texts, max(k, self._looked), n_threads)
        answers = among.cut(k)
        return _with_certain(self.sure().ranked(answers, among), answers, self.late.certain(texts))

    @property
    def _looked(self) -> int:
        """How many first answers of a text decide how sure each of them is."""
        return min(LOOKED, len(self.label_names))

    def explain(self, text: str, label: str, n_threads: int | None) -> TagReason:
        """Why one text gets a label."""
        label = self.label_named(label)
        if label not in self.ids:
            raise DataError(unknown_label(str(label), self.ids))
        (text,) = self.words.read([text])
        x, number = self.words.rows((text,), n_threads), self.ids[label]
        inputs = self._inputs(x, [text])
        if number < self.model.n_labels:
            why = self.model.explain(inputs, number, n_threads)
        else:
            why = self.late.explain(self.model, inputs, x, number, n_threads)
        pushes = why.by_feature()
        rest = pushes.pop(-1, 0.0)
        names = self.words.words_behind(text, pushes)
        words = sorted(((names[f], push) for f, push in pushes.items()), key=lambda word: (-abs(word[1]), word[0]))
        voters = tuple(Voter(vote.row, self._text_of(vote.row), vote.contribution) for vote in why.voters())
        sides = tuple(why.sides())
        rest -= sum(voter.push for voter in voters) + sum(push for _, push in sides)
        return TagReason(label, why.score, tuple(words), voters, rest, why, sides)

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
        if self.calibration is not None:
            fields["facts"]["calibration"] = self.calibration.facts()
            arrays |= prefixed(CALIBRATION, self.calibration.arrays())
        fields["data_fingerprint"] = self.fingerprint
        if self.name_counts is not None:
            arrays |= prefixed(NAMES, {"counts": self.name_counts})
            fields["facts"]["name_rows"] = int(self.name_counts.sum())
        if self.rows is not None:
            arrays |= prefixed(ROWS, self.rows.arrays)
            fields["facts"]["rows"] = self.rows.facts()
        if self.labels.facts():
            fields["facts"]["labels"] = self.labels.facts()
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


def _with_certain(top: TopK, answers: TopK, certain: npt.NDArray[np.bool_]) -> TopK:
    """Probable answers; in certain rows all answers, each with probability 1."""
    if not certain.any():
        return top
    width = max(top.k, int((answers.labels[certain] != PAD).sum(axis=1).max()))
    wide = empty(len(top), width)
    wide.labels[:, : top.k], wide.scores[:, : top.k] = top.labels, top.scores
    wide.labels[certain] = answers.labels[certain, :width]
    wide.scores[certain] = np.where(wide.labels[certain] != PAD, 1.0, -np.inf)
    return wide


def restored_tagger(fields: Mapping[str, Any], arrays: Arrays) -> FittedTagger:
    """The tagger of saved fields and arrays; ModelFileError if its parts do not fit together."""
    facts = fields["facts"]
    others = {"rows", "labels", "calibration", "vocabulary", "name_rows"}
    if not {"model", "features"} <= set(facts) <= {"model", "features"} | others:
        raise ModelFileError(
            f"tagger: its facts are 'model', 'features' and some of {sorted(others)}, but here {sorted(facts)!r:.80}"
        )
    prefixes = (MODEL, FEATURES, TEXTS, CALIBRATION, ROWS, VOCABULARY, NAMES)
    stray = [name for name in arrays if not name.startswith(prefixes)]
    if not stray and "rows" not in facts:
        stray = list(prefixed(ROWS, part(ROWS, arrays)))
    if stray:
        raise ModelFileError(f"tagger: array {stray[0]!r:.80} belongs neither to the model nor to the features")
    model = restored({**fields, "facts": facts["model"]}, part(MODEL, arrays), "tagger")
    try:
        words = vectorizer_class(model.name).FittedState.restore(part(FEATURES, arrays), facts["features"])
        if model.trained_on.label_names is None:
            raise ModelFileError("a tagger needs label names, but there are none")
        states = LabelStates.restore(facts.get("labels", {}), model.trained_on.label_names)
        rows = KeptRows.restore(part(ROWS, arrays), facts["rows"]) if "rows" in facts else None
        if words.n_features < model.n_features or (rows is None and words.n_features > model.n_features):
            raise ModelFileError(f"{words.n_features} features for a model of {model.n_features}")
        texts = _restored_texts(part(TEXTS, arrays))
        calibration = _restored_calibration(part(CALIBRATION, arrays), facts.get("calibration"), model)
        vocabulary = _restored_vocabulary(part(VOCABULARY, arrays), facts.get("vocabulary"))
        seen = fields.get("data_fingerprint")
        counts = _restored_name_counts(part(NAMES, arrays), model)
        tagger = FittedTagger(words, model, texts, calibration, seen, rows, states, vocabulary, counts)
        _ = tagger.ids  # names that are not distinct are refused now
    except LabelwoodError as error:
        raise ModelFileError(f"tagger: {error}") from error
    return tagger


def _restored_vocabulary(arrays: Arrays, facts: Any) -> Vocabulary | None:
    if not arrays and facts is None:
        return None
    return Vocabulary.restore(arrays, facts)


def _restored_name_counts(arrays: Arrays, model: Fitted[Any]) -> npt.NDArray[np.int32] | None:
    if not arrays:  # none, or a folder of an earlier version
        return None
    check_arrays(_NAMES, arrays, {"n_labels": model.n_labels}, "names")
    return arrays["counts"]


def _restored_texts(arrays: Arrays) -> tuple[str, ...] | None:
    if not arrays:
        return None
    check_arrays(_TEXTS, arrays, {}, "texts")
    return unpacked(arrays["utf8"], arrays["ends"])


def _restored_calibration(arrays: Arrays, facts: Any, model: Fitted[Any]) -> FittedCalibration | None:
    if not arrays and facts is None:
        return None
    return FittedCalibration.restore(arrays, facts, model.trained_on.label_counts)
