"""Fitted: what training leaves behind: an immutable value that answers, explains, and declares its arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from scipy import sparse

from labelwood.errors import ParamError
from labelwood.models.explanation import Explanation
from labelwood.models.fit_input import TrainedOn
from labelwood.params import Params
from labelwood.storage.schema import Arrays, Schema
from labelwood.topk import TopK

P = TypeVar("P", bound=Params)
S = TypeVar("S", bound="Fitted[Any]")


@dataclass(frozen=True, eq=False)
class Fitted(ABC, Generic[P]):
    """The fitted state of a model: its settings, what it was trained on, and what it learnt.

    Never changed once made, so it may be shared between threads and copies. Rows come in checked, float32 CSR with
    n_features columns. n_threads is an argument of the work, never part of the state.
    """

    name: ClassVar[str]  # the model's registry name
    settings: P
    trained_on: TrainedOn

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", replace(self.settings, n_threads=None))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Fitted.__repr__  # type: ignore[method-assign]  # else dataclass makes one of every array

    def __repr__(self) -> str:
        """Its sizes, not its arrays."""
        return f"{type(self).__name__}(n_features={self.n_features}, n_labels={self.n_labels})"

    @property
    def n_features(self) -> int:
        """The number of feature columns."""
        return self.trained_on.n_features

    @property
    def n_labels(self) -> int:
        """The number of label columns."""
        return self.trained_on.n_labels

    @property
    def saw_texts(self) -> bool:
        """True if it learnt from texts beside features, so that features alone cannot train it again."""
        return False

    # answering

    @abstractmethod
    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k best labels of every row, 1 <= k <= n_labels."""

    def inputs(
        self, x: sparse.csr_matrix, texts: Sequence[str] | None, n_threads: int | None = None
    ) -> sparse.csr_matrix:
        """What `predict`, `explain` and `search_figures` take, from feature rows and, for models that read, texts."""
        return x

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """Why one row gets the label; ParamError if the method has no explanations."""
        raise ParamError(f"{self.name} has no explanations")

    def probabilities(self, scores: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Scores of `predict` on a scale from 0 to 1 that keeps their order; not calibrated."""
        return np.asarray(np.clip(scores, 0, 1), np.float32)

    def search_figures(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> dict[str, float]:
        """What finding k labels costs on average over the rows, by name; empty if the method does not search."""
        return {}

    def structure(self) -> dict[str, float]:
        """What the state is made of, by name, for people; empty if there is nothing to tell."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """What training has to say to the person, a sentence each; a loaded state has nothing to say."""
        return ()

    def repeated_settings(self) -> P:
        """The settings that train another model like this one: what training chose on held-out rows is fixed."""
        return self.settings

    def on_the_scale_of(self: S, other: S) -> S:
        """The same state, with whatever scales its scores as held-out rows chose it for the other one."""
        return self

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    # storage

    @classmethod
    @abstractmethod
    def schema(cls, settings: P, facts: Mapping[str, Any]) -> Schema:
        """The arrays of a state with these settings and facts: saving, loading and copying follow it."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """The state as named arrays, as the schema declares them."""

    def facts(self) -> dict[str, Any]:
        """The state beside the arrays: JSON values only."""
        return {}

    @classmethod
    @abstractmethod
    def restore(cls: type[S], settings: P, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]) -> S:
        """The state of saved arrays, which keep the schema, and facts; ModelFileError if they do not fit together."""

    def __copy__(self: S) -> S:
        return self

    def __deepcopy__(self: S, memo: dict[int, Any]) -> S:
        return self  # it never changes

    def __reduce__(self) -> Any:
        from labelwood.models.persistence import state_of, unpickled

        return unpickled, (type(self), type(self.settings), *state_of(self))
