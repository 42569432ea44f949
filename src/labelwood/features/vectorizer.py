"""Vectorizer: texts -> rows of numbers; what it learnt is one immutable FittedVectorizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.estimator import Estimator
from labelwood.features.tokens import Texts, as_read, as_texts
from labelwood.storage.schema import Arrays

V = TypeVar("V", bound="Vectorizer[Any]")
W = TypeVar("W", bound="FittedVectorizer")
State = TypeVar("State", bound="FittedVectorizer")


class FittedVectorizer(ABC):
    """The words that a vectorizer knows; never changed once made. n_threads is an argument, never part of it.

    `rows` and `words_behind` take texts that were read already, as `read` does.
    """

    parameters: Any

    def read(self, texts: Iterable[str]) -> Texts:
        """The texts as a reader sees them: of HTML, if these words are those of HTML, what is no markup."""
        return as_read(texts, self.parameters.markup)

    def given(self, texts: Iterable[str]) -> Texts:
        """Texts as somebody gives them to a vectorizer: read if they are HTML, else as they are."""
        return self.read(texts) if self.parameters.markup else as_texts(texts)

    def of_markup(self: W) -> W:
        """The same words, as those of texts that are HTML."""
        here: Any = self
        made: W = replace(here, parameters=replace(self.parameters, markup=True))
        return made

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @abstractmethod
    def rows(self, texts: Texts, n_threads: int | None) -> sparse.csr_matrix:
        """The rows of texts, float32 CSR (n_texts, n_features) with sorted columns."""

    @abstractmethod
    def feature_names(self) -> list[str]:
        """The tokens in the order of the columns; ParamError where columns have none."""

    @abstractmethod
    def words_behind(self, text: str, columns: Iterable[int]) -> dict[int, str]:
        """Column -> the word or words of this text that it stands for."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """The state as named arrays."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The state beside the arrays: JSON values only."""

    @classmethod
    @abstractmethod
    def restore(cls: type[W], arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> W:
        """The state of saved arrays and facts; ModelFileError if they do not fit together."""

    def __copy__(self: W) -> W:
        return self

    def __deepcopy__(self: W, memo: dict[int, Any]) -> W:
        return self  # it never changes

    def __reduce__(self) -> Any:
        return type(self).restore, (self.arrays(), self.facts())


class Vectorizer(Estimator, Generic[State]):
    """Turns texts into rows. A subclass declares `Parameters` and `FittedState`, and learns in `_learn`."""

    FittedState: ClassVar[type[FittedVectorizer]]
    n_threads: int | None

    @abstractmethod
    def _learn(self, texts: Texts, want_rows: bool) -> tuple[State, sparse.csr_matrix | None]:
        """(what was learnt from the texts, their rows if they are wanted); the vectorizer is not changed."""

    def fit(self: V, texts: Iterable[str], y: Any = None) -> V:
        """The vectorizer itself, with the words of the texts."""
        self._fitted, _ = self._learn(as_texts(texts), want_rows=False)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> sparse.csr_matrix:
        """The rows of the texts that it is fitted to; the texts are read once."""
        self._fitted, rows = self._learn(as_texts(texts), want_rows=True)
        return rows

    def transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """The rows of texts; words that training did not see are left out."""
        state: State = self._state()
        return state.rows(state.given(texts), self.n_threads)

    @property
    def fitted_(self) -> State:
        """What was learnt; NotFittedError before fit."""
        state: State = self._state()
        return state

    @property
    def n_features_(self) -> int:
        """The number of columns."""
        return self.fitted_.n_features

    @property
    def feature_names(self) -> list[str]:
        """The tokens in the order of the columns."""
        return self.fitted_.feature_names()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The tokens in the order of the columns, as an array of objects."""
        return np.array(self.feature_names, dtype=object)

    @classmethod
    def from_fitted(cls: type[V], state: FittedVectorizer, parameters: Mapping[str, Any]) -> V:
        """The vectorizer of a fitted state, with the parameters that it was made with."""
        made = cls(**parameters)
        made._fitted = state
        return made

    def _how_to_train(self) -> str:
        return "call fit with some texts"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.sparse = True, False, False
        return tags
