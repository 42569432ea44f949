"""The contract that every model keeps: fit, predict, explain, save; scikit-learn's get_params, set_params and clone."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import BudgetError, DataError, NotFittedError, ParamError
from labelwood.matrices import as_features, as_labels, check_same_rows
from labelwood.memory import memory_text
from labelwood.models.explanation import Explanation
from labelwood.params import Params
from labelwood.progress import SILENT, Progress
from labelwood.topk import TopK, empty

M = TypeVar("M", bound="Model")
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Words:
    """What a Dataset holds beside features and labels; a model that reads text finds it in `self._words` in `_fit`."""

    texts: Sequence[str] | None = None
    label_names: tuple[str, ...] | None = None
    feature_names: Sequence[str] | None = None


class Model(ABC):
    """A classifier that gives each row its k best labels.

    A subclass declares `name` and `Parameters`, and implements `_fit`, `_predict`, `_arrays` and `_restore`. The
    constructor only stores its parameters; `fit` validates them. Fitted attributes end in an underscore.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[Params]] = Params
    # What a Tagger makes of texts for this model: "tfidf" values, or a "bag" of word and n-gram counts.
    text_features: ClassVar[str] = "tfidf"
    # False: training with several threads is lock-free, so every run differs a little; with one thread none does.
    repeatable_with_threads: ClassVar[bool] = True
    label_names_: tuple[str, ...] | None
    _words: Words

    def __init__(self, **parameters: Any) -> None:
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, default in self.Parameters.defaults().items():
            setattr(self, name, parameters.get(name, default))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # help(), editors and notebooks then show the real parameters instead of **parameters.
        cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                for name, default in cls.Parameters.defaults().items()
            ]
        )

    # scikit-learn's conventions

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as given to the constructor."""
        return {name: getattr(self, name) for name in self.Parameters.ranges()}

    def set_params(self: M, **parameters: Any) -> M:
        """The model itself with some parameters changed; takes effect at the next fit."""
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self.Parameters.defaults()
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k] and v != defaults[k]]
        return f"{type(self).__name__}({', '.join(changed)})"

    # training and answering

    @property
    def reads_texts(self) -> bool:
        """True if the model needs texts beside features: fit, predict and explain then want a Dataset with both."""
        return False

    def fit(self: M, x: Any, y: Any = None, *, memory: int | None = None, progress: Progress = SILENT) -> M:
        """The model itself, trained on features x (n_rows, n_features) and labels y (n_rows, n_labels) or a Dataset.

        memory: refuse with BudgetError, before any work, if training would need more bytes than this beside the data.
        """
        parameters = self.Parameters.checked(self.get_params(), type(self).__name__)
        words = Words()
        if isinstance(x, Dataset):
            if y is not None:
                raise DataError("fit takes a Dataset alone, or x and y")
            words = Words(x.texts, None if x.label_names is None else tuple(x.label_names), x.feature_names)
            x, y = x.features(), x.y
        elif y is None:
            raise DataError("fit needs labels: fit(x, y) or fit(dataset)")
        features, labels = as_features(x), as_labels(y)
        check_same_rows(features, labels)
        if features.shape[0] == 0:
            raise DataError("fit needs at least one row")
        if labels.shape[1] == 0:
            raise DataError("fit needs at least one label column")
        if memory is not None:
            needed = self._estimate_memory(features, labels, parameters)
            if needed > memory:
                raise BudgetError(
                    f"{type(self).__name__} would need about {memory_text(needed)} beside the data, "
                    f"but {memory_text(memory)} are allowed"
                )
        self._words = words
        try:
            self._fit(features, labels, parameters, progress)
        finally:
            del self._words
        self._set_shape(features.shape[1], labels.shape[1], parameters)
        self.n_rows_ = int(features.shape[0])
        # Kept with the model: an evaluation needs the training counts (propensities, bands), and people want names.
        self.label_counts_ = np.bincount(labels.indices, minlength=labels.shape[1]).astype(np.int64)
        self.label_names_ = words.label_names
        return self

    def estimate_memory(self, x: Any, y: Any) -> int:
        """The bytes that training on x and y would need beside the data itself, at its peak: an estimate from above."""
        parameters = self.Parameters.checked(self.get_params(), type(self).__name__)
        features, labels = as_features(x), as_labels(y)
        check_same_rows(features, labels)
        return self._estimate_memory(features, labels, parameters)

    def predict(self, x: Any, k: int = 5) -> TopK:
        """The k best labels of every row of x, best first; TopK with labels (n, k) and scores (n, k), -1 padded."""
        self._check_fitted()
        self._check_k(k)
        features = self._checked_features(x)
        k = int(k)
        top = self._predict(features, min(k, self.n_labels_)) if features.shape[0] else empty(0, k)
        return top if top.k == k else top.cut(k)

    def explain(self, x: Any, label: int) -> Explanation:
        """Why one row gets `label`: the contribution of every feature; ParamError if the method has no explanations."""
        self._check_fitted()
        row = self._checked_features(x)
        if row.shape[0] != 1:
            raise DataError(f"explain takes one row, but got {row.shape[0]}")
        if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < self.n_labels_:
            raise DataError(f"label {label!r} is outside 0..{self.n_labels_ - 1}")
        return self._explain(row, int(label))

    def save(self, folder: str | Path, *, extra: Mapping[str, Any] | None = None, overwrite: bool = True) -> None:
        """Write the model to a folder (manifest.json and arrays), atomically; `extra` is kept in the manifest."""
        from labelwood.models.persistence import save_model

        self._check_fitted()
        save_model(self, folder, extra or {}, overwrite=overwrite)

    def search_figures(self, x: Any, k: int = 5) -> dict[str, float]:
        """What finding k labels costs on average over the rows of x, by name; empty if the method does not search."""
        return {}

    def structure(self) -> dict[str, float]:
        """What the fitted model is made of, by name, for people; empty if there is nothing to tell."""
        return {}

    # what a subclass implements

    @abstractmethod
    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        """Train on checked input; parameters are validated."""

    @abstractmethod
    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        """The bytes of training at its peak, from above; quick compared with training."""

    @abstractmethod
    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        """Answer checked rows; 1 <= k <= n_labels_."""

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        raise ParamError(f"{self.name} has no explanations")

    @abstractmethod
    def _arrays(self) -> Arrays:
        """The fitted state as named arrays."""

    def _facts(self) -> dict[str, Any]:
        """The fitted state beside the arrays: JSON values only."""
        return {}

    @abstractmethod
    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        """Take over a saved state; raises ModelFileError if it does not fit together."""

    # shared checks

    def _set_shape(self, n_features: int, n_labels: int, parameters: Params) -> None:
        self.n_features_ = int(n_features)
        self.n_labels_ = int(n_labels)
        self.parameters_: Any = parameters

    def _check_k(self, k: Any) -> None:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ParamError(f"k must be a whole number from 1 up, but is {k!r}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not trained yet: call fit, or labelwood.load a saved model"
            )

    def _checked_features(self, x: Any) -> sparse.csr_matrix:
        features = as_features(x.features() if isinstance(x, Dataset) else x)
        if features.shape[1] != self.n_features_:
            raise DataError(
                f"x has {features.shape[1]} features, but {type(self).__name__} was trained with {self.n_features_}"
            )
        return features
