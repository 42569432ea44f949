"""learned: a tagger after corrections: new rows, new labels, new words, and rows that replace earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.calibration.fit import calibration_of, enough_rows
from labelwood.data.copies import groups_of_equals
from labelwood.data.dataset import Dataset
from labelwood.data.groups import LARGEST_SHARE
from labelwood.errors import DataError, ParamError
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.features.tokens import composed
from labelwood.labelspace.names import label_matrix, nearly_known
from labelwood.models.fit_input import checked_input
from labelwood.models.fitted import Fitted
from labelwood.models.registry import ONE_VS_ALL_WORK, model_class
from labelwood.progress import SILENT, Progress
from labelwood.tagger.fitted import FittedTagger, FittedWords, beginnings
from labelwood.tagger.kept_rows import NO_ID, KeptRows, group_hashes, id_hashes, text_hashes
from labelwood.tagger.named_rows import named_rows

Places = npt.NDArray[np.int64]
# A model without updates is trained again when more than this share of the rows is new to it ...
DUE_SHARE = 0.1
# ... or at once where that takes seconds: a one-vs-all of this many labels times non-zeros.
QUICK_WORK = ONE_VS_ALL_WORK / 20
SHOWN = 5  # new labels that a message names
UPDATED, REFITTED, KEPT, NOTHING = "updated", "refitted", "kept", "nothing"


@dataclass(frozen=True)
class Lesson:
    """Texts and the names of their labels, with the ids and groups of the rows if they have some."""

    texts: Sequence[str]
    labels: Sequence[Sequence[str]]
    ids: Sequence[str] | None = None
    groups: Sequence[Any] | None = None

    @cached_property
    def text_hashes(self) -> npt.NDArray[np.uint64]:
        """A hash of each text."""
        return text_hashes(self.texts)

    @cached_property
    def id_hashes(self) -> npt.NDArray[np.uint64]:
        """A hash of each id; NO_ID where there is none."""
        return np.zeros(len(self.texts), np.uint64) if self.ids is None else id_hashes(self.ids)

    @cached_property
    def group_hashes(self) -> npt.NDArray[np.uint64]:
        """A hash of each group; NO_ID where there is none."""
        return np.zeros(len(self.texts), np.uint64) if self.groups is None else group_hashes(self.groups)

    def take(self, rows: Sequence[int]) -> Lesson:
        """Some of the rows."""
        ids = None if self.ids is None else [self.ids[row] for row in rows]
        groups = None if self.groups is None else [self.groups[row] for row in rows]
        part = Lesson([self.texts[row] for row in rows], [self.labels[row] for row in rows], ids, groups)
        part.__dict__["text_hashes"] = self.text_hashes[list(rows)]  # texts may be long
        return part


@dataclass(frozen=True)
class Learnt:
    """What a tagger made of a lesson.

    how: "updated": the model was taught the rows; "refitted": it was trained again on all rows; "kept": the rows wait
    for that, and meanwhile new labels are answered by their nearest examples and corrected texts as they were
    corrected; "nothing": all rows were known. n_pending: the rows that wait. slips: new labels beside the earlier one
    that each is nearly spelt as. renamed: names that came beside the label that each was renamed or merged into.
    """

    n_new: int
    n_corrected: int
    n_known: int
    new_labels: tuple[str, ...]
    how: str
    model: str
    n_pending: int = 0
    seconds: float = 0.0
    slips: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """One line for people."""
        parts = [f"{self.n_new:,} new {_rows(self.n_new)}", f"{self.n_corrected:,} corrected"]
        if self.n_known:
            parts.append(f"{self.n_known:,} known already")
        if self.new_labels:
            named = ", ".join(repr(name) for name in self.new_labels[:SHOWN])
            more = f" and {len(self.new_labels) - SHOWN:,} more" if len(self.new_labels) > SHOWN else ""
            tags = "tag" if len(self.new_labels) == 1 else "tags"
            parts.append(f"{len(self.new_labels):,} new {tags}: {named}{more}")
        took = f"in {self.seconds:.1f} s"
        ends = {
            UPDATED: f"the {'tree' if self.model == 'linear-tree' else self.model} was updated {took}",
            REFITTED: f"{self.model} was trained again {took}",
            KEPT: f"{self.n_pending:,} {_rows(self.n_pending)} kept until {self.model} is trained again; meanwhile new "
            "tags are answered by their nearest examples",
            NOTHING: "nothing to learn",
        }
        return f"{', '.join(parts)}; {ends[self.how]}"


def learned(
    state: FittedTagger,
    lesson: Lesson,
    *,
    refit: bool = False,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> tuple[FittedTagger, Learnt]:
    """(the tagger that knows the lesson, what happened); the given one is not changed.

    A row replaces all earlier ones with its id or its text; of several in the lesson the last one counts. refit: train
    the model again on all rows, whatever it could do instead.
    """
    begin = time.perf_counter()
    kept = state.kept
    kept.check(len(state.label_names))
    renamed = _renamed(state, lesson.labels)
    lesson = _last_of_each(_with_own_ids(replace(lesson, labels=_answered_names(state, lesson.labels)), kept))
    replaced = _replaced(kept, lesson)
    news = [row for row in range(len(lesson.texts)) if not _is_known(state, kept, replaced[row], lesson, row)]
    n_known = len(lesson.texts) - len(news)
    if not news and not refit:
        return state, Learnt(0, 0, n_known, (), NOTHING, state.model.name, kept.n_pending, renamed=renamed)
    lesson = lesson.take(news)
    gone = np.unique(np.concatenate([np.zeros(0, np.int64), *(replaced[row] for row in news)]))
    corrected = sum(len(replaced[row]) > 0 for row in news)
    names = {name for labels in lesson.labels for name in labels}
    new_labels = tuple(sorted(names - set(state.ids)))
    grown = _with_rows(
        replace(
            state,
            words=_grown_words(state.words, lesson, kept, n_threads),
            labels=state.labels.revived(names).with_added(new_labels),
        ),
        lesson,
        kept,
        [replaced[row] for row in news],
        gone,
        n_threads,
    )
    taught, how = _taught(grown, kept, gone, refit, n_threads, progress)
    seconds = time.perf_counter() - begin
    return taught, Learnt(
        len(news) - corrected,
        corrected,
        n_known,
        new_labels,
        how,
        state.model.name,
        taught.kept.n_pending,
        seconds,
        _slips(new_labels, state.called()),
        renamed,
    )


# what is new


def _slips(new_labels: Sequence[str], known: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """The new labels, of those that a message names, that are hardly meant to be new, and the label that was meant."""
    near = [(name, nearly_known(name, known)) for name in new_labels[:SHOWN]]
    return tuple((name, meant) for name, meant in near if meant is not None)


def _renamed(state: FittedTagger, lists: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """The names that came, of labels that were renamed or merged, and the label that each is now."""
    names = {name: state.meant(name) for name in sorted({name for labels in lists for name in labels})}
    return tuple((name, label) for name, label in names.items() if label not in (name, state.concept(name)))


def _answered_names(state: FittedTagger, lists: Sequence[Sequence[str]]) -> list[list[str]]:
    """The labels of each row, renamed and merged ones as they are answered; DataError if one is forbidden."""
    states = state.labels
    named = []
    for row, labels in enumerate(lists):
        shown = list(dict.fromkeys(map(state.meant, labels)))
        for name in shown:
            if name in states.forbidden:
                raise DataError(f"row {row}: the label {name!r} is forbidden; nothing was learnt")
        named.append(shown)
    return named


def _with_own_ids(lesson: Lesson, kept: KeptRows) -> Lesson:
    """The lesson without ids that several kept texts share, such as a customer's number: they name no row."""
    if lesson.ids is None:
        return lesson
    asked = np.isin(kept.arrays["ids"], lesson.id_hashes[lesson.id_hashes != NO_ID])
    pairs = np.unique(np.stack([kept.arrays[name][asked] for name in ("ids", "texts")]), axis=1)
    ids, n_texts = np.unique(pairs[0], return_counts=True)
    shared = np.isin(lesson.id_hashes, ids[n_texts > 1]).tolist()
    return replace(lesson, ids=["" if no_key else key for key, no_key in zip(lesson.ids, shared, strict=True)])


