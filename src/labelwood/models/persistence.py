"""A fitted state <-> manifest fields and arrays. The folder itself is the business of labelwood.storage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from labelwood.data.fingerprint import label_names_sha256
from labelwood.errors import LabelwoodError, ModelFileError
from labelwood.labelspace.classes import Classes
from labelwood.models.fit_input import TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.registry import model_class
from labelwood.params import Params
from labelwood.storage.save import save_folder
from labelwood.storage.schema import ArrayRule, Arrays, Schema, as_optional, check_arrays, part, under
from labelwood.storage.words import packed, unpacked

KIND = "model"
# What is known of labels and columns: counts, ids or names, and the names of a data frame's columns.
_LABELS: Schema = {
    "counts": ArrayRule("int64", ("n_labels",), low=0),
    "ids": ArrayRule("int64", ("n_labels",), optional=True),
    "utf8": ArrayRule("uint8", ("n_name_bytes",), optional=True),
    "ends": ArrayRule("int64", ("n_labels",), low=0, optional=True),
}
_COLUMNS: Schema = as_optional(
    {"utf8": ArrayRule("uint8", ("n_column_bytes",)), "ends": ArrayRule("int64", ("n_features",), low=0)}
)
_KNOWN = {"labels.": _LABELS, "columns.": _COLUMNS}
# Labels and features are int32 columns everywhere; rows are only told, never allocated.
_SHAPE = {"n_features": (0, 2**31 - 1), "n_labels": (1, 2**31 - 1), "n_rows": (0, 2**63 - 1)}


def save_state(
    state: Fitted[Any],
    folder: str | Path,
    extra: Mapping[str, Any],
    *,
    metrics: Mapping[str, float] | None = None,
    data_fingerprint: str | None = None,
    overwrite: bool = True,
    timestamp: bool = True,
) -> None:
    """Write a fitted state to a folder, atomically.

    extra: JSON values that the user wants to keep. metrics, data_fingerprint and label_names tell in the
    manifest how good the model is, what it was trained on, and (as a hash) what its labels are called.
    """
    fields, arrays = state_of(state)
    fields["extra"] = dict(extra)
    fields["metrics"] = dict(metrics or {})
    fields["data_fingerprint"] = data_fingerprint
    save_folder(folder, fields, arrays, overwrite=overwrite, timestamp=timestamp)


def state_of(state: Fitted[Any]) -> tuple[dict[str, Any], Arrays]:
    """(manifest fields, arrays) of a fitted state; `restored` takes both back."""
    trained_on = state.trained_on
    fields = {
        "kind": KIND,
        "name": state.name,
        "parameters": state.settings.saved(),
        "shape": {"n_features": trained_on.n_features, "n_labels": trained_on.n_labels, "n_rows": trained_on.n_rows},
        "facts": state.facts(),
        "seed": state.settings.seed,
    }
    arrays: Arrays = {"labels.counts": trained_on.label_counts}
    if trained_on.classes.ids is not None:
        arrays["labels.ids"] = trained_on.classes.ids
    if trained_on.label_names is not None:
        arrays["labels.utf8"], arrays["labels.ends"] = packed(trained_on.label_names)
        fields["label_names_sha256"] = label_names_sha256(trained_on.label_names)
    if trained_on.column_names is not None:
        arrays["columns.utf8"], arrays["columns.ends"] = packed(trained_on.column_names)
    arrays.update(state.arrays())
    return fields, arrays


def restored(
    fields: Mapping[str, Any], arrays: Arrays, where: str | Path, labels_of: TrainedOn | None = None
) -> Fitted[Any]:
    """The fitted state of saved fields and arrays; ModelFileError if they do not fit together.

    labels_of: of a state inside another one that was saved without its labels: they are those of the whole.
    """
    try:
        name = fields["name"]
    except KeyError as error:
        raise ModelFileError(f"{where}: {error} is missing") from error
    try:
        cls = model_class(name)
    except (LabelwoodError, TypeError) as error:
        raise ModelFileError(f"{where}: {error}") from error
    return restored_as(cls.FittedState, cls.Parameters, fields, arrays, where, labels_of)


def restored_as(
    cls: type[Fitted[Any]],
    declared: type[Params],
    fields: Mapping[str, Any],
    arrays: Arrays,
    where: str | Path,
    labels_of: TrainedOn | None = None,
) -> Fitted[Any]:
    """The fitted state of a given class; ModelFileError if fields and arrays do not fit together."""
    try:
        settings = declared.from_saved(fields["parameters"], declared.__name__.removesuffix("Params"))
        shape = _checked_shape(fields["shape"])
        facts = fields["facts"]
        trained_on = _restored_training(shape, arrays, labels_of)
        learnt = {name: array for name, array in arrays.items() if not name.startswith(tuple(_KNOWN))}
        check_arrays(cls.schema(settings, facts), learnt, shape, cls.name)
        return cls.restore(settings, trained_on, learnt, facts)
    except KeyError as error:
        raise ModelFileError(f"{where}: {error} is missing") from error
    except LabelwoodError as error:
        raise ModelFileError(f"{where}: {error}") from error
    # What restore may stumble over in arrays and facts that are well-formed but not of its making.
    except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ModelFileError(
            f"{where}: the saved state does not fit together ({type(error).__name__}: {error})"
        ) from error


def unpickled(cls: type[Fitted[Any]], declared: type[Params], fields: Mapping[str, Any], arrays: Arrays) -> Fitted[Any]:
    """The fitted state that was pickled as its class, its settings' class, fields and arrays."""
    return restored_as(cls, declared, fields, arrays, "pickle")


