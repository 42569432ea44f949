"""The search itself: changes compete on small parts of the rows, the best third goes on, the best of all are combined.

Successive halving (Jamieson and Talwalkar, AISTATS 2016) in rounds: what wins a round is the start of the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from labelwood.data.groups import mean_error, stretches
from labelwood.data.keyed_random import keyed_order
from labelwood.tuning.journal import Scores
from labelwood.tuning.recipe import Setting, setting_key
from labelwood.tuning.rungs import Rung
from labelwood.tuning.space import Change, combined
from labelwood.tuning.trials import Trials

DEFAULT: Setting = {}
KEPT = 3  # one of so many goes on to the next rung, or more if there is time
STEP_ERRORS = 1.0  # standard errors that a gain must exceed so that the next round starts from it
CHANCE = 0.1  # how probable it may be that chance alone, among all settings tried, makes the chosen one look better
# The default may take this part of the time on a rung, or the rung is left out. Nothing is known before the first one.
FIRST_SHARE, RUNG_SHARE = 3, 2
ROUNDS_WITHOUT_GAIN = 2
Groups = npt.NDArray[np.int64]
_HALVES = 50  # random halves of the validation rows that the honest figure is the mean of


@dataclass(frozen=True)
class Gain:
    """How much better one setting is than another on the same validation rows, in points, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, scores: Scores, other: Scores, groups: Groups | None = None) -> Gain:
        """The gain of scores over others, row by row; groups: of each row, whose rows gain alike."""
        difference = 100 * (scores.astype(np.float64) - other)
        return cls(float(difference.mean()), float(mean_error(difference, groups)))

    def exceeds(self, n_errors: float) -> bool:
        """True if it is above 0 by more than chance would give, at so many standard errors."""
        return self.mean > n_errors * self.error and self.mean > 0


@dataclass(frozen=True)
class Choice:
    """What a search chose, by the trials of its last rung.

    default, chosen: nDCG@5 on the validation rows, per cent. expected: of what would be chosen by one half of these
    rows, on the other half: what new rows should give, for it is not flattered by the choice. gain: of the chosen
    setting over the default. rung: None if there was no time to try anything. n_judging: the validation rows.
    """

    setting: Setting
    default: float
    chosen: float
    expected: float
    gain: Gain
    rung: Rung | None
    n_compared: int
    n_judging: int = 0


