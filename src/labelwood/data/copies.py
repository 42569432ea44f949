"""Exact copies of a text among the rows: where many texts have one, copies are held out together, as groups are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.groups import LARGEST_SHARE, Ints

MANY_COPIES = 0.1  # the share of texts with a copy from which copies are held out together


def with_copies_as_groups(data: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """(the data set with copies of a text as its groups, what there is to say), as in `copies_together`.

    A data set that has groups, or no texts, as it is.
    """
    if data.groups is not None or data.texts is None:
        return data, ()
    groups, notes = copies_together(data.texts, data.y)
    return (data if groups is None else replace(data, groups=groups.tolist())), notes


def copies_together(texts: Sequence[str], y: sparse.csr_matrix) -> tuple[Ints | None, tuple[str, ...]]:
    """(the number of the group of each row, what there is to say); copies are groups where there are many.

    None where there are few, or where most labels would be lost.
    """
    groups, share = copies_of(texts, y)
    if share < MANY_COPIES:
        return None, ()
    told = f"{100 * share:.0f}% of the texts have an exact copy among the others"
    if groups is None:
        return None, (
            f"{told}, and most labels stand with one text only: what is measured holds for such copies, and is "
            "too good for new texts",
        )
    held = float(np.mean(np.bincount(groups)[groups] > 1))
    but = " (but for one that more than half of the rows are)" if held < share else ""
    return groups, (
        f"{told}; copies are held out together{but}, so that "
        "what is measured holds for new texts. Remove copies that mean nothing; --group (in Python groups=) says if "
        "other rows belong together",
    )


def copies_of(texts: Sequence[str], y: sparse.csr_matrix) -> tuple[Ints | None, float]:
    """(groups of equal texts, the share of texts that have a copy), as in `groups_of_equals`; outer blanks aside."""
    # Hashes: 0.3 s for a million short texts.
    return groups_of_equals(np.fromiter((hash(text.strip()) for text in texts), np.int64, len(texts)), hash(""), y)


def groups_of_equals(hashes: npt.NDArray[Any], empty: int, y: sparse.csr_matrix) -> tuple[Ints | None, float]:
    """(the group of each row, which is that of the rows with its hash; the share of rows with a hash of others).

    A copy on the other side makes a held-out row look easy. So from MANY_COPIES on they belong together; with fewer
    there are no groups; nor if most entries of y are of labels that stand with one hash only, for whoever holds it out
    could learn nothing of them. Rows with the hash `empty` are alone, and so are those of a hash that most rows have.
    """
    n_rows = len(hashes)
    if not n_rows:
        return None, 0.0
    _, first, number, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    sizes = np.where(hashes == empty, 1, counts[number])
    share = float(np.mean(sizes > 1))
    if share < MANY_COPIES:
        return None, share
    alone = (sizes == 1) | (sizes > LARGEST_SHARE * n_rows)
    groups = np.where(alone, np.arange(n_rows), first[number]).astype(np.int64)
    pairs = np.unique(np.repeat(groups, np.diff(y.indptr)) * y.shape[1] + y.indices)
    lost = np.bincount(pairs % y.shape[1], minlength=y.shape[1])[y.indices] == 1
    return (None if y.nnz and lost.mean() > 0.5 else groups), share