def _last_of_each(lesson: Lesson) -> Lesson:
    """The lesson in which an id, and a text, comes once."""
    hashes, ids = lesson.text_hashes.tolist(), lesson.id_hashes.tolist()
    seen: set[tuple[str, int]] = set()
    rows = []
    for row in reversed(range(len(lesson.texts))):
        keys = {("text", hashes[row])} | ({("id", ids[row])} if ids[row] != NO_ID else set())
        if not keys & seen:
            rows.append(row)
        seen |= keys
    return lesson if len(rows) == len(lesson.texts) else lesson.take(rows[::-1])


def _replaced(kept: KeptRows, lesson: Lesson) -> list[Places]:
    """For every row of the lesson the places of the kept rows with its id or its text."""
    by_text = _places_of(kept.arrays["texts"], lesson.text_hashes)
    by_id = _places_of(kept.arrays["ids"], lesson.id_hashes[lesson.id_hashes != NO_ID])
    return [
        np.array(sorted({*by_text.get(text, ()), *by_id.get(row_id, ())}), np.int64)
        for text, row_id in zip(lesson.text_hashes.tolist(), lesson.id_hashes.tolist(), strict=True)
    ]


def _places_of(hashes: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]) -> dict[int, list[int]]:
    """Hash -> the places that have it, for the hashes that are wanted."""
    by_hash: dict[int, list[int]] = {}
    places = np.flatnonzero(np.isin(hashes, wanted))
    for place, key in zip(places.tolist(), hashes[places].tolist(), strict=True):
        by_hash.setdefault(key, []).append(place)
    return by_hash