class Search:
    """A search over changes of a recipe's settings."""

    def __init__(self, trials: Trials, changes: Sequence[Change], seed: int) -> None:
        self._trials = trials
        self._changes = list(changes)
        self._seed = seed
        self._alone: dict[str, Gain] = {}  # what each change gained over the default, on the largest rung it reached

    def run(self) -> Choice:
        """The choice; the default unless another setting is better by more than chance."""
        rungs = self._affordable_rungs()
        if not rungs:
            return Choice(DEFAULT, math.nan, math.nan, math.nan, Gain(0.0, 0.0), None, 0)
        for change in self._changes:
            self._trials.guess(change.setting, change.cost)
        incumbent, tried, without = DEFAULT, {setting_key(DEFAULT)}, 0
        while without < ROUNDS_WITHOUT_GAIN:
            pool = [setting for setting in self._pool(incumbent) if setting_key(setting) not in tried]
            if not pool:
                break
            tried |= {setting_key(setting) for setting in pool}
            better = self._round(pool, incumbent, rungs)
            without = 0 if better is not None else without + 1
            incumbent = incumbent if better is None else better
        return self._choice(rungs[-1])

    def _affordable_rungs(self) -> list[Rung]:
        """The rungs on which the default leaves time for other settings; the default is tried on each."""
        trials = self._trials
        affordable: list[Rung] = []
        for rung in trials.rows.rungs():
            left = trials.clock.left()
            if affordable:
                searching = left - trials.final(DEFAULT)
                if trials.needed(DEFAULT, rung) > searching / RUNG_SHARE:
                    break
            until = trials.clock.elapsed() + left / (RUNG_SHARE if affordable else FIRST_SHARE)
            if trials.scores(DEFAULT, rung, until) is None:
                break
            affordable.append(rung)
        return affordable if trials.clock.left() > trials.final(DEFAULT) else []

    def _pool(self, incumbent: Setting) -> list[Setting]:
        """The settings to try next: the incumbent with one change more, best prospects first."""
        prospects = []
        together = incumbent
        for place, change in enumerate(self._changes):
            gain = self._alone.get(setting_key(change.setting))
            if gain is not None and gain.mean <= 0:
                continue
            setting = combined(incumbent, change.setting)
            if setting is not None:
                # One that was never tried alone stands between those that gained and those that did not.
                prospects.append((-(gain.mean if gain else 0.0), place, setting))
                cost = change.cost * (self._trials.final(incumbent) / self._trials.final(DEFAULT))
                self._trials.guess(setting, cost)
        prospects.sort(key=lambda prospect: prospect[:2])
        pool = [setting for _, _, setting in prospects]
        gainful = [setting for loss, _, setting in prospects if loss < 0]
        for setting in gainful:
            together = combined(together, setting) or together
        return [together, *pool] if len(gainful) > 1 else pool

    def _round(self, pool: Sequence[Setting], incumbent: Setting, rungs: Sequence[Rung]) -> Setting | None:
        """The best setting of a pool after the last rung; None if none is better than the incumbent."""
        trials, survivors = self._trials, list(pool)
        gains: list[tuple[Gain, Setting]] = []
        for place, rung in enumerate(rungs):
            searching = trials.clock.left() - trials.final(incumbent)
            until = trials.clock.elapsed() + searching / (len(rungs) - place)
            gains = []
            for setting in survivors:
                late = trials.clock.elapsed() + trials.needed(setting, rung) > until
                if (late and gains) or not trials.fits(setting, rung, incumbent):
                    continue
                gain = self._gain(setting, incumbent, rung)
                if gain is not None:
                    gains.append((gain, setting))
            gains.sort(key=lambda found: -found[0].mean)
            above = [setting for gain, setting in gains if gain.mean > 0]
            survivors = above if rung is rungs[-1] else self._kept(above, len(gains), rungs[place + 1], incumbent)
        if not gains or not gains[0][0].exceeds(STEP_ERRORS):
            return None
        return gains[0][1]

    def _kept(self, above: list[Setting], n_tried: int, rung: Rung, incumbent: Setting) -> list[Setting]:
        """Those that go on: a third of the tried ones, or as many as half of the time left allows."""
        half = (self._trials.clock.left() - self._trials.final(incumbent)) / 2
        n_kept, needed = 0, 0.0
        for setting in above:
            needed += self._trials.needed(setting, rung)
            n_kept += needed <= half
        return above[: max(n_kept, -(-n_tried // KEPT))]

    def _gain(self, setting: Setting, incumbent: Setting, rung: Rung) -> Gain | None:
        trials = self._trials
        until = trials.clock.elapsed() + trials.clock.left() - trials.final(incumbent)
        scores = trials.scores(setting, rung, until)
        other = trials.scores(incumbent, rung, until)
        if scores is None or other is None:
            return None
        default, groups = trials.scores(DEFAULT, rung, until), trials.rows.groups(rung.folds)
        if default is not None:
            self._alone[setting_key(setting)] = Gain.of(scores, default, groups)
        return Gain.of(scores, other, groups)

    # the choice

    def _choice(self, rung: Rung) -> Choice:
        """The best of all settings whose trials of the last rung are there, if it beats the default by the margin."""
        trials = self._trials
        settings: dict[str, tuple[Setting, Scores]] = {}
        for trial in trials.journal.trials:
            parts = [trials.journal.known(trial.setting, rung.rows, fold) for fold in rung.folds]
            scores = [part.scores for part in parts if part is not None and part.scores is not None]
            affordable = not trial.setting or trials.final(trial.setting) <= trials.clock.left()
            if len(scores) == len(rung.folds) and affordable:
                settings[setting_key(trial.setting)] = trial.setting, np.concatenate(scores)
        default = settings.pop(setting_key(DEFAULT))[1]
        table = np.stack([default, *(scores for _, scores in settings.values())])
        names = [DEFAULT, *(setting for setting, _ in settings.values())]
        n_tried = len({setting_key(trial.setting) for trial in trials.journal.trials}) - 1
        groups = trials.rows.groups(rung.folds)
        best = _best(table, n_tried, groups)
        return Choice(
            names[best],
            100 * float(default.mean()),
            100 * float(table[best].mean()),
            100 * expected_score(table, n_tried, self._seed, groups),
            Gain.of(table[best], default, groups),
            rung,
            len(table),
            len(default),
        )


def margin(n_tried: int) -> float:
    """The standard errors that the best of so many settings must gain: chance exceeds them in one search of ten."""
    return NormalDist().inv_cdf(1 - CHANCE / max(1, n_tried))


def _best(table: Scores, n_tried: int, groups: Groups | None) -> int:
    """The row of the best scores; 0, the default, unless another exceeds it by the margin."""
    best = int(table.mean(axis=1).argmax())
    return best if Gain.of(table[best], table[0], groups).exceeds(margin(n_tried)) else 0


def expected_score(table: Scores, n_tried: int, seed: int, groups: Groups | None = None) -> float:
    """The mean score of what one half of the validation rows would choose, on the other half.

    table: (n_settings, n_rows), the default first. n_tried: settings that were tried in all. groups: of each row, whose
    rows are in one half. The mean over many random halves: a figure that is chosen on some rows and measured on others
    is not flattered by the choice.
    """
    n_rows = table.shape[1]
    found = []
    for number in range(_HALVES):
        order = keyed_order(n_rows, seed, number)
        half = stretches(order, n_rows // 2, 1, groups)[0]
        halves = half, order[~np.isin(order, half)]
        for chosen_by, measured_on in (halves, halves[::-1]):
            known = None if groups is None else groups[chosen_by]
            found.append(float(table[_best(table[:, chosen_by], n_tried, known)][measured_on].mean()))
    return float(np.mean(found))
