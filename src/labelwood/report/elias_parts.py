"""What each part of a trained ELIAS answers: stage 1, stage 2, ranker, calibration, the votes of trees, ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from labelwood.matrices import normalized_rows
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.neural.elias.calibration import Scoring, log_q, voted_scores
from labelwood.models.neural.elias.fitted import FittedELIAS
from labelwood.models.neural.elias.ranker import Ranker, narrowed
from labelwood.models.neural.elias.search import CHUNK, LearnedIndex, top_of
from labelwood.topk import TopK

PLACES = 100


def part_answers(
    state: FittedELIAS,
    x: sparse.csr_matrix,
    n_threads: int | None = None,
    *,
    first_x: sparse.csr_matrix | None = None,
) -> Iterator[tuple[str, TopK]]:
    """(name of the part, the answers with it and all before it), each with up to 100 places; x: what `inputs` gives.

    All but the ensemble are of the first index. Stage 1 is there only for a state that was trained and not loaded;
    first_x: what `first_inputs` gives, if the text encoder went on learning after it.
    """
    pieces: dict[str, list[TopK]] = {}
    for first in range(0, x.shape[0], CHUNK):  # shortlists of all rows at once would take gigabytes
        some = slice(first, first + CHUNK)
        for name, top in _some_answers(state, x[some], n_threads, None if first_x is None else first_x[some]):
            pieces.setdefault(name, []).append(top)
    for name, tops in pieces.items():
        yield name, TopK(np.concatenate([top.labels for top in tops]), np.concatenate([top.scores for top in tops]))


def _some_answers(
    state: FittedELIAS, x: sparse.csr_matrix, n_threads: int | None, first_x: sparse.csr_matrix | None
) -> Iterator[tuple[str, TopK]]:
    rows = normalized_rows(state.views(x)[0])
    if state.first_stage is not None:
        first = rows if first_x is None else normalized_rows(state.views(first_x)[0])
        yield "stage 1", index_answers(state.first_stage, first)
    yield "+ stage 2", index_answers(state.members[0].index, rows)
    if state.ranker is not None:
        yield from _ranked(state, state.ranker, rows, n_threads)
    if len(state.members) > 1:
        yield "+ ensemble", state.predict(x, min(PLACES, state.n_labels), n_threads)


def index_answers(index: LearnedIndex, rows: sparse.csr_matrix) -> TopK:
    """The answers of an index alone to unit rows, by its own probabilities."""
    short = index.shortlist(rows)
    return TopK(*top_of(short.labels, short.log_p, PLACES))


def _ranked(
    state: FittedELIAS, ranker: Ranker, rows: sparse.csr_matrix, n_threads: int | None
) -> Iterator[tuple[str, TopK]]:
    member = state.members[0]
    short = member.index.shortlist(rows)
    judged = narrowed(short.labels, short.log_p, state.ranker_top)
    labels, log_p, margins = ranker.judged(rows, *judged, 0)
    yield "+ ranker", TopK(*top_of(labels, Scoring().base(log_p, log_q(margins)), PLACES))
    if state.candidates:
        labels, log_p, margins = ranker.judged(rows, *judged, state.candidates)
        yield (
            f"+ {state.candidates} candidates of the ranker",
            TopK(*top_of(labels, Scoring().base(log_p, log_q(margins)), PLACES)),
        )
    told = None
    if state.votes is not None and state.judges_votes:
        told = state.votes.given(rows, n_threads)
        judged = narrowed(short.labels, short.log_p, state.ranker_top, told.labels)
        labels, log_p, margins = ranker.judged(rows, *judged, state.candidates)
        yield "+ labels of the trees", TopK(*top_of(labels, Scoring().base(log_p, log_q(margins)), PLACES))
    scoring = member.scoring
    others = None if told is None else voted_scores(labels, told)
    scores = scoring.scores(log_p, log_q(margins), state.trained_on.label_counts[np.maximum(labels, 0)], others)
    yield "+ calibration", TopK(*top_of(labels, scores, PLACES))
    if state.votes is not None:
        voters = state.votes
        if len(state.members) > 1:  # as a model with one index has them: of each forest the first tree
            firsts = tuple(_first_tree(forest) for forest in voters.forests)
            voters = replace(voters, forests=firsts)
        voted = voters.added(rows, labels, np.where(labels < 0, 0.0, scores), n_threads)
        yield "+ vote of linear trees", TopK(*top_of(*voted, PLACES))


def _first_tree(forest: FittedLinearTree) -> FittedLinearTree:
    settings = replace(forest.settings, n_trees=1)
    return replace(forest, settings=settings, trees=forest.trees[:1], blocks=forest.blocks[:1])
