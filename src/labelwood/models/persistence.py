"""A fitted model <-> manifest fields and arrays. The folder itself is the business of labelwood.storage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwood.data.fingerprint import label_names_sha256
from labelwood.errors import LabelwoodError, ModelFileError
from labelwood.labelspace.names import packed, unpacked
from labelwood.models.registry import model_class
from labelwood.storage.save import save_folder

if TYPE_CHECKING:
    from labelwood.models.base import Arrays, Model

KIND = "model"
LABELS = "labels."  # prefix of the arrays that hold what is known of the labels: counts, names
# Labels and features are int32 columns everywhere; rows are only told, never allocated.
_SHAPE = {"n_features": (0, 2**31 - 1), "n_labels": (1, 2**31 - 1), "n_rows": (0, 2**63 - 1)}


def save_model(
    model: Model,
    folder: str | Path,
    extra: Mapping[str, Any],
    *,
    metrics: Mapping[str, float] | None = None,
    data_fingerprint: str | None = None,
    overwrite: bool = True,
    timestamp: bool = True,
) -> None:
    """Write a fitted model to a folder, atomically.

    extra: JSON values that the user wants to keep. metrics, data_fingerprint and label_names tell in the
    manifest how good the model is, what it was trained on, and (as a hash) what its labels are called.
    """
    fields, arrays = model_state(model)
    fields["extra"] = dict(extra)
    fields["metrics"] = dict(metrics or {})
    fields["data_fingerprint"] = data_fingerprint
    save_folder(folder, fields, arrays, overwrite=overwrite, timestamp=timestamp)


def model_state(model: Model) -> tuple[dict[str, Any], Arrays]:
    """(manifest fields, arrays) of a fitted model; `restored_model` takes both back."""
    fields = {
        "kind": KIND,
        "name": model.name,
        "parameters": model.parameters_.as_dict(),
        "shape": {"n_features": model.n_features_, "n_labels": model.n_labels_, "n_rows": model.n_rows_},
        "facts": model._facts(),
        "seed": model.parameters_.seed,
    }
    arrays: Arrays = {LABELS + "counts": model.label_counts_}
    if model.label_names_ is not None:
        arrays[LABELS + "utf8"], arrays[LABELS + "ends"] = packed(model.label_names_)
        fields["label_names_sha256"] = label_names_sha256(model.label_names_)
    arrays.update(model._arrays())
    return fields, arrays


def restored_model(fields: Mapping[str, Any], arrays: Arrays, where: str | Path) -> Model:
    """The fitted model of saved fields and arrays; ModelFileError if they do not fit together."""
    try:
        cls = model_class(fields["name"])
        parameters = cls.Parameters.checked(fields["parameters"], cls.__name__)
        model = cls(**fields["parameters"])
        shape = _checked_shape(fields["shape"])
        model._set_shape(shape["n_features"], shape["n_labels"], parameters)
        model.n_rows_ = shape["n_rows"]
        _restore_labels(model, arrays)
        model._restore({k: v for k, v in arrays.items() if not k.startswith(LABELS)}, fields["facts"])
    except KeyError as error:
        raise ModelFileError(f"{where}: {error} is missing") from error
    except LabelwoodError as error:
        raise ModelFileError(f"{where}: {error}") from error
    # What _restore may stumble over in arrays and facts that are well-formed but not of its making.
    except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ModelFileError(
            f"{where}: the saved state does not fit together ({type(error).__name__}: {error})"
        ) from error
    return model


def _restore_labels(model: Model, arrays: Arrays) -> None:
    """Give the model its label counts and names back."""
    counts = arrays[LABELS + "counts"]
    if counts.shape != (model.n_labels_,) or counts.dtype != np.int64:
        raise ModelFileError(f"{counts.dtype} counts of shape {counts.shape} for {model.n_labels_} labels")
    if int(counts.min()) < 0 or int(counts.max()) > model.n_rows_:
        raise ModelFileError(f"label counts are outside 0..{model.n_rows_}, the number of training rows")
    names = None
    if LABELS + "utf8" in arrays:
        names = unpacked(arrays[LABELS + "utf8"], arrays[LABELS + "ends"])
        if len(names) != model.n_labels_:
            raise ModelFileError(f"{len(names)} label names for {model.n_labels_} labels")
    model.label_counts_ = counts
    model.label_names_ = names


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
