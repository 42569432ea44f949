"""ELIAS in plain NumPy, one row at a time: the formulas of the paper, written to be read."""

import numpy as np


def softmax(values):
    powers = np.exp(values - values.max())
    return powers / powers.sum()


def edge_scores(edges, values, beta):
    """min(1, beta softmax) over the stored edges of each cluster."""
    found = np.zeros(edges.shape)
    for c, row in enumerate(edges):
        real = row >= 0
        if real.any():
            found[c, real] = np.minimum(1, beta * softmax(values[c, real].astype(float)))
    return found


def cluster_scores(vector, weight, bias, alpha):
    """min(1, alpha softmax) of one row; weight (dim, n_clusters)."""
    return np.minimum(1, alpha * softmax(vector.astype(float) @ weight.astype(float) + bias))


def shortlist(scores, edges, edge_score, beam, room, forced_clusters=(), forced_labels=()):
    """{label: path score} of one row: max over its clusters, the best `room` of them, forced labels first."""
    best = sorted(range(len(scores)), key=lambda c: (-scores[c], c))[:beam]
    paths = {}
    for c in sorted(set(best) | set(forced_clusters)):
        for j, label in enumerate(edges[c]):
            if label >= 0:
                score = scores[c] * edge_score[c, j]
                paths[int(label)] = max(paths.get(int(label), -1.0), score)
    order = sorted(paths, key=lambda label: (label not in forced_labels, -paths[label], label))
    return {label: paths[label] for label in order[:room]}


def probabilities(vector, paths, label_weight, label_bias):
    """{label: sigmoid(w . e + b) * path score}."""
    return {
        label: score / (1 + np.exp(-(vector.astype(float) @ label_weight[label] + label_bias[label])))
        for label, score in paths.items()
    }


def matching(clusters, scores, y, n_clusters):
    """A' by counting: entry (c, l) sums the scores with which rows of label l choose cluster c."""
    found = np.zeros((n_clusters, y.shape[1]))
    for row in range(y.shape[0]):
        for c, score in zip(clusters[row], scores[row], strict=True):
            for label in np.flatnonzero(y[row]):
                found[c, label] += score
    return found


def blended(log_p, log_q, counts, voted, power_p, power_q, weight, tree):
    """w T(p, q, base, log(1 + count), voted) + (1 - w) base of one pair, base = p^a q^b.

    tree: (feature, threshold, left, value), or None. voted: what others say of the label.
    """
    if not np.isfinite(log_p):
        return 0.0
    base = np.exp(max(-80.0, power_p * float(log_p) + power_q * float(log_q)))
    if tree is None or weight == 0:
        return base
    asked = (np.exp(float(log_p)), np.exp(max(-80.0, log_q)), base, np.log1p(counts), voted)
    feature, threshold, left, value = tree
    node = 0
    while feature[node] >= 0:
        node = left[node] + int(asked[feature[node]] > threshold[node])
    return weight * value[node] + (1 - weight) * base


def with_candidates(own, candidates, margins, unknown_log_p):
    """[(label, log p, margin)] of one row: its shortlist {label: log p} and the labels that the ranker adds."""
    lowest = min(own.values(), default=unknown_log_p)
    return [(label, own.get(label, lowest), margins[label]) for label in sorted(set(own) | set(candidates))]


def mixed_top(scores, votes, weight, k):
    """[(label, score)] of one row, best first: (1 - weight) of {label: score} and weight of what the trees vote."""
    mixed = {
        label: (1 - weight) * scores.get(label, 0.0) + weight * votes.get(label, 0.0) for label in {*scores, *votes}
    }
    return sorted(mixed.items(), key=lambda pair: (-np.float32(pair[1]), pair[0]))[:k]
