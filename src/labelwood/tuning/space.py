"""What there is to try: one change of the settings at a time, those with the best prospects first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from labelwood.data.dataset import Dataset
from labelwood.errors import ParamError
from labelwood.models.ensemble.dense_rows import MOST_UNASKED
from labelwood.models.ensemble.static_vectors import installed_table
from labelwood.models.ensemble.text_meaning import STATIC
from labelwood.models.registry import AUTO
from labelwood.tuning.recipe import ENSEMBLE, FEATURES, Recipe, Setting

TREE, ONE_VS_ALL = "linear-tree", "one-vs-all"
SEARCHED = (ENSEMBLE, TREE, ONE_VS_ALL)
# The ranker of an ensemble learns from so many rows by default; with fewer rows there are no more to give it.
_RANKER_ROWS = 10_000


@dataclass(frozen=True)
class Change:
    """Some settings that differ from the default, and how many times the default's time they take, as a first guess."""

    setting: Setting
    cost: float = 1.0


def _change(cost: float = 1.0, /, **setting: Any) -> Change:
    return Change(MappingProxyType(setting), cost)


def _inside(change: Change) -> Change:
    """A change of the linear trees inside an ensemble."""
    return Change({f"{TREE}.{name}": value for name, value in change.setting.items()}, change.cost)


# Of the linear models, by what gained on validation rows of several data sets; a large C fits rare labels closer.
_LINEAR = (
    _change(C=2.0),
    _change(C=0.5),
    _change(rare_power=0.3),
    _change(1.5, loss="logistic"),
    _change(rare_power=0.0),
)
_TREE = (
    _change(3.2, n_trees=3),
    *_LINEAR,
    _change(1.3, prune=0.03),
    _change(C_cluster=1.5),
    _change(1.3, eps=0.1),
    _change(max_leaf=64),
)
_TEXTS = (
    Change({"lang": "auto"}, 1.3),
    Change({f"{FEATURES}min_df": 2}, 0.9),
    Change({f"{FEATURES}sublinear_tf": False}),
)
# An ensemble has a view of characters beside its words.
_CHARACTERS = Change({f"{FEATURES}analyzer": "char_wb", f"{FEATURES}ngram_range": (2, 5)}, 5.0)


def changes(recipe: Recipe, data: Dataset) -> list[Change]:
    """The changes to try for a recipe; what its owner has set himself is not touched. ParamError if there are none."""
    name = recipe.named(data)
    if name not in SEARCHED:
        raise ParamError(
            f"a budget searches settings of {', '.join(SEARCHED)} (and of auto), but the model is {name}: "
            "leave the budget out, or choose one of these"
        )
    found: list[Change] = []
    if recipe.model == AUTO:
        found += _other_models(name, data)
    if name == ENSEMBLE:
        # Held-out rows choose the views by themselves: here is what they cannot see, more of what is there.
        found.append(_inside(_change(2.0, n_trees=6 if data.texts is None else 3)))
        if data.n_rows > 1.5 * _RANKER_ROWS:
            found.append(_change(1.5, ranker_rows=2 * _RANKER_ROWS))
        found += [_inside(change) for change in _TREE if "n_trees" not in change.setting]
        if data.texts is not None:
            found.append(_change(0.9, views="characters"))
            if data.n_rows + 3 * data.n_labels > MOST_UNASKED and installed_table() is not None:
                # The default does not try them here because they make answers slower.
                found.insert(0, _change(1.3, encoder=STATIC))
    else:
        found += _TREE if name == TREE else _LINEAR
    if data.x is None:
        found += _TEXTS if name == ENSEMBLE else [*_TEXTS[:2], _CHARACTERS, *_TEXTS[2:]]
    return [change for change in found if not _is_set(recipe, change.setting)]


def _other_models(name: str, data: Dataset) -> Iterable[Change]:
    """Models beside the one that is recommended; the ensemble needs rows for its ranker."""
    yield _change(3.2 if name == TREE else 1.0, model=TREE, n_trees=3)
    if data.n_rows >= 2000:
        yield _change(15.0 if name == TREE else 5.0, model=ENSEMBLE)


def _is_set(recipe: Recipe, setting: Setting) -> bool:
    """Whether the owner of the recipe decided something that the setting would change."""
    inner = [word.partition("=")[0] for word in str(recipe.params.get("settings") or "").split()]
    given = {*recipe.params, *inner, *(f"{FEATURES}{name}" for name in recipe.features)} - {"seed", "n_threads"}
    if recipe.lang is not None or recipe.features:
        given.add("lang")  # a language chooses features itself
    if "model" in setting and given:
        return True  # what was set belongs to the model that was meant
    return any(name in given for name in setting)


def combined(one: Setting, other: Setting) -> Setting | None:
    """Both changes at once; None if they are of different models, or exclude each other."""
    both = {**one, **other}
    if any(both[name] != value for name, value in one.items() if name != "model"):
        return None
    models: Mapping[str, Any] = {"one": one.get("model"), "other": other.get("model")}
    if models["one"] is not None and models["other"] is None and any(_of_a_model(name) for name in other):
        return None
    if models["other"] is not None and (models["one"] is not None or any(_of_a_model(name) for name in one)):
        return None
    letters = both.get(f"{FEATURES}analyzer") is not None
    return None if letters and "lang" in both else both


def _of_a_model(name: str) -> bool:
    return name not in ("model", "lang") and not name.startswith(FEATURES)
