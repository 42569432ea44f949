"""The matrix of NetMF and the steps of skip-gram, slow and plain."""

import numpy as np


def netmf_matrix(graph, window, negatives):
    """log max(1, vol / (b T) sum_r P^r D^-1) as a dense matrix."""
    weights = np.asarray(graph, np.float64)
    degree = weights.sum(axis=1)
    inverse = np.array([1 / d if d else 0.0 for d in degree])
    step = np.diag(inverse) @ weights
    total = sum(np.linalg.matrix_power(step, r) for r in range(1, window + 1))
    return np.log(np.maximum(1, degree.sum() / (negatives * window) * total @ np.diag(inverse)))


def skip_gram_without_negatives(walks, vectors, contexts, window, rate):
    """One epoch over one walk at a constant rate, in float64."""
    vectors, contexts = vectors.astype(np.float64), contexts.astype(np.float64)
    for walk in walks:
        nodes = [node for node in walk if node >= 0]
        for place, node in enumerate(nodes):
            for other in range(max(0, place - window), min(len(nodes), place + window + 1)):
                if other == place:
                    continue
                context = nodes[other]
                gain = (1 - 1 / (1 + np.exp(-vectors[node] @ contexts[context]))) * rate
                step = gain * contexts[context]
                contexts[context] += gain * vectors[node]
                vectors[node] += step
    return vectors, contexts
