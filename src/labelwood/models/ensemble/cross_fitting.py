"""Training of the ranked sides: the ranker learns from answers that the sides give to rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.characters import MOST_COLUMNS, MOST_OF_ROW, Characters
from labelwood.models.ensemble.members import PlannedMember
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.pairs import beside_each_other, ranks_within
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.ranked import Ranked, hits_of
from labelwood.models.ensemble.sides import Sides, column_names
from labelwood.models.fit_input import FitInput
from labelwood.models.registry import AUTO

SMALLEST_ROWS = 1000  # a ranker of fewer rows would learn their accidents
# With this many times ranker_rows, one part that is held out leaves enough rows to train on.
_ONE_PART = 4
_PARTS = 3
_JUDGED_AT = 5  # labels of a row that decide whether a view is kept
_PAIRS = 250  # candidates of a row, from above, for the estimate of memory


def rows_suffice(n_rows: int) -> bool:
    """Whether there are enough rows to learn a ranker from."""
    return n_rows >= SMALLEST_ROWS


@dataclass(frozen=True)
class PlannedSides:
    """The models inside before their training: one for features, one for characters."""

    words: PlannedMember
    characters: PlannedMember


@dataclass(frozen=True)
class TextRows:
    """What training texts say beside the features: where label names stand in them, and their characters."""

    said: sparse.csr_matrix | None
    characters: Characters | None
    character_rows: sparse.csr_matrix | None

    @classmethod
    def of(cls, settings: EnsembleParams, data: FitInput) -> TextRows:
        """What the settings want of the texts; nothing without texts."""
        if data.texts is None:
            if settings.characters == "yes":
                raise DataError("Ensemble: characters='yes' needs texts beside the features")
            return cls(None, None, None)
        said = None if data.label_names is None else NamePhrases.of(data.label_names).rows(data.texts)
        if settings.characters == "no":
            return cls(said, None, None)
        data.progress.step("characters", 0, 1)
        characters, character_rows = Characters.of(data.texts, settings.n_threads)
        data.progress.step("characters", 1, 1)
        return cls(said, characters, character_rows)

    def take(self, rows: npt.NDArray[np.int64]) -> TextRows:
        """The same for some of the rows."""
        said = None if self.said is None else self.said[rows]
        return TextRows(said, self.characters, None if self.character_rows is None else self.character_rows[rows])

    def without_characters(self) -> TextRows:
        """The same without characters."""
        return TextRows(self.said, None, None)

    def beside(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        """The rows that sides see: features, and what the texts say behind them."""
        more = [part for part in (self.character_rows, self.said) if part is not None]
        return beside_each_other([x, *more]) if more else x


def ranked_sides(settings: EnsembleParams, planned: PlannedSides, data: FitInput) -> Ranked:
    """The sides, trained on all rows, and a ranker that learnt from cross-fitted answers."""
    texts = TextRows.of(settings, data)
    learnt, plain = Lessons(), Lessons()
    choose = texts.characters is not None and settings.characters == AUTO
    parts = held_parts(data.x.shape[0], settings.ranker_rows, settings.seed)
    for number, (held, kept) in enumerate(parts, start=1):
        sides = _trained(planned, data.take(kept), texts.take(kept), f"part {number} of {len(parts)}, ")
        asked, truth = texts.take(held), data.y[held]
        learnt.add(sides, asked.beside(data.x[held]), truth, settings.n_threads)
        if choose:
            rows = asked.without_characters().beside(data.x[held])
            plain.add(sides.without_characters(), rows, truth, settings.n_threads)
    if choose and plain.quality(settings) > learnt.quality(settings):
        learnt, texts = plain, texts.without_characters()
    data.progress.step("ranker", 0, 1)
    ranker = learnt.ranker(settings)
    data.progress.step("ranker", 1, 1)
    return Ranked(_trained(planned, data, texts, ""), ranker)


def _trained(planned: PlannedSides, data: FitInput, texts: TextRows, what: str) -> Sides:
    """The sides of these rows."""
    models = [planned.words.trained(data, f"{what}words")]
    if texts.character_rows is not None:
        seen = replace(data, x=texts.character_rows, feature_names=None, column_names=None)
        models.append(planned.characters.trained(seen, f"{what}characters"))
    return Sides.of(tuple(models), data, texts.said, texts.characters)


@dataclass
class Lessons:
    """What sides say of rows that they have not seen, and the labels of these rows."""

    keys: list[npt.NDArray[np.int64]] = field(default_factory=list)
    tables: list[npt.NDArray[np.float32]] = field(default_factory=list)
    truth: list[sparse.csr_matrix] = field(default_factory=list)

    def add(self, sides: Sides, rows: sparse.csr_matrix, y: sparse.csr_matrix, n_threads: int | None) -> None:
        """Ask the sides about rows whose labels are y."""
        keys, table = sides.table(rows, n_threads)
        n_before = sum(part.shape[0] for part in self.truth)
        self.keys.append(keys + n_before * y.shape[1])
        self.tables.append(table)
        self.truth.append(y)

    def ranker(self, settings: EnsembleParams) -> BoostedTrees:
        """A ranker that learnt from all of it."""
        hits = hits_of(np.concatenate(self.keys), sparse.vstack(self.truth, format="csr"))
        return BoostedTrees.fit(np.concatenate(self.tables), hits, settings.seed, settings.n_threads)

    def quality(self, settings: EnsembleParams) -> float:
        """The nDCG@5 on a third of the rows of a ranker that learnt from the others."""
        y = sparse.vstack(self.truth, format="csr")
        keys, table = np.concatenate(self.keys), np.concatenate(self.tables)
        hits, rows = hits_of(keys, y), keys // y.shape[1]
        judged = rows % 3 == 0
        ranker = BoostedTrees.fit(table[~judged], hits[~judged], settings.seed, settings.n_threads)
        ranks = ranks_within(rows[judged], ranker.margins(table[judged], settings.n_threads), keys[judged])
        discount = np.where(ranks < _JUDGED_AT, 1 / np.log2(ranks + 2), 0)
        gains = np.bincount(rows[judged], discount * hits[judged], minlength=y.shape[0])[::3]
        best = np.concatenate([[0], np.cumsum(1 / np.log2(np.arange(_JUDGED_AT) + 2))])
        return float(np.mean(gains / np.maximum(best[np.minimum(np.diff(y.indptr)[::3], _JUDGED_AT)], 1)))


def held_parts(n_rows: int, ranker_rows: int, seed: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """(rows to ask about, rows to train on) for every part; no row is in both."""
    order = np.random.default_rng(seed).permutation(n_rows)
    if n_rows >= _ONE_PART * ranker_rows:
        return [(np.sort(order[:ranker_rows]), np.sort(order[ranker_rows:]))]
    parts = []
    for number in range(_PARTS):
        held = order[number::_PARTS]
        kept = np.setdiff1d(order, held)
        parts.append((np.sort(held[: -(-ranker_rows // _PARTS)]), kept))
    return parts


def ranking_memory(settings: EnsembleParams, planned: PlannedSides, data: FitInput) -> int:
    """The bytes of the ranked sides and of the ranker's training, from above."""
    n_rows = data.x.shape[0]
    n_pairs = min(settings.ranker_rows, n_rows) * _PAIRS
    rows = 3 * 12 * (data.x.nnz + data.y.nnz)  # those of a part, by row and by column
    needed = n_pairs * (4 * 4 * len(column_names(2)) + 60) + rows + _member_memory(planned.words, data)
    if data.texts is not None and settings.characters != "no":
        n_runs = MOST_OF_ROW * n_rows
        # What the runs would be is not known before the texts are read: as if every row had the most of them.
        width = min(MOST_COLUMNS, n_runs)
        needed += 3 * 12 * n_runs + width
    return int(needed)


def _member_memory(member: PlannedMember, data: FitInput) -> int:
    return int(member.model._training_memory(member.settings, data))
