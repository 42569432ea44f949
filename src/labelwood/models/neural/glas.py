"""GLaS: rows and labels as vectors of length 1, with label vectors as close as labels belong together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.fingerprint import data_fingerprint
from labelwood.data.keyed_random import keyed_bits
from labelwood.errors import ModelFileError
from labelwood.labelspace.affinity import AFFINITIES, KEPT_PAIRS
from labelwood.matrices import normalized_rows
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Explanation
from labelwood.models.neural.embedding_answers import answers, vector_reasons
from labelwood.models.neural.forward import bag_forward, check_encoder, unit_rows
from labelwood.models.neural.runtime import DEVICES, PRECISIONS, require_torch
from labelwood.neighbors.index import NeighborIndex
from labelwood.params import Params, param
from labelwood.progress import Progress
from labelwood.topk import TopK

_MAP, _INDEX = "map.", "index."
_SAMPLE_ROWS = 1000  # rows whose vectors the search index is tried with


@dataclass(frozen=True)
class GLaSParams(Params):
    """Parameters of GLaS."""

    dim: int = param(256, "numbers in a vector", low=1, high=65536)
    map: str = param(
        "residual",
        "rows to vectors: one sparse layer (linear); then ReLU and a layer (nonlinear); both added (residual)",
        choices=("residual", "nonlinear", "linear"),
    )
    widen: int = param(1, "nonlinear and residual: the sparse layer has so many times dim outputs", low=1, high=64)
    regularizer: str = param(
        "glas", "what is asked of label vectors beside fitting", choices=("glas", "spreadout", "gravity", "none")
    )
    weight: float = param(100.0, "weight of the regularizer", low=0)
    adjacency: str = param("arithmetic", "how labels that occur together belong together", choices=AFFINITIES)
    loss: str = param("softmax", "what an error costs", choices=("softmax", "margin", "snm"))
    margin: float = param(0.3, "margin and snm: cosine by which a true label must be ahead", low=0, high=2)
    hardest: int = param(20, "snm: negatives of each row that count", low=1)
    negatives: int = param(
        100, "random labels a batch is compared with beside its own, unless with all", low=0, high=10**7
    )
    full_softmax: int = param(20_000, "softmax: up to so many labels all are compared, above a sample", low=0)
    scale: float | None = param(
        None,
        "softmax: first length of the scores, which is learnt; None: 0.85 sqrt(labels of a row) log(labels)",
        low=0,
        low_open=True,
        kind=float,
    )
    keep: float = param(1.0, "share of a row's features that a training step sees", low=0, low_open=True, high=1)
    weight_norm: bool = param(True, "all outputs of a layer have one length, which is learnt")
    optimizer: str = param(
        "sgd",
        "steps of the feature vectors: in proportion to the gradient (sgd), or alike however rare the feature (adam)",
        choices=("sgd", "adam"),
    )
    lr: float = param(0.003, "learning rate of the map", low=0, low_open=True)
    label_lr: float = param(0.002, "learning rate of the label vectors", low=0, low_open=True)
    epochs: int = param(6, "passes over the rows", low=1, high=100_000)
    batch_size: int = param(256, "rows of a step at most; small data gets smaller steps", low=1)
    validation: float = param(
        0.02, "share of the rows kept back to measure P@1 after each epoch, at most 2000", low=0, high=0.9
    )
    patience: int = param(0, "stop after so many epochs without a better validation P@1; 0: never", low=0)
    checkpoint: str | None = param(None, "folder for the state of training: a killed run goes on from there", kind=str)
    device: str = param("auto", "where to train: auto takes CUDA where there is one", choices=DEVICES)
    precision: str = param("auto", "auto: bf16 on GPUs that have it, else float32", choices=PRECISIONS)


class GLaS(Model):
    """Rows and labels are vectors of length 1; a label's score is the cosine, in [-1, 1] (Guo et al., NeurIPS 2019).

    The map of the rows and the label vectors are trained together; the regularizer asks that the product of two label
    vectors be how much the labels belong together in the training rows. Labels without a training row come last, with
    score -1. Training needs torch, answering does not.
    """

    name = "glas"
    Parameters = GLaSParams

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        require_torch("GLaS")
        from labelwood.models.neural.glas_training import trained_glas

        rows = normalized_rows(x)
        fitted = trained_glas(rows, y, parameters, _identity(x, y, parameters), progress)
        self.map_ = fitted.map_arrays
        self.history_ = fitted.history
        self.seen_ = np.flatnonzero(np.bincount(y.indices, minlength=y.shape[1])).astype(np.int32)
        self.index_: NeighborIndex | None = None
        if len(self.seen_):
            some = np.sort(keyed_bits(parameters.seed, 0x696478, np.arange(_SAMPLE_ROWS)) % np.uint64(x.shape[0]))
            queries = unit_rows(bag_forward(self.map_, rows[np.unique(some.astype(np.int64))], parameters.n_threads))
            self.index_ = NeighborIndex.build(
                unit_rows(fitted.label_vectors[self.seen_]),
                queries=queries,
                seed=parameters.seed,
                n_threads=parameters.n_threads,
            )

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        n_labels = int(y.shape[1])
        sampled = parameters.loss != "softmax" or n_labels > parameters.full_softmax
        # Weights, two moments, a gradient, the best weights and those of the last step, the model itself, one more.
        width = parameters.dim * (1 if parameters.map == "linear" else parameters.widen)
        tables = 8 * 4 * (width * (int(x.shape[1]) + 2 * parameters.dim) + parameters.dim * n_labels)
        batch = min(parameters.batch_size, int(x.shape[0]))
        compared = min(n_labels, parameters.negatives + batch * 64) if sampled else n_labels
        batches = 4 * 8 * batch * (compared + 2 * width + 2 * parameters.dim)
        pairs = min(float(np.square(np.diff(y.indptr).astype(np.float64)).sum()), float(KEPT_PAIRS))
        rows = 12 * int(x.nnz) + 8 * int(y.nnz)
        return int(tables + batches + 40 * pairs + 2 * rows + (300 << 20))  # torch itself

    def vectors(self, x: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The vectors of rows, float32 (n, dim), of length 1."""
        self._check_fitted()
        return self._vectors(self._checked_features(x))

    def label_vectors(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The vectors of all labels, float32 (n_labels, dim), of length 1; 0 for labels without a training row."""
        self._check_fitted()
        found = np.zeros((self.n_labels_, self.parameters_.dim), np.float32)
        if self.index_ is not None:
            found[self.seen_] = self.index_.store.floats()
        return found

    def structure(self) -> dict[str, float]:
        """The size of the vectors, how many labels have one, and the measured recall of the label search."""
        recall = 1.0 if self.index_ is None else self.index_.recall
        return {"dimensions": self.parameters_.dim, "labels with a vector": len(self.seen_), "recall": recall}

    def _vectors(self, x: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.float32]]:
        return unit_rows(bag_forward(self.map_, normalized_rows(x), self.parameters_.n_threads))

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        return answers(self._vectors, x, k, self.index_, self.seen_, self.n_labels_, self.parameters_.n_threads)

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        place = int(np.searchsorted(self.seen_, label))
        known = place < len(self.seen_) and self.seen_[place] == label and self.index_ is not None
        vector = self.index_.store.floats([place])[0] if known and self.index_ is not None else None
        return vector_reasons(self.map_, normalized_rows(row), row, label, vector)

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"seen": self.seen_, **{_MAP + name: array for name, array in self.map_.items()}}
        if self.index_ is not None:
            arrays |= {_INDEX + name: array for name, array in self.index_.arrays().items()}
        return arrays

    def _facts(self) -> dict[str, Any]:
        return {"index": None if self.index_ is None else self.index_.facts(), "history": self.history_}

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        self.map_ = {name[len(_MAP) :]: array for name, array in arrays.items() if name.startswith(_MAP)}
        dim = check_encoder(self.map_, self.n_features_, "glas", wide=True)
        self.seen_ = arrays["seen"]
        if self.seen_.dtype != np.int32 or self.seen_.ndim != 1:
            raise ModelFileError(f"glas: seen must be int32 numbers, but is {self.seen_.dtype} {self.seen_.shape}")
        if not np.array_equal(self.seen_, np.flatnonzero(self.label_counts_)):
            raise ModelFileError("glas: the labels with a vector are not those with training rows")
        self.index_ = None
        if facts["index"] is not None:
            found = {name[len(_INDEX) :]: array for name, array in arrays.items() if name.startswith(_INDEX)}
            self.index_ = NeighborIndex.restore(found, facts["index"])
            if len(self.index_) != len(self.seen_) or self.index_.store.dim != dim:
                raise ModelFileError(
                    f"glas: {len(self.index_)} label vectors of {self.index_.store.dim} numbers do not fit"
                )
        elif len(self.seen_):
            raise ModelFileError(f"glas: no vectors for {len(self.seen_)} labels")
        self.history_ = dict(facts["history"])


def _identity(x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> str:
    """What two training runs must share to be one: parameters and data; only needed for checkpoints."""
    if parameters.checkpoint is None:
        return ""
    shared = {k: v for k, v in parameters.as_dict().items() if k not in ("checkpoint", "n_threads", "device")}
    return hashlib.sha256((json.dumps(shared, sort_keys=True) + data_fingerprint(x, y)).encode()).hexdigest()
