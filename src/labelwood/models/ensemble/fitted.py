"""FittedEnsemble: trained members with their weights, or ranked sides; immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.ensemble.cross_fitting import SMALLEST_ROWS
from labelwood.models.ensemble.members import Weights
from labelwood.models.ensemble.params import RANKED, EnsembleParams
from labelwood.models.ensemble.ranked import Ranked
from labelwood.models.explanation import Explanation, Share, combined
from labelwood.models.fit_input import TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.mixing import MEMBER_LABELS, mixed, score_of
from labelwood.models.persistence import restored, same_labels, state_of, without_labels
from labelwood.models.registry import AUTO
from labelwood.storage.compressed import compressed, expanded
from labelwood.storage.schema import PART, ArrayRule, Arrays, Schema, check_arrays, part, prefixed, under
from labelwood.topk import TopK

_RANKED = "ranked."
_COMPRESSED = "members"
_SMALL_MEMBERS = 8_000_000  # bytes of a ranker's members up to which they are compressed, above they are mapped


@dataclass(frozen=True, eq=False)
class FittedEnsemble(Fitted[EnsembleParams]):
    """The fitted states of the members and their weights, which sum to 1.

    ranked: what gives the answers in place of the mean, if a ranker was trained; its models are then the members.
    """

    name = "ensemble"
    members: tuple[Fitted[Any], ...]
    weights: Weights
    ranked: Ranked | None = None

    @property
    def saw_texts(self) -> bool:
        """True if the ranker has sides that read texts."""
        return self.ranked is not None and self.ranked.sides.reads_texts

    # answering

    def inputs(
        self, x: sparse.csr_matrix, texts: Sequence[str] | None, n_threads: int | None = None
    ) -> sparse.csr_matrix:
        """What the sides see; DataError if it was trained on texts and there are none."""
        return x if self.ranked is None else self.ranked.inputs(x, texts, n_threads)

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels of every row that the ranker finds most likely, or with the largest weighted sums of scores."""
        if self.ranked is not None:
            return self.ranked.predict(x, k, n_threads)
        return mixed(self._asked(x, k, n_threads), self.weights, k)

    def _asked(self, x: sparse.csr_matrix, k: int, n_threads: int | None) -> list[TopK]:
        width = min(max(k, MEMBER_LABELS), self.n_labels)
        # Members see features alone: one that would read texts says so.
        return [member.predict(member.inputs(x, None), width, n_threads) for member in self.members]

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """What each side adds; of averaged members one share each, with its own reasons.

        Members are asked as for a short list of answers; if none of them names the label, as for the longest one. A
        member that does not answer the label adds 0.
        """
        if self.ranked is not None:
            return self.ranked.explain(row, label, n_threads)
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
        """The sides of the ranker; of averaged members the weight of each, by its place and name."""
        if self.ranked is not None:
            sides = self.ranked.sides
            return {
                "trees of the ranker": len(self.ranked.ranker.feature),
                "similar rows, values kept": len(sides.near.values),
                "numbers of a row in the learned space": 0 if sides.learned is None else sides.learned.rows.shape[1],
                "hidden units of networks": sum(len(network.first_bias) for network in sides.networks),
                "numbers of a text's dense vector": 0 if sides.dense is None else sides.dense.width,
                "words of label names": 0 if sides.names is None else sides.names.names.shape[0],
                "names looked for in texts": 0 if sides.phrases is None else len(sides.phrases.label_names),
                "labels beside each other, pairs": sides.beside.shares.nnz,
                **{f"{view.kind}, columns": view.n_columns for view in sides.views},
            }
        weighted = zip(self.members, self.weights.tolist(), strict=True)
        parts = {
            f"weight of {place}, {member.name}": weight for place, (member, weight) in enumerate(weighted, start=1)
        }
        if self.settings.models == AUTO and self.trained_on.n_rows < SMALLEST_ROWS:
            parts[f"no ranker: fewer than {SMALLEST_ROWS} rows"] = self.trained_on.n_rows
        return parts

    # storage

    def repeated_settings(self) -> EnsembleParams:
        """The settings with a ranker, if there is one, or with the members that were kept and their weights."""
        if self.ranked is not None:
            return replace(self.settings, models=RANKED)  # also for the fewer rows that are left without some
        names = [member.name for member in self.members]
        of_members = (self.settings.settings or "").split()
        kept = " ".join(setting for setting in of_members if setting.partition(".")[0] in names)
        weights = ",".join(map(repr, self.weights.tolist()))
        return replace(self.settings, models=",".join(names), settings=kept or None, weights=weights)

    @classmethod
    def schema(cls, settings: EnsembleParams, facts: Mapping[str, Any]) -> Schema:
        """The weights, the arrays of every member, which it checks itself, and those of the ranked sides."""
        n_members = len(_saved_members(facts))
        weights = ArrayRule("float64", (n_members,), low=0, finite=True)
        rules = {"weights": weights}
        if facts.get("members_compressed"):  # earlier versions never did
            rules[_COMPRESSED] = ArrayRule("uint8", ("n_compressed_members",))
        else:
            rules |= {_prefix(number): PART for number in range(n_members)}
        ranked = facts.get("ranked")  # folders of earlier versions have none
        return rules if ranked is None else rules | under(_RANKED, Ranked.schema(ranked))

    def arrays(self) -> Arrays:
        """The weights, the members' arrays and those of the ranked sides."""
        arrays: Arrays = {"weights": self.weights}
        of_members = self._arrays_of_members()
        arrays |= {_COMPRESSED: compressed(of_members)} if self._small(of_members) else of_members
        return arrays if self.ranked is None else arrays | prefixed(_RANKED, self.ranked.arrays())

    def _arrays_of_members(self) -> Arrays:
        arrays: Arrays = {}
        for number, member in enumerate(self.members):
            of_member = state_of(member)[1]
            if same_labels(member, self.trained_on):  # they are in the folder already
                of_member = without_labels(of_member)
            arrays |= prefixed(_prefix(number), of_member)
        return arrays

    def _small(self, of_members: Arrays) -> bool:
        """Whether the members are compressed, to be read into memory when the folder is loaded."""
        return self.ranked is not None and sum(array.nbytes for array in of_members.values()) <= _SMALL_MEMBERS

    def facts(self) -> dict[str, Any]:
        """The manifest fields of every member, and what the ranked sides are."""
        return {
            "members": [state_of(member)[0] for member in self.members],
            "members_compressed": self._small(self._arrays_of_members()),
            "ranked": None if self.ranked is None else self.ranked.facts(),
        }

    @classmethod
    def restore(
        cls, settings: EnsembleParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedEnsemble:
        """The state of saved members; ModelFileError if they answer other rows or labels, or weigh nothing."""
        weights = arrays["weights"]
        if not np.all(weights > 0):
            raise ModelFileError(f"ensemble: every member has a weight above 0, but here {weights!r:.200}")
        members = []
        if facts.get("members_compressed"):
            of_members = expanded(arrays[_COMPRESSED], "ensemble")
            check_arrays({_prefix(number): PART for number in range(len(weights))}, of_members, {}, "ensemble")
            arrays = {**of_members, **arrays}
        for number, fields in enumerate(_saved_members(facts)):
            member = restored(fields, part(_prefix(number), arrays), f"member {number + 1}", trained_on)
            # A ranker says itself what its members see.
            same_rows = member.n_features == trained_on.n_features or facts.get("ranked") is not None
            if not same_rows or member.n_labels != trained_on.n_labels:
                raise ModelFileError(f"ensemble: member {number + 1} answers other rows or labels")
            members.append(member)
        ranked, ranked_facts = None, facts.get("ranked")
        if ranked_facts is not None:
            ranked = Ranked.restore(part(_RANKED, arrays), ranked_facts, tuple(members), trained_on, settings.favour)
        return cls(settings, trained_on, tuple(members), weights, ranked)


def _saved_members(facts: Mapping[str, Any]) -> list[Any]:
    fields = facts["members"]
    if not isinstance(fields, list) or not fields:
        raise ModelFileError(f"ensemble: 'members' must be a list of models, but is {fields!r:.80}")
    return fields


def _prefix(number: int) -> str:
    return f"member{number}."
