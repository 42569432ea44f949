"""Together: labels that often stand beside those that a row surely has, or are called like them and have no row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood.matrices import column_ids, row_pointers
from labelwood.models.ensemble.alike_names import alike_unseen
from labelwood.models.ensemble.pairs import pairs_of_matrix, ranks_within, restored_matrix
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

N_SURE = 5  # answers of a row whose companions are looked at
N_KEPT = 20  # companions of a label
MOST_PROPOSED = 20  # labels of a row
_DOUBT = 3.0  # rows that are added to a label's own when a share is taken
# beside: the shares of companions, each times the score of the label that they stand beside, added up
COLUMNS = ("beside",)

SCHEMA: Schema = {
    "starts": ArrayRule("int64", ("n_labels+1",), low=0),
    "labels": ArrayRule("int32", ("n_companions",), low=0, below="n_labels"),
    "shares": ArrayRule("float32", ("n_companions",), low=0, finite=True),
}


@dataclass(frozen=True, eq=False)
class Together:
    """shares (n_labels, n_labels): how many of a label's rows have the other label too; the largest of each row."""

    shares: sparse.csr_matrix

    @classmethod
    def of(
        cls, y: sparse.csr_matrix, label_names: Sequence[str] | None = None, n_threads: int | None = None
    ) -> Together:
        """The companions of every label in the rows y; by their names, if they have some, of labels without a row."""
        counts = np.bincount(y.indices, minlength=y.shape[1])
        both = (y.T.tocsr().astype(np.float32) @ y.astype(np.float32)).tocsr()
        both.setdiag(0)
        both.data[both.data < 2] = 0
        both.eliminate_zeros()
        keys = pairs_of_matrix(both)
        rows = keys // both.shape[1]
        both.data /= (counts[rows] + _DOUBT).astype(np.float32)
        unseen = None if label_names is None else alike_unseen(label_names, counts, both, n_threads)
        both.data[ranks_within(rows, both.data, keys) >= N_KEPT] = 0
        both.eliminate_zeros()
        if unseen is not None:
            both = (both + unseen).tocsr()
        both.sort_indices()
        return cls(both)

    def arrays(self) -> Arrays:
        """The companions as the schema declares them."""
        shares = self.shares
        return {
            "starts": row_pointers(shares), "labels": column_ids(shares),
            "shares": shares.data.astype(np.float32),
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> Together:
        """The companions of saved arrays; ModelFileError if they are no matrix."""
        n_labels = trained_on.n_labels
        return cls(restored_matrix(arrays["starts"], arrays["labels"], arrays["shares"], n_labels, "labels beside"))
