"""Plain twins of the hierarchical softmax: the gradient step row by row, and fastText's depth-first search."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def hidden(starts, columns, values, bias, vectors, row):
    part = slice(starts[row], starts[row + 1])
    return values[part] @ vectors[columns[part]] + bias[row] * vectors[-1]


def train(rows, bias, y, codes, vectors, decisions, visits, rate, plt):
    """Visits (row, drawn label) in order, in float64, on copies; drawn is ignored by plt."""
    vectors, decisions = vectors.astype(np.float64), decisions.astype(np.float64)
    starts, columns, values = rows
    for number, (row, drawn) in enumerate(visits):
        step = rate * (1 - number / len(visits))
        h = hidden(starts, columns, values, bias, vectors, row)
        targets = {}
        if plt:
            for label in y.indices[y.indptr[row] : y.indptr[row + 1]]:
                for place in codes.path(label):
                    targets[place] = 1
                    targets.setdefault(place ^ 1, 0)
        else:
            targets = {place >> 1: place & 1 for place in codes.path(drawn)}
        gradient = np.zeros_like(h)
        for which, target in targets.items():
            g = step * (target - sigmoid(decisions[which] @ h))
            gradient += g * decisions[which]
            decisions[which] += g * h
        part = slice(starts[row], starts[row + 1])
        for column, value in zip(columns[part], values[part], strict=True):
            vectors[column] += value * gradient
        vectors[-1] += bias[row] * gradient
    return vectors, decisions


def label_scores(h, codes, decisions, plt):
    """The score of every label: the product of the chances along its path."""
    scores = np.ones(codes.n_labels)
    for label in range(codes.n_labels):
        for place in codes.path(label):
            margin = decisions[place] @ h if plt else (1 if place & 1 else -1) * (decisions[place >> 1] @ h)
            scores[label] *= sigmoid(margin)
    return scores


def depth_first(h, codes, decisions, k):
    """fastText's search (loss hs): down every branch whose log probability still beats the k-th best leaf."""
    best = []

    def visit(node, score):
        if len(best) == k and score < best[-1][0]:
            return
        if node < 0:
            best.append((score, ~node))
            best.sort(reverse=True)
            del best[k:]
            return
        right = sigmoid(decisions[node] @ h)
        visit(int(codes.child[2 * node]), score + np.log(1 - right))
        visit(int(codes.child[2 * node + 1]), score + np.log(right))

    visit(0, 0.0)
    return [label for _, label in best], np.exp([score for score, _ in best])