def without_labels(arrays: Arrays) -> Arrays:
    """The arrays of a state without what they say of its labels."""
    return {name: array for name, array in arrays.items() if not name.startswith("labels.")}


def same_labels(state: Fitted[Any], trained_on: TrainedOn) -> bool:
    """Whether a state knows the same of its labels as another one was trained on: it can be saved without."""
    ours, theirs = state.trained_on.classes, trained_on.classes
    same_ids = ours.ids is theirs.ids or (
        ours.ids is not None and theirs.ids is not None and np.array_equal(ours.ids, theirs.ids)
    )
    same_counts = np.array_equal(state.trained_on.label_counts, trained_on.label_counts)
    return same_ids and ours.names == theirs.names and same_counts


def _restored_training(shape: Mapping[str, int], arrays: Arrays, labels_of: TrainedOn | None = None) -> TrainedOn:
    """What the model was trained on: counts, and names or ids of the labels."""
    if labels_of is not None and not any(name.startswith("labels.") for name in arrays):
        if labels_of.n_labels != shape["n_labels"]:
            raise ModelFileError(f"a model of {shape['n_labels']} labels is inside one of {labels_of.n_labels}")
        check_arrays(under("columns.", _COLUMNS), _of_columns(arrays), shape, "columns")
        counts, classes = labels_of.label_counts, labels_of.classes
        return TrainedOn(shape["n_rows"], shape["n_features"], counts, classes, _names("columns.", arrays))
    rules = {name: rule for prefix, schema in _KNOWN.items() for name, rule in under(prefix, schema).items()}
    known = {name: array for name, array in arrays.items() if name.startswith(tuple(_KNOWN))}
    check_arrays(rules, known, shape, "labels")
    labels = part("labels.", arrays)
    counts = labels["counts"]
    if int(counts.max()) > shape["n_rows"]:
        raise ModelFileError(f"label counts are outside 0..{shape['n_rows']}, the number of training rows")
    names, column_names = _names("labels.", arrays), _names("columns.", arrays)
    ids = labels.get("ids")
    if ids is not None and len(np.unique(ids)) < len(ids):
        raise ModelFileError("the label ids are not all different")
    classes = Classes(shape["n_labels"], ids, names)
    return TrainedOn(shape["n_rows"], shape["n_features"], counts, classes, column_names)


def _of_columns(arrays: Arrays) -> Arrays:
    return {name: array for name, array in arrays.items() if name.startswith("columns.")}


def _names(prefix: str, arrays: Arrays) -> tuple[str, ...] | None:
    """The names that two arrays hold together; None if there are neither."""
    missing = [name for name in (f"{prefix}utf8", f"{prefix}ends") if name not in arrays]
    if len(missing) == 1:
        raise ModelFileError(f"the array {missing[0]!r} is missing")
    return None if missing else unpacked(arrays[f"{prefix}utf8"], arrays[f"{prefix}ends"])


def _checked_shape(shape: Mapping[str, Any]) -> dict[str, int]:
    if set(shape) != set(_SHAPE):
        raise ModelFileError(
            f"shape must hold exactly {', '.join(_SHAPE)}, but holds {', '.join(map(repr, shape))[:200]}"
        )
    for name, (low, high) in _SHAPE.items():
        value = shape[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ModelFileError(f"{name} must be a whole number {low}..{high}, but is {value!r:.40}")
    return dict(shape)
