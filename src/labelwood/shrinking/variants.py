"""Variants of a trained tagger or model: which there are, what each is worth, and the best within given limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labelwood.errors import BudgetError, ParamError, unknown_name
from labelwood.memory import memory_text
from labelwood.models.fitted import Fitted
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.smaller import INT8, Cut, can_be_smaller, has_halves, linear_parts, ranker_size, smaller
from labelwood.progress import SILENT, Progress
from labelwood.shrinking.judging import Judge, Judged, Trained, arrays_of
from labelwood.tagger.fitted import FittedTagger
from labelwood.tagger.tagger import Tagger

PRUNES = (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
MOST_PRUNES = 5  # larger than the weights that training dropped already
NARROW_BEAM = 5
LARGEST_PRUNE, SIZE_STEPS = 8.0, 8  # of the search for a threshold that meets a size
ARRAY_BYTES = 300  # that a folder holds about each array: name, shape, sums
NOISE = 0.05  # two times closer than this are the same
ORIGINAL, BARE = "original", "without rows"


@dataclass(frozen=True)
class Variant:
    """A way to make the original smaller or faster, and what it gives."""

    name: str
    cut: Cut
    judged: Judged
    keeps_rows: bool
    best: bool = False  # none is better in one of size, time and accuracy without being worse in another


class Shrinking:
    """The variants of one trained tagger or model, measured by a judge."""

    def __init__(
        self,
        original: Trained,
        judge: Judge,
        folder_bytes: int,
        *,
        keep_rows: bool = False,
        progress: Progress = SILENT,
    ) -> None:
        """folder_bytes: of the original's folder. keep_rows: variants keep the training rows of the original."""
        self.original, self._judge, self._progress = original, judge, progress
        arrays = arrays_of(original)
        self._beside = folder_bytes - sum(array.nbytes + ARRAY_BYTES for array in arrays.values())
        self._keep_rows = keep_rows or not can_lose_rows(original)
        self._states: dict[tuple[str | None, float | None], Fitted[Any]] = {}

    def list(self, to: int | None = None, only: str | None = None) -> list[Variant]:
        """All variants, the original first; to: also those that are pruned until they take at most so many bytes.

        only: beside the original the variant of this name alone; ParamError if there is none.
        """
        cuts = {str(cut) if cut != Cut() else BARE: cut for cut in _cuts(_model(self.original))}
        if to is not None:
            cuts |= {str(cut): cut for cut in self._cuts_to(to)}
        if self._keep_rows:
            del cuts[BARE]
        if only is not None and only != ORIGINAL:
            if only not in cuts:
                raise ParamError(unknown_name("variant", only, [ORIGINAL, *cuts]))
            cuts = {only: cuts[only]}
        found = [Variant(ORIGINAL, Cut(), self._judged(self.original), keeps_rows=True)]
        for number, (name, cut) in enumerate(cuts.items() if only != ORIGINAL else ()):
            self._progress.step("measuring variants", number, len(cuts))
            found.append(Variant(name, cut, self._judged(self.made(cut)), keeps_rows=self._keep_rows))
        return _marked(found)

    def made(self, cut: Cut) -> Trained:
        """The variant itself."""
        key = cut.weights, cut.prune
        model = _model(self.original)
        if key not in self._states:  # weights are rebuilt once for all numbers of trees
            stored = Cut(weights=cut.weights, prune=cut.prune)
            self._states[key] = smaller(model, stored) if can_be_smaller(model) else model
        state = self._states[key]
        rest = replace(cut, weights=None, prune=None)
        if rest != Cut():
            state = smaller(state, rest)
        return with_model(self.original, state, drop_rows=not self._keep_rows)

    def _judged(self, trained: Trained) -> Judged:
        return self._judge.judged(trained, self._n_bytes(trained))

    def _n_bytes(self, trained: Trained) -> int:
        """The bytes of a variant's folder, within a few hundred."""
        arrays = arrays_of(trained)
        return self._beside + sum(array.nbytes + ARRAY_BYTES for array in arrays.values())

    def _cuts_to(self, n_bytes: int) -> Iterator[Cut]:
        """For each kind of cut the smallest threshold of weights that meets a size, if one does."""
        model = _model(self.original)
        if not can_be_smaller(model):
            return
        counts = dict.fromkeys((None, *_tree_counts(model)))
        for n_trees in counts:
            for weights in _stored(model):
                low, high, found = 0.0, LARGEST_PRUNE, None
                for _ in range(SIZE_STEPS):
                    middle = float(f"{(low + high) / 2:.3g}") if found else high
                    cut = Cut(weights=weights, prune=middle, n_trees=n_trees)
                    if self._n_bytes(self.made(cut)) <= n_bytes:
                        high, found = middle, cut
                    elif found is None:
                        break
                    else:
                        low = middle
                    self._states.pop((cut.weights, cut.prune), None)
                if found is not None:
                    yield found


