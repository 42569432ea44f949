"""LabelStates: what people decided about labels after training: new ones, and those that are no longer answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import ModelFileError


@dataclass(frozen=True)
class LabelStates:
    """Decisions by name, so that they outlive a training.

    added: labels that the model does not know yet; their columns follow the model's. retired: never answered, until
    someone teaches them again. forbidden: never answered and refused in what is taught. merged: old name -> the name
    that is answered in its place. former: the name that a renamed label had -> its name now.
    """

    added: tuple[str, ...] = ()
    retired: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    merged: Mapping[str, str] = field(default_factory=dict)
    former: Mapping[str, str] = field(default_factory=dict)

    @property
    def hide(self) -> bool:
        """True if some label is not answered as the model answers it."""
        return bool(self.retired or self.forbidden or self.merged)

    def of(self, name: str) -> str:
        """The state of a label for people: "in use", "new", "retired", "forbidden" or "merged into ..."."""
        if name in self.merged:
            return f"merged into {self.merged[name]!r}"
        for state, names in (("forbidden", self.forbidden), ("retired", self.retired), ("new", self.added)):
            if name in names:
                return state
        return "in use"

    def targets(self, names: Sequence[str]) -> npt.NDArray[np.int32]:
        """For every label the one that is answered in its place: itself, another one, or -1 for none."""
        targets = np.arange(len(names), dtype=np.int32)
        if self.hide:
            places = {name: place for place, name in enumerate(names)}
            for name, place in places.items():
                shown = self.merged.get(name, name)
                targets[place] = -1 if shown in self.retired or shown in self.forbidden else places[shown]
        return targets

    def with_added(self, names: Sequence[str]) -> LabelStates:
        """The states with labels that are new."""
        return replace(self, added=(*self.added, *names))

    def revived(self, names: set[str]) -> LabelStates:
        """The states in which these labels are no longer retired."""
        return replace(self, retired=self.retired - names)

    def renamed(self, old: str, new: str) -> LabelStates:
        """The states with a label under its new name."""

        def named(name: str) -> str:
            return new if name == old else name

        return LabelStates(
            tuple(named(name) for name in self.added),
            frozenset(map(named, self.retired)),
            frozenset(map(named, self.forbidden)),
            {named(name): named(target) for name, target in self.merged.items()},
            {name: named(now) for name, now in {**self.former, old: new}.items() if name != new},
        )

    def without_former(self, names: Collection[str]) -> LabelStates:
        """The states in which these names are no longer earlier names of other labels."""
        return replace(self, former={name: now for name, now in self.former.items() if name not in names})

    def facts(self) -> dict[str, Any]:
        """The states as JSON values; empty if there is nothing to tell."""
        values: dict[str, Any] = {
            "added": list(self.added),
            "retired": sorted(self.retired),
            "forbidden": sorted(self.forbidden),
            "merged": dict(sorted(self.merged.items())),
            "former": dict(sorted(self.former.items())),
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def restore(cls, facts: Any, model_names: Sequence[str]) -> LabelStates:
        """The states of saved facts; ModelFileError if they speak of labels that are not there."""
        known_facts = ("added", "retired", "forbidden", "merged", "former")
        if not isinstance(facts, Mapping) or not set(facts) <= set(known_facts):
            raise ModelFileError(f"label states must be {', '.join(known_facts)}, but are {facts!r:.80}")
        lists = [facts.get(name, []) for name in known_facts[:3]]
        pairs = [facts.get(name, {}) for name in known_facts[3:]]
        named = [*lists, *(list(some.values()) if isinstance(some, Mapping) else None for some in pairs)]
        if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in named):
            raise ModelFileError("label states must be lists of names, and pairs of names")
        merged, former = pairs
        known = {*model_names, *lists[0]}
        for name in (*lists[1], *merged, *merged.values(), *former.values()):  # what is forbidden need not be there yet
            if name not in known:
                raise ModelFileError(f"the label states speak of {name!r:.60}, which is no label here")
        for name in former:
            if name in known:
                raise ModelFileError(f"the label states call {name!r:.60} an earlier name, but it is a label here")
        return cls(tuple(lists[0]), frozenset(lists[1]), frozenset(lists[2]), dict(merged), dict(former))
