"""Tagger: texts in, label names out; features, model and names in one saved folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, LabelwoodError, ModelFileError, NotFittedError, ParamError
from labelwood.features.bag import BagVectorizer
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.labelspace import names as naming
from labelwood.metrics.evaluate import evaluate
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Explanation
from labelwood.models.persistence import model_state, restored_model
from labelwood.models.registry import AUTO, model_class, recommended_model
from labelwood.progress import SILENT, Progress
from labelwood.storage.save import save_folder
from labelwood.topk import TopK

KIND = "tagger"
MODEL, FEATURES = "model.", "features."  # prefixes of the saved arrays
# Measured on a fifth of the training rows of CookingStackExchange and EURLEX57K (its first 8,000 rows), one-vs-all,
# P@5: leaving out words that occur once -0.5 and +0.2; pairs of words as well -0.3 and -0.2, at six times the training
# time; plain counts in place of their logarithm -0.1 and 0.0. So: single words, all of them, sublinear.
FEATURES_FOR_TAGGING: Mapping[str, Any] = {"sublinear_tf": True}
Vectorizer = TfidfVectorizer | BagVectorizer


@dataclass(frozen=True)
class TagReason:
    """Why a text gets a label: its words with their contributions, strongest first, which with `rest` add up.

    On a tree model the contributions of a word are summed over the nodes on the label's path.
    """

    label: str
    score: float
    words: tuple[tuple[str, float], ...]
    rest: float
    explanation: Explanation

    def text(self, n: int = 5) -> str:
        """One line: the n strongest words with their signs."""
        parts = [f"{word} {push:+.2f}" for word, push in self.words[:n]]
        return ", ".join(parts) if parts else "no word of this text has a weight for the label"


class Tagger:
    """Gives texts the names of their labels.

    model: a registry name, such as "linear-tree", or "auto": one-vs-all as long as that trains in about a minute, else
    the linear tree (`model_.name` says which). features: parameters of TfidfVectorizer that differ from the defaults
    here (words, sublinear tf, unit length), or of BagVectorizer for models that take counts of words and n-grams, such
    as "hsoftmax". model_params: parameters of a named model. The constructor only stores; `fit` validates.
    """

    def __init__(
        self,
        model: str = AUTO,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        features: Mapping[str, Any] | None = None,
        model_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.seed = seed
        self.n_threads = n_threads
        self.features = features
        self.model_params = model_params

    def __repr__(self) -> str:
        return f"Tagger(model={self.model!r}, seed={self.seed})"

    # training

    def fit(
        self,
        texts: Iterable[str] | Dataset,
        labels: Iterable[Iterable[str]] | None = None,
        *,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> Tagger:
        """The tagger itself, trained on texts and a list of label names for each, or on a Dataset with texts.

        memory: refuse with BudgetError if training the model would need more bytes than this beside the data.
        """
        rows, y, label_names = _training_rows(texts, labels)
        if self.model != AUTO:
            self._new_model(self.model)  # a wrong name or parameter is told before the texts are worked through
        ids = naming.name_ids(label_names)
        vectorizer = self._new_vectorizer()
        progress.step("turning texts into features", 0, len(rows))
        x = vectorizer.fit_transform(rows)
        progress.step("turning texts into features", len(rows), len(rows))
        model = self._new_model(recommended_model(y.shape[1], x.nnz) if self.model == AUTO else self.model)
        texts_too = rows if model.reads_texts else None
        named = Dataset(x, y, texts_too, label_names=label_names, feature_names=_column_names(vectorizer))
        model.fit(named, memory=memory, progress=progress)
        self._take(vectorizer, model, ids)
        return self

    def _new_model(self, name: str) -> Model:
        model = model_class(name)(**{"seed": self.seed, "n_threads": self.n_threads, **(self.model_params or {})})
        model.Parameters.checked(model.get_params(), type(model).__name__)
        return model

    def _new_vectorizer(self) -> Vectorizer:
        given = {"n_threads": self.n_threads, **(self.features or {})}
        if self.model != AUTO and model_class(self.model).text_features == "bag":
            return BagVectorizer(**given)
        return TfidfVectorizer(**{**FEATURES_FOR_TAGGING, **given})

    def _take(self, vectorizer: Vectorizer, model: Model, ids: dict[str, int]) -> None:
        self.vectorizer_ = vectorizer
        self.model_ = model
        self._ids = ids
        self._words: Sequence[str] | None = None

    # answering

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of all labels the tagger can give."""
        self._check_fitted()
        return tuple(self.model_.label_names_ or ())

    def predict(self, texts: Iterable[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """The k best labels of each text as (name, score), best first."""
        return self.predict_top(texts, k).names(self.label_names)

    def predict_top(self, texts: Iterable[str], k: int = 5) -> TopK:
        """The k best labels of each text as TopK; numbers are places in `label_names`."""
        self._check_fitted()
        return self.model_.predict(self._asked(checked_texts(texts)), k)

    def explain(self, text: str, label: str) -> TagReason:
        """Why one text gets a label: its words and how much each pushes for (+) or against (-) it."""
        self._check_fitted()
        if not isinstance(text, str):
            raise DataError(f"explain takes one text, but got {text!r}")
        if label not in self._ids:
            raise DataError(naming.unknown_label(str(label), self._ids))
        why = self.model_.explain(self._asked([text]), self._ids[label])
        pushes = why.by_feature()
        rest = pushes.pop(-1, 0.0)
        ordered = sorted(
            ((self._word(f), push) for f, push in pushes.items()), key=lambda word: (-abs(word[1]), word[0])
        )
        return TagReason(label, why.score, tuple(ordered), rest, why)

    def evaluate(
        self,
        texts: Iterable[str] | Dataset,
        labels: Iterable[Iterable[str]] | None = None,
        *,
        ks: Sequence[int] = (1, 3, 5),
    ) -> dict[str, float]:
        """The metrics of the tagger's answers to texts whose labels are known: name -> per cent.

        Labels that the tagger does not know count as missed. Propensities come from its training labels.
        """
        self._check_fitted()
        if isinstance(texts, Dataset):
            rows, (y, _) = _texts_of(texts), self.label_matrix(texts)
        else:
            rows, y = checked_texts(texts), self.label_matrix(_labels_for(texts, labels))[0]
            _check_as_many(len(rows), y.shape[0])
        top = self.predict_top(rows, max(ks))
        counts = naming.padded_counts(self.model_.label_counts_, y.shape[1])
        return evaluate(top, y, train_y=counts, n_train=self.model_.n_rows_, ks=ks)

    def label_matrix(self, labels: Dataset | Iterable[Iterable[str]]) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
        """(y, unknown): labels by name as a matrix over `label_names`, with columns for unknown names at its end."""
        self._check_fitted()
        if not isinstance(labels, Dataset):
            return naming.label_matrix(naming.checked_names(labels), self._ids)
        if labels.label_names is None:
            raise DataError(f"{labels.source}: its labels have no names, but this tagger knows labels by name")
        return naming.renumbered(labels.y, labels.label_names, self._ids)

    # saving

    def save(self, folder: str | Path, *, extra: Mapping[str, Any] | None = None, overwrite: bool = True) -> None:
        """Write features, model and names to one folder, atomically; `extra` is kept in its manifest."""
        self._check_fitted()
        fields, arrays = model_state(self.model_)
        fields["kind"] = KIND
        fields["facts"] = {"model": fields["facts"], "features": self.vectorizer_._facts()}
        fields["extra"] = dict(extra or {})
        arrays = {f"{MODEL}{name}": array for name, array in arrays.items()}
        arrays.update({f"{FEATURES}{name}": array for name, array in self.vectorizer_._arrays().items()})
        save_folder(folder, fields, arrays, overwrite=overwrite)

    @classmethod
    def _load(cls, manifest: Mapping[str, Any], arrays: Arrays) -> Tagger:
        """The tagger of a saved folder; ModelFileError if its parts do not fit together."""
        where = "tagger"
        facts = manifest["facts"]
        if set(facts) != {"model", "features"}:
            raise ModelFileError(
                f"{where}: the facts of a tagger are 'model' and 'features', but here {sorted(facts)!r:.80}"
            )
        parts: dict[str, Arrays] = {MODEL: {}, FEATURES: {}}
        for name, array in arrays.items():
            prefix = next((prefix for prefix in parts if name.startswith(prefix)), None)
            if prefix is None:
                raise ModelFileError(f"{where}: array {name!r:.80} belongs neither to the model nor to the features")
            parts[prefix][name.removeprefix(prefix)] = array
        model = restored_model({**manifest, "facts": facts["model"]}, parts[MODEL], where)
        try:
            made = BagVectorizer if model.text_features == "bag" else TfidfVectorizer
            vectorizer: Vectorizer = made.from_arrays(parts[FEATURES], facts["features"])
            if model.label_names_ is None:
                raise ModelFileError("a tagger needs label names, but there are none")
            if vectorizer.n_features_ != model.n_features_:
                raise ModelFileError(f"{vectorizer.n_features_} features for a model of {model.n_features_}")
            ids = naming.name_ids(model.label_names_)
        except LabelwoodError as error:
            raise ModelFileError(f"{where}: {error}") from error
        given = model.parameters_
        features, params = vectorizer.get_params(), model.get_params()
        tagger = cls(model.name, seed=given.seed, n_threads=given.n_threads, features=features, model_params=params)
        tagger._take(vectorizer, model, ids)
        return tagger

    def _asked(self, texts: Sequence[str]) -> sparse.csr_matrix | Dataset:
        """What the model is asked with: features, and the texts themselves if it reads them."""
        rows = self.vectorizer_.transform(texts)
        if not self.model_.reads_texts:
            return rows
        return Dataset(rows, sparse.csr_matrix((len(texts), self.model_.n_labels_)), texts)

    def _word(self, feature: int) -> str:
        if self.vectorizer_.get_params().get("hashing") is not None:
            return f"bucket {feature}"  # hashing keeps no words
        if self._words is None:
            self._words = self.vectorizer_.feature_names  # made once: a large vocabulary takes a while
        return self._words[feature]

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("this Tagger is not trained yet: call fit, or labelwood.load a saved one")


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list; DataError says which one is no string."""
    if isinstance(texts, (str, bytes)):
        raise DataError("texts must be a list of texts, but one string came; write [text]")
    if texts is None or not isinstance(texts, Iterable):
        raise DataError(f"texts must be a list of texts, but got {texts!r}")
    rows = list(texts)
    for row, text in enumerate(rows):
        if not isinstance(text, str):
            raise DataError(f"texts, row {row}: expected a string, but got {text!r}")
    return rows


def _column_names(vectorizer: Any) -> list[str] | None:
    """The words of the columns; None where hashing keeps none."""
    try:
        names: list[str] = vectorizer.feature_names
    except ParamError:
        return None
    return names


def _training_rows(texts: Any, labels: Any) -> tuple[Sequence[str], sparse.csr_matrix, tuple[str, ...]]:
    """(texts, y, label names) to train on, checked."""
    if isinstance(texts, Dataset):
        if labels is not None:
            raise DataError("fit takes a Dataset alone, or texts and labels")
        rows, y = _texts_of(texts), texts.y
        label_names = tuple(texts.label_names or (str(number) for number in range(texts.n_labels)))
    else:
        rows = checked_texts(texts)
        lists = naming.checked_names(_labels_for(texts, labels))
        _check_as_many(len(rows), len(lists))
        label_names = naming.all_names(lists)
        y, _ = naming.label_matrix(lists, naming.name_ids(label_names))
    if not len(rows):
        raise DataError("fit needs at least one text")
    if y.nnz == 0:
        raise DataError("no text has a label: there is nothing to learn")
    return rows, y, label_names


def _texts_of(data: Dataset) -> Sequence[str]:
    if data.texts is None:
        raise DataError(f"{data.source}: its rows have features but no texts, and a Tagger works on texts; use a model")
    return data.texts


def _labels_for(texts: Any, labels: Any) -> Any:
    if labels is None:
        raise DataError("labels are missing: give one list of names for each text, or a Dataset with texts")
    return labels


def _check_as_many(n_texts: int, n_lists: int) -> None:
    if n_texts != n_lists:
        raise DataError(f"there are {n_texts} texts but {n_lists} lists of labels: each text needs its own list")
