"""Rows with the names of their columns and of their labels, as a tagger hands them to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import ParamError
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.tagger.fitted import FittedWords
from labelwood.vocabulary.vocabulary import Vocabulary


def named_rows(
    words: FittedWords,
    vocabulary: Vocabulary | None,
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    label_names: Sequence[str],
    texts: Sequence[str] | None = None,
    groups: Sequence[Any] | None = None,
) -> Dataset:
    """The rows x, y (with their texts and groups) and all names that a model may want."""
    called = None if vocabulary is None else vocabulary.called(label_names)
    stems = None
    if isinstance(words, FittedTfidf) and words.forms is not None:
        usual = [names.partition("\n")[0] for names in called or label_names]
        stems = words.in_column_names(usual)
    try:
        feature_names = words.feature_names()
    except ParamError:  # hashing keeps none
        feature_names = None
    return Dataset(
        x,
        y,
        texts,
        label_names=label_names,
        feature_names=feature_names,
        label_words=called,
        label_stems=stems,
        groups=groups,
    )
