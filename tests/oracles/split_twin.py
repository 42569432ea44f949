"""Slow, plain twins of the native splits: dense float64, sorts instead of selections, nothing incremental."""

import numpy as np

MASK = (1 << 64) - 1


def _mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draws(seed, key, sizes):
    """What native/rng.hpp draws below each of some sizes for (seed, key)."""
    state = _mix(seed ^ _mix((key + 0x9E3779B97F4A7C15) & MASK)) ^ _mix(1)
    found = []
    for n in sizes:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        found.append(((_mix(state) >> 32) * n) >> 32)
    return found


def two_members(seed, key, m):
    """The two distinct members that begin a split."""
    a, b = draws(seed, key, (m, m - 1))
    return a, b + (b >= a)


def sampled_centres(split, seed, key, m, step=8):
    """The centres that begin a large split: what split(rows, a, b, trace) finds for every eighth row."""
    offset = draws(seed, key, (m, m - 1, step))[2]
    rows = np.arange(m)[offset::step]
    trace = []
    split(rows, *two_members(seed, key, len(rows)), trace)
    return trace[-1][2:]


def unit(vector, otherwise):
    length = np.linalg.norm(vector)
    return vector / length if length > 1e-12 else otherwise


def balanced_split(vectors, a, b, labels=None, max_iterations=20, tolerance=1e-4, centres=None, trace=None):
    """True for the labels of the first child: balanced spherical 2-means, written from the definition."""
    m = len(vectors)
    labels = np.arange(m) if labels is None else labels
    plus, minus = (vectors[a], vectors[b]) if centres is None else centres
    previous, chosen = -np.inf, None
    for _ in range(max_iterations):
        score = vectors @ (plus - minus)
        order = np.lexsort((labels, -score))
        first = np.zeros(m, bool)
        first[order[: m // 2]] = True
        if m % 2 and score[order[m // 2]] > 0:
            first[order[m // 2]] = True
        if chosen is not None and np.array_equal(first, chosen):
            break
        chosen = first
        value = (np.linalg.norm(vectors[first].sum(0)) + np.linalg.norm(vectors[~first].sum(0))) / m
        plus, minus = unit(vectors[first].sum(0), plus), unit(vectors[~first].sum(0), minus)
        if trace is not None:
            trace.append((value, first, plus, minus))
        if value - previous <= tolerance:
            break
        previous = value
    return chosen


def label_weights(balance, gamma, f, cover, direct=False):
    """w of the labels of one node, summing to 1."""
    m = len(f)
    f = f / f.sum() if f.sum() > 0 else np.zeros(m)
    has_cover = cover.sum() > 0
    cover = cover / cover.sum() if has_cover else np.zeros(m)
    if direct:
        raw = (2 - balance) / m + balance * cover + gamma / m
        norm = (2 - balance) + balance * has_cover + gamma
    else:
        e, t = min(balance, 1.0), max(balance - 1.0, 0.0)
        power = np.ones(m) if e == 0 else np.where(f > 0, np.power(f, e, where=f > 0, out=np.zeros(m)), 0.0)
        raw = (2 - balance) * power + t * cover + gamma / m
        norm = (2 - balance) * power.sum() + t * has_cover + gamma
    return raw / norm if norm > 0 else np.full(m, 1 / m)


def halves(ratio, weights, labels=None):
    """alpha of the linear programme, the position and index of the middle label."""
    labels = np.arange(len(ratio)) if labels is None else labels
    order = np.lexsort((labels, -ratio))
    cumulative = np.cumsum(weights[order])
    q = min(int(np.searchsorted(cumulative, 0.5 - 1e-12)), len(ratio) - 1)
    alpha = np.full(len(ratio), -1.0)
    alpha[order[:q]] = 1.0
    before = weights[order[:q]].sum()
    middle = order[q]
    alpha[middle] = np.clip((1 - 2 * before) / weights[middle] - 1, -1, 1)
    return alpha, q, middle


def interpolated_split(
    vectors,
    f,
    cover,
    a,
    b,
    balance,
    gamma=0.1,
    *,
    direct=False,
    round_each=True,
    rounding="nearest",
    labels=None,
    max_iterations=20,
    tolerance=1e-4,
    centres=None,
    trace=None,
):
    """True for labels of the first child; `trace` collects (objective, alpha, plus, minus)."""
    m = len(vectors)
    similarity, fano = 2 - balance, (balance / 2 if direct else max(balance - 1, 0))
    w = label_weights(balance, gamma, f, cover, direct)
    plus, minus = (vectors[a], vectors[b]) if centres is None else centres
    previous = best = -np.inf
    chosen = last = None
    for _ in range(max_iterations):
        ratio = similarity / 2 * (vectors @ (plus - minus)) + fano * w
        alpha, q, middle = halves(ratio, w, labels)
        side = alpha[middle]
        left = rounding == "left" or side > 1e-6 or (abs(side) <= 1e-6 and ratio[middle] > 0)
        left = (left or q == 0) and q != m - 1
        rounded = alpha.copy()
        rounded[middle] = 1 if left else -1
        if round_each:
            alpha = rounded
        if last is not None and np.array_equal(alpha, last):
            break
        last = alpha
        plus_sum, minus_sum = (w * (1 + alpha) / 2) @ vectors, (w * (1 - alpha) / 2) @ vectors
        value = similarity * (np.linalg.norm(plus_sum) + np.linalg.norm(minus_sum))
        value += fano * (alpha * w**2).sum()
        plus, minus = unit(plus_sum, plus), unit(minus_sum, minus)
        if trace is not None:
            trace.append((value, alpha, plus, minus))
        if value > best:
            best, chosen = value, rounded > 0
        if similarity <= 0 or value - previous <= tolerance * similarity:
            break
        previous = value
    return chosen
