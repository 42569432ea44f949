"""Ensemble: several models asked together, their scores averaged with weights that held-out rows chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError, ParamError
from labelwood.models.base import Model
from labelwood.models.explanation import Explanation, Share, combined
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.mixing import chosen_weights, mixed, score_of
from labelwood.models.persistence import restored, state_of
from labelwood.models.registry import AUTO, model_class, recommended_model
from labelwood.params import Params, param
from labelwood.progress import Callback, Progress
from labelwood.storage.schema import PART, ArrayRule, Arrays, Schema, part, prefixed
from labelwood.topk import TopK

# Every member is asked for at least this many labels: one that it ranks low may win together with the others. A fixed
# number keeps the answers for a small k the beginning of those for a larger one.
MEMBER_LABELS = 50
# Below this many rows the held-out ones say nothing: all members then weigh the same.
SMALLEST_HOLDOUT = 50

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EnsembleParams(Params):
    """Parameters of the ensemble."""

    models: str = param(
        AUTO, "names of models, commas between, each with its own seed; auto: one-vs-all (if quick) and linear trees"
    )
    settings: str | None = param(
        None, "parameters of the members, such as 'linear-tree.C=2 one-vs-all.C=1', blanks between", kind=str
    )
    weights: str | None = param(
        None, "the weights of the members, such as '2,1'; None: chosen on held-out rows", kind=str
    )
    holdout: float = param(0.1, "share of the rows held out to choose weights; 0: equal weights", low=0, high=0.5)


@dataclass(frozen=True, eq=False)
class FittedEnsemble(Fitted[EnsembleParams]):
    """The fitted states of the members, and their weights, which sum to 1."""

    name = "ensemble"
    members: tuple[Fitted[Any], ...]
    weights: Weights

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels of every row with the largest weighted sums of the members' scores."""
        return mixed(self._asked(x, k, n_threads), self.weights, k)

    def _asked(self, x: sparse.csr_matrix, k: int, n_threads: int | None) -> list[TopK]:
        width = min(max(k, MEMBER_LABELS), self.n_labels)
        # Members see features alone: one that would read texts says so.
        return [member.predict(member.inputs(x, None), width, n_threads) for member in self.members]

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """One share for each member, with its own reasons; a member that does not answer the label adds 0.

        Members are asked as for a short list of answers; if none of them names the label, as for the longest one.
        """
        answers = self._asked(row, MEMBER_LABELS, n_threads)
        if not any(score_of(top, label) for top in answers):
            answers = self._asked(row, self.n_labels, n_threads)
        shares, total = [], 0.0
        for member, weight, top in zip(self.members, self.weights.tolist(), answers, strict=True):
            score = score_of(top, label)
            why = Explanation(label, 0.0, (), ())
            if score:
                why = replace(member.explain(member.inputs(row, None), label, n_threads), score=score)
            shares.append(Share(member.name, weight, why))
            total += weight * score
        return combined(label, float(np.float32(total)), shares)

    def structure(self) -> dict[str, float]:
        """The weight of every member, by its place and name."""
        weighted = zip(self.members, self.weights.tolist(), strict=True)
        return {f"weight of {place}, {member.name}": weight for place, (member, weight) in enumerate(weighted, start=1)}

    def repeated_settings(self) -> EnsembleParams:
        """The settings with the members that were kept and their weights."""
        names = [member.name for member in self.members]
        of_members = (self.settings.settings or "").split()
        kept = " ".join(setting for setting in of_members if setting.partition(".")[0] in names)
        weights = ",".join(map(repr, self.weights.tolist()))
        return replace(self.settings, models=",".join(names), settings=kept or None, weights=weights)

    # storage

    @classmethod
    def schema(cls, settings: EnsembleParams, facts: Mapping[str, Any]) -> Schema:
        """The weights, and the arrays of every member, which it checks itself."""
        n_members = len(_saved_members(facts))
        weights = ArrayRule("float64", (n_members,), low=0, finite=True)
        return {"weights": weights, **{_prefix(number): PART for number in range(n_members)}}

    def arrays(self) -> Arrays:
        """The weights and the members' arrays."""
        arrays: Arrays = {"weights": self.weights}
        for number, member in enumerate(self.members):
            arrays |= prefixed(_prefix(number), state_of(member)[1])
        return arrays

    def facts(self) -> dict[str, Any]:
        """The manifest fields of every member."""
        return {"members": [state_of(member)[0] for member in self.members]}

    @classmethod
    def restore(
        cls, settings: EnsembleParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedEnsemble:
        """The state of saved members; ModelFileError if they answer other rows or labels, or weigh nothing."""
        weights = arrays["weights"]
        if not np.all(weights > 0):
            raise ModelFileError(f"ensemble: every member has a weight above 0, but here {weights!r:.200}")
        members = []
        for number, fields in enumerate(_saved_members(facts)):
            member = restored(fields, part(_prefix(number), arrays), f"member {number + 1}")
            if (member.n_features, member.n_labels) != (trained_on.n_features, trained_on.n_labels):
                raise ModelFileError(f"ensemble: member {number + 1} answers other rows or labels")
            members.append(member)
        return cls(settings, trained_on, tuple(members), weights)


class Ensemble(Model[EnsembleParams, FittedEnsemble]):
    """Several models asked together: the mean of their scores, with weights that held-out rows chose.

    Weights come from greedy selection with replacement (Caruana et al., ICML 2004), which never falls below the best
    member on the held-out rows; then every member is trained again on all rows.
    """

    name = "ensemble"
    Parameters = EnsembleParams
    FittedState = FittedEnsemble

    @staticmethod
    def _train(settings: EnsembleParams, data: FitInput) -> FittedEnsemble:
        planned = members_of(settings, data.n_labels, data.x.nnz)
        weights = given_weights(settings.weights, len(planned))
        if weights is None:
            weights = _held_out_weights(settings, planned, data)
        members = [
            member.trained(data, f"{member.model.name}, {place} of {len(planned)}")
            for place, (member, weight) in enumerate(zip(planned, weights, strict=True), start=1)
            if weight > 0
        ]
        return FittedEnsemble(settings, data.trained_on(), tuple(members), weights[weights > 0])

    @staticmethod
    def _training_memory(settings: EnsembleParams, data: FitInput) -> int:
        copies = 8 * (data.x.nnz + data.y.nnz)  # the rows that are not held out
        planned = members_of(settings, data.n_labels, data.x.nnz)
        return int(copies + sum(member.model._training_memory(member.settings, data) for member in planned))


@dataclass(frozen=True)
class PlannedMember:
    """A member before its training: the model and its settings."""

    model: type[Model[Any, Any]]
    settings: Params

    def trained(self, data: FitInput, what: str) -> Fitted[Any]:
        """The member's fitted state; what: how its progress is told."""
        state: Fitted[Any] = self.model._train(self.settings, data.with_progress(_named(data.progress, what)))
        return state


def members_of(settings: EnsembleParams, n_labels: int, n_nonzeros: int) -> list[PlannedMember]:
    """The members that the settings name, each with its own seed and settings; ParamError if they are wrong."""
    names = [name.strip() for name in settings.models.split(",")]
    if names == [AUTO]:
        quick = recommended_model(n_labels, n_nonzeros) == "one-vs-all"
        names = ["one-vs-all" if quick else "linear-tree", "linear-tree"]
    if Ensemble.name in names:
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
        model = cls(**{"seed": settings.seed + number, "n_threads": settings.n_threads, **given})
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


def _held_out_weights(settings: EnsembleParams, planned: Sequence[PlannedMember], data: FitInput) -> Weights:
    """The weights that held-out rows choose, by members trained on the other rows; all the same if rows are few."""
    n_rows = data.x.shape[0]
    n_held = int(settings.holdout * n_rows)
    if len(planned) == 1 or n_held < SMALLEST_HOLDOUT:
        return np.full(len(planned), 1 / len(planned))
    order = np.random.default_rng(settings.seed).permutation(n_rows)
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    taught = data.take(kept)
    answers = []
    for place, member in enumerate(planned, start=1):
        trial = member.trained(taught, f"weights, {place} of {len(planned)}")
        answers.append(trial.predict(data.x[held], min(MEMBER_LABELS, data.n_labels), settings.n_threads))
    return chosen_weights(answers, data.y[held])


def _saved_members(facts: Mapping[str, Any]) -> list[Any]:
    fields = facts["members"]
    if not isinstance(fields, list) or not fields:
        raise ModelFileError(f"ensemble: 'members' must be a list of models, but is {fields!r:.80}")
    return fields


def _prefix(number: int) -> str:
    return f"member{number}."


def _named(progress: Progress, what: str) -> Progress:
    return Callback(lambda step, done, total: progress.step(f"{what}: {step}", done, total))
