"""A plain twin of native/models/ensemble: candidates by dense loops, boosted trees walked node by node."""

import math

import numpy as np


def ranked(values, kept):
    """The kept labels, largest value first, equal ones by number."""
    return sorted(kept, key=lambda label: (-values[label], label))


def table_of(row, runs, said, answers, arrays, settings):
    """{label: columns} of one row.

    row: dense features; runs: dense values of the view of characters; said: {label: (times, alone + 1, first + 1)} or
    None; answers: for each model a list of (label, score). arrays: dense matrices and vectors of the sides; settings:
    numbers by name.
    """
    n_labels = len(arrays["label_rows"])
    unit = row / (np.linalg.norm(row) or 1)
    sizes = np.count_nonzero(arrays["train"], axis=0)
    asked, left = np.zeros(len(row)), settings["most_postings"]
    for column in sorted(np.flatnonzero(row), key=lambda column: (sizes[column], column)):
        left -= sizes[column]
        if left < 0:
            break
        asked[column] = unit[column]
    similar = arrays["train"] @ asked
    near = list(ranked(similar, np.flatnonzero(similar > 0).tolist()))[: settings["n_near"]]
    total = sum(similar[r] for r in near)
    votes, closest, first = (np.zeros(n_labels) for _ in range(3))
    for place, r in enumerate(near):
        for label in np.flatnonzero(arrays["train_labels"][r]):
            votes[label] += similar[r] / max(total, 1e-9)
            closest[label] = max(closest[label], similar[r])
            first[label] += place < 5
    proposed = {label for answer in answers for label, _ in answer} | set(np.flatnonzero(votes > 0).tolist())
    learned = arrays.get("learned")
    if learned is not None:
        of_labels, learned_order = learned_votes(row, learned, arrays["train_labels"], settings)
        proposed |= set(learned_order[: settings["most_learned"]])
    shares, strengths, name_ranks = np.zeros(n_labels), np.zeros(n_labels), np.full(n_labels, 99.0)
    if arrays["word_labels"] is not None:
        weights = np.where(row != 0, np.maximum(np.abs(row), 1e-6), 0) @ arrays["column_words"]
        shares = (weights > 0) @ arrays["word_labels"]
        strengths = weights @ arrays["word_labels"]
        promise = shares + arrays["right"]
        likely = np.flatnonzero(shares >= settings["smallest_share"]).tolist()
        proposed |= set(ranked(promise, likely)[: settings["most_names"]])
        signs = np.flatnonzero(shares >= settings["least_share"]).tolist()
        for rank, label in enumerate(ranked(shares * arrays["mass"], signs)[:99]):
            name_ranks[label] = rank
    proposed |= set(said or {})
    letters, cosines = (runs != 0) @ arrays["letters"] ** 2, runs @ arrays["letters"]
    heard = np.flatnonzero(letters >= settings["least_letters"]).tolist()
    letter_ranks = np.full((2, n_labels), 99.0)
    for ranks, values in zip(letter_ranks, (letters, cosines), strict=True):
        order = ranked(values, heard)[:99]
        ranks[order] = np.arange(len(order))
        proposed |= set(order[: settings["most_letters"]])
    beside = np.zeros(n_labels)
    for label, score in answers[0][: settings["n_sure"]]:
        beside += max(score, 1e-6) * arrays["beside"][label]
    proposed |= set(ranked(beside, np.flatnonzero(beside > 0).tolist())[: settings["most_beside"]])
    table = {}
    for label in proposed:
        columns, n_sides = [], float(votes[label] > 0) + float(shares[label] >= settings["smallest_share"])
        for answer in answers:
            given = dict(answer)
            score, rank = given.get(label, 0.0), next((p for p, (a, _) in enumerate(answer) if a == label), 99)
            columns += [score, rank, score / max(answer[0][1], 1e-9) if answer and label in given else 0.0]
            n_sides += score > 0
        columns += [votes[label], closest[label], first[label]]
        if shares[label] >= settings["least_share"] and arrays["word_labels"] is not None:
            whole = shares[label] >= settings["whole"]
            columns += [shares[label], strengths[label], arrays["right"][label] if whole else -0.5]
            columns += [arrays["matched"][label] if whole else -0.5, arrays["mass"][label], arrays["words"][label]]
            columns += [name_ranks[label]]
        else:
            columns += [0, 0, -1, -1, -1, 0, 99]
        if said and label in said:
            times, alone, place = said[label]
            columns += [times, alone - 1, math.log1p(place - 1), arrays["phrase_right"][label]]
        else:
            columns += [0, 0, 9, -1]
        sign = letters[label] >= settings["least_letters"]
        columns += [letters[label], cosines[label]] if sign else [0, 0]
        columns += [*letter_ranks[:, label]]
        columns += [beside[label], arrays["label_rows"][label], np.count_nonzero(row)]
        columns += [max(answer[0][1], 1e-9) if answer else 1e-9 for answer in answers]
        columns += [similar[near[0]] if near else 0.0, n_sides]
        if learned is not None:
            rank = learned_order.index(label) if label in learned_order[:99] else 99
            columns += [*of_labels[:, label], rank]
        table[label] = columns
    return table


