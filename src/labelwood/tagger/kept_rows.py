"""KeptRows: the training rows of a tagger, kept small: what later corrections are learnt together with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash
from scipy import sparse

from labelwood.data.groups import group_text, is_alone
from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, row_pointers
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, whole_number

WHERE = "kept rows"
# Bounds of columns and numbers are checked when rows are used: reading them all would make every load slow.
KEPT: Schema = {
    "x_start": ArrayRule("int64", ("n_kept+1",)),
    "x_columns": ArrayRule("int32", ("n_values",)),
    "x_values": ArrayRule("uint16", ("n_values",)),
    "y_start": ArrayRule("int64", ("n_kept+1",)),
    "y_columns": ArrayRule("int32", ("n_entries",)),
    "texts": ArrayRule("uint64", ("n_kept",)),
    "ids": ArrayRule("uint64", ("n_kept",)),
    "numbers": ArrayRule("int64", ("n_kept",)),
    "groups": ArrayRule("uint64", ("n_kept",), optional=True),
}
LARGEST_HALF = 65504.0
MOST_ROWS = 2**48  # that were ever learnt
NO_ID = 0
NAME_ID = 1  # of a row that is the name of its label; no hash that matters is 1
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Features as half floats, labels, and 64-bit hashes of texts and ids: about 6 bytes for each word of a text.

    arrays: as KEPT declares them; numbers count the rows of a model as they came; groups are there if some row has one
    (a hash of it; NO_ID: none). n_pending: the last rows, which the
    model does not know yet. whole: all rows that the model was trained on are here.
    """

    arrays: Arrays
    n_pending: int = 0
    whole: bool = True

    @classmethod
    def of(
        cls,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        texts: Hashes,
        ids: Hashes | None = None,
        *,
        groups: Hashes | None = None,
        first_number: int = 0,
        whole: bool = True,
    ) -> KeptRows:
        """The rows x (n, n_features) and y (n, n_labels); texts, ids, groups: hashes; numbered from first_number on."""
        n_rows = len(texts)
        arrays: Arrays = {
            "x_start": row_pointers(x),
            "x_columns": column_ids(x),
            "x_values": np.clip(x.data, -LARGEST_HALF, LARGEST_HALF).astype(np.float16).view(np.uint16),
            "y_start": row_pointers(y),
            "y_columns": column_ids(y),
            "texts": texts,
            "ids": np.zeros(n_rows, np.uint64) if ids is None else ids,
            "numbers": np.arange(first_number, first_number + n_rows, dtype=np.int64),
        }
        if groups is not None and np.any(groups != NO_ID):
            arrays["groups"] = groups
        return cls(arrays, whole=whole)

    def __len__(self) -> int:
        return len(self.arrays["texts"])

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def first_pending(self) -> int:
        """The place of the first row that the model does not know yet."""
        return len(self) - self.n_pending

    # what the rows are

    @property
    def are_names(self) -> npt.NDArray[np.bool_]:
        """Which rows are names of their labels."""
        return np.asarray(self.arrays["ids"] == NAME_ID)

    @property
    def groups(self) -> Hashes:
        """A hash of the group of each row; NO_ID for a row that is in none."""
        return self.arrays.get("groups", np.full(len(self), NO_ID, np.uint64))

    def group_of(self, place: int) -> int:
        """A hash of the group of one row; NO_ID if it is in none."""
        return int(self.arrays["groups"][place]) if "groups" in self.arrays else NO_ID

    def name_counts(self, n_labels: int) -> npt.NDArray[np.int32]:
        """How many rows of each label are names."""
        names = np.repeat(self.are_names, np.diff(self._starts("y")))
        return np.bincount(self.arrays["y_columns"][names], minlength=n_labels).astype(np.int32)

    def x(self, n_features: int) -> sparse.csr_matrix:
        """The features, float32 (n_rows, n_features); ModelFileError if they are damaged."""
        values = self.arrays["x_values"].view(np.float16).astype(np.float32)
        return self._matrix("x", values, n_features)

    def y(self, n_labels: int) -> sparse.csr_matrix:
        """The labels as ones (n_rows, n_labels); ModelFileError if they are damaged."""
        return self._matrix("y", np.ones(len(self.arrays["y_columns"]), np.float32), n_labels)

    def _matrix(self, which: str, values: npt.NDArray[np.float32], width: int) -> sparse.csr_matrix:
        start, columns = self._starts(which), self.arrays[f"{which}_columns"]
        if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < width:
            raise ModelFileError(f"the {WHERE} are damaged: {which} has columns outside 0..{width - 1}")
        if not np.isfinite(values).all():
            raise ModelFileError(f"the {WHERE} are damaged: {which} holds numbers that are not finite")
        return sparse.csr_matrix((values, columns, start), shape=(len(self), width))

    def _starts(self, which: str) -> npt.NDArray[np.int64]:
        """Where the rows of x or y begin; ModelFileError if they are damaged."""
        start: npt.NDArray[np.int64] = self.arrays[f"{which}_start"]
        if start[0] != 0 or start[-1] != len(self.arrays[f"{which}_columns"]) or np.any(np.diff(start) < 0):
            raise ModelFileError(f"the {WHERE} are damaged: {which} is no matrix of {len(self)} rows")
        return start

    def check(self, n_labels: int) -> None:
        """ModelFileError if labels or numbers of the rows are damaged."""
        self.y(n_labels)
        numbers = self.arrays["numbers"]
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < MOST_ROWS:
            raise ModelFileError(f"the {WHERE} are damaged: they have numbers outside 0..{MOST_ROWS - 1}")

    # other rows

    def pending(self) -> KeptRows:
        """The rows that the model does not know yet."""
        return replace(self.take(np.arange(self.first_pending, len(self))), whole=False)

    def take(self, places: npt.NDArray[np.int64]) -> KeptRows:
        """Some of the rows, places ascending."""
        if len(places) == len(self):
            return self
        of_rows = ("texts", "ids", "numbers", "groups")
        arrays = {name: self.arrays[name][places] for name in of_rows if name in self.arrays}
        for which in ("x", "y"):
            start = self._starts(which)
            lengths = np.diff(start)[places]
            ends = np.cumsum(lengths)
            entries = np.repeat(start[:-1][places] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
            arrays[f"{which}_start"] = np.concatenate([[0], ends]).astype(np.int64)
            for name in (f"{which}_columns", f"{which}_values"):
                if name in self.arrays:
                    arrays[name] = self.arrays[name][entries]
        return replace(self, arrays=arrays, n_pending=int((places >= self.first_pending).sum()))

    def joined(self, more: KeptRows) -> KeptRows:
        """These rows and, behind them, more that the model does not know yet."""
        arrays: Arrays = {}
        if "groups" in self.arrays or "groups" in more.arrays:
            arrays["groups"] = np.concatenate([self.groups, more.groups])
        for name, array in self.arrays.items():
            if name in arrays:
                continue
            other = more.arrays[name]
            arrays[name] = np.concatenate([array, other[1:] + array[-1]] if name.endswith("_start") else [array, other])
        return replace(self, arrays=arrays, n_pending=self.n_pending + len(more))

    def learnt(self) -> KeptRows:
        """The same rows, all of them known to the model."""
        return replace(self, n_pending=0)

    def renumbered(self) -> KeptRows:
        """The same rows with numbers from 0 on, as a model that is fitted to them counts."""
        return replace(self, arrays={**self.arrays, "numbers": np.arange(len(self), dtype=np.int64)})

    def with_label(self, old: int, new: int) -> tuple[KeptRows, npt.NDArray[np.int64]]:
        """(the rows with label `new` in place of `old`, the places of the rows that had it)."""
        n_labels = int(self.arrays["y_columns"].max(initial=max(old, new))) + 1
        y = self.y(n_labels)
        had = np.flatnonzero(np.asarray(y[:, old].todense()).ravel())
        moved = np.where(y.indices == old, new, y.indices)
        changed = sparse.csr_matrix((np.ones(len(moved), np.float32), moved, y.indptr), shape=y.shape)
        changed.sum_duplicates()
        arrays = {**self.arrays, "y_start": row_pointers(changed), "y_columns": column_ids(changed)}
        return replace(self, arrays=arrays), had

    # storage

    def facts(self) -> dict[str, Any]:
        """What is saved beside the arrays."""
        return {"n_pending": self.n_pending, "whole": self.whole}

    @classmethod
    def restore(cls, arrays: Arrays, facts: Any) -> KeptRows:
        """The rows of saved arrays and facts; ModelFileError if they do not fit together."""
        sizes = check_arrays(KEPT, arrays, {}, WHERE)
        if not isinstance(facts, Mapping) or set(facts) != {"n_pending", "whole"}:
            raise ModelFileError(f"{WHERE}: the facts must be n_pending and whole, but are {facts!r:.80}")
        n_pending = whole_number(facts, "n_pending", 0, sizes["n_kept"], WHERE)
        if not isinstance(facts["whole"], bool):
            raise ModelFileError(f"{WHERE}: whole must be true or false, but is {facts['whole']!r:.60}")
        return cls(arrays, n_pending, facts["whole"])


def kept_bytes(x: sparse.csr_matrix, y: sparse.csr_matrix) -> int:
    """The bytes that rows take when they are kept."""
    return int(6 * x.nnz + 4 * y.nnz + 40 * x.shape[0] + 16)


def no_rows() -> KeptRows:
    """Rows of a model whose training rows were not kept."""
    nothing = sparse.csr_matrix((0, 0), dtype=np.float32)
    return KeptRows.of(nothing, nothing, np.zeros(0, np.uint64), whole=False)


def text_hashes(texts: Sequence[str]) -> Hashes:
    """A hash of each text; texts that differ in spaces alone have the same."""
    return np.array([_hash(" ".join(text.split())) for text in texts], np.uint64)


def id_hashes(ids: Sequence[str]) -> Hashes:
    """A hash of each id; NO_ID for an empty one."""
    return np.array([_hash(str(row_id)) if str(row_id).strip() else NO_ID for row_id in ids], np.uint64)


def group_hashes(groups: Sequence[Any]) -> Hashes:
    """A hash of each group; NO_ID for a row that is in none. The number 7 is the text '7', as a table may hold it."""
    return np.array([NO_ID if is_alone(group) else _hash(group_text(group)) for group in groups], np.uint64)


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
