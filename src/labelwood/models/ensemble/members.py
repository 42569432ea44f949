"""The members of an ensemble: which models it asks, with what settings and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from labelwood.data.groups import stretches
from labelwood.errors import ParamError
from labelwood.models.base import Model
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.fit_input import FitInput
from labelwood.models.fitted import Fitted
from labelwood.models.mixing import MEMBER_LABELS, chosen_weights
from labelwood.models.registry import AUTO, model_class, recommended_model
from labelwood.params import Params
from labelwood.progress import named_progress
from labelwood.storage.sharing import shared

# Below this many rows the held-out ones say nothing: all members then weigh the same.
SMALLEST_HOLDOUT = 50

Weights = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class PlannedMember:
    """A member before its training: the model and its settings."""

    model: type[Model[Any, Any]]
    settings: Params

    def trained(self, data: FitInput, what: str) -> Fitted[Any]:
        """The member's fitted state; what: how its progress is told. Trainings that share take it from each other."""
        named = data.with_progress(named_progress(data.progress, what))
        return self._shared("member", data, lambda: self.model._train(self.settings, named))

    def settled(self, data: FitInput, what: str) -> PlannedMember:
        """The same with what these rows choose, such as the cost of errors: trainings on parts of them choose alike."""
        named = data.with_progress(named_progress(data.progress, what))
        return self._shared("settled", data, lambda: replace(self, settings=self.model._settled(self.settings, named)))

    def like(self, state: Fitted[Any]) -> PlannedMember:
        """The same with what the training of that state has chosen."""
        return replace(self, settings=replace(state.repeated_settings(), n_threads=self.settings.n_threads))

    def _shared(self, what: str, data: FitInput, make: Callable[[], T]) -> T:
        given = (data.tree, data.negatives, data.label_graph, data.classes.ids)  # nobody shares rows with these
        if any(part is not None for part in given):
            return make()
        return shared(what, lambda: self._depends_on(data), make)

    def _depends_on(self, data: FitInput) -> list[Any]:
        """What the fitted state depends on: settings, rows, and what columns and labels are called."""
        more = [part for part in (data.row_weights, data.groups) if part is not None]
        names = [data.feature_names, data.column_names, data.label_names]
        known = [None if of is None else list(of) for of in names]
        return [self.model.name, self.settings.saved(), data.x, data.y, len(more), *more, known]


def members_of(settings: EnsembleParams, n_labels: int, n_nonzeros: int) -> list[PlannedMember]:
    """The members that the settings name, each with its own seed and settings; ParamError if they are wrong."""
    names = [name.strip() for name in settings.models.split(",")]
    if names == [AUTO]:
        quick = recommended_model(n_labels, n_nonzeros) == "one-vs-all"
        names = ["one-vs-all" if quick else "linear-tree", "linear-tree"]
    return planned(settings, names)


def planned(
    settings: EnsembleParams, names: Sequence[str], defaults: Mapping[str, Any] | None = None
) -> list[PlannedMember]:
    """The members of some names, each with its own seed and settings; defaults: what the settings may change."""
    if "ensemble" in names:
        raise ParamError("Ensemble: models must not name an ensemble itself")
    assignments: dict[str, list[str]] = {}
    for setting in (settings.settings or "").split():
        owner, dot, assignment = setting.partition(".")
        if not dot or owner not in names:
            known = ", ".join(dict.fromkeys(names))
            raise ParamError(f"Ensemble: settings must be 'MODEL.KEY=VALUE' of {known}, but has {setting!r}")
        assignments.setdefault(owner, []).append(assignment)
    members = []
    for number, name in enumerate(names):
        cls = model_class(name)
        given = cls.Parameters.parse(assignments.get(name, []), cls.__name__)
        model = cls(**{"seed": settings.seed + number, "n_threads": settings.n_threads, **(defaults or {}), **given})
        if model.reads_texts:  # an ensemble hands features on, never texts
            raise ParamError(
                f"Ensemble: {name} would read texts ({', '.join(assignments[name])}); members see features"
            )
        members.append(PlannedMember(cls, model._settings()))
    return members


def given_weights(text: str | None, n_members: int) -> Weights | None:
    """The weights of a text like '2,1', summing to 1, or None for None; ParamError if they are none."""
    if text is None:
        return None
    try:
        numbers = np.array([float(word) for word in text.split(",")])
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) != n_members or not np.all(np.isfinite(numbers)) or np.any(numbers < 0) or not numbers.any():
        raise ParamError(
            f"Ensemble: weights must be {n_members} numbers from 0 up, commas between, not all 0, but is {text!r}"
        )
    weights: Weights = numbers / numbers.sum()
    return weights


def held_out_weights(settings: EnsembleParams, planned: Sequence[PlannedMember], data: FitInput) -> Weights:
    """The weights that held-out rows choose, by members trained on the other rows; all the same if rows are few."""
    n_rows = data.x.shape[0]
    n_held = int(settings.holdout * n_rows)
    if len(planned) == 1 or n_held < SMALLEST_HOLDOUT:
        return np.full(len(planned), 1 / len(planned))
    order = np.random.default_rng(settings.seed).permutation(n_rows)
    held = np.sort(stretches(order, n_held, 1, data.groups)[0])
    kept = np.setdiff1d(order, held)
    taught = data.take(kept)
    answers = []
    for place, member in enumerate(planned, start=1):
        trial = member.trained(taught, f"weights, {place} of {len(planned)}")
        answers.append(trial.predict(data.x[held], min(MEMBER_LABELS, data.n_labels), settings.n_threads))
    return chosen_weights(answers, data.y[held])
