"""NearRows: the labels of the most similar training rows, found by an exact search over the columns they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.ensemble.pairs import Pairs, pairs_of_matrix, restored_matrix
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

N_NEAR = 30
# Columns of more rows than this say little and cost most of the search: they are left out of the similarity.
LARGEST_SHARE = 0.05
ALWAYS_KEPT = 1000  # rows of a column that is never left out
# votes: their share weighted by similarity; closest: similarity of the most similar row with the label;
# first_five: how many of the five most similar rows have the label
COLUMNS = ("votes", "closest", "first five")
MISSING = (0.0, 0.0, 0.0)

SCHEMA: Schema = {
    "starts": ArrayRule("int64", ("n_features+1",), low=0),
    "rows": ArrayRule("int32", ("n_postings",), low=0, below="n_rows"),
    "values": ArrayRule("float32", ("n_postings",)),
    "label_starts": ArrayRule("int64", ("n_rows+1",), low=0),
    "labels": ArrayRule("int32", ("n_given",), low=0, below="n_labels"),
}


@dataclass(frozen=True, eq=False)
class NearRows:
    """Training rows by column (starts, rows, values) and their labels y."""

    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    y: sparse.csr_matrix

    @classmethod
    def of(cls, x: sparse.csr_matrix, y: sparse.csr_matrix) -> NearRows:
        """The index of training rows x with labels y."""
        columns = normalized_rows(x).tocsc()
        sizes = np.diff(columns.indptr)
        kept = sizes <= max(ALWAYS_KEPT, LARGEST_SHARE * x.shape[0])
        inside = np.repeat(kept, sizes)
        starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))]).astype(np.int64)
        return cls(starts, columns.indices[inside].astype(np.int32), columns.data[inside].astype(np.float32), y)

    def search(
        self, x: sparse.csr_matrix, n_threads: int | None
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """(rows, similarities) of the N_NEAR most similar training rows, best first, -1 and 0 padded."""
        queries = normalized_rows(x)
        near = np.empty((x.shape[0], N_NEAR), np.int32)
        similarities = np.empty((x.shape[0], N_NEAR), np.float32)
        _native.search_sparse(
            self.starts, self.rows, self.values, self.y.shape[0], row_pointers(queries),
            column_ids(queries), queries.data, n_threads or 0, near, similarities,
        )  # fmt: skip
        return near, similarities

    def pairs(self, x: sparse.csr_matrix, n_threads: int | None) -> tuple[Pairs, npt.NDArray[np.float32]]:
        """(the labels of the nearest rows, how similar the nearest row is)."""
        near, similarities = self.search(x, n_threads)
        found = near >= 0
        starts = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
        shape = (x.shape[0], self.y.shape[0])
        total = np.maximum(similarities.sum(axis=1, keepdims=True), 1e-9)
        shares = (similarities / total)[found]
        places = near[found]
        votes = sparse.csr_matrix((shares, places, starts), shape=shape) @ self.y
        keys = pairs_of_matrix(votes)
        # The same product with other numbers in the same places: which rows they are does not change.
        early = np.broadcast_to(np.arange(N_NEAR) < 5, near.shape)[found]
        firsts = sparse.csr_matrix((early + np.float32(1e-3), places, starts), shape=shape) @ self.y
        closest = np.zeros(len(keys), np.float32)
        of_near = self.y[places]
        labels_each = np.diff(of_near.indptr)
        owners = np.repeat(np.nonzero(found)[0], labels_each) * np.int64(self.y.shape[1]) + of_near.indices
        order = np.argsort(keys)
        np.maximum.at(closest, order[np.searchsorted(keys[order], owners)], np.repeat(similarities[found], labels_each))
        values = np.column_stack([votes.data, closest, np.floor(firsts.data)]).astype(np.float32)
        return Pairs(keys, values), similarities[:, 0]

    def arrays(self) -> Arrays:
        """The index as the schema declares it."""
        return {
            "starts": self.starts, "rows": self.rows, "values": self.values,
            "label_starts": row_pointers(self.y), "labels": column_ids(self.y),
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> NearRows:
        """The index of saved arrays; ModelFileError if they do not fit together."""
        y = restored_matrix(arrays["label_starts"], arrays["labels"], None, trained_on.n_labels, "labels of rows")
        starts, rows, values = arrays["starts"], arrays["rows"], arrays["values"]
        restored_matrix(starts, rows, values, trained_on.n_rows, "similar rows")
        return cls(starts, rows, values, y)