def learned_votes(row, learned, train_labels, settings):
    """((votes, closest, first ten) of every label, labels by their votes) from the nearest rows of a learned space."""
    unit = row / (np.linalg.norm(row) or 1)
    hidden = np.maximum(unit @ learned["units"] + learned["unit_bias"], 0)
    place = np.concatenate([unit, hidden]) @ learned["projection"]
    of_labels = np.zeros((3, train_labels.shape[1]))
    if not np.abs(place).max() > 0:
        return of_labels, []
    coarse = np.rint(place / np.abs(place).max() * 127) / 127 * np.abs(place).max() / np.linalg.norm(place)
    similar = learned["rows"] @ coarse
    near = ranked(similar, np.flatnonzero(similar > 0).tolist())[: settings["n_learned"]]
    weights = {r: (min(similar[r], 1) + 1e-3) ** 8 for r in near}
    for number, r in enumerate(near):
        for label in np.flatnonzero(train_labels[r]):
            of_labels[0, label] += weights[r] / max(sum(weights.values()), 1e-9)
            of_labels[1, label] = max(of_labels[1, label], similar[r])
            of_labels[2, label] += number < 10
    return of_labels, ranked(of_labels[0], np.flatnonzero(of_labels[0] > 0).tolist())


def seen_again(labels, chances, beside):
    """What the chances of a row's candidates say of each of them: (n, 8), as native/models/ensemble/candidates.hpp."""
    order = sorted(range(len(labels)), key=lambda i: (-chances[i], labels[i]))
    lines = np.zeros((len(labels), 8))
    for rank, i in enumerate(order):
        others = [j for j in order[:10] if j != i]
        lines[i, :3] = chances[i], min(rank, 99), sum(chances[j] * beside[labels[j], labels[i]] for j in others)
        for place in range(3):
            known = place < len(order) and order[place] != i
            lines[i, 3 + place] = beside[labels[order[place]], labels[i]] if known else -1
        lines[i, 6:] = chances[order[0]], sum(chances)
    return lines


def margin_of(trees, item):
    """What boosted trees (feature, threshold, left, value, base) say of one item."""
    feature, threshold, left, value, base = trees
    margin = base
    for tree in range(len(feature)):
        node = 0
        while feature[tree, node] >= 0:
            node = left[tree, node] + int(item[feature[tree, node]] > threshold[tree, node])
        margin += value[tree, node]
    return margin


def numbers(seed, item):
    """The numbers of native/rng.hpp for (seed, item), one after another."""
    word = (1 << 64) - 1

    def mixed(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
        return z ^ (z >> 31)

    state = mixed(seed ^ mixed((item + 0x9E3779B97F4A7C15) & word)) ^ mixed(1)
    while True:
        state = (state + 0x9E3779B97F4A7C15) & word
        yield mixed(state)


def grown(bins, n_bins, hits, settings, n_trees, n_leaves):
    """Boosted trees as arrays (feature, bin, left, value), leaf by leaf: the largest gain is split first.

    Every tree may ask the first features of a shuffled list, and learns from the items whose number is below the share.
    """
    shape = (n_trees, 2 * n_leaves - 1)
    feature, cut, left = np.full(shape, -1), np.zeros(shape, int), np.zeros(shape, int)
    value = np.zeros(shape)
    margins = np.full(len(hits), settings["base"])
    weights = np.where(hits, 1.0, settings["negative_weight"])
    for tree in range(n_trees):
        chance = 1 / (1 + np.exp(-margins))
        gradient, curvature = weights * (chance - hits), weights * chance * (1 - chance)
        random, asked = numbers(settings["seed"], tree), list(range(len(bins)))
        for last in range(len(bins) - 1, 0, -1):
            other = ((next(random) >> 32) * (last + 1)) >> 32
            asked[last], asked[other] = asked[other], asked[last]
        asked = asked[: math.ceil(settings["feature_share"] * len(bins))]
        learnt = np.full(len(hits), True)
        if settings["item_share"] < 1:
            learnt = np.array([(next(random) >> 11) * 2.0**-53 < settings["item_share"] for _ in hits])

        def worth(items, gradient=gradient, curvature=curvature):
            return gradient[items].sum() ** 2 / (curvature[items].sum() + settings["ridge"])

        def best_split(items, worth=worth, asked=asked, learnt=learnt):
            items = items[learnt[items]]
            best = (0.0, -1, 0)
            for f in sorted(asked):
                for b in range(n_bins[f] - 1):
                    low = items[bins[f, items] <= b]
                    high = items[bins[f, items] > b]
                    if min(len(low), len(high)) < settings["min_items"]:
                        continue
                    gain = worth(low) + worth(high) - worth(items)
                    if gain > best[0] + 1e-6:
                        best = (gain, f, b)
            return best

        leaves = [(0, np.arange(len(hits)))]
        n_nodes = 1
        while len(leaves) < n_leaves:
            splits = [best_split(items) for _, items in leaves]
            chosen = max(range(len(leaves)), key=lambda place: splits[place][0])
            _, f, b = splits[chosen]
            if f < 0:
                break
            node, items = leaves[chosen]
            feature[tree, node], cut[tree, node], left[tree, node] = f, b, n_nodes
            leaves[chosen] = (n_nodes, items[bins[f, items] <= b])
            leaves.append((n_nodes + 1, items[bins[f, items] > b]))
            n_nodes += 2
        nodes = {0: np.arange(len(hits))}
        for node in range(n_nodes):
            items = nodes[node]
            step = -gradient[items[learnt[items]]].sum() / (curvature[items[learnt[items]]].sum() + settings["ridge"])
            value[tree, node] = settings["rate"] * step
            if feature[tree, node] >= 0:
                side = bins[feature[tree, node], items] <= cut[tree, node]
                nodes[left[tree, node]], nodes[left[tree, node] + 1] = items[side], items[~side]
        for node, items in leaves:
            margins[items] += value[tree, node]
    return feature, cut, left, value
