"""Training of the ranked sides: the ranker learns from answers that the sides give to rows they have not seen."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.groups import mean_error, stretches, turns
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.dense_rows import (
    MEANING,
    WITH_WORDS,
    MeantTexts,
    as_columns,
    tries_static,
    with_words,
)
from labelwood.models.ensemble.members import PlannedMember
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.network import training_memory as network_memory
from labelwood.models.ensemble.pairs import beside_each_other, ranks_within
from labelwood.models.ensemble.params import RANKED, EnsembleParams
from labelwood.models.ensemble.ranked import Ranked, hits_of, likely
from labelwood.models.ensemble.sides import AGAIN, Sides, column_names
from labelwood.models.ensemble.text_meaning import NO_ENCODER
from labelwood.models.ensemble.text_view import KINDS, MOST_OF_ROW, PAIRS, TextView
from labelwood.models.fit_input import FitInput
from labelwood.models.linear.block_edits import stored_as
from labelwood.models.linear.one_vs_all import FittedOneVsAll
from labelwood.models.neural.elias.inputs import WIDTH_GUESS
from labelwood.models.registry import AUTO
from labelwood.progress import begin_stage
from labelwood.storage.sharing import shared

START, SIDES, RANKER = "start", "sides", "ranker"  # the kinds of stages
SMALLEST_ROWS = 1000  # a ranker of fewer rows would learn their accidents
FEWEST_ROWS = 100  # of a ranker that is asked for by name
# With this many times ranker_rows, one part that is held out leaves enough rows to train on.
_ONE_PART = 4
_PARTS = 3
NO_VIEWS = "none"  # no views
# Share of the labels that the sides of a part never see while the ranker learns, and the largest share of the rows that
# such a label may have: rows without their most frequent labels would teach it wrong things about the others.
_UNSEEN, _MOST_ROWS = 0.1, 0.02
_FIRST_TREES = 50  # of the ranker whose chances the other one sees
_JUDGED_AT = 5  # labels of a row that decide whether a view is kept
JUDGED_ROWS, _JUDGED_TREES, _JUDGED_FOLDS = 6000, 75, 3  # of the small rankers that decide it
# The standard errors by which held-out rows must gain so that a part stays. A view stays unless they plainly lose:
# where two choices are nearly equal, chance is not to decide. Vectors must show that they help: their package has to be
# installed where the model answers.
_BURDEN = {**dict.fromkeys(KINDS, -2.0), MEANING: 1.0}
# Labels times stored values up to which one classifier a label is trained too: in some seconds.
_BY_LABEL_WORK = 4e9
_PAIRS = 250  # candidates of a row, from above, for the estimate of memory


def ranks(settings: EnsembleParams, n_rows: int) -> bool:
    """Whether a ranker learns from so many rows: by default where they suffice, and where it is asked for by name."""
    if settings.models not in (AUTO, RANKED) or settings.weights is not None or settings.holdout == 0:
        return False
    return n_rows >= (SMALLEST_ROWS if settings.models == AUTO else FEWEST_ROWS)


@dataclass(frozen=True)
class TextRows:
    """What texts say beside the features: rows of each view, where label names stand, and dense vectors."""

    views: tuple[tuple[TextView, sparse.csr_matrix], ...]
    said: sparse.csr_matrix | None
    meant: MeantTexts | None = None

    @classmethod
    def of(cls, settings: EnsembleParams, data: FitInput) -> TextRows:
        """What the settings want of the texts; nothing without texts."""
        kinds, meant = wanted_views(settings), MeantTexts.of(settings, data)
        if data.texts is None:
            if settings.views not in (AUTO, NO_VIEWS):
                raise DataError(f"Ensemble: views={settings.views!r} needs texts beside the features")
            return cls((), None)
        views = []
        for done, kind in enumerate(kinds):
            data.progress.step("views of texts", done, len(kinds))
            made = functools.partial(TextView.of, kind, data.texts, settings.n_threads)
            view = shared("view", lambda kind=kind: [kind, list(data.texts or ())], made)  # type: ignore[misc]
            if view is not None:
                views.append(view)
        said = (
            None if data.label_words is None else NamePhrases.of(data.label_words).rows(data.texts, settings.n_threads)
        )
        return cls(tuple(views), said, meant)

    def take(self, rows: npt.NDArray[np.int64]) -> TextRows:
        """The same for some of the rows."""
        views = tuple((view, matrix[rows]) for view, matrix in self.views)
        meant = None if self.meant is None else self.meant.take(rows)
        return TextRows(views, None if self.said is None else self.said[rows], meant)

    def without(self, *kinds: str) -> TextRows:
        """The same without some kinds of views, or without dense vectors."""
        meant = None if MEANING in kinds else self.meant
        return replace(self, meant=meant, views=tuple(pair for pair in self.views if pair[0].kind not in kinds))

    def beside(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        """The rows that sides see: features, and what the texts say behind them."""
        more = [matrix for _, matrix in self.views] + ([] if self.said is None else [self.said])
        more += [] if self.meant is None else [as_columns(self.meant.rows)]
        return beside_each_other([x, *more]) if more else x


def wanted_views(settings: EnsembleParams) -> list[str]:
    """The kinds of views that the settings name, in the order of their columns; ParamError if one is none."""
    if settings.views == AUTO:
        return list(KINDS)
    named = [] if settings.views == NO_VIEWS else [kind.strip() for kind in settings.views.split(",")]
    unknown = [kind for kind in named if kind not in KINDS]
    if unknown:
        raise ParamError(f"Ensemble: {unknown_name('view', unknown[0], [*KINDS, AUTO, NO_VIEWS])}")
    return [kind for kind in KINDS if kind in named]


@dataclass(frozen=True)
class Learnt:
    """What held-out rows taught: the views that stay, what one classifier a label sees, lessons for the ranker.

    planned: the models with what they chose, such as the cost of errors.
    """

    planned: Mapping[str, PlannedMember]
    texts: TextRows
    by_label: tuple[str, ...]
    lessons: Lessons


def ranked_sides(settings: EnsembleParams, planned: Mapping[str, PlannedMember], data: FitInput) -> Ranked:
    """The sides, trained on all rows, and a ranker that learnt from cross-fitted answers; planned: as in `learnt`."""
    learned = learnt(settings, planned, data)
    begin_stage(data.progress, RANKER)
    data.progress.step("ranker", 0, 1)
    first, ranker = learned.lessons.rankers(settings)
    begin_stage(data.progress, SIDES)
    data.progress.step("ranker", 1, 1)
    sides = trained_sides(settings, learned.planned, data, learned.texts, learned.by_label, "")
    return Ranked(sides, ranker, first)


def chosen_texts(
    settings: EnsembleParams, data: FitInput, like: Sides | None = None
) -> tuple[TextRows, tuple[str, ...], list[str]]:
    """(what texts say, what one classifier a label sees, the views and vectors that held-out rows are to decide about).

    like: sides of these rows, whose views and vectors are taken over: nothing is left to decide then.
    """
    texts = TextRows.of(settings, data)
    by_label = quick_by_label(settings, data, texts)
    doubted = [view.kind for view, _ in texts.views] if settings.views == AUTO else []
    doubted += [MEANING] if settings.encoder == AUTO and texts.meant is not None else []
    if like is None:
        return texts, by_label, doubted
    stayed = [*like.kinds, *([] if like.dense is None else [MEANING])]
    return texts.without(*(kind for kind in doubted if kind not in stayed)), by_label, []


def learnt(
    settings: EnsembleParams,
    planned: Mapping[str, PlannedMember],
    data: FitInput,
    like: Sides | None = None,
    parts: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] | None = None,
) -> Learnt:
    """What sides say that were trained on other rows, and the views that their answers speak for.

    planned: the model of words, that of each view and the one of a classifier a label ("by label"). like: as in
    `chosen_texts`; what its models chose is taken over, too. parts: of which rows there are lessons, and which rows
    teach their sides; None: `held_parts`.
    """
    begin_stage(data.progress, START)
    texts, by_label, doubted = chosen_texts(settings, data, like)
    if like is None:
        # Once, by all rows: parts would choose the same but for chance, which takes a third of the time on small data.
        seen_by = {"words": data, **{view.kind: seen_by_view(data, view, matrix) for view, matrix in texts.views}}
        planned = {**planned, **{kind: planned[kind].settled(seen, kind) for kind, seen in seen_by.items()}}
    else:
        planned = {**planned, **{kind: planned[kind].like(model) for kind, model in like.by_kind().items()}}
    answered = []
    if parts is None:
        parts = held_parts(data.x.shape[0], settings.ranker_rows, settings.seed, data.groups)
    # Labels without a row can be proposed by their names alone.
    finds_unseen = data.label_words is not None and len(np.unique(data.y.indices)) < data.n_labels
    for number, (held, kept) in enumerate(parts, start=1):
        begin_stage(data.progress, SIDES)
        what = f"part {number} of {len(parts)}, "
        taught = data.take(kept)
        if finds_unseen:
            taught = with_unseen(taught, settings.seed, number)
        sides = trained_sides(settings, planned, taught, texts.take(kept), by_label, what, data.x.shape[0])
        answered.append((sides, texts.take(held).beside(data.x[held]), data.y[held]))
    groups = None if data.groups is None else np.concatenate([data.groups[held] for held, _ in parts])
    lessons = Lessons.of(answered, settings.n_threads, groups)

    def without(kinds: Sequence[str]) -> Lessons:
        left = [
            (sides.without(*kinds), texts.take(held).without(*kinds).beside(data.x[held]), data.y[held])
            for (sides, _, _), (held, _) in zip(answered, parts, strict=True)
        ]
        return Lessons.of(left, settings.n_threads, groups)

    if doubted:
        begin_stage(data.progress, RANKER)
        data.progress.step("judging views of texts", 0, 0)
        # Trials of a search take the choice that the default's trial made on the same rows: for the settings that they
        # change it is the same but for chance, and it takes a quarter of the time.
        losing = shared(
            "views",
            lambda: [data.x, data.y, settings.seed, settings.ranker_rows, doubted],
            lambda: losing_parts(doubted, lessons, without, settings),
        )
        if losing:
            texts, lessons = texts.without(*losing), without(losing)
    return Learnt(planned, texts, by_label, lessons)


def losing_parts(
    doubted: Sequence[str], lessons: Lessons, without: Callable[[Sequence[str]], Lessons], settings: EnsembleParams
) -> list[str]:
    """Those of the doubted parts, asked one after the other, by which held-out rows do not gain."""
    losing: list[str] = []
    quality = lessons.quality(settings)
    for kind in doubted:
        quality_without = without([*losing, kind]).quality(settings)
        if not pays(quality - quality_without, _BURDEN[kind], lessons.judged_groups):
            losing.append(kind)
            quality = quality_without
    return losing


def pays(gains: npt.NDArray[np.float64], burden: float, groups: npt.NDArray[np.int64] | None = None) -> bool:
    """Whether the mean of what rows gain is above so many of its standard errors; groups: of each row."""
    return bool(gains.mean() > burden * mean_error(gains, groups))


def quick_by_label(settings: EnsembleParams, data: FitInput, texts: TextRows) -> tuple[str, ...]:
    """What one classifier a label sees, where that is quick: features, vectors asked for.

    Features where there are no views of texts.
    """
    quick = data.x.nnz * data.n_labels <= _BY_LABEL_WORK
    seen = ("words",) if quick and not texts.views else ()
    if (
        texts.meant is None
        or settings.encoder == AUTO
        or (data.x.nnz + texts.meant.rows.size) * data.n_labels > _BY_LABEL_WORK
    ):
        return seen
    return (*seen, WITH_WORDS)


def with_unseen(data: FitInput, seed: int, part: int) -> FitInput:
    """The same rows without some labels, others in each part: so the ranker meets labels without rows."""
    counts = np.bincount(data.y.indices, minlength=data.n_labels)
    unseen = np.random.default_rng([seed, part]).random(data.n_labels) < _UNSEEN
    unseen &= counts <= _MOST_ROWS * data.y.shape[0]
    y = data.y.copy()
    y.data[unseen[y.indices]] = 0
    y.eliminate_zeros()
    return replace(data, y=y)


def trained_sides(
    settings: EnsembleParams,
    planned: Mapping[str, PlannedMember],
    data: FitInput,
    texts: TextRows,
    by_label: tuple[str, ...],
    what: str,
    all_rows: int | None = None,
) -> Sides:
    """The sides of these rows; all_rows: of the data that they are a part of."""
    models = [planned["words"].trained(data, f"{what}words")]
    for view, matrix in texts.views:
        models.append(planned[view.kind].trained(seen_by_view(data, view, matrix), f"{what}{view.kind}"))
    matrices = {"words": data.x, **{view.kind: matrix for view, matrix in texts.views}}
    if WITH_WORDS in by_label and texts.meant is not None:
        matrices[WITH_WORDS] = with_words(data.x, as_columns(texts.meant.rows))
    for kind in by_label:
        seen = replace(data, x=matrices[kind], feature_names=None, column_names=None)
        flat = planned["by label"].trained(seen, f"{what}{kind}, label by label")
        assert isinstance(flat, FittedOneVsAll)
        models.append(replace(flat, blocks=stored_as(flat.blocks, "int8", settings.n_threads)))
    views = tuple(view for view, _ in texts.views)
    return Sides.of(tuple(models), data, texts.said, views, by_label, settings, texts.meant, all_rows)


def seen_by_view(data: FitInput, view: TextView, matrix: sparse.csr_matrix) -> FitInput:
    """What the model of a view learns from: its rows; pairs stand beside the features."""
    x = beside_each_other([data.x, matrix]) if view.kind == PAIRS else matrix
    return replace(data, x=x, feature_names=None, column_names=None)


@dataclass(frozen=True)
class Lessons:
    """What sides say of rows that they have not seen: candidates, what is known of each, the labels of the rows.

    asked: the sides, with the number of rows that each was asked about, in their order. groups: of each row, whose rows
    teach the same small rankers.
    """

    keys: npt.NDArray[np.int64]
    table: npt.NDArray[np.float32]
    y: sparse.csr_matrix
    asked: tuple[tuple[Sides, int], ...] = ()
    groups: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        answered: Sequence[tuple[Sides, sparse.csr_matrix, sparse.csr_matrix]],
        n_threads: int | None,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> Lessons:
        """What each of some sides says of its rows; (sides, rows, labels of the rows)."""
        keys, tables, n_before = [], [], 0
        for sides, rows, y in answered:
            part_keys, table = sides.table(rows, n_threads)
            keys.append(part_keys + n_before * y.shape[1])
            tables.append(table)
            n_before += y.shape[0]
        labels = sparse.vstack([y for _, _, y in answered], format="csr")
        asked = tuple((sides, y.shape[0]) for sides, _, y in answered)
        return cls(np.concatenate(keys), np.concatenate(tables), labels, asked, groups)

    def take(self, kept: npt.NDArray[np.bool_]) -> Lessons:
        """The lessons about some of the rows, True for each that is kept."""
        n_labels = self.y.shape[1]
        rows = self.keys // n_labels
        said = kept[rows]
        numbers = (np.cumsum(kept) - 1)[rows[said]]
        asked, begin = [], 0
        for sides, n_rows in self.asked:
            asked.append((sides, int(np.count_nonzero(kept[begin : begin + n_rows]))))
            begin += n_rows
        keys, groups = (
            numbers * n_labels + self.keys[said] % n_labels,
            None if self.groups is None else self.groups[kept],
        )
        return Lessons(keys, self.table[said], self.y[kept], tuple(asked), groups)

    def rankers(self, settings: EnsembleParams) -> tuple[BoostedTrees, BoostedTrees]:
        """(a small ranker, one that sees its chances too), learnt from all of it.

        The second one learns from chances that small rankers of the other half of the rows give.
        """
        hits, seed, n_threads = hits_of(self.keys, self.y), settings.seed, settings.n_threads
        rows, n_labels = self.keys // self.y.shape[1], self.y.shape[1]
        chances = np.empty(len(hits), np.float32)
        side = turns(self.y.shape[0], self.groups)[rows] % 2
        for half in (side == 0, side == 1):
            other = BoostedTrees.fit(self.table[~half], hits[~half], seed, n_threads, _FIRST_TREES)
            chances[half] = likely(other.margins(self.table[half], n_threads))
        again, n_before = [], 0
        for sides, n_rows in self.asked:
            begin, end = np.searchsorted(rows, (n_before, n_before + n_rows))
            again.append(sides.again(self.keys[begin:end] - n_before * n_labels, chances[begin:end], n_threads))
            n_before += n_rows
        first = BoostedTrees.fit(self.table, hits, seed, n_threads, _FIRST_TREES)
        table = np.hstack([self.table, np.concatenate(again)])
        return first, BoostedTrees.fit(table, hits, seed, n_threads)

    @property
    def _judged_every(self) -> int:
        return -(-int(self.y.shape[0]) // JUDGED_ROWS)

    @property
    def judged_groups(self) -> npt.NDArray[np.int64] | None:
        """The groups of the rows that `quality` judges; None if rows have none."""
        return None if self.groups is None else self.groups[:: self._judged_every]

    def quality(self, settings: EnsembleParams) -> npt.NDArray[np.float64]:
        """The nDCG@5 of at most 6,000 rows, each third by a small ranker that learnt from the others."""
        every = self._judged_every
        y = self.y[::every]
        seen = self.keys // y.shape[1] % every == 0
        rows, table = self.keys[seen] // y.shape[1] // every, self.table[seen]
        keys = rows * y.shape[1] + self.keys[seen] % y.shape[1]
        hits, margins = hits_of(keys, y), np.empty(len(keys), np.float32)
        folds = turns(y.shape[0], self.judged_groups)[rows] % _JUDGED_FOLDS
        for fold in range(_JUDGED_FOLDS):
            judged = folds == fold
            ranker = BoostedTrees.fit(table[~judged], hits[~judged], settings.seed, settings.n_threads, _JUDGED_TREES)
            margins[judged] = ranker.margins(table[judged], settings.n_threads)
        ranks = ranks_within(rows, margins, keys)
        discount = np.where(ranks < _JUDGED_AT, 1 / np.log2(ranks + 2), 0)
        gains = np.bincount(rows, discount * hits, minlength=y.shape[0])
        best = np.concatenate([[0], np.cumsum(1 / np.log2(np.arange(_JUDGED_AT) + 2))])
        return np.asarray(gains / np.maximum(best[np.minimum(np.diff(y.indptr), _JUDGED_AT)], 1))


def held_parts(
    n_rows: int, ranker_rows: int, seed: int, groups: npt.NDArray[np.int64] | None = None
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """(rows to ask about, rows to train on) for every part; no row is in both, nor is a group."""
    order = np.random.default_rng(seed).permutation(n_rows)
    if n_rows >= _ONE_PART * ranker_rows:
        (held,) = stretches(order, ranker_rows, 1, groups)
        asked = np.sort(held[:ranker_rows])  # of a large group some rows are enough
        # Lessons of one group alone would leave none where that group is held out.
        if groups is None or (groups[asked] != groups[asked[0]]).any():
            return [(asked, np.setdiff1d(order, held))]
    thirds = [order[number::_PARTS] for number in range(_PARTS)]
    if groups is not None:
        thirds = stretches(order, -(-n_rows // _PARTS), _PARTS, groups)
    parts = []
    for held in thirds:
        kept = np.setdiff1d(order, held)
        parts.append((np.sort(held[: -(-ranker_rows // _PARTS)]), kept))
    return parts


def ranking_memory(settings: EnsembleParams, planned: Mapping[str, PlannedMember], data: FitInput) -> int:
    """The bytes of the ranked sides and of the ranker's training, from above."""
    n_rows = data.x.shape[0]
    n_pairs = min(settings.ranker_rows, n_rows) * _PAIRS
    words = planned["words"]
    model = int(words.model._training_memory(words.settings, data))
    rows = 3 * 12 * (data.x.nnz + data.y.nnz)  # those of a part, by row and by column
    kinds = [] if data.texts is None else wanted_views(settings)
    # The rows of views are not known before the texts are read: all have the most tokens that a row keeps.
    views = len(kinds) * (3 * 12 * MOST_OF_ROW * n_rows + 3 * model)
    networks = network_memory(n_rows, data.x.shape[1], data.n_labels)
    vectors = 0
    if settings.encoder not in (NO_ENCODER, AUTO) or tries_static(settings, data):
        vectors = (3 * 16 * n_rows + 8 * data.n_labels) * WIDTH_GUESS
        networks += network_memory(n_rows, WIDTH_GUESS, data.n_labels)
    n_columns = len(column_names(("words", *kinds, "", "", "", ""), learned=True, dense=True)) + len(AGAIN)
    table = n_pairs * (3 * 2 * 4 * n_columns + 60)
    return int(model + rows + views + networks + vectors + table)
