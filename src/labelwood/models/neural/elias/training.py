"""How ELIAS is trained: indexes, ranker, scoring and voters, those of them that held-out rows choose."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, ParamError
from labelwood.matrices import normalized_rows
from labelwood.models.fit_input import FitInput
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.linear_tree_params import LinearTreeParams
from labelwood.models.linear.weight_blocks import training_memory
from labelwood.models.mixing import mean_scores
from labelwood.models.neural.elias.analysis import decile_recall, label_deciles, recall_curve
from labelwood.models.neural.elias.calibration import (
    HeldOut,
    Scoring,
    choose_scoring,
    held_out,
    hits_of,
    log_q,
    product_scoring,
    voted_scores,
)
from labelwood.models.neural.elias.fitted import FittedELIAS, Member
from labelwood.models.neural.elias.gain import index_gain
from labelwood.models.neural.elias.inputs import (
    BOTH,
    BOW,
    END_TO_END,
    WIDTH_GUESS,
    Floats,
    TextReader,
    joined,
    memory_of_reading,
    texts_of,
)
from labelwood.models.neural.elias.ranker import Ranker, RankerPlan, judged_rows, ranker_of, ranker_plan
from labelwood.models.neural.elias.search import LearnedIndex, top_of
from labelwood.models.neural.elias.settings import PRODUCT, ELIASParams, has_own_encoders, with_encoder
from labelwood.models.neural.elias.sizes import (
    batch_size,
    index_sizes,
    ranked_labels,
    ranker_candidates,
    voting_trees,
)
from labelwood.models.neural.elias.tree_votes import (
    Scored,
    TreeVotes,
    chosen_weight,
    fewest_nodes,
    trained_forests,
    votes_of,
)
from labelwood.models.neural.elias.zero_shot import ZeroShot, fit_zero_shot, spoken
from labelwood.models.neural.runtime import require_torch
from labelwood.storage.schema import Arrays
from labelwood.topk import TopK

if TYPE_CHECKING:
    from labelwood.models.neural.elias.reading import ReadTexts
    from labelwood.models.neural.elias.staged import Staged

MIN_HELD_OUT = 50  # fewer held-out rows choose nothing
MAX_RUN, MIN_RUNS = 25, 80  # neighbouring rows that are held out together; of how many runs at least

RowNumbers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadRows:
    """The training rows as index and ranker see them (unit rows), and what their texts were read by.

    views: the numbers of first columns that trees see. trained, kept: the rows to learn from, and those held out.
    """

    rows: sparse.csr_matrix
    views: tuple[int, ...]
    reader: TextReader | None
    vectors: Floats | None
    trained: RowNumbers
    kept: RowNumbers


@dataclass(frozen=True, eq=False)
class Taught:
    """A trained index, and the rows as it sees them: with the text encoder that learned with it, if one did."""

    stage: Staged
    read: ReadRows


@dataclass(frozen=True, eq=False)
class Chosen:
    """What held-out rows chose: a scoring for every index, the voters; how well the labels are found then.

    scored: labels and scores of these rows, None if there were none.
    """

    scorings: tuple[Scoring, ...]
    votes: TreeVotes | None
    zero_shot: ZeroShot | None
    figures: Arrays
    scored: Scored | None = None


def train(settings: ELIASParams, data: FitInput) -> FittedELIAS:
    """The fitted state of ELIAS with these settings on this input."""
    require_torch("ELIAS")
    settings = with_encoder(settings, data.texts is not None)
    untaught = _read_rows(settings, data)
    y, progress = data.y, data.progress
    clock = [time.process_time()]
    taught = [_taught(settings, data, untaught, 0)]
    read = taught[0].read
    for number in range(1, settings.n_models):
        own = has_own_encoders(settings)
        taught.append(_taught(settings, data, untaught if own else read, number, reads=own))
    rows, stages = read.rows, [each.stage for each in taught]
    first_reader = None
    if read.reader is not None and stages[0].first_text_weights is not None:
        first_reader = replace(read.reader, weights=stages[0].first_text_weights)
    zero_shot = _taught_names(settings, data, read) if settings.zero_shot else None
    indexes = [(each.stage.learned, each.read.rows) for each in taught]
    partition = stages[0].partition
    clock.append(time.process_time())
    plan = _ranker_plan(settings, data, read) if settings.ranker else None
    # Of labels that a classifier never saw as negatives its margins say little.
    candidates = ranker_candidates(settings, data.n_labels) if plan is not None and plan.all_negatives else 0
    ranker = None
    if plan is not None:
        seen = [(index, own[read.trained]) for index, own in indexes]
        ranker = ranker_of(rows[read.trained], y[read.trained], partition, seen, plan, settings, progress)
    clock.append(time.process_time())
    chosen = Chosen((Scoring(),) * settings.n_models, None, zero_shot, {})
    notes: tuple[str, ...] = ()
    if len(read.kept):
        chosen = _choose(settings, data, read, indexes, ranker, candidates, zero_shot)
        if ranker is not None and plan is not None and plan.all_negatives:
            notes = _told_gain(settings, data, read, ranker, chosen, (clock[2] - clock[1]) / (clock[2] - clock[0]))
        if plan is not None:  # now that the scoring is chosen, the ranker learns from all rows
            others = np.setdiff1d(
                np.arange(rows.shape[0]), read.trained
            )  # of a large group not all are held out to choose
            every = np.concatenate([read.trained, others])
            seen = [(index, own[every]) for index, own in indexes]
            ranker = ranker_of(
                rows[every], y[every], partition, seen, plan, settings, progress, ranker, len(read.trained)
            )
    return FittedELIAS(
        settings,
        data.trained_on(),
        members=_members(taught, chosen.scorings),
        partition=partition,
        ranker=ranker,
        votes=chosen.votes,
        zero_shot=chosen.zero_shot,
        reader=read.reader,
        candidates=candidates,
        ranker_top=ranked_labels(settings, data.n_labels),
        judges_votes=chosen.votes is not None and ranked_labels(settings, data.n_labels) is not None,
        C=0.0 if plan is None else plan.cost,
        held_out=chosen.figures,
        first_stage=stages[0].first,
        first_reader=first_reader,
        told=notes,
    )


def memory_of_training(settings: ELIASParams, data: FitInput) -> int:
    """The bytes of training at its peak beside the data, from above."""
    settings = with_encoder(settings, data.texts is not None)
    n_rows, n_features = data.x.shape
    # weights, two moments, a gradient and the copy that is kept, of feature table and label classifiers
    tables = 20 * settings.dim * (n_features + data.n_labels) + 4 * settings.dim * (settings.n_models + 1) * n_features
    # [features, vectors] of all rows, and the label vectors made from them
    vectors = 16 * settings.dim * (n_rows + data.n_labels)
    if settings.encoder != BOW:  # text vectors as sparse columns, a few copies of them, and their weights
        vectors += 60 * WIDTH_GUESS * (n_rows + data.n_labels) + 500_000_000
        if settings.text_training == END_TO_END:
            if has_own_encoders(settings):  # and the rows as every index sees them
                vectors += (settings.n_models - 1) * 16 * WIDTH_GUESS * n_rows
            vectors += memory_of_reading(
                settings.text_model, settings.max_tokens, settings.batch_size or batch_size(n_rows), settings.recompute
            )
    return int(tables + vectors + training_memory(data.x, data.y, settings.n_threads, per_weight=60) + 200_000_000)


def _read_rows(settings: ELIASParams, data: FitInput) -> ReadRows:
    from labelwood.models.neural.sampling import validation_split

    n_rows = data.x.shape[0]
    run = min(MAX_RUN, max(1, int(n_rows * settings.validation) // MIN_RUNS))
    trained, kept = validation_split(
        n_rows, settings.validation, settings.seed, settings.most_held_out, run, data.groups
    )
    if len(kept) < MIN_HELD_OUT or not (settings.ranker or settings.calibration):
        trained, kept = np.arange(n_rows), np.zeros(0, np.int64)
    reader = vectors = None
    if settings.encoder != BOW:
        texts = texts_of(data.texts, settings.encoder, "fit")
        reader = TextReader.of_folder(settings.text_model, settings.max_tokens, settings.pooling)
        if settings.tune_epochs:
            reader = reader.tuned(
                [texts[row] for row in trained],
                data.y[trained],
                settings.tune_epochs,
                seed=settings.seed,
                n_threads=settings.n_threads,
                progress=data.progress,
            )
        vectors = reader.vectors(texts, settings.n_threads, data.progress)
    rows = normalized_rows(joined(data.x, vectors, settings.encoder))
    views = {int(rows.shape[1])} | ({int(data.x.shape[1])} if settings.encoder == BOTH else set())
    return ReadRows(rows, tuple(sorted(views)), reader, vectors, trained, kept)


def _taught(settings: ELIASParams, data: FitInput, read: ReadRows, number: int, *, reads: bool = True) -> Taught:
    """The index of this number. reads: a text encoder learns with it, if one is to learn."""
    from labelwood.models.neural.elias.staged import Trainer

    texts = None
    if reads and settings.encoder != BOW and settings.text_training == END_TO_END:
        texts = _read_texts(settings, data, read)
    x, y = read.rows[read.trained], data.y[read.trained]
    sizes = index_sizes(data.n_labels, settings)
    stage = Trainer(x, y, sizes, settings, settings.seed + number, data.progress, texts).run()
    if texts is not None and read.reader is not None:
        read = _read_again(settings, data, read, replace(read.reader, weights=stage.text_weights))
    return Taught(stage, read)


def _read_texts(settings: ELIASParams, data: FitInput, read: ReadRows) -> ReadTexts:
    """The texts of the training rows with an encoder that learns with the index."""
    from labelwood.models.neural.elias.reading import ReadTexts

    texts = texts_of(data.texts, settings.encoder, "fit")
    features = normalized_rows(data.x)[read.trained] if settings.encoder == BOTH else None
    assert read.reader is not None
    return ReadTexts(read.reader, [texts[row] for row in read.trained], features, settings)


def _read_again(settings: ELIASParams, data: FitInput, read: ReadRows, reader: TextReader) -> ReadRows:
    """The rows as another reader reads them."""
    texts = texts_of(data.texts, settings.encoder, "fit")
    vectors = reader.vectors(texts, settings.n_threads, data.progress)
    rows = normalized_rows(joined(data.x, vectors, settings.encoder))
    return replace(read, rows=rows, reader=reader, vectors=vectors)


def _taught_names(settings: ELIASParams, data: FitInput, read: ReadRows) -> ZeroShot | None:
    """What finds labels without rows by their names; None if there are no such labels."""
    if read.reader is None or read.vectors is None:
        raise ParamError("zero_shot compares texts with label names: it needs encoder='minilm' or 'both'")
    if data.label_names is None:
        raise DataError("zero_shot needs the names of the labels, but the data has none")
    names = read.reader.vectors(spoken(data.label_names), settings.n_threads)
    return fit_zero_shot(read.vectors, data.y, names, settings.seed)


def _ranker_plan(settings: ELIASParams, data: FitInput, read: ReadRows) -> RankerPlan:
    n_columns = data.x.shape[1] if settings.encoder == BOTH else read.rows.shape[1]
    return ranker_plan(read.rows, data.y, n_columns, settings, data.progress, data.groups)


def _members(taught: list[Taught], scorings: tuple[Scoring, ...]) -> tuple[Member, ...]:
    members: list[Member] = []
    for each, scoring in zip(taught, scorings, strict=True):
        own = each.read.reader if members and each.read is not taught[0].read else None
        members.append(Member(each.stage.learned, scoring, each.stage.n_inserted, own))
    return tuple(members)


def _choose(
    settings: ELIASParams,
    data: FitInput,
    read: ReadRows,
    indexes: list[tuple[LearnedIndex, sparse.csr_matrix]],
    ranker: Ranker | None,
    candidates: int,
    zero_shot: ZeroShot | None,
) -> Chosen:
    """What the rows held out choose."""
    kept_rows, kept_y = read.rows[read.kept], data.y[read.kept]
    # Of the rows learned from: a label counted in the rows held out would tell that one of these has it.
    counts = np.bincount(data.y[read.trained].indices, minlength=data.n_labels).astype(np.int64)
    most = ranked_labels(settings, data.n_labels)
    trial = _trial_forests(settings, data, read) if settings.ranker and settings.trees != 0 else ()
    needed = bool(trial) and most is not None
    nodes = fewest_nodes(trial, kept_rows, kept_y, settings.n_threads) if needed else 0
    voted = votes_of(trial, kept_rows, settings.n_threads, nodes) if needed else None
    groups = None if data.groups is None else data.groups[read.kept]
    choices = [
        _chosen_scoring(
            index, ranker, candidates, kept_rows, kept_y, counts, settings, most, voted, seen[read.kept], groups
        )
        for index, seen in indexes
    ]
    scored = mean_scores([scores for _, scores in choices])
    votes = None
    if trial:
        votes, scored = _votes(settings, data, read, scored, trial, nodes, needed=needed)
    pairs = held_out(scored[0], scored[1].astype(np.float32), None, kept_y)
    if zero_shot is not None:
        zero_shot = zero_shot.on_the_scale_of(scored[1], pairs.truth)
    scorings = tuple(scoring for scoring, _ in choices)
    return Chosen(scorings, votes, zero_shot, _figures(pairs, scored[1], counts), scored)


def _told_gain(
    settings: ELIASParams, data: FitInput, read: ReadRows, ranker: Ranker, chosen: Chosen, time_share: float
) -> tuple[str, ...]:
    """What the index adds to a ranker that learned from all rows, and so can be asked for all labels, as one note."""
    if chosen.scored is None:
        return ()
    rows, y = read.rows[read.kept], data.y[read.kept]
    groups = None if data.groups is None else data.groups[read.kept]
    gain = index_gain(ranker, rows, y, chosen.scored, time_share, settings.n_threads, groups)
    return (gain.sentence(same_columns=settings.encoder == BOW),)


def _of_trees(settings: ELIASParams, n_labels: int) -> LinearTreeParams:
    n_trees = voting_trees(settings, n_labels)
    return LinearTreeParams(n_trees=n_trees, seed=settings.seed, n_threads=settings.n_threads)


def _trial_forests(settings: ELIASParams, data: FitInput, read: ReadRows) -> tuple[FittedLinearTree, ...]:
    """Linear trees of the rows that are not held out."""
    trained = read.trained
    of_trees = _of_trees(settings, data.n_labels)
    groups = None if data.groups is None else data.groups[trained]
    return trained_forests(read.rows[trained], data.y[trained], read.views, of_trees, data.progress, groups)


def _votes(
    settings: ELIASParams,
    data: FitInput,
    read: ReadRows,
    scored: Scored,
    trial: tuple[FittedLinearTree, ...],
    nodes: int,
    *,
    needed: bool,
) -> tuple[TreeVotes | None, Scored]:
    """(linear trees that vote, if the rows held out want them or they are needed; what these rows score then)."""
    rows, y, kept = read.rows, data.y, read.kept
    weight = chosen_weight(trial, rows[kept], y[kept], scored, settings.n_threads, nodes=nodes, needed=needed)
    if not weight:
        return None, scored
    forests = trained_forests(rows, y, read.views, _of_trees(settings, data.n_labels), data.progress, data.groups)
    told = TreeVotes(trial, weight, nodes).added(rows[kept], *scored, settings.n_threads)
    return TreeVotes(forests, weight, nodes), told


def _chosen_scoring(
    index: LearnedIndex,
    ranker: Ranker | None,
    n_candidates: int,
    rows: sparse.csr_matrix,
    y: sparse.csr_matrix,
    counts: Counts,
    settings: ELIASParams,
    most: int | None,
    voted: TopK | None,
    seen: sparse.csr_matrix,
    groups: RowNumbers | None,
) -> tuple[Scoring, Scored]:
    """(scoring of one index, chosen on held-out rows; their labels and scores). seen: these rows as the index does."""
    named = None if voted is None else voted.labels
    labels, log_p, margins = judged_rows(index, ranker, rows, n_candidates, settings.n_threads, most, named, seen)
    logs = None if margins is None else log_q(margins)
    others = None if voted is None else voted_scores(labels, voted)
    pairs = replace(held_out(labels, log_p, logs, y), voted=others, groups=groups)
    choose = product_scoring if settings.scoring == PRODUCT else choose_scoring
    scoring = choose(pairs, counts, calibrate=settings.calibration)
    scores = scoring.scores(log_p, logs, counts[np.maximum(labels, 0)], others)
    return scoring, (labels, np.where(labels < 0, 0.0, scores))


def _figures(pairs: HeldOut, scores: npt.NDArray[np.float64], counts: Counts) -> Arrays:
    """How well the scores of held-out pairs find the labels of their rows: recall by answers, and by decile."""
    labels, _ = top_of(pairs.labels, scores, 100)
    hits = hits_of(pairs, labels)
    return {
        "recall": recall_curve(hits, pairs.n_true),
        "deciles": decile_recall(labels, hits, pairs.n_true, label_deciles(counts)),
    }
