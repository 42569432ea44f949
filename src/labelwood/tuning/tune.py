"""tune: the best tagger or model that a given time can find, trained on all rows."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.data.dataset import Dataset
from labelwood.data.fingerprint import data_fingerprint, texts_fingerprint
from labelwood.data.groups import group_numbers
from labelwood.errors import DataError
from labelwood.models.base import SCORED_AT, Model
from labelwood.progress import SILENT, Progress
from labelwood.storage.steps import Key
from labelwood.tagger.tagger import Tagger
from labelwood.tuning.duration import duration_text, parse_duration
from labelwood.tuning.journal import Journal, Trial, journal_path
from labelwood.tuning.recipe import ENSEMBLE, Recipe, setting_text
from labelwood.tuning.rungs import SearchRows
from labelwood.tuning.search import Choice, Gain, Search
from labelwood.tuning.space import changes
from labelwood.tuning.trials import Clock, Trials
from labelwood.vocabulary.read import read_vocabulary
from labelwood.vocabulary.vocabulary import Vocabulary

COLUMNS = ("trial", "setting", "rows", "seconds", f"nDCG@{SCORED_AT}", "gain")


@dataclass(frozen=True, eq=False)
class Tuned:
    """A tagger or model with the settings that a search chose, and the account of the search.

    trials: all of them in their order, those of an earlier run that was killed too. search_seconds, fit_seconds: where
    the time went. groups: of the validation rows of each fold; None if rows have none.
    """

    trained: Tagger | Model[Any, Any]
    choice: Choice
    trials: tuple[Trial, ...]
    n_validation: int
    budget: float
    search_seconds: float
    fit_seconds: float
    resumed: int
    groups: tuple[npt.NDArray[np.int64] | None, ...] = ()

    def table(self) -> list[tuple[str, ...]]:
        """What each second bought: a line a trial, as COLUMNS names them; gain: over the default on the same rows."""
        usual = {trial.place[1:]: trial.scores for trial in self.trials if not trial.setting}
        lines: list[tuple[str, ...]] = []
        for number, trial in enumerate(self.trials):
            default = usual.get(trial.place[1:])
            score = gain = "stopped"
            if trial.scores is not None:
                score = f"{100 * trial.scores.mean():.2f}"
                gain = ""
                if trial.setting and default is not None:
                    groups = self.groups[trial.fold] if self.groups else None
                    gained = Gain.of(trial.scores, default, groups)
                    gain = f"{gained.mean:+.2f} ± {gained.error:.2f}"
            rows = f"{trial.rows:,}" + (f", fold {trial.fold + 1}" if trial.fold else "")
            lines.append((str(number), setting_text(trial.setting), rows, f"{trial.seconds:.1f}", score, gain))
        return lines

    def sentences(self) -> list[str]:
        """What was found, for people."""
        choice, metric = self.choice, f"nDCG@{SCORED_AT}"
        time = (
            f"the search took {duration_text(self.search_seconds)} and training on all rows "
            f"{duration_text(self.fit_seconds)} of a budget of {duration_text(self.budget)}"
        )
        if choice.rung is None:
            return [f"budget: too small to try anything beside the default settings; {time}"]
        rows = f"{choice.n_judging:,} held-out rows"
        judged = f"by {rows}, after training on {choice.rung.rows:,}"
        if choice.n_compared < 2:
            return [f"budget: no other setting was tried on as many rows as the default, which stays; {time}"]
        if not choice.setting:
            found = f"none of {choice.n_compared - 1} other settings is better than the default by more than chance"
            return [f"budget: {found} ({metric} {choice.default:.2f} {judged})", f"budget: {time}"]
        return [
            f"budget: {setting_text(choice.setting)}: {metric} {choice.chosen:.2f}, {choice.gain.mean:+.2f} ± "
            f"{choice.gain.error:.2f} over the default ({judged})",
            f"budget: expect {choice.expected:.2f} from new rows: the figure above is flattered by the choice among "
            f"{choice.n_compared} settings",
            f"budget: {time}",
        ]


def tune(
    data: Dataset,
    *,
    budget: str | float,
    model: str = ENSEMBLE,
    params: Mapping[str, Any] | None = None,
    features: Mapping[str, Any] | None = None,
    lang: str | None = None,
    vocabulary: Vocabulary | str | Path | None = None,
    assign: str | None = None,
    keep_rows: bool | None = None,
    name_rows: bool | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    out: str | Path | None = None,
    restart: bool = False,
    memory: int | None = None,
    now: Callable[[], float] = time.monotonic,
    progress: Progress = SILENT,
) -> Tuned:
    """The tagger (of texts) or model (of features) with the best settings that the time finds, trained on all rows.

    budget: the time for all of it, the last training included, such as "10m". model: "ensemble", "linear-tree",
    "one-vs-all", or "auto", which also tries other models. params, features: settings that are fixed; the search leaves
    them alone. out: where the result will be saved: trials are then kept in OUT.search.jsonl, and a killed search goes
    on from there. restart: a journal of another search is replaced. now: what tells the time; time.process_time counts
    the work of the processor, where other programs share it. Settings are compared by nDCG@5 on held-out rows;
    the default stays unless another one is better by more than chance gives in one search of ten.
    """
    seconds = parse_duration(budget)
    recipe = Recipe(
        model,
        {"seed": seed, "n_threads": n_threads, **(params or {})},
        dict(features or {}),
        lang,
        vocabulary if vocabulary is None or isinstance(vocabulary, Vocabulary) else read_vocabulary(vocabulary),
        assign,
        keep_rows,
        name_rows,
    )
    to_try = changes(recipe, data)
    rows = SearchRows(data, seed)
    journal = Journal(None if out is None else journal_path(out), _purpose(recipe, data), restart=restart)
    clock = Clock(seconds, journal.spent, now)
    trials = Trials(recipe, rows, journal, clock, memory, progress)
    choice = Search(trials, to_try, seed).run()
    searched = clock.elapsed()
    del trials  # and what they share, before the last training
    trained = recipe.changed(choice.setting).trained(data, memory=memory, progress=progress)
    journal.finish()
    return Tuned(
        trained,
        choice,
        tuple(journal.trials),
        rows.n_validation,
        seconds,
        searched,
        clock.elapsed() - searched,
        journal.resumed,
        tuple(rows.groups((fold,)) for fold in range(rows.n_folds)),
    )


def _purpose(recipe: Recipe, data: Dataset) -> dict[str, Any]:
    """What trials depend on: those of another purpose say nothing about this one."""
    from labelwood import __version__

    if data.x is not None:
        seen = data_fingerprint(data.x, data.y)
    elif data.label_names is not None:
        seen = texts_fingerprint(data.texts or (), data.y, data.label_names)
    else:
        raise DataError(f"{data.source}: texts need label names")
    params = {name: value for name, value in recipe.params.items() if name != "n_threads"}
    groups = None if data.groups is None else group_numbers(data.groups, data.n_rows)
    return {
        "version": __version__,
        "data": seen,
        "rows": data.n_rows,
        "model": recipe.model,
        "params": params,
        "features": {name: list(v) if isinstance(v, (tuple, set)) else v for name, v in recipe.features.items()},
        "lang": recipe.lang,
        "vocabulary": None if recipe.vocabulary is None else _name_of(recipe.vocabulary),
        **({} if recipe.name_rows is None else {"name_rows": recipe.name_rows}),
        **({} if groups is None else {"groups": zlib.crc32(groups.tobytes())}),
    }


def _name_of(vocabulary: Vocabulary) -> str:
    """A name for all that a vocabulary says: one of as many concepts is another one."""
    arrays = vocabulary.arrays()
    return Key("vocabulary").add(list(arrays), *arrays.values(), vocabulary.facts()).name()
