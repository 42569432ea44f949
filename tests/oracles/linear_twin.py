"""Slow, plain twins of the linear kernels: objectives, dual coordinate descent, decoded weight blocks, tree search."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood.models.linear.weight_blocks import Nodes, Rows, SolverOptions, WeightBlocks, train_blocks
from labelwood.progress import SILENT

LARGEST_HALF = np.float32(65504)
FULL_ROW = 255  # of weight blocks
LOWEST_SCORE = -80.0  # of a path: exp of less is 0 in a float

# What an error costs, stated once: C * SLACK_SCALE * max(0, 1 - margin)^2, or C * log(1 + exp(-margin)).
SLACK_SCALE = 1.0


# training


def csr_rows(x):
    """The kernel's rows of any matrix, columns taken as the blocks' own feature numbers."""
    x = sparse.csr_matrix(x, dtype=np.float32)
    x.sort_indices()
    return Rows(x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data)


def options(
    loss="squared-hinge",
    eps=0.1,
    max_passes=100,
    bias=1.0,
    prune=0.0,
    C=1.0,
    C_negative=None,
    rare_power=0.0,
    seed=0,
    n_threads=1,
    weights="half",
):
    negative = C if C_negative is None else C_negative
    return SolverOptions(loss, eps, max_passes, bias, prune, C, negative, rare_power, seed, n_threads, weights=weights)


def flat_nodes(n_labels):
    bounds = np.arange(n_labels + 1, dtype=np.int64)
    return Nodes(np.array([0, n_labels + 1]), bounds, np.zeros(2, np.int64), np.zeros(0, np.int32), all_rows=True)


def train_flat(x, y, progress=SILENT, **changed):
    """Weight blocks of one classifier for each column of y, on all rows."""
    y = sparse.csc_matrix(y, dtype=np.float32)
    return train_blocks(csr_rows(x), x.shape[1], y, flat_nodes(y.shape[1]), options(**changed), progress, "labels")


# objectives


def objective(loss, weights, bias_weight, x, positive, C, bias):
    """The primal objective of one classifier; the bias weight is regularised as any other. C may differ by row."""
    margin = np.where(positive, 1.0, -1.0) * (x @ weights + bias_weight * bias)
    return 0.5 * (weights @ weights + bias_weight**2) + np.sum(C * errors(loss, margin))


def errors(loss, margin):
    """What a row of this margin costs at C = 1."""
    return SLACK_SCALE * np.maximum(0, 1 - margin) ** 2 if loss == "squared-hinge" else np.logaddexp(0, -margin)


def pulls(loss, margin, C):
    """-d(errors)/d(margin) of every row: the dual variables that belong to these margins at the optimum."""
    if loss == "squared-hinge":
        return 2 * SLACK_SCALE * C * np.maximum(0, 1 - margin)
    return C / (1 + np.exp(np.minimum(margin, 500)))


def curvatures(loss, margin, C):
    """d2(errors)/d(margin)2 of every row, where the squared hinge bends from the right."""
    if loss == "squared-hinge":
        return 2 * SLACK_SCALE * C * (margin < 1)
    chance = 1 / (1 + np.exp(np.minimum(margin, 500)))
    return C * chance * (1 - chance)


def optimum(loss, x, positive, C, bias):
    """The smallest value of `objective`, by Newton's method with halved steps in double precision.

    A quasi-Newton method is not enough: with C = 100 its line search may end a per cent above the optimum.
    """
    design = np.hstack([x, np.full((len(x), 1), float(bias))]) if bias else x
    sign = np.where(positive, 1.0, -1.0)

    def value(w):
        return 0.5 * w @ w + np.sum(C * errors(loss, sign * (design @ w)))

    w = np.zeros(design.shape[1])
    for _ in range(1000):
        margin = sign * (design @ w)
        slope = w - design.T @ (sign * pulls(loss, margin, C))
        bend = np.eye(len(w)) + design.T @ (curvatures(loss, margin, C)[:, None] * design)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while value(w - size * step) >= value(w) and size > 1e-12:
            size /= 2
        if size <= 1e-12:
            return value(w)
        w = w - size * step
    raise AssertionError("Newton's method did not end")


def descend(x, positive, C, bias, eps, max_passes=10000, seed=0):
    """(weights, bias weight) of the squared hinge by textbook dual coordinate descent, one label, from zero.

    Hsieh et al., ICML 2008, algorithm 1, without shrinking.
    """
    sign = np.where(positive, 1.0, -1.0)
    ridge = 1 / (2 * SLACK_SCALE * C)
    alpha, w, b = np.zeros(len(x)), np.zeros(x.shape[1]), 0.0
    rng = np.random.default_rng(seed)
    for _ in range(max_passes):
        worst = 0.0
        for i in rng.permutation(len(x)):
            gradient = sign[i] * (x[i] @ w + b * bias) - 1 + alpha[i] * ridge
            worst = max(worst, abs(min(gradient, 0) if alpha[i] == 0 else gradient))
            new = max(alpha[i] - gradient / (x[i] @ x[i] + bias**2 + ridge), 0)
            w += (new - alpha[i]) * sign[i] * x[i]
            b += (new - alpha[i]) * sign[i] * bias
            alpha[i] = new
        if worst <= eps:
            break
    return w, b


# weight blocks


def half_rounded(values):
    """Values as the blocks keep them: half floats to nearest even, the largest finite one beyond the range."""
    values = np.asarray(values, np.float32)
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    return np.where(np.isinf(halves), np.copysign(LARGEST_HALF, values), halves).astype(np.float32)


def decode(blocks):
    """(weights (n_features, n_children), bias) of all blocks, read as models/linear/blocks.hpp describes them."""
    a = blocks.arrays
    n_children = int(a["child_start"][-1])
    dense = np.zeros((blocks.n_features, n_children), np.float32)
    n_top = max(1, -(-blocks.n_features // 4096))
    for b in range(len(a["child_start"]) - 1):
        first, n = int(a["child_start"][b]), int(a["child_start"][b + 1] - a["child_start"][b])
        words = a["words"].reshape(-1, 3)[int(a["word_start"][b]) : int(a["word_start"][b + 1])].tolist()
        payload = np.asarray(a["payload"][int(a["payload_start"][b]) : int(a["payload_start"][b + 1])])
        scale = a["scale"][first : first + n] if "scale" in a else None
        next_word = end = 0
        for top in range(n_top):
            bits = int(a["top_bits"][b * n_top + top])
            if int(a["top_rank"][b * n_top + top]) != next_word:
                raise ValueError(f"block {b}: the rank of top number {top} is not the number of words before it")
            for word in (top * 64 + i for i in range(64) if bits >> i & 1):
                low, high, offset = words[next_word]
                if offset != end:
                    raise ValueError(f"block {b}: word {word} does not begin where the one before ends")
                features = [word * 64 + i for i in range(64) if (low | high << 32) >> i & 1]
                rows, end = _rows(payload, end, len(features), n, scale)
                for feature, (children, weights) in zip(features, rows, strict=True):
                    dense[feature, first + children] = weights
                next_word += 1
        if next_word != len(words) or end != len(payload):
            raise ValueError(f"block {b}: {len(words)} words in {len(payload)} bytes, but {next_word} in {end}")
    return dense, np.asarray(a["bias"], np.float32)


def _rows(payload, at, n_rows, n_children, scale):
    """(children and weights of each row of a word, where the word ends)."""
    codes = payload[at : at + n_rows].tolist()
    at += n_rows
    size = 2 if scale is None else 1
    rows = []
    for code in codes:
        names = payload[at : at + _size_of_names(code, n_children)]
        at += len(names)
        if code == FULL_ROW:
            children = np.arange(n_children)
        elif code <= n_children // 8:
            children = names.astype(np.int64)
        else:
            children = np.flatnonzero(np.unpackbits(names, bitorder="little"))
            if len(children) != code or children[-1] >= n_children:
                raise ValueError(f"a bitmap of {n_children} children names {children}, but the code is {code}")
        raw = np.ascontiguousarray(payload[at : at + size * len(children)])
        at += size * len(children)
        weights = raw.view(np.float16) if scale is None else raw.view(np.int8).astype(np.float32) * scale[children]
        rows.append((children, weights))
    return rows, at


def _size_of_names(code, n_children):
    """The bytes that say which children a row of this code has weights for."""
    if code == FULL_ROW:
        return 0
    return code if code <= n_children // 8 else -(-n_children // 8)


def encode(weights, bias, n_features=None, children_per_block=256):
    """Weight blocks in half floats of a dense (n_features, n_children) matrix, made from the format's description."""
    weights = np.asarray(weights, np.float32)
    n_features = weights.shape[0] if n_features is None else n_features
    n_top = max(1, -(-n_features // 4096))
    parts = {name: [] for name in ("top_bits", "top_rank", "words", "payload")}
    starts = {name: [0] for name in ("child_start", "word_start", "payload_start")}
    for first in range(0, weights.shape[1], children_per_block):
        block = weights[:, first : first + children_per_block]
        top, words, payload = [0] * n_top, [], b""
        used = np.flatnonzero((block != 0).any(axis=1))
        for word in np.unique(used // 64).tolist():
            top[word >> 6] |= 1 << (word & 63)
            features = used[used // 64 == word].tolist()
            bits = sum(1 << (feature & 63) for feature in features)
            words += [bits & 0xFFFFFFFF, bits >> 32, len(payload)]
            payload += _encoded_rows(block[features])
        parts["top_bits"] += top
        parts["top_rank"] += [sum(t.bit_count() for t in top[:i]) for i in range(n_top)]
        parts["words"] += words
        parts["payload"] += payload
        for name, more in zip(starts, (block.shape[1], len(words) // 3, len(payload)), strict=True):
            starts[name].append(starts[name][-1] + more)
    kinds = {"top_bits": np.uint64, "top_rank": np.uint32, "words": np.uint32, "payload": np.uint8}
    arrays = {name: np.array(values, kinds[name]) for name, values in parts.items()}
    arrays |= {name: np.array(values, np.int64) for name, values in starts.items()}
    arrays["bias"] = np.asarray(bias, np.float32)
    return WeightBlocks(n_features, arrays)


def _encoded_rows(of_word):
    codes, rows = [], b""
    for row in of_word:
        children = np.flatnonzero(row)
        full = len(children) >= min(FULL_ROW, len(row))  # a list may not be as long as the code of a full row
        children = np.arange(len(row)) if full else children
        codes.append(FULL_ROW if full else len(children))
        if not full:
            there = np.packbits(row != 0, bitorder="little")
            rows += (children.astype(np.uint8) if len(children) <= len(row) // 8 else there).tobytes()
        rows += half_rounded(row[children]).astype(np.float16).tobytes()
    return bytes(codes) + rows


def replace_weights(blocks, old, new):
    """Write `new` for every half-float weight `old` of blocks whose payload has that pair of bytes nowhere else."""
    before, after = (np.float16(value).tobytes() for value in (old, new))
    payload = blocks.arrays["payload"]
    payload[:] = np.frombuffer(payload.tobytes().replace(before, after), np.uint8)


def old_arrays(weights, bias, children_per_block=256, scale=None):
    """The arrays of earlier versions' blocks, made from the description in models/linear/old_blocks.hpp.

    scale: one number a child; the weights are then whole multiples of it and stored as bytes.
    """
    weights = np.asarray(weights, np.float32)
    n_top = max(1, -(-weights.shape[0] // 4096))
    parts = {name: [] for name in ("top_bits", "top_rank", "words", "row_offset", "payload")}
    starts = {name: [0] for name in ("child_start", "word_start", "row_start", "payload_start")}
    for first in range(0, weights.shape[1], children_per_block):
        block = weights[:, first : first + children_per_block]
        top = [0] * n_top
        words, offsets, payload = [], [], []
        last = -1
        for feature in np.flatnonzero((block != 0).any(axis=1)).tolist():
            if feature >> 6 != last:
                last, word_at = feature >> 6, len(payload)
                words += [0, len(offsets) | word_at << 32]
                top[last >> 6] |= 1 << (last & 63)
            words[-2] |= 1 << (feature & 63)
            offsets.append(len(payload) - word_at)
            children = np.flatnonzero(block[feature])
            payload.append(len(children))
            if len(children) < block.shape[1]:
                payload += _in_units(children.astype(np.uint8))
            row = block[feature, children]
            if scale is None:
                payload += half_rounded(row).astype(np.float16).view(np.uint16).tolist()
            else:
                payload += _in_units(np.rint(row / scale[first + children]).astype(np.int8).view(np.uint8))
        parts["top_bits"] += top
        parts["top_rank"] += [sum(t.bit_count() for t in top[:i]) for i in range(n_top)]
        for name, values in (("words", words), ("row_offset", offsets), ("payload", payload)):
            parts[name] += values
        lengths = (block.shape[1], len(words) // 2, len(offsets), len(payload))
        for name, more in zip(starts, lengths, strict=True):
            starts[name].append(starts[name][-1] + more)
    kinds = {
        "top_bits": np.uint64,
        "top_rank": np.uint32,
        "words": np.uint64,
        "row_offset": np.uint16,
        "payload": np.uint16,
    }
    arrays = {name: np.array(values, kinds[name]) for name, values in parts.items()}
    arrays |= {name: np.array(values, np.int64) for name, values in starts.items()}
    arrays["bias"] = np.asarray(bias, np.float32)
    if scale is not None:
        arrays["scale"] = np.asarray(scale, np.float32)
    return arrays


def _in_units(numbers):
    return np.append(numbers, np.zeros(len(numbers) % 2, np.uint8)).astype(np.uint8).view(np.uint16).tolist()


# top-k and tree search


def best_k(scores, k):
    """(labels, scores) of the k best of every row of a dense array, equal scores to the smaller label."""
    scores = np.atleast_2d(scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def log_score(link, margin):
    margin = np.asarray(margin, np.float64)
    if link == 2:
        return -np.logaddexp(0, -2 * margin)
    return -(np.maximum(0, 1 - margin) ** (2 if link == 0 else 3))


@dataclass
class PathScores:
    """Path scores of one row: of every node, and of every label (by label number)."""

    node: np.ndarray
    label: np.ndarray


def path_scores(tree, first_block, blocks, weights, bias, row, link):
    """Exhaustive path scores of one dense row: every classifier of the tree is asked."""
    margin = row.astype(np.float64) @ weights + bias
    score = np.zeros(tree.n_nodes)
    labels = np.zeros(tree.n_labels)
    for node in range(tree.n_nodes):
        own = slice(int(blocks.child_start[first_block[node]]), int(blocks.child_start[first_block[node + 1]]))
        below = np.maximum(LOWEST_SCORE, score[node] + log_score(link, margin[own]))
        if tree.n_children[node]:
            score[list(tree.children(node))] = below
        else:
            labels[tree.labels_below(node)] = below
    return PathScores(score, labels)


def train_tree(x, y, tree, **changed):
    """(weight blocks, first block of every node) of a label tree, each node on the rows that have a label below it."""
    bounds, starts, first_block = [], [0], [0]
    for node in range(tree.n_nodes):
        first, last = int(tree.first_label[node]), int(tree.first_label[node] + tree.n_labels_below[node])
        if tree.n_children[node]:
            bounds += [int(tree.first_label[child]) for child in tree.children(node)] + [last]
            n = int(tree.n_children[node])
        else:
            bounds += range(first, last + 1)
            n = last - first
        starts.append(len(bounds))
        first_block.append(first_block[-1] + -(-n // 256))
    nothing = np.zeros(tree.n_nodes + 1, np.int64), np.zeros(0, np.int32)
    nodes = Nodes(np.array(starts, np.int64), np.array(bounds, np.int64), *nothing)
    y = sparse.csc_matrix(y, dtype=np.float32)[:, tree.label_order]
    y.sort_indices()
    blocks = train_blocks(csr_rows(x), x.shape[1], y, nodes, options(**changed), SILENT, "nodes")
    return blocks, np.array(first_block, np.int64)
