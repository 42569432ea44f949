"""DenseRows: what texts mean, as dense vectors: the most similar training texts, and labels as points beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, ModelFileError
from labelwood.matrices import normalized_rows
from labelwood.models.ensemble import even_space
from labelwood.models.ensemble.even_space import EvenSpace, inverse, product
from labelwood.models.ensemble.label_words import usual_name, without_namespace
from labelwood.models.ensemble.network import ROW_STEP, in_steps, unit_steps
from labelwood.models.ensemble.pairs import Floats, beside_each_other
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.static_vectors import installed_table
from labelwood.models.ensemble.text_meaning import NO_ENCODER, STATIC, TextMeaning
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.registry import AUTO
from labelwood.storage.schema import ArrayRule, Arrays, Schema

N_NEAR = 50
MOST_OF_ROWS, MOST_TOLD, MOST_OF_NAMES = 20, 20, 10  # labels that the parts propose
MOST_ROWS = 200_000  # a search reads all rows: beyond that labels alone have vectors
# A row has one vector and a label three; up to so many of them a query that was not asked for an encoder reads.
MOST_UNASKED = 20_000
MOST_SMALL = 1 << 23  # numbers of rows that are compressed in a folder
_RIDGE = 1.0
# votes: how many of the nearest texts have the label, weighed by squared similarity; closest: similarity of the nearest
# text that has it; first ten: how many of the ten nearest have it; rank by the votes; told: what a regression on the
# vector says, and its rank; centre: cosine to the mean of the label's texts; name: cosine to its name, and its rank
COLUMNS = ("votes", "closest", "first ten", "rank", "told", "told rank", "centre", "name", "name rank")

MEANING = "meaning"  # what is left out where held-out rows do not gain by dense vectors
WITH_WORDS = "words and meaning"  # what a model sees that is given features and vectors

EARLIER_SCHEMA: Schema = {  # without a space of their own
    "rows": ArrayRule("int8", ("n_kept", "n_dims")),
    "row_scale": ArrayRule("float32", ("n_kept",), finite=True),
    "told": ArrayRule("int8", ("n_labels", "n_dims")),
    "told_scale": ArrayRule("float32", ("n_labels",), finite=True),
    "centres": ArrayRule("int8", ("n_labels", "n_dims")),
    "centre_scale": ArrayRule("float32", ("n_labels",), finite=True),
    "names": ArrayRule("int8", ("n_names", "n_dims")),
    "name_scale": ArrayRule("float32", ("n_names",), finite=True),
}
SCHEMA: Schema = {**EARLIER_SCHEMA, **even_space.SCHEMA}


@dataclass(frozen=True)
class MeantTexts:
    """The vectors of training texts and of label names (none without names), what made them, and their space."""

    meaning: TextMeaning
    space: EvenSpace
    rows: Floats
    names: Floats

    @classmethod
    def of(cls, settings: EnsembleParams, data: FitInput) -> MeantTexts | None:
        """The vectors that the settings want; None if they want none, DataError if there are no texts."""
        if settings.encoder == NO_ENCODER:
            return None
        if settings.encoder == AUTO:
            if not tries_static(settings, data):
                return None
            meaning = TextMeaning.of(STATIC, None, settings.max_tokens)
        elif data.texts is None:
            raise DataError(f"Ensemble: encoder={settings.encoder!r} needs texts beside the features")
        else:
            meaning = TextMeaning.of(settings.encoder, settings.text_model, settings.max_tokens)
        assert data.texts is not None
        rows = meaning.vectors(data.texts, settings.n_threads, data.progress)
        space = EvenSpace.of(rows, settings.n_threads)
        names = np.zeros((0, meaning.width), np.float32)
        if data.label_words is not None:
            names = meaning.vectors([spoken(name) for name in data.label_words], settings.n_threads)
            names = space.placed(names, settings.n_threads)
        return cls(meaning, space, space.placed(rows, settings.n_threads), names)

    def take(self, rows: npt.NDArray[np.int64]) -> MeantTexts:
        """The same with some of the texts."""
        return replace(self, rows=self.rows[rows])


def tries_static(settings: EnsembleParams, data: FitInput) -> bool:
    """Whether held-out rows decide about static vectors: where they are installed, and quick to ask."""
    if settings.encoder != AUTO or data.texts is None or data.x.shape[0] + 3 * data.n_labels > MOST_UNASKED:
        return False
    return installed_table() is not None


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Vectors in bytes, each line times its scale: of training texts, and three of every label.

    rows: of length 1, none if there are too many. told (n_labels, n_dims): the weights of a ridge regression of the
    labels on the vectors. centres: the mean of a label's texts, names: the vector of its name, both of length 1.
    """

    meaning: TextMeaning
    rows: npt.NDArray[np.int8]
    row_scale: Floats
    told: npt.NDArray[np.int8]
    told_scale: Floats
    centres: npt.NDArray[np.int8]
    centre_scale: Floats
    names: npt.NDArray[np.int8]
    name_scale: Floats
    space: EvenSpace | None = None  # earlier versions took the vectors as they are

    @classmethod
    def of(cls, texts: MeantTexts, y: sparse.csr_matrix, n_threads: int | None = None) -> DenseRows:
        """The vectors of training texts with labels y."""
        vectors = texts.rows
        sums = np.asarray(y.T.tocsr().astype(np.float32) @ vectors, np.float32)
        squares = product(vectors.T, vectors, n_threads) + np.eye(vectors.shape[1]) * _RIDGE
        told = product(sums, inverse(squares), n_threads)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        centres = sums / np.maximum(lengths, np.float32(1e-9))[:, None]
        kept = vectors if len(vectors) <= MOST_ROWS else vectors[:0]
        return cls(
            texts.meaning,
            *unit_steps(kept, ROW_STEP),
            *in_steps(told),
            *unit_steps(centres),
            *unit_steps(texts.names),
            texts.space,
        )

    @property
    def width(self) -> int:
        """The numbers of a vector."""
        return self.meaning.width

    def vectors(self, texts: Sequence[str], n_threads: int | None) -> Floats:
        """The vectors of texts, in the space where they are compared."""
        vectors = self.meaning.vectors(texts, n_threads)
        return vectors if self.space is None else self.space.placed(vectors, n_threads)

    @property
    def is_small(self) -> bool:
        """Whether a folder keeps them compressed; larger ones are mapped."""
        return self.rows.size <= MOST_SMALL

    def arrays(self) -> Arrays:
        """The vectors as the schema declares them."""
        return self.tables() if self.space is None else self.tables() | self.space.arrays()

    def tables(self) -> Arrays:
        """The lines that are compared with a text."""
        return {name: getattr(self, name) for name in EARLIER_SCHEMA}

    def facts(self) -> dict[str, Any]:
        """What made the vectors."""
        return self.meaning.facts()

    @classmethod
    def restore(cls, arrays: Arrays, facts: Mapping[str, Any], trained_on: TrainedOn) -> DenseRows:
        """The vectors of saved arrays; ModelFileError if they are those of other rows or labels."""
        meaning = TextMeaning.restored(facts)
        n_rows, n_names = len(arrays["rows"]), len(arrays["names"])
        fits = arrays["rows"].shape[1] == meaning.width and n_names in (0, trained_on.n_labels)
        if not fits or n_rows != (trained_on.n_rows if trained_on.n_rows <= MOST_ROWS else 0):
            raise ModelFileError("ensemble: the dense vectors are those of other rows or labels")
        space = EvenSpace(*(arrays[name] for name in even_space.SCHEMA)) if "turn" in arrays else None
        return cls(meaning, **{name: arrays[name] for name in EARLIER_SCHEMA}, space=space)


def spoken(name: str) -> str:
    """A label's usual name as a text: hyphens and underscores between its words are blanks."""
    return " ".join(without_namespace(usual_name(name)).replace("-", " ").replace("_", " ").split())


def as_columns(vectors: Floats) -> sparse.csr_matrix:
    """The vectors as a sparse matrix with every number stored."""
    n, width = vectors.shape
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    return sparse.csr_matrix((vectors.reshape(-1), columns, np.arange(n + 1) * width), shape=(n, width))


def with_words(x: sparse.csr_matrix, vectors: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows of features, of length 1, with the columns of the vectors behind them."""
    return beside_each_other([normalized_rows(x), vectors])