def chosen(variants: Sequence[Variant], *, to: int | None = None, milliseconds: float | None = None) -> Variant:
    """The most accurate variant within the limits; BudgetError says how near any comes."""
    fitting = [variant for variant in variants if to is None or variant.judged.n_bytes <= to]
    if not fitting:
        smallest = min(variants, key=lambda variant: variant.judged.n_bytes)
        raise BudgetError(
            f"no variant fits into {memory_text(to or 0)}: the smallest, {smallest.name}, takes "
            f"{memory_text(smallest.judged.n_bytes)}"
        )
    quick = [v for v in fitting if milliseconds is None or v.judged.milliseconds <= milliseconds]
    if not quick:
        fastest = min(fitting, key=lambda variant: variant.judged.milliseconds)
        raise BudgetError(
            f"no variant answers a row in {milliseconds:g} ms: the fastest, {fastest.name}, takes "
            f"{fastest.judged.milliseconds:.3g} ms"
        )
    return max(quick, key=lambda v: (v.judged.accuracy, -v.judged.n_bytes, -v.judged.milliseconds))


def with_model(original: Trained, state: Fitted[Any], *, drop_rows: bool) -> Trained:
    """The original with another fitted model inside."""
    if not isinstance(original, Tagger):
        return type(original).from_fitted(state)
    tagger = original.fitted_
    return Tagger.from_fitted(replace(tagger, model=state, rows=None if drop_rows else tagger.rows))


def can_lose_rows(original: Trained) -> bool:
    """Whether a folder answers the same without the training rows in it: not if corrections wait in them."""
    state = original.fitted_
    if isinstance(state, FittedTagger):
        waits = state.kept.n_pending or state.words.n_features > state.model.n_features or state.labels.added
        return state.rows is not None and not waits
    return isinstance(state, FittedLinearTree) and state.kept_rows is not None


def _model(trained: Trained) -> Fitted[Any]:
    state = trained.fitted_
    return state.model if isinstance(state, FittedTagger) else state


def _cuts(state: Fitted[Any]) -> Iterator[Cut]:
    """The cuts that a state allows, nothing cut first."""
    yield Cut()
    if not can_be_smaller(state):
        return
    parts = linear_parts(state)
    now = max(part.settings.prune for part in parts)
    prunes: tuple[float | None, ...] = (None, *[prune for prune in PRUNES if prune > 1.2 * now][:MOST_PRUNES])
    for n_trees in (None, *_tree_counts(state)):
        for weights in _stored(state):
            for prune in prunes:
                yield Cut(weights=weights, prune=prune, n_trees=n_trees)
    n_ranker = ranker_size(state)
    if n_ranker:
        smallest = _stored(state)[-1]
        pruned = prunes[min(2, len(prunes) - 1)]
        for beam in (None, NARROW_BEAM):
            for ranker_trees in (None, n_ranker // 2, n_ranker // 4):
                for weights, prune in dict.fromkeys(((None, None), (smallest, None), (smallest, pruned))):
                    yield Cut(weights, prune, beam=beam, ranker_trees=ranker_trees)


def _stored(state: Fitted[Any]) -> tuple[str | None, ...]:
    """As they are, and as bytes where some weights are not bytes yet."""
    return (None, INT8) if has_halves(state) else (None,)


def _tree_counts(state: Fitted[Any]) -> tuple[int, ...]:
    """Smaller numbers of trees: two thirds and one, where forests are larger."""
    largest = max((len(part.trees) for part in linear_parts(state) if isinstance(part, FittedLinearTree)), default=1)
    return tuple(sorted({max(1, 2 * largest // 3), 1} - {largest}, reverse=True))


def _marked(variants: Iterable[Variant]) -> list[Variant]:
    """The variants, with those marked that no other one beats."""
    found = list(variants)
    return [replace(one, best=not any(_beats(other.judged, one.judged) for other in found)) for one in found]


def _beats(one: Judged, other: Judged) -> bool:
    """Whether one is at least as good in all three, and clearly better in one of them."""
    as_good = (
        one.n_bytes <= other.n_bytes
        and one.milliseconds <= (1 + NOISE) * other.milliseconds
        and one.accuracy >= other.accuracy
    )
    better = (
        one.n_bytes < other.n_bytes
        or one.milliseconds < (1 - NOISE) * other.milliseconds
        or one.accuracy > other.accuracy
    )
    return as_good and better
