"""Labels without a training row as companions of labels whose names are like theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.matrices import normalized_rows
from labelwood.models.ensemble.label_words import usual_name, without_namespace, without_qualifier
from labelwood.models.ensemble.pairs import pairs_of_matrix, ranks_within

MOST_ALIKE = 10  # names like that of a label
LEAST_ALIKE = 0.2  # cosine of names that are alike
# Runs of characters of more names than this say little and cost most: they are left out.
LARGEST_SHARE, ALWAYS_KEPT, NEVER_KEPT = 0.01, 50, 300
_SAMPLE = 2000  # labels with rows whose shares are compared with their names
_BATCH = 1024


def alike_unseen(
    label_names: Sequence[str],
    counts: npt.NDArray[np.int64],
    shares: sparse.csr_matrix,
    n_threads: int | None,
) -> sparse.csr_matrix:
    """(n_labels, n_labels): for labels with rows, how many of their rows may have each label without one.

    counts: the rows of every label; shares: how many of a label's rows have another one too. A share is the squared
    cosine of two names, times what shares of labels with rows are of theirs.
    """
    nothing = sparse.csr_matrix(shares.shape, dtype=np.float32)
    seen, unseen = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
    vectors = name_vectors(label_names, n_threads)
    if vectors is None or not len(seen) or not len(unseen):
        return nothing
    alike = most_alike(vectors[seen], vectors[unseen])
    some = seen[:: -(-len(seen) // _SAMPLE)]
    among_seen = most_alike(vectors[some], vectors[seen])
    itself = np.repeat(some, np.diff(among_seen.indptr)) == seen[among_seen.indices]
    among_seen.data[itself] = 0
    together = shares[some][:, seen].multiply(among_seen).sum()
    factor = together / max(among_seen.multiply(among_seen).sum(), 1e-9)
    rows = seen[np.repeat(np.arange(len(seen)), np.diff(alike.indptr))]
    numbers = (factor * alike.data).astype(np.float32)
    return sparse.csr_matrix((numbers, (rows, unseen[alike.indices])), shape=shares.shape)


def name_vectors(label_names: Sequence[str], n_threads: int | None) -> sparse.csr_matrix | None:
    """(n_labels, n_runs): tf-idf of runs of characters in the usual names, of length 1; None if names share none."""
    if len(label_names) < 2:
        return None
    names = [without_namespace(without_qualifier(usual_name(names))) for names in label_names]
    vectorizer = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), min_df=2, sublinear_tf=True, n_threads=n_threads
    )
    try:
        runs = vectorizer.fit_transform(names)
    except DataError:  # no run is in two names
        return None
    n_names = np.bincount(runs.indices, minlength=runs.shape[1])
    runs.data[n_names[runs.indices] > max(ALWAYS_KEPT, min(LARGEST_SHARE * len(names), NEVER_KEPT))] = 0
    runs.eliminate_zeros()
    return normalized_rows(runs)


def most_alike(vectors: sparse.csr_matrix, others: sparse.csr_matrix) -> sparse.csr_matrix:
    """(n_vectors, n_others): the squared cosines of each vector's most similar others."""
    back, parts = others.T.tocsr(), []
    for begin in range(0, vectors.shape[0], _BATCH):
        cosines = (vectors[begin : begin + _BATCH] @ back).tocsr()
        cosines.data[cosines.data < LEAST_ALIKE] = 0
        cosines.eliminate_zeros()
        keys = pairs_of_matrix(cosines)
        cosines.data[ranks_within(keys // cosines.shape[1], cosines.data, keys) >= MOST_ALIKE] = 0
        cosines.eliminate_zeros()
        cosines.data **= 2
        parts.append(cosines)
    return sparse.vstack(parts, format="csr")
