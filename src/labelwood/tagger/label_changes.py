"""Changes to a tagger's labels that need no training: add, rename, merge, retire, forbid; and what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.labelspace.names import unknown_label
from labelwood.tagger.fitted import FittedTagger
from labelwood.tagger.learning import Lesson, learned

# action -> how many names it takes; 0: one or more
ACTIONS = {"add": 0, "rename": 2, "merge": 2, "retire": 0, "forbid": 0}


@dataclass(frozen=True)
class LabelRow:
    """One label: its name, how many rows have it, and its state in words."""

    name: str
    n_rows: int
    state: str


def label_table(state: FittedTagger) -> list[LabelRow]:
    """All labels in the order of their columns, then what is forbidden and no label."""
    names = state.label_names
    kept = state.kept if state.kept.whole else state.kept.pending()
    kept.check(len(names))
    counts = np.bincount(kept.arrays["y_columns"], minlength=len(names)) - kept.name_counts(len(names))
    if not kept.whole:
        counts[: state.model.n_labels] += state.label_counts
    rows = [LabelRow(name, int(n), state.labels.of(name)) for name, n in zip(names, counts.tolist(), strict=True)]
    return rows + [LabelRow(name, 0, "forbidden") for name in sorted(state.labels.forbidden - set(names))]


def changed_labels(
    state: FittedTagger, action: str, names: Sequence[str], text: str | None = None, n_threads: int | None = None
) -> tuple[FittedTagger, str]:
    """(the tagger after one of ACTIONS, what was done); DataError if a label is not there, or is already."""
    if action not in ACTIONS:
        raise ParamError(unknown_name("action", action, ACTIONS))
    n_names = ACTIONS[action]
    if len(names) != n_names if n_names else not names:
        wanted = f"{n_names} names" if n_names else "one or more names"
        raise ParamError(f"{action} takes {wanted}, but got {len(names)}")
    if text is not None and (action != "add" or len(names) != 1):
        raise ParamError("an example text goes with adding one label")
    blank = next((name for name in names if not isinstance(name, str) or not name.strip()), None)
    if blank is not None:
        raise DataError(f"a label name must have words, but is {blank!r}")
    if action in ("add", "rename"):  # spaces at the ends of a new name are a slip of the hand
        names = [name if name in state.ids else name.strip() for name in names]
    names = [_named(state, name, action, place) for place, name in enumerate(names)]
    twice = next((name for place, name in enumerate(names) if n_names == 0 and name in names[:place]), None)
    if twice is not None:
        raise DataError(f"the label {twice!r} is named twice")
    if action == "add":
        return _added(state, names, text, n_threads)
    if action == "rename":
        return _renamed(state, *names)
    if action == "merge":
        return _merged(state, *names)
    return _hidden(state, names, action)


def _named(state: FittedTagger, name: str, action: str, place: int) -> str:
    """The label that a name stands for in a change; what is added, or a new name, never means a renamed label."""
    if action == "add":
        return name if name in state.labels.former else state.concept(name)
    return name if action == "rename" and place else state.label_named(name)


def _added(
    state: FittedTagger, names: Sequence[str], text: str | None, n_threads: int | None
) -> tuple[FittedTagger, str]:
    """A label that was put away comes back; a new one is learnt from its example, or from its name."""
    states = state.labels
    for name in names:
        if states.of(name) in ("in use", "new") and name in state.ids:
            raise DataError(f"the label {name!r} is there already")
        if name in states.merged:
            raise DataError(f"the label {name!r} is {states.of(name)}")
    back = [name for name in names if name in state.ids]
    freed = replace(states, retired=states.retired - set(names), forbidden=states.forbidden - set(names))
    freed = freed.without_former(names)
    state = replace(state, labels=freed)
    done = [f"{', '.join(map(repr, back))} {'is' if len(back) == 1 else 'are'} answered again"] if back else []
    fresh = [name for name in names if name not in state.ids]
    if text is not None or fresh:
        called = state.vocabulary.name if state.vocabulary is not None else str
        taught = [(name, called(name) if text is None else text) for name in (fresh if text is None else names)]
        lesson = Lesson([example for _, example in taught], [[name] for name, _ in taught])
        state, learnt = learned(state, lesson, n_threads=n_threads)
        done.append(learnt.text())
    return state, "; ".join(done)


def _renamed(state: FittedTagger, old: str, new: str) -> tuple[FittedTagger, str]:
    _check_known(state, old)
    if new == old:
        raise DataError(f"the label {old!r} has that name already")
    if new in state.labels.forbidden and new not in state.ids:
        raise DataError(f"the label {new!r} is forbidden; choose another name")
    if new in state.ids:
        raise DataError(f"the label {new!r} is there already; merge {old!r} into it, or choose another name")
    trained_on = state.model.trained_on
    names = tuple(new if name == old else name for name in trained_on.label_names or ())
    model = replace(state.model, trained_on=replace(trained_on, classes=replace(trained_on.classes, names=names)))
    return replace(state, model=model, labels=state.labels.renamed(old, new)), f"{old!r} is now {new!r}"


def _merged(state: FittedTagger, old: str, into: str) -> tuple[FittedTagger, str]:
    """The better score of the two is answered at once; the rows teach one label from the next training on."""
    for name in (old, into):
        _check_known(state, name)
        if name in state.labels.merged:
            raise DataError(f"the label {name!r} is {state.labels.of(name)}")
    if old == into:
        raise DataError(f"the label {old!r} cannot be merged into itself")
    if state.labels.of(into) in ("retired", "forbidden"):
        raise DataError(f"the label {into!r} is {state.labels.of(into)}: nothing would be answered; add it again first")
    earlier = {name: into if target == old else target for name, target in state.labels.merged.items()}
    states = replace(state.labels.revived({old}), merged={**earlier, old: into})
    if state.rows is None:
        return replace(state, labels=states), f"{old!r} is answered as {into!r}"
    rows, had = state.rows.with_label(state.ids[old], state.ids[into])
    message = f"{old!r} is answered as {into!r}; {_became(len(had))} of {into!r}"
    return replace(state, labels=states, rows=rows), message


def _became(n_rows: int) -> str:
    return "1 row became a row" if n_rows == 1 else f"{n_rows:,} rows became rows"


def _hidden(state: FittedTagger, names: Sequence[str], action: str) -> tuple[FittedTagger, str]:
    states = state.labels
    for name in names:
        if action == "retire" or name in state.ids:
            _check_known(state, name)
        if name in states.merged:
            raise DataError(f"the label {name!r} is {states.of(name)}")
        if name in states.forbidden or (action == "retire" and name in states.retired):
            raise DataError(f"the label {name!r} is {states.of(name)} already")
    listed = ", ".join(map(repr, names))
    if action == "retire":
        return replace(state, labels=replace(states, retired=states.retired | set(names))), f"retired: {listed}"
    forbidden = replace(states, forbidden=states.forbidden | set(names), retired=states.retired - set(names))
    return replace(state, labels=forbidden), f"forbidden: {listed}"


def _check_known(state: FittedTagger, name: str) -> None:
    if name not in state.ids:
        raise DataError(unknown_label(name, state.ids))
