"""Trials: a setting trained on a part of the rows and judged on held-out ones, never longer than there is time for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from labelwood.errors import LabelwoodError
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import discounts, ideal_dcg
from labelwood.models.base import SCORED_AT
from labelwood.progress import WHOLE, Progress
from labelwood.storage.sharing import Shared, sharing
from labelwood.tuning.journal import Journal, Scores, Trial
from labelwood.tuning.recipe import ENSEMBLE, Recipe, Setting, answers, setting_text
from labelwood.tuning.rungs import Rung, SearchRows

# Training grows with the rows (docs/scale.md); that of an ensemble less, whose ranker has so many rows and no more.
GROWTH, GROWTH_OF_ENSEMBLE = 1.0, 0.7
CAUTION = 1.15  # predicted times are multiplied by it
# A trial that takes so many times the time foreseen, and so many seconds more, is stopped.
PATIENCE, PATIENCE_SECONDS = 3.0, 5.0


class TimeIsUpError(Exception):
    """A trial took longer than it may."""


class Clock:
    """The time of a search: what was spent, by earlier runs too, and what is left."""

    def __init__(self, budget: float, spent: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._now = now
        self._start = now() - spent

    def elapsed(self) -> float:
        """Seconds since the search began, without the time between a killed run and the next."""
        return self._now() - self._start

    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self.budget - self.elapsed()


class Deadline:
    """A Progress that passes reports on and raises TimeIsUpError once the time is over.

    How long all of a training will take is not passed on: a search consists of many.
    """

    def __init__(self, progress: Progress, clock: Clock, until: float) -> None:
        self._progress, self._clock, self._until = progress, clock, until

    def step(self, what: str, done: int, total: int) -> None:
        """Pass the report on, or end the work."""
        if self._clock.elapsed() > self._until:
            raise TimeIsUpError
        if what != WHOLE:
            self._progress.step(what, done, total)


class Trials:
    """Runs trials of a recipe, remembers them in a journal, and foresees how long the next will take."""

    def __init__(
        self, recipe: Recipe, rows: SearchRows, journal: Journal, clock: Clock, memory: int | None, progress: Progress
    ) -> None:
        self.recipe, self.rows, self.journal, self.clock = recipe, rows, journal, clock
        self._memory, self._progress = memory, progress
        self._guesses: dict[str, float] = {}
        # What trials have in common is kept in memory, which is to be spared if somebody says how much there is.
        self._shared = Shared(clock.elapsed) if memory is None else None

    def guess(self, setting: Setting, cost: float) -> None:
        """Note how many times the default's time a setting may take, until a trial shows it."""
        self._guesses.setdefault(setting_text(setting), cost)

    def scores(self, setting: Setting, rung: Rung, until: float) -> Scores | None:
        """nDCG@5 of the validation rows of a rung, trained anew where no trial is known; None if one was stopped.

        until: seconds of the clock at which it must have ended.
        """
        parts = []
        for fold in rung.folds:
            trial = self.journal.known(setting, rung.rows, fold)
            if trial is None:
                trial = self._run(setting, rung.rows, fold, until)
                self.journal.add(trial)
            if trial.scores is None:
                return None
            parts.append(trial.scores)
        return np.concatenate(parts)

    def _run(self, setting: Setting, rows: int, fold: int, until: float) -> Trial:
        start = self.clock.elapsed()
        foreseen = self.foreseen(setting, rows)
        if foreseen is not None:  # by itself: nothing may be there to share
            until = min(until, start + PATIENCE * foreseen + PATIENCE_SECONDS)
        number = len(self.journal.trials)
        self._progress.step(f"trial {number}: {setting_text(setting)}, {rows:,} rows", 0, 0)
        scores: Scores | None = None
        spared = 0.0 if self._shared is None else self._shared.seconds
        try:
            watched = Deadline(self._progress, self.clock, until)
            recipe = self.recipe.changed(setting).quick()
            # The other settings differ from the default in one thing or two: what they leave alone is what it made.
            with sharing(self._shared, adds=not setting):
                trained = recipe.trained(self.rows.part(fold, rows), memory=self._memory, progress=watched)
            judging = self.rows.validation(fold)
            hits = hit_matrix(answers(trained, judging, SCORED_AT), judging.y)
            gained = (hits.hit * discounts(SCORED_AT)).sum(axis=1)
            scores = (gained / ideal_dcg(hits.n_true, SCORED_AT)).astype(np.float32)
        except TimeIsUpError:
            pass
        except LabelwoodError:  # a setting that these rows do not allow; the default has to work
            if not setting:
                raise
        spared = 0.0 if self._shared is None else self._shared.seconds - spared
        return Trial(setting, rows, fold, self.clock.elapsed() - start, scores, spared)

    # time

    def foreseen(self, setting: Setting, rows: int) -> float | None:
        """The seconds that training on so many rows takes by itself, a little more than likely; None: unknown."""
        own = [trial for trial in self.journal.trials if trial.setting == setting]
        if own:
            most = max(trial.rows for trial in own)
            return CAUTION * _mean_alone(own, most) * self._growth(most, rows)
        if not setting:
            return None
        usual = self.foreseen({}, rows)
        return None if usual is None else usual * self._guesses.get(setting_text(setting), 1.0)

    def _growth(self, n_before: int, n_after: int) -> float:
        """How many times longer training takes on more rows: as it was for the default, beyond that by a rule."""
        usual = [trial for trial in self.journal.trials if not trial.setting]
        known = {trial.rows for trial in usual if n_before <= trial.rows <= n_after}
        if n_before not in known:
            return float(max(1.0, n_after / n_before) ** self._exponent)
        most = max(known)
        grown = _mean_alone(usual, most) / max(_mean_alone(usual, n_before), 1e-3)
        return float(max(1.0, grown) * (n_after / most) ** self._exponent)

    @property
    def _exponent(self) -> float:
        """The power of the rows with which training is foreseen to grow."""
        return GROWTH_OF_ENSEMBLE if self.recipe.model == ENSEMBLE else GROWTH

    def needed(self, setting: Setting, rung: Rung) -> float:
        """The seconds of the trials of a rung that are not known yet; infinite if nothing is known at all."""
        missing = [fold for fold in rung.folds if self.journal.known(setting, rung.rows, fold) is None]
        seconds = self.foreseen(setting, rung.rows)
        if missing and setting and seconds is not None:
            seconds *= self._own_share(rung.rows)
        return 0.0 if not missing else len(missing) * (float("inf") if seconds is None else seconds)

    def _own_share(self, rows: int) -> float:
        """The share of its time that a trial takes where the default's made the rest: as it was on most rows."""
        others = [trial for trial in self.journal.trials if trial.setting and trial.rows <= rows]
        most = max((trial.rows for trial in others), default=0)
        alike = [trial for trial in others if trial.rows == most and trial.scores is not None]
        return sum(trial.seconds for trial in alike) / max(sum(trial.alone for trial in alike), 1e-9) if alike else 1.0

    def final(self, setting: Setting) -> float:
        """The seconds of training on all rows at the end, with learning how sure answers are if that is wanted."""
        seconds = self.foreseen(setting, self.rows.data.n_rows)
        if seconds is None:
            return float("inf")
        if self.recipe.assign is None:
            return seconds
        # One more training run, or up to four where each takes a second (docs/how-to/how-many-tags.md).
        return seconds * (2.0 if seconds > 2 * CAUTION else 5.0)

    def fits(self, setting: Setting, rung: Rung, incumbent: Setting) -> bool:
        """Whether the trials of a rung, and training on all rows after them, end within the budget."""
        after = max(self.final(setting), self.final(incumbent))
        return self.needed(setting, rung) + after <= self.clock.left()


def _mean_alone(trials: Sequence[Trial], rows: int) -> float:
    """The mean time of the trials on so many rows, each by itself."""
    seconds = [trial.alone for trial in trials if trial.rows == rows]
    return sum(seconds) / len(seconds)
