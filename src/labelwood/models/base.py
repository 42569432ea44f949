"""Model: the contract that every model keeps. Settings are the estimator's, what was learnt is one `Fitted` value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import BudgetError, DataError, ParamError, unknown_name
from labelwood.estimator import Estimator
from labelwood.labelspace.names import padded_counts
from labelwood.matrices import as_features, column_names
from labelwood.memory import memory_text
from labelwood.metrics.evaluate import evaluate
from labelwood.models.explanation import Explanation
from labelwood.models.fit_input import FitInput, checked_input
from labelwood.models.fitted import Fitted
from labelwood.params import Params
from labelwood.progress import SILENT, Progress, Stage, named_progress
from labelwood.scratch import Scratch, current_scratch, sparing
from labelwood.storage.steps import scratch_of_run
from labelwood.topk import TopK, checked_k, empty

P = TypeVar("P", bound=Params)
F = TypeVar("F", bound=Fitted[Any])
M = TypeVar("M", bound="Model[Any, Any]")
W = TypeVar("W", bound="WeighedModel[Any, Any]")
SCORED_AT = 5  # `score` is nDCG at this k
_THREADS = Params.ranges()["n_threads"]
PROBABLE_LABELS = 100  # labels of a row that predict_proba and decision_function give


class Model(Estimator, ABC, Generic[P, F]):
    """A classifier that gives each row its k best labels.

    A subclass declares `name`, `Parameters` and `FittedState`, and gives two pure functions of (settings, input):
    `_train` and `_training_memory`. The constructor only stores its parameters; `fit` validates them. After `fit`,
    `fitted_` is what was learnt; attributes that end in an underscore read from it.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[Params]] = Params
    FittedState: ClassVar[type[Fitted[Any]]]
    # Published configurations by name: the parameters that differ from the defaults.
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    # What a Tagger makes of texts for this model: "tfidf" values, or a "bag" of word and n-gram counts.
    text_features: ClassVar[str] = "tfidf"
    # False: training with several threads is lock-free, so every run differs a little; with one thread none does.
    repeatable_with_threads: ClassVar[bool] = True
    # True: explanations name the training rows that voted, so a Tagger keeps the beginnings of their texts.
    explains_by_rows: ClassVar[bool] = False
    # True if rows tell it no more than how often each label occurs.
    counts_labels_only: ClassVar[bool] = False
    # True: texts beside features are used where they come; features alone suffice. Asked as it was trained.
    takes_texts: ClassVar[bool] = False
    # True if training trains several models inside: what repeats it (calibration) does so less often.
    trains_several: ClassVar[bool] = False
    # True if training hardly costs more with more labels.
    is_label_tree: ClassVar[bool] = False
    n_threads: int | None
    seed: int

    @classmethod
    def preset(cls: type[M], name: str, **changes: Any) -> M:
        """An untrained model with the settings of a published configuration; `changes` come on top of them.

        `PRESETS` has the names and what each of them sets; ParamError lists them if there is no such name.
        """
        return cls(**{**cls.preset_settings(name), **changes})

    @classmethod
    def preset_settings(cls, name: str) -> Mapping[str, Any]:
        """The parameters that a preset sets; ParamError lists the presets if there is no such name."""
        if not cls.PRESETS:
            raise ParamError(f"{cls.__name__} has no presets, but {name!r} was asked for")
        if name not in cls.PRESETS:
            raise ParamError(f"{cls.__name__}: {unknown_name('preset', name, cls.PRESETS)}")
        return cls.PRESETS[name]

    # what a subclass gives

    @staticmethod
    @abstractmethod
    def _train(settings: P, data: FitInput) -> F:
        """The fitted state; nothing else is read or changed."""

    @staticmethod
    @abstractmethod
    def _training_memory(settings: P, data: FitInput) -> int:
        """The bytes of training at its peak beside the data, from above; quick compared with training."""

    @staticmethod
    def _spared_memory(settings: P, data: FitInput) -> int | None:
        """The same when large arrays are files and work goes on in slices; None if the model cannot do that."""
        return None

    @staticmethod
    def _settled(settings: P, data: FitInput) -> P:
        """The settings with what training on these rows would choose by held-out ones; as they are if it takes long."""
        return settings

    @classmethod
    def _train_without(
        cls, settings: P, data: FitInput, parts: Sequence[npt.NDArray[np.int64]], like: F | None = None
    ) -> Iterator[F]:
        """For each part of the rows a state that has learnt from all other rows, as the model of all rows did: `like`.

        like: None if that model is not trained. A model that chooses or trains in several steps may do again only what
        the rows of a part have had a part in; nothing of the rows of its part may have taught a state what is right.
        """
        for number, held in enumerate(parts, start=1):
            taught = data.take(np.setdiff1d(np.arange(data.x.shape[0]), held))
            progress = named_progress(data.progress, f"model {number} of {len(parts)}")
            state = cls._train(settings, taught.with_progress(progress))
            yield state if like is None else state.on_the_scale_of(like)

    @staticmethod
    def _stages(settings: P, data: FitInput) -> list[Stage]:
        """The stages of training, where they are long and known beforehand; else nothing."""
        return []

    @staticmethod
    def _stages_without(settings: P, data: FitInput, parts: Sequence[npt.NDArray[np.int64]]) -> list[Stage]:
        """The stages of `_train_without`, as `_stages`."""
        return []

    @staticmethod
    def _cheap_to_leave_out(settings: P, data: FitInput) -> npt.NDArray[np.bool_] | None:
        """Which rows are left out at the least cost: no step of training was judged by them; None if all are alike."""
        return None

    # training

    def fit(
        self: M,
        x: Any,
        y: Any = None,
        *,
        groups: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> M:
        """The model itself, trained on features x (n_rows, n_features) and labels y, or on a Dataset.

        y: an indicator matrix (sparse, 2-d array, data frame), one label a row, or a list of labels for each row, by id
        or by name; `classes_` says what was understood. memory: the bytes that training may take beside the data: if it
        would need more, it works in slices with large arrays in files, or is refused with BudgetError before any work.
        groups: a value for each row; rows of one group are held out together wherever training holds rows out.
        """
        return self._learn(checked_input(x, y, groups=groups, progress=progress), memory)

    def estimate_memory(self, x: Any, y: Any = None) -> int:
        """The bytes that training on x and y would need beside the data itself, at its peak: an estimate from above."""
        return self._training_memory(self._settings(), checked_input(x, y, what="estimate_memory"))

    def _settings(self) -> P:
        """The validated settings."""
        settings: Any = self.Parameters.checked(self.get_params(deep=False), type(self).__name__)
        return settings  # type: ignore[no-any-return]

    def _learn(self: M, data: FitInput, memory: int | None = None) -> M:
        """Train on checked input; the new state replaces the old one in one assignment, at the very end."""
        settings = self._settings()
        with sparing(self._scratch(settings, data, memory)):
            self._fitted = self._train(settings, data)
        return self

    def _scratch(self, settings: P, data: FitInput, memory: int | None) -> Scratch | None:
        """Where large arrays go so that training stays within `memory`; None: memory will do. Else BudgetError."""
        if memory is None:
            return current_scratch()
        needed = self._training_memory(settings, data)
        if needed <= memory:
            return None
        spared = self._spared_memory(settings, data)
        if spared is None or spared > memory:
            sliced = "" if spared is None else f" ({memory_text(spared)} in slices)"
            raise BudgetError(
                f"{type(self).__name__} would need about {memory_text(needed)}{sliced} beside the data, "
                f"but {memory_text(memory)} are allowed"
            )
        data.progress.step(f"in slices: {memory_text(needed)} would be needed at once", 0, 0)
        return scratch_of_run()

    # what was learnt

    @property
    def fitted_(self) -> F:
        """The fitted state: immutable, with what was learnt; NotFittedError before fit."""
        state: F = self._state()
        return state

    @property
    def parameters_(self) -> P:
        """The settings that the model was trained with; n_threads is no part of them."""
        settings: P = self.fitted_.settings
        return settings

    @property
    def n_rows_(self) -> int:
        """The number of training rows."""
        return self.fitted_.trained_on.n_rows

    @property
    def n_features_in_(self) -> int:
        """The number of feature columns."""
        return self.fitted_.trained_on.n_features

    n_features_ = n_features_in_

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The column names of the data frame that the model was trained on; AttributeError if it was none."""
        names = self.fitted_.trained_on.column_names
        if names is None:
            raise AttributeError(f"this {type(self).__name__} was not trained on a data frame with column names")
        return np.array(names, dtype=object)

    @property
    def n_labels_(self) -> int:
        """The number of labels."""
        return self.fitted_.trained_on.n_labels

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """What each label column stands for: `classes_[column]` is the id, the name, or the column's number."""
        return self.fitted_.trained_on.classes.array()

    @property
    def label_counts_(self) -> npt.NDArray[np.int64]:
        """The training rows of each label."""
        return self.fitted_.trained_on.label_counts

    @property
    def label_names_(self) -> tuple[str, ...] | None:
        """The names of the labels, if they have some."""
        return self.fitted_.trained_on.label_names

    @property
    def reads_texts(self) -> bool:
        """True if the model needs texts beside features: fit, predict and explain then want a Dataset with both."""
        return False

    @classmethod
    def trains_by_epochs(cls, settings: Params) -> bool:
        """Whether training passes over the rows again and again, as networks do: what repeats it does so less often."""
        return any(name.endswith("epochs") for name in cls.Parameters.ranges())

    def may_learn_from_names(self) -> bool:
        """Whether a tagger tries names of labels as rows to learn from.

        Not where texts are read, where rows themselves are answers, nor for bags of words, where they did harm.
        """
        by_words = not (self.takes_texts or self.reads_texts or self.counts_labels_only)
        return by_words and not self.explains_by_rows and self.text_features == "tfidf"

    def finds_by_name(self, n_rows: int) -> bool:
        """Whether the model, trained on so many rows, would find labels without a row by their names."""
        return False

    def _how_to_train(self) -> str:
        return "call fit, or labelwood.load a saved model"

    # answering

    def predict(self, x: Any, k: int = 5) -> TopK:
        """The k best labels of every row of x, best first; TopK with labels (n, k) and scores (n, k), -1 padded."""
        state = self.fitted_
        width = checked_k(k, state.n_labels)
        rows = self._rows(x)
        top = state.predict(rows, min(width, state.n_labels), self._threads()) if rows.shape[0] else empty(0, width)
        return top if top.k == width else top.cut(width)

    def decision_function(self, x: Any, k: int = PROBABLE_LABELS) -> sparse.csr_matrix:
        """The scores of the k best labels of every row: CSR (n_rows, n_labels), other labels are not stored."""
        return self.predict(x, min(k, self.n_labels_)).to_csr(self.n_labels_)

    def predict_proba(self, x: Any, k: int = PROBABLE_LABELS) -> sparse.csr_matrix:
        """The scores of the k best labels of every row on a scale from 0 to 1: CSR (n_rows, n_labels)."""
        top = self.predict(x, min(k, self.n_labels_))
        return TopK(top.labels, self.fitted_.probabilities(top.scores)).to_csr(self.n_labels_)

    def predict_labels(self, x: Any, threshold: float = 0.5, k: int = PROBABLE_LABELS) -> sparse.csr_matrix:
        """The labels of every row whose probability is at least the threshold: CSR of ones (n_rows, n_labels)."""
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)) or threshold != threshold:
            raise ParamError(f"threshold must be a number, but is {threshold!r}")
        likely = self.predict_proba(x, k)
        likely.data = (likely.data >= threshold).astype(np.int8)
        likely.eliminate_zeros()
        return likely

    def explain(self, x: Any, label: int) -> Explanation:
        """Why one row gets `label`: the contribution of every feature; ParamError if the method has no explanations."""
        state = self.fitted_
        row = self._rows(x)
        if row.shape[0] != 1:
            raise DataError(f"explain takes one row, but got {row.shape[0]}")
        if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < state.n_labels:
            raise DataError(f"label {label!r} is outside 0..{state.n_labels - 1}")
        return state.explain(row, int(label), self._threads())

    def evaluate(self, x: Any, y: Any = None, *, ks: Sequence[int] = (1, 3, 5)) -> dict[str, float]:
        """The metrics of the answers for rows x whose labels y are known (or a Dataset): name -> per cent.

        y: as in `fit`. Labels that the model does not know count as missed. Propensities come from the training labels.
        """
        if isinstance(x, Dataset) and y is None:
            y = x.y
        if y is None:
            raise DataError("evaluate needs labels: evaluate(x, y) or evaluate(dataset)")
        truth = self.fitted_.trained_on.classes.matrix(y)
        top = self.predict(x, max(ks))
        counts = padded_counts(self.label_counts_, truth.shape[1])
        return evaluate(top, truth, train_y=counts, n_train=self.n_rows_, ks=ks)

    def score(self, x: Any, y: Any = None) -> float:
        """The nDCG@5 of the answers for rows x with labels y, per cent: what scikit-learn compares settings by."""
        return self.evaluate(x, y, ks=(SCORED_AT,))[f"nDCG@{SCORED_AT}"]

    @property
    def notes_(self) -> tuple[str, ...]:
        """What training has to say to the person, a sentence each; a loaded model has nothing to say."""
        return self.fitted_.notes()

    def search_figures(self, x: Any, k: int = 5) -> dict[str, float]:
        """What finding k labels costs on average over the rows of x, by name; empty if the method does not search."""
        state = self.fitted_
        rows = self._rows(x)
        return state.search_figures(rows, min(k, state.n_labels), self._threads()) if rows.shape[0] else {}

    def structure(self) -> dict[str, float]:
        """What the fitted model is made of, by name, for people; empty if there is nothing to tell."""
        return self.fitted_.structure()

    # saving

    def save(self, folder: str | Path, *, extra: Mapping[str, Any] | None = None, overwrite: bool = True) -> None:
        """Write the model to a folder (manifest.json and arrays), atomically; `extra` is kept in the manifest."""
        from labelwood.models.persistence import save_state

        save_state(self.fitted_, folder, extra or {}, overwrite=overwrite)

    @classmethod
    def from_fitted(cls: type[M], state: Fitted[Any]) -> M:
        """The model of a fitted state, with the settings that it was trained with."""
        model = cls(**state.settings.as_dict())
        model._fitted = state
        return model

    # what scikit-learn asks for

    def __sklearn_tags__(self) -> Any:
        # No estimator_type: a "classifier" of scikit-learn promises one class, or a matrix of them, from predict.
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.non_deterministic = not self.repeatable_with_threads and self.n_threads != 1
        return tags

    # checks

    def _threads(self) -> int | None:
        """The threads to work with; ParamError if someone has set what is no number of threads."""
        threads = self.n_threads
        if threads is not None and not _THREADS.accepts(threads):  # the quick check first: single queries come here too
            self.Parameters.checked({"n_threads": threads}, type(self).__name__)
        return threads

    def _rows(self, x: Any) -> sparse.csr_matrix:
        """The rows that the fitted state is asked with."""
        state = self.fitted_
        texts = x.texts if isinstance(x, Dataset) else None
        return state.inputs(self._checked_features(x), texts, self._threads())

    def _checked_features(self, x: Any) -> sparse.csr_matrix:
        trained_on = self.fitted_.trained_on
        features = as_features(x.features() if isinstance(x, Dataset) else x)
        if features.shape[1] != trained_on.n_features:
            raise DataError(
                f"X has {features.shape[1]} features, but {type(self).__name__} is expecting {trained_on.n_features} "
                "features as input, as many as it was trained with"
            )
        given, known = column_names(x), trained_on.column_names
        if given is not None and known is not None and given != known:
            place = next(place for place, (one, other) in enumerate(zip(given, known, strict=True)) if one != other)
            raise DataError(
                f"x, column {place}: is named {given[place]!r}, but {known[place]!r} in training; give the same "
                "columns in the same order"
            )
        return features


class WeighedModel(Model[P, F]):
    """A model whose training can count some rows more than others."""

    def fit(
        self: W,
        x: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> W:
        """The model itself, trained; see Model.fit. sample_weight: how much each row counts, one number a row."""
        data = checked_input(x, y, sample_weight=sample_weight, groups=groups, progress=progress)
        return self._learn(data, memory)
