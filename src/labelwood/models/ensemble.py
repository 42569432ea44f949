"""Ensemble: several models asked together, their scores averaged with weights that held-out rows chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import ModelFileError, ParamError
from labelwood.models.base import Arrays, Model, Words
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.mixing import chosen_weights, mixed
from labelwood.models.persistence import model_state, restored_model
from labelwood.models.registry import AUTO, model_class, recommended_model
from labelwood.params import Params, param
from labelwood.progress import Callback, Progress
from labelwood.topk import TopK

# Every member is asked for at least this many labels: one that it ranks low may win together with the others. A fixed
# number keeps the answers for a small k the beginning of those for a larger one.
MEMBER_LABELS = 50
# Below this many rows the held-out ones say nothing: all members then weigh the same.
SMALLEST_HOLDOUT = 50


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


class Ensemble(Model):
    """Several models asked together: the mean of their scores, with weights that held-out rows chose.

    Weights come from greedy selection with replacement (Caruana et al., ICML 2004), which never falls below the best
    member on the held-out rows; then every member is trained again on all rows.
    """

    name = "ensemble"
    Parameters = EnsembleParams

    # training

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        untrained = members_of(parameters, y.shape[1], x.nnz)
        weights = given_weights(parameters.weights, len(untrained))
        n_held = int(parameters.holdout * x.shape[0])
        if weights is None and len(untrained) > 1 and n_held >= SMALLEST_HOLDOUT:
            order = np.random.default_rng(parameters.seed).permutation(x.shape[0])
            held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
            answers = []
            for number, member in enumerate(untrained):
                # A copy, so that the second training starts from nothing.
                trial = type(member)(**member.get_params())
                what = f"weights, {number + 1} of {len(untrained)}"
                trial.fit(_dataset(x, y, self._words, kept), progress=_named(progress, what))
                answers.append(trial.predict(x[held], min(MEMBER_LABELS, y.shape[1])))
            weights = chosen_weights(answers, y[held])
        if weights is None:
            weights = np.full(len(untrained), 1 / len(untrained))
        used = [number for number in range(len(untrained)) if weights[number] > 0]
        for number in used:
            what = f"{untrained[number].name}, {number + 1} of {len(untrained)}"
            untrained[number].fit(_dataset(x, y, self._words), progress=_named(progress, what))
        self.members_ = [untrained[number] for number in used]
        self.weights_ = weights[used]

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        copies = 8 * (x.nnz + y.nnz)  # the rows that are not held out
        members = members_of(parameters, y.shape[1], x.nnz)
        return int(copies + sum(member.estimate_memory(x, y) for member in members))

    # answering

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        return mixed(self._asked(x, k), self.weights_, k)

    def _asked(self, x: sparse.csr_matrix, k: int) -> list[TopK]:
        width = min(max(k, MEMBER_LABELS), self.n_labels_)
        return [member.predict(x, width) for member in self.members_]

    def structure(self) -> dict[str, float]:
        """The weight of every member, by its place and name."""
        self._check_fitted()
        named = zip(self.members_, self.weights_.tolist(), strict=True)
        return {f"weight of {number + 1}, {member.name}": weight for number, (member, weight) in enumerate(named)}

    # explanations

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        """The reasons of the member that gives the label most, and a last node for what the others change."""
        answers = self._asked(row, MEMBER_LABELS)
        shares = np.array([_score_of(top, label) for top in answers]) * self.weights_
        if not shares.any():  # nobody answers it: what a longer list would say
            own = [member.explain(row, label).score for member in self.members_]
            shares = np.array(own) * self.weights_
        best = int(np.argmax(shares))
        why = self.members_[best].explain(row, label)
        score = float(np.float32(shares.sum()))
        others = float(np.log(score) - np.log(why.score)) if score > 0 and why.score > 0 else 0.0
        last = 1 + max((node.node for node in why.nodes), default=-1)
        rest = Contribution(node=last, feature=-1, value=1.0, weight=others, contribution=others)
        return Explanation(label, score, (*why.nodes, NodeScore(last, others, others)), (*why.contributions, rest))

    # storage

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"weights": self.weights_}
        for number, member in enumerate(self.members_):
            arrays.update({f"member{number}.{name}": array for name, array in model_state(member)[1].items()})
        return arrays

    def _facts(self) -> dict[str, Any]:
        members = [model_state(member)[0] for member in self.members_]
        for fields in members:  # the threads are the ensemble's, and no part of what was learnt
            fields["parameters"] = {**fields["parameters"], "n_threads": None}
        return {"members": members}

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        weights = arrays["weights"]
        fields = facts["members"]
        if not fields or weights.shape != (len(fields),) or weights.dtype != np.float64 or not np.all(weights > 0):
            raise ModelFileError(f"ensemble: weights {weights!r:.200} for {len(fields)} members")
        members = []
        for number, own in enumerate(fields):
            prefix = f"member{number}."
            parts = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            own = {**own, "parameters": {**own["parameters"], "n_threads": self.parameters_.n_threads}}
            member = restored_model(own, parts, f"member {number + 1}")
            if (member.n_features_, member.n_labels_) != (self.n_features_, self.n_labels_):
                raise ModelFileError(f"ensemble: member {number + 1} answers other rows or labels")
            members.append(member)
        self.members_, self.weights_ = members, weights


def members_of(parameters: Any, n_labels: int, n_nonzeros: int) -> list[Model]:
    """The untrained members that the parameters name, each with its own seed and settings; ParamError if wrong."""
    names = [name.strip() for name in parameters.models.split(",")]
    if names == [AUTO]:
        quick = recommended_model(n_labels, n_nonzeros) == "one-vs-all"
        names = ["one-vs-all" if quick else "linear-tree", "linear-tree"]
    if Ensemble.name in names:
        raise ParamError("Ensemble: models must not name an ensemble itself")
    settings: dict[str, list[str]] = {}
    for setting in (parameters.settings or "").split():
        owner, dot, assignment = setting.partition(".")
        if not dot or owner not in names:
            known = ", ".join(dict.fromkeys(names))
            raise ParamError(f"Ensemble: settings must be 'MODEL.KEY=VALUE' of {known}, but has {setting!r}")
        settings.setdefault(owner, []).append(assignment)
    members = []
    for number, name in enumerate(names):
        cls = model_class(name)
        own = cls.Parameters.parse(settings.get(name, []), cls.__name__)
        member = cls(**{"seed": parameters.seed + number, "n_threads": parameters.n_threads, **own})
        if member.reads_texts:  # an ensemble hands features on, never texts
            raise ParamError(f"Ensemble: {name} would read texts ({', '.join(settings[name])}); members see features")
        members.append(member)
    return members


def given_weights(text: str | None, n_members: int) -> npt.NDArray[np.float64] | None:
    """The weights of a text like '2,1', summing to 1, or None for None; ParamError if they are none."""
    if text is None:
        return None
    try:
        weights = np.array([float(part) for part in text.split(",")])
    except ValueError:
        weights = np.zeros(0)
    if len(weights) != n_members or not np.all(np.isfinite(weights)) or np.any(weights < 0) or not weights.any():
        raise ParamError(
            f"Ensemble: weights must be {n_members} numbers from 0 up, commas between, not all 0, but is {text!r}"
        )
    found: npt.NDArray[np.float64] = weights / weights.sum()
    return found


def _dataset(
    x: sparse.csr_matrix, y: sparse.csr_matrix, words: Words, rows: npt.NDArray[np.int64] | None = None
) -> Dataset:
    texts: Sequence[str] | None = words.texts
    if rows is not None:
        x, y = x[rows], y[rows]
        texts = None if texts is None else [texts[row] for row in rows]
    return Dataset(x, y, texts=texts, label_names=words.label_names, feature_names=words.feature_names)


def _named(progress: Progress, what: str) -> Progress:
    return Callback(lambda step, done, total: progress.step(f"{what}: {step}", done, total))


def _score_of(top: TopK, label: int) -> float:
    places = np.flatnonzero(top.labels[0] == label)
    return float(top.scores[0, places[0]]) if len(places) else 0.0