def _is_known(state: FittedTagger, kept: KeptRows, places: Places, lesson: Lesson, row: int) -> bool:
    """Whether the one kept row that this row would replace is the same already."""
    names = set(lesson.labels[row])
    if len(places) != 1 or names & state.labels.retired:
        return False
    start, columns = kept.arrays["y_start"], kept.arrays["y_columns"]
    (place,) = places.tolist()
    before = {state.label_names[column] for column in columns[start[place] : start[place + 1]].tolist()}
    same_text = kept.arrays["texts"][place] == lesson.text_hashes[row]
    same_id = lesson.id_hashes[row] in (NO_ID, kept.arrays["ids"][place])
    same_group = lesson.group_hashes[row] in (NO_ID, kept.group_of(place))
    return bool(same_text and same_id and same_group and before == names)


def _grown_words(words: FittedWords, lesson: Lesson, kept: KeptRows, n_threads: int | None) -> FittedWords:
    """The words with those of texts that were never seen; a vocabulary of counts stays as it is."""
    unseen = ~np.isin(lesson.text_hashes, kept.arrays["texts"])
    texts = [text for text, new in zip(lesson.texts, unseen.tolist(), strict=True) if new]
    if not isinstance(words, FittedTfidf) or not texts:
        return words
    vectorizer = TfidfVectorizer.from_fitted(words, {**words.parameters.as_given(), "n_threads": n_threads})
    return vectorizer.partial_fit(composed(texts)).fitted_


def _with_rows(
    state: FittedTagger,
    lesson: Lesson,
    kept: KeptRows,
    replaced: Sequence[Places],
    gone: Places,
    n_threads: int | None,
) -> FittedTagger:
    """The tagger with the lesson's rows behind the kept ones, and without those that are gone.

    A row that comes without a group takes that of the first row that it replaces.
    """
    x = state.words.rows(state.words.read(lesson.texts), n_threads)
    y, unknown = label_matrix(lesson.labels, state.ids)
    if unknown:
        raise DataError(f"the labels {unknown} have no column")
    first = max(state.model.trained_on.n_rows, int(kept.arrays["numbers"].max(initial=-1)) + 1)
    known = kept.groups
    before = np.array([known[places[0]] if len(places) else NO_ID for places in replaced], np.uint64)
    groups = np.where(lesson.group_hashes == NO_ID, before, lesson.group_hashes)
    more = KeptRows.of(x, y, lesson.text_hashes, lesson.id_hashes, groups=groups, first_number=first)
    stay = np.setdiff1d(np.arange(len(kept)), gone)
    texts = state.texts
    if texts is not None:
        padding = ("",) * (first - len(texts))
        texts = (*texts, *padding, *beginnings(lesson.texts))
    return replace(state, rows=kept.take(stay).joined(more), texts=texts)


# what the model makes of it


def _taught(
    state: FittedTagger, before: KeptRows, gone: Places, refit: bool, n_threads: int | None, progress: Progress
) -> tuple[FittedTagger, str]:
    """(the tagger whose model took as many of its pending rows as it can now, how); before: the rows with `gone`."""
    rows = state.kept
    reads = model_class(state.model.name).from_fitted(state.model).reads_texts or state.model.saw_texts
    if refit:
        if not rows.whole:
            raise DataError("the tagger did not keep its training rows; train it again, with --keep-rows")
        if reads:
            raise ParamError(f"{state.model.name} reads texts, which are not kept; train it again on all of them")
    update = _UPDATES.get(state.model.name)
    if refit or (rows.whole and not reads and update is None and _is_due(state, rows)):
        return _refitted(state, rows, n_threads, progress), REFITTED
    if update is None or not rows.whole:
        return state, KEPT
    known = gone[gone < before.first_pending]
    return update(state, before.take(known), n_threads, progress), UPDATED


def _is_due(state: FittedTagger, rows: KeptRows) -> bool:
    """Whether a model without updates is to be trained again."""
    if state.model.name == "popular" or rows.n_pending > DUE_SHARE * len(rows):
        return True
    return state.model.name == "one-vs-all" and len(state.label_names) * len(rows.arrays["x_columns"]) <= QUICK_WORK


