"""Slow, plain twins of the native products and of the row optimiser."""

import numpy as np


def sparse_rows_times_dense(x, table):
    """Row by row, non-zero by non-zero, in float32 as the kernel does it."""
    out = np.zeros((x.shape[0], table.shape[1]), np.float32)
    for row in range(x.shape[0]):
        for place in range(x.indptr[row], x.indptr[row + 1]):
            out[row] += np.float32(x.data[place]) * table[x.indices[place]]
    return out


def dense_rows_times_dense(rows, table):
    out = np.zeros((rows.shape[0], table.shape[1]), np.float32)
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            out[row] += rows[row, column] * table[column]
    return out


def adam_rows(rows, gradient, weight, mean, square, lr, beta1, beta2, eps, weight_decay, t):
    """Adam's formulas in float64 on the named rows; returns new (weight, mean, square)."""
    weight, mean, square = (a.astype(np.float64) for a in (weight, mean, square))
    for i, row in enumerate(rows):
        g = gradient[i].astype(np.float64)
        mean[row] = beta1 * mean[row] + (1 - beta1) * g
        square[row] = beta2 * square[row] + (1 - beta2) * g * g
        corrected = mean[row] / (1 - beta1**t), square[row] / (1 - beta2**t)
        weight[row] = (1 - lr * weight_decay) * weight[row] - lr * corrected[0] / (np.sqrt(corrected[1]) + eps)
    return weight, mean, square
