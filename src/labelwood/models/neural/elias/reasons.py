"""Why ELIAS gives a row a label: what ranker, index and calibration add to the score of each index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from labelwood.models.explanation import Contribution, Explanation, NodeScore, combined
from labelwood.models.linear.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.linear.weight_blocks import ranked_rows
from labelwood.models.neural.elias.calibration import Scoring, log_q
from labelwood.models.neural.elias.ranker import Ranker, told_margins
from labelwood.models.neural.elias.zero_shot import Floats, ZeroShot
from labelwood.models.neural.forward import dense_product

RANKER, INDEX, CALIBRATION = range(3)  # the nodes of an explanation


def ranker_reasons(ranker: Ranker | None, row: sparse.csr_matrix, label: int) -> list[Contribution]:
    """What every column of a row adds to the margin of the label's ranker; nothing without a ranker."""
    if ranker is None:
        return []
    columns = columns_of_ranks(ranker.feature_rank, ranker.blocks.n_features)
    rows = ranked_rows(row, ranker.feature_rank, True)
    return classifier_reasons(ranker.blocks, int(ranker.place[label]), RANKER, rows, columns)


def index_reasons(
    label: int,
    scoring: Scoring,
    of_ranker: Sequence[Contribution],
    log_p: float | None,
    score: float,
    loss: str,
) -> Explanation:
    """The score by one index: the ranker with the row's columns, the index, and what calibration makes of both.

    log_p: what the index says of the label, None if the label is not on its shortlist: it then scores 0. loss: of the
    ranker.
    """
    nodes, parts, told = [], list(of_ranker), 0.0
    if of_ranker:
        margin = math.fsum(part.contribution for part in of_ranker)
        told = scoring.power_q * float(log_q(told_margins(np.array([margin], np.float32), loss))[0])
        nodes.append(NodeScore(RANKER, margin, told))
    if log_p is None:
        nodes.append(NodeScore(INDEX, 0.0, -math.inf))
        return Explanation(label, 0.0, tuple(nodes), tuple(parts))
    from_index = scoring.power_p * log_p
    rest = math.log(score) - told - from_index
    for node, log_score in ((INDEX, from_index), (CALIBRATION, rest)):
        nodes.append(NodeScore(node, log_score, log_score))
        parts.append(Contribution(node, -1, 1.0, log_score, log_score))
    return Explanation(label, score, tuple(nodes), tuple(parts))


def untrained_reasons(
    zero_shot: ZeroShot, vectors: Floats, label: int, score: float, n_threads: int | None
) -> Explanation:
    """The score of a label without training rows: how near its name is to the row's text (vectors (1, width))."""
    place = int(np.searchsorted(zero_shot.labels, label))
    of_text = float(dense_product(vectors, zero_shot.table, n_threads)[0, place])
    parts = tuple(Contribution(0, -1, 1.0, push, push) for push in (of_text, zero_shot.shift))
    log_score = math.log(score) if score > 0 else -math.inf
    return Explanation(label, score, (NodeScore(0, of_text + zero_shot.shift, log_score),), parts)


def without_text_columns(why: Explanation, n_features: int) -> Explanation:
    """The explanation with all text columns (from n_features on) of a node as one part, which belongs to no feature."""
    if why.shares:
        shares = [
            replace(share, explanation=without_text_columns(share.explanation, n_features)) for share in why.shares
        ]
        return combined(why.label, why.score, shares)
    of_text = {
        node: math.fsum(c.contribution for c in why.contributions if c.node == node and c.feature >= n_features)
        for node in dict.fromkeys(c.node for c in why.contributions if c.feature >= n_features)
    }
    kept = [c for c in why.contributions if c.feature < n_features]
    kept += [Contribution(node, -1, 1.0, push, push) for node, push in of_text.items()]
    return replace(why, contributions=tuple(kept))