def _refitted(state: FittedTagger, rows: KeptRows, n_threads: int | None, progress: Progress) -> FittedTagger:
    """The tagger whose model is trained again on all rows; so is what says how sure it is."""
    x, y = rows.x(state.words.n_features), rows.y(len(state.label_names))
    if not y.nnz:
        raise DataError("no row has a label any more: there is nothing to train on")
    model = model_class(state.model.name)(**{**state.model.settings.as_dict(), "n_threads": n_threads})
    data = named_rows(state.words, state.vocabulary, x, y, state.label_names, groups=_groups(rows, y))
    model.fit(data, progress=progress)
    texts = state.texts
    if texts is not None:
        numbers = rows.arrays["numbers"].tolist()
        texts = tuple(texts[number] if number < len(texts) else "" for number in numbers)
    calibration = state.calibration
    if calibration is not None and enough_rows(held := checked_input(data, progress=progress)):
        are_texts = None if state.name_counts is None else ~rows.are_names
        calibration = calibration_of(model, held, calibration.rule, are_texts)  # another model is sure of other things
    return replace(_settled(state, model.fitted_, rows.renumbered(), texts), calibration=calibration)


def _groups(rows: KeptRows, y: sparse.csr_matrix) -> list[int | None] | None:
    """What tells the groups of the rows apart, or copies where there are many; None if there are none.

    DataError if a group has grown too large.
    """
    if "groups" not in rows.arrays:
        copies, _ = groups_of_equals(rows.arrays["texts"], int(text_hashes([""])[0]), y)
        return None if copies is None else copies.tolist()
    groups = rows.groups
    largest = int(np.unique(groups[groups != NO_ID], return_counts=True)[1].max(initial=0))
    if len(rows) > 1 and largest > LARGEST_SHARE * len(rows):  # told here: nobody knows a group by its hash
        raise DataError(
            f"one group would then have {largest:,} of {len(rows):,} rows, and at most {LARGEST_SHARE:.0%} of all may "
            "be in one: learn some of its rows without a group"
        )
    return [None if group == NO_ID else group for group in groups.tolist()]


def _updated_tree(state: FittedTagger, removed: KeptRows, n_threads: int | None, progress: Progress) -> FittedTagger:
    """The tagger whose tree has learnt its pending rows, and unlearnt those removed."""
    from labelwood.models.linear.kept_rows import EarlierRows
    from labelwood.models.linear.linear_tree import LinearTree

    rows, names, width = state.kept, state.label_names, state.words.n_features
    y = rows.y(len(names))
    tree = LinearTree.from_fitted(state.model)
    tree.n_threads = n_threads
    if first := rows.first_pending:
        pending = rows.pending()
        tree.partial_fit(
            Dataset(pending.x(width), pending.y(len(names)), label_names=names),
            earlier=EarlierRows(y[:first], lambda places: rows.take(places).x(width)),
            changed=np.unique(removed.arrays["y_columns"]),
            progress=progress,
        )
    else:  # every earlier row was replaced
        tree = LinearTree(**{**tree.get_params(), "n_threads": n_threads})
        tree.fit(Dataset(rows.x(width), y, label_names=names, groups=_groups(rows, y)), progress=progress)
    return _settled(state, _recounted(tree.fitted_, y), rows, state.texts)


def _updated_dxml(state: FittedTagger, removed: KeptRows, n_threads: int | None, progress: Progress) -> FittedTagger:
    """The tagger whose neighbours are all rows but those removed; its network knows no words that came later."""
    rows = state.kept
    pending = rows.pending()
    x = pending.x(state.words.n_features)[:, : state.model.n_features]
    model: Any = state.model
    classes = replace(model.trained_on.classes, n=len(state.label_names), names=state.label_names)
    grown = model.without(removed.arrays["numbers"]).grown(x, pending.y(len(state.label_names)), classes, n_threads)
    return _settled(state, grown, rows, state.texts)


_UPDATES: dict[str, Callable[[FittedTagger, KeptRows, int | None, Progress], FittedTagger]] = {
    "linear-tree": _updated_tree,
    "dxml": _updated_dxml,
}


def _recounted(model: Any, y: sparse.csr_matrix) -> Fitted[Any]:
    """The model that counts the rows there are: rows that were replaced no longer belong to it."""
    counts = np.bincount(y.indices, minlength=y.shape[1]).astype(np.int64)
    recounted: Any = replace(model, trained_on=replace(model.trained_on, n_rows=y.shape[0], label_counts=counts))
    # A label that lost its last row has nothing left to be answered by.
    lost = np.flatnonzero(counts == 0)
    answered: Fitted[Any] = recounted.with_retired(lost)
    return answered


def _settled(state: FittedTagger, model: Fitted[Any], rows: KeptRows, texts: tuple[str, ...] | None) -> FittedTagger:
    """The tagger with a model that knows all rows and labels."""
    names = None if state.name_counts is None else rows.name_counts(model.n_labels)
    labels = replace(state.labels, added=())
    return replace(state, model=model, rows=rows.learnt(), texts=texts, labels=labels, name_counts=names)


def _rows(n: int) -> str:
    return "row" if n == 1 else "rows"
