"""trained: texts and labels -> what a tagger learns from them, and what there is to say about its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.calibration.fit import calibration_of, enough_rows, outlined
from labelwood.calibration.fitted import FittedCalibration
from labelwood.calibration.rule import Assignment
from labelwood.data.dataset import Dataset
from labelwood.data.fingerprint import texts_fingerprint
from labelwood.data.groups import listed
from labelwood.errors import ParamError
from labelwood.features.bag import BagVectorizer
from labelwood.features.tokens import as_read
from labelwood.labelspace import names as naming
from labelwood.models.base import Model
from labelwood.models.fit_input import checked_input
from labelwood.models.registry import AUTO, recommended_model
from labelwood.progress import Progress
from labelwood.scratch import Scratch, current_scratch, sparing
from labelwood.storage.steps import scratch_of_run
from labelwood.tagger.concepts import as_concepts, notes_about, opened, spoken, with_concepts
from labelwood.tagger.fitted import FittedTagger, beginnings
from labelwood.tagger.given import held_together, training_rows
from labelwood.tagger.kept_rows import NAME_ID, NO_ID, KeptRows, group_hashes, id_hashes, kept_bytes, text_hashes
from labelwood.tagger.language_choice import chosen_words, words_by_script
from labelwood.tagger.markup_choice import MARKUP, reads_markup
from labelwood.tagger.name_rows import NO_NAMES, NameRows, check_may_learn, name_rows, names_help
from labelwood.tagger.named_rows import named_rows
from labelwood.tagger.settings import LINEAR_TREE, TaggerSettings
from labelwood.vocabulary.vocabulary import Vocabulary

BYTES_OF_CHARACTER = 4  # of a text while its words are counted: some 8 for a word, and 8 for its value
# Training rows are kept for later corrections unless they are told to, or take more bytes than this.
MOST_KEPT_BYTES = 100_000_000
Notes = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to learn from: originals, texts as a reader sees them, y over label_names, the group of each row.

    Behind the first n_texts rows stand those that are names of labels.
    """

    originals: Sequence[str]
    texts: Sequence[str]
    y: sparse.csr_matrix
    label_names: tuple[str, ...]
    groups: npt.NDArray[np.int64] | None
    n_texts: int

    def with_names(self, names: NameRows) -> _Rows:
        """The rows with names of labels behind them, each in a group of its own."""
        if not names:
            return self
        y, groups = sparse.vstack([self.y, names.y(self.y.shape[1])], format="csr"), self.groups
        if groups is not None:
            groups = np.concatenate([groups, self.n_texts + np.arange(len(names))])
        texts, originals = (*self.texts, *names.texts), (*self.originals, *names.texts)
        return replace(self, originals=originals, texts=texts, y=y, groups=groups)

    @property
    def are_texts(self) -> npt.NDArray[np.bool_]:
        """Which rows are texts."""
        return np.arange(len(self.texts)) < self.n_texts


def trained(
    settings: TaggerSettings, texts: Any, labels: Any, *, groups: Any, memory: int | None, progress: Progress
) -> tuple[FittedTagger, Notes]:
    """(what a tagger with these settings learns, what there is to say about its choices).

    texts, labels, groups, memory: as in Tagger.fit.
    """
    rule = None if settings.assign is None else Assignment.parse(settings.assign)
    originals, y, label_names = training_rows(texts, labels)
    groups = None if groups is None else listed(groups)
    settings.check()
    naming.name_ids(label_names)
    markup, about_markup = reads_markup(originals, settings.features or {})
    seen_texts = as_read(originals, markup)  # all trials, too, take what a reader sees
    numbers, about_copies = held_together(texts, groups, seen_texts, y)
    given = _Rows(originals, seen_texts, y, label_names, numbers, len(originals))
    vocabulary = opened(settings.vocabulary)
    if vocabulary is not None:
        vocabulary = spoken(vocabulary, settings.lang, seen_texts)
    features, about_words = _chosen_features(settings, given, progress)
    features = {**features, MARKUP: False}
    rows, about_concepts = (given, ()) if vocabulary is None else _of_concepts(given, vocabulary)
    n_labels = len(rows.label_names)
    rows, names, about_names = _with_label_names(settings, rows, vocabulary, features, progress)

    vectorizer = settings.vectorizer_type(**features)
    progress.step("turning texts into features", 0, len(rows.texts))
    with sparing(_scratch_for(rows.texts, memory)):
        x = vectorizer.fit_transform(rows.texts)
    words = vectorizer.fitted_.of_markup() if markup else vectorizer.fitted_
    progress.step("turning texts into features", len(rows.texts), len(rows.texts))

    # Concepts without a text make labels many: on 20,000 titles of YSO-Finna-en (36,180 concepts) a tree took a
    # tenth of the time of one-vs-all, and was more precise.
    many = names and rows.y.shape[1] > n_labels
    model = settings.new_model(LINEAR_TREE if many else recommended_model(rows.y.shape[1], x.nnz))
    texts_too = rows.texts if model.reads_texts or model.takes_texts else None
    of_rows = None if rows.groups is None else rows.groups.tolist()
    data = named_rows(words, vocabulary, x, rows.y, rows.label_names, texts_too, of_rows)
    if model.trains_several:
        progress = outlined(model, checked_input(data), rule, _which_texts(rows), progress)
    model.fit(data, memory=memory, progress=progress)
    calibration = None if rule is None else _calibration(model, data, rule, rows, memory, progress)
    state = FittedTagger(
        words,
        model.fitted_,
        beginnings(rows.originals) if model.explains_by_rows else None,
        calibration,
        texts_fingerprint(originals, y, label_names),
        _kept_rows(settings, x, rows, texts, groups),
        vocabulary=vocabulary,
        name_counts=names.counts(rows.y.shape[1]) if names else None,
    )
    return state, (*about_words, *about_markup, *about_copies, *about_concepts, *about_names, *model.notes_)


