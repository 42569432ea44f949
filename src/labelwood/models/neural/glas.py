"""GLaS: rows and labels as vectors of length 1, with label vectors as close as labels belong together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.fingerprint import data_fingerprint
from labelwood.data.keyed_random import keyed_bits
from labelwood.errors import ModelFileError
from labelwood.labelspace.affinity import KEPT_PAIRS
from labelwood.matrices import normalized_rows
from labelwood.models.base import Model
from labelwood.models.explanation import Explanation
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.neural.embedding_answers import answers, vector_reasons
from labelwood.models.neural.forward import ENCODER, bag_forward, check_encoder, unit_rows
from labelwood.models.neural.glas_params import PRESETS, GLaSParams
from labelwood.models.neural.runtime import require_torch
from labelwood.neighbors.index import INDEX, NeighborIndex
from labelwood.storage.schema import ArrayRule, Arrays, Schema, part, prefixed, under
from labelwood.topk import TopK

Floats = npt.NDArray[np.float32]
_MAP, _INDEX = "map.", "index."
_SAMPLE_ROWS = 1000  # rows whose vectors the search index is tried with


@dataclass(frozen=True, eq=False)
class FittedGLaS(Fitted[GLaSParams]):
    """The map of rows to vectors, the labels that have a vector (`seen`) with an index of those, and the epochs."""

    name = "glas"
    map: Arrays
    seen: npt.NDArray[np.int32]
    index: NeighborIndex | None
    history: Mapping[str, Any]

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels whose vectors have the largest cosines with each row's vector."""
        return answers(self.vectors, x, k, self.index, self.seen, self.n_labels, n_threads)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The cosine of the row's and the label's vector, feature by feature."""
        place = int(np.searchsorted(self.seen, label))
        vector = None
        if self.index is not None and place < len(self.seen) and self.seen[place] == label:
            vector = self.index.store.floats([place])[0]
        return vector_reasons(self.map, normalized_rows(row), row, label, vector)

    def probabilities(self, scores: Floats) -> Floats:
        """(1 + cosine) / 2."""
        return np.asarray(np.clip((1 + scores) / 2, 0, 1), np.float32)

    def vectors(self, x: sparse.csr_matrix, n_threads: int | None = None) -> Floats:
        """The vectors of rows, float32 (n, dim), of length 1."""
        return unit_rows(bag_forward(self.map, normalized_rows(x), n_threads))

    def label_vectors(self) -> Floats:
        """The vectors of all labels, float32 (n_labels, dim), of length 1; 0 for labels without a training row."""
        vectors = np.zeros((self.n_labels, self.settings.dim), np.float32)
        if self.index is not None:
            vectors[self.seen] = self.index.store.floats()
        return vectors

    def structure(self) -> dict[str, float]:
        """The size of the vectors, how many labels have one, and the measured recall of the label search."""
        recall = 1.0 if self.index is None else self.index.recall
        return {"dimensions": self.settings.dim, "labels with a vector": len(self.seen), "recall": recall}

    # storage

    @classmethod
    def schema(cls, settings: GLaSParams, facts: Mapping[str, Any]) -> Schema:
        """The labels with a vector, the map, and the index of the vectors if there are some."""
        seen = {"seen": ArrayRule("int32", ("n_seen",), low=0, below="n_labels")}
        return {**seen, **under(_MAP, ENCODER), **({} if facts["index"] is None else under(_INDEX, INDEX))}

    def arrays(self) -> Arrays:
        """The labels with a vector, the map and the index."""
        index = {} if self.index is None else self.index.arrays()
        return {"seen": self.seen, **prefixed(_MAP, self.map), **prefixed(_INDEX, index)}

    def facts(self) -> dict[str, Any]:
        """What the index is, and what the epochs reached."""
        return {"index": None if self.index is None else self.index.facts(), "history": dict(self.history)}

    @classmethod
    def restore(
        cls, settings: GLaSParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedGLaS:
        """The state of a saved map and label vectors; ModelFileError if they do not fit together."""
        row_map, seen, index = part(_MAP, arrays), arrays["seen"], None
        dim = check_encoder(row_map, trained_on.n_features, "glas", wide=True)
        if dim != settings.dim or ("outer" in row_map) == (settings.map == "linear"):
            raise ModelFileError(f"glas: the map is not {settings.map} with {settings.dim} numbers")
        if not np.array_equal(seen, np.flatnonzero(trained_on.label_counts)):
            raise ModelFileError("glas: the labels with a vector are not those with training rows")
        if facts["index"] is not None:
            index = NeighborIndex.restore(part(_INDEX, arrays), facts["index"])
        n_vectors, width = (0, dim) if index is None else (len(index), index.store.dim)
        if (n_vectors, width) != (len(seen), dim):
            raise ModelFileError(f"glas: {n_vectors} label vectors of {width} numbers for {len(seen)} labels of {dim}")
        return cls(settings, trained_on, row_map, seen, index, dict(facts["history"]))


class GLaS(Model[GLaSParams, FittedGLaS]):
    """Rows and labels are vectors of length 1; a label's score is the cosine, in [-1, 1] (Guo et al., NeurIPS 2019).

    The map of the rows and the label vectors are trained together; the regularizer asks that the product of two label
    vectors be how much the labels belong together in the training rows. Labels without a training row come last, with
    score -1. Training needs torch, answering does not.
    """

    name = "glas"
    Parameters = GLaSParams
    FittedState = FittedGLaS
    PRESETS = PRESETS

    @staticmethod
    def _train(settings: GLaSParams, data: FitInput) -> FittedGLaS:
        require_torch("GLaS")
        from labelwood.models.neural.glas_training import trained_glas

        rows = normalized_rows(data.x)
        identity = _identity(data, settings)
        trained = trained_glas(rows, data.y, settings, identity, data.progress, groups=data.groups)
        seen = np.flatnonzero(np.bincount(data.y.indices, minlength=data.n_labels)).astype(np.int32)
        index = None
        if len(seen):
            some = np.sort(keyed_bits(settings.seed, 0x696478, np.arange(_SAMPLE_ROWS)) % np.uint64(rows.shape[0]))
            sample = rows[np.unique(some.astype(np.int64))]
            index = NeighborIndex.build(
                unit_rows(trained.label_vectors[seen]),
                queries=unit_rows(bag_forward(trained.map_arrays, sample, settings.n_threads)),
                seed=settings.seed,
                n_threads=settings.n_threads,
            )
        return FittedGLaS(settings, data.trained_on(), trained.map_arrays, seen, index, trained.history)

    @staticmethod
    def _training_memory(settings: GLaSParams, data: FitInput) -> int:
        n_rows, n_features = data.x.shape
        n_labels = data.n_labels
        sampled = settings.loss != "softmax" or n_labels > settings.full_softmax
        # Weights, two moments, a gradient, the best weights and those of the last step, the model itself, one more.
        width = settings.dim * (1 if settings.map == "linear" else settings.widen)
        tables = 8 * 4 * (width * (int(n_features) + 2 * settings.dim) + settings.dim * n_labels)
        batch = min(settings.batch_size, int(n_rows))
        compared = min(n_labels, settings.negatives + batch * 64) if sampled else n_labels
        batches = 4 * 8 * batch * (compared + 2 * width + 2 * settings.dim)
        pairs = min(float(np.square(np.diff(data.y.indptr).astype(np.float64)).sum()), float(KEPT_PAIRS))
        entries = 12 * int(data.x.nnz) + 8 * int(data.y.nnz)
        return int(tables + batches + 40 * pairs + 2 * entries + (300 << 20))  # torch itself

    def vectors(self, x: Any) -> Floats:
        """The vectors of rows, float32 (n, dim), of length 1."""
        state = self.fitted_
        return state.vectors(self._rows(x), self._threads())

    def label_vectors(self) -> Floats:
        """The vectors of all labels, float32 (n_labels, dim), of length 1; 0 for labels without a training row."""
        return self.fitted_.label_vectors()


def _identity(data: FitInput, settings: GLaSParams) -> str:
    """What two training runs must share to be one: parameters and data; only needed for checkpoints."""
    if settings.checkpoint is None:
        return ""
    shared = {k: v for k, v in settings.as_dict().items() if k not in ("checkpoint", "n_threads", "device")}
    said = (json.dumps(shared, sort_keys=True) + data_fingerprint(data.x, data.y)).encode()
    return hashlib.sha256(said + (b"" if data.groups is None else data.groups.tobytes())).hexdigest()
