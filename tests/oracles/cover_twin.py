"""Slow, plain twins of label frequencies, cover frequencies and label vectors."""

import numpy as np


def marginal(y, weights):
    """y: dense 0/1 (rows, labels)."""
    f = weights @ y
    cover = np.zeros(y.shape[1])
    for i, row in enumerate(y):
        labels = np.flatnonzero(row)
        if len(labels):
            cover[max(labels, key=lambda j: (f[j], -j))] += weights[i]
    return cover


def greedy(y, weights, k=1):
    wanted = np.full(len(y), k)
    taken = np.zeros(y.shape[1], bool)
    cover = np.zeros(y.shape[1])
    while True:
        counts = (weights * (wanted > 0)) @ y
        open_rows = (wanted > 0) @ y
        candidates = np.flatnonzero(~taken & (open_rows > 0))
        if not len(candidates):
            return cover
        j = max(candidates, key=lambda c: (counts[c], -c))
        cover[j] = counts[j]
        taken[j] = True
        wanted[(y[:, j] > 0) & (wanted > 0)] -= 1


def softened(y, weights, tau):
    f = weights @ y
    cover = np.zeros(y.shape[1])
    for i, row in enumerate(y):
        for j in np.flatnonzero(row):
            cover[j] += weights[i] * (f[j] / f[row > 0].max()) ** tau
    return cover


def vectors(x, y, normalize_y=False, max_features=None):
    """x, y dense; the label vectors, dense."""
    y = y / np.sqrt(np.maximum(y.sum(1, keepdims=True), 1)) if normalize_y else y
    sums = y.T @ x
    if max_features is not None:
        for row in sums:
            order = np.lexsort((np.arange(len(row)), -np.abs(row)))
            row[order[max_features:]] = 0
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths == 0, 1, lengths)