def _chosen_features(settings: TaggerSettings, rows: _Rows, progress: Progress) -> tuple[dict[str, Any], Notes]:
    """(parameters of the vectorizer, what there is to say about them); with a language, its words are chosen."""
    features = settings.feature_values()
    # A model with views of the texts has letters beside the words, and looks for label names among the words: where
    # spaces tell words apart it keeps them.
    letters = settings.model == AUTO or not settings.new_model(AUTO).takes_texts
    counts = settings.vectorizer_type is BagVectorizer
    if settings.lang is None:
        if counts:
            return features, ()
        return words_by_script(rows.texts, features, settings.features or {})
    if counts:
        raise ParamError(f"Tagger: lang works with tf-idf features, and {settings.model!r} counts plain words")
    if features["stems"] is not None:
        raise ParamError(f"Tagger: lang is {settings.lang!r} and features has stems={features['stems']!r}; give one")
    progress.step("choosing words", 0, 0)
    # With a vocabulary there may be labels so many that the model is a tree.
    pairs = settings.model == AUTO and settings.vocabulary is None
    chosen, note = chosen_words(
        rows.texts,
        rows.y,
        features,
        settings.lang,
        settings.seed,
        letters=letters,
        pairs=pairs,
        groups=rows.groups,
        given=settings.features or (),
    )
    return chosen, (note,)


def _of_concepts(rows: _Rows, vocabulary: Vocabulary) -> tuple[_Rows, Notes]:
    """(the rows with ids in place of names of concepts, what there is to say about them)."""
    y, label_names, notes = as_concepts(rows.y, rows.label_names, vocabulary)
    return replace(rows, y=y, label_names=label_names), tuple(notes)


def _with_label_names(
    settings: TaggerSettings,
    rows: _Rows,
    vocabulary: Vocabulary | None,
    features: Mapping[str, Any],
    progress: Progress,
) -> tuple[_Rows, NameRows, Notes]:
    """(the rows with those that are names of labels, these names, notes); none unless asked for, or if they help.

    Where a model finds labels by their names, concepts without a row are labels, too.
    """
    alike = settings.new_model(LINEAR_TREE)  # or one-vs-all: about names they are alike
    check_may_learn(alike, settings.name_rows)
    learns_names, notes = bool(settings.name_rows), []
    if settings.name_rows is None and alike.may_learn_from_names():
        progress.step("trying label names", 0, 0)
        named = name_rows(rows.label_names, vocabulary)
        learns_names, note = names_help(rows.texts, rows.y, named, features, settings.seed, rows.groups)
        notes += [note] if learns_names else []
    by_name = learns_names or alike.finds_by_name(rows.n_texts)
    if vocabulary is not None:
        notes += notes_about(rows.label_names, vocabulary, by_name=by_name)
        if by_name:
            y, label_names = with_concepts(rows.y, rows.label_names, vocabulary)
            rows = replace(rows, y=y, label_names=label_names)
    names = name_rows(rows.label_names, vocabulary) if learns_names else NO_NAMES
    return rows.with_names(names), names, tuple(notes)


def _calibration(
    model: Model[Any, Any], data: Dataset, rule: Assignment, rows: _Rows, memory: int | None, progress: Progress
) -> FittedCalibration | None:
    """How sure the model is, judged by texts that it has not seen; None if too few have labels."""
    checked = checked_input(data, progress=progress)
    if not enough_rows(checked.take(np.flatnonzero(rows.are_texts))):
        return None
    with sparing(model._scratch(model._settings(), checked, memory)):
        return calibration_of(model, checked, rule, _which_texts(rows))


def _which_texts(rows: _Rows) -> npt.NDArray[np.bool_] | None:
    """Which rows are texts, where others are names of labels; None for all."""
    return None if rows.are_texts.all() else rows.are_texts


def _kept_rows(settings: TaggerSettings, x: Any, rows: _Rows, texts: Any, groups: Any) -> KeptRows | None:
    """The training rows for later corrections, if they are to be kept; ids and groups are those that were given."""
    if settings.keep_rows is False or (settings.keep_rows is None and kept_bytes(x, rows.y) > MOST_KEPT_BYTES):
        return None
    ids = texts.row_ids if isinstance(texts, Dataset) else None
    groups = texts.groups if isinstance(texts, Dataset) and texts.groups is not None else groups
    hashes = np.full(len(rows.texts), NAME_ID, np.uint64)
    hashes[: rows.n_texts] = NO_ID if ids is None else id_hashes(ids)
    of_groups = None
    if groups is not None:
        of_groups = np.full(len(rows.texts), NO_ID, np.uint64)
        of_groups[: rows.n_texts] = group_hashes(groups)
    return KeptRows.of(x, rows.y, text_hashes(rows.originals), hashes, groups=of_groups)


def _scratch_for(texts: Sequence[str], memory: int | None) -> Scratch | None:
    """Where the rows of texts go if counting them all at once may take more than half of the memory."""
    if memory is None or BYTES_OF_CHARACTER * sum(len(text) for text in texts) <= memory / 2:
        return current_scratch()
    return scratch_of_run()
