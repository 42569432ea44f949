"""A fitted model <-> manifest fields and arrays. The folder itself is the business of labelwood.storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.data.fingerprint import label_names_sha256
from labelwood.errors import LabelwoodError, ModelFileError
from labelwood.models.registry import model_class
from labelwood.storage.save import save_folder

if TYPE_CHECKING:
    from labelwood.models.base import Arrays, Model

KIND = "model"
# Labels and features are int32 columns everywhere; rows are only told, never allocated.
_SHAPE = {"n_features": (0, 2**31 - 1), "n_labels": (1, 2**31 - 1), "n_rows": (0, 2**63 - 1)}


def save_model(
    model: Model,
    folder: str | Path,
    extra: Mapping[str, Any],
    *,
    metrics: Mapping[str, float] | None = None,
    data_fingerprint: str | None = None,
    label_names: Sequence[str] | None = None,
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
    fields["label_names_sha256"] = None if label_names is None else label_names_sha256(label_names)
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
    return fields, model._arrays()


def restored_model(fields: Mapping[str, Any], arrays: Arrays, where: str | Path) -> Model:
    """The fitted model of saved fields and arrays; ModelFileError if they do not fit together."""
    try:
        cls = model_class(fields["name"])
        parameters = cls.Parameters.checked(fields["parameters"], cls.__name__)
        model = cls(**fields["parameters"])
        shape = _checked_shape(fields["shape"])
        model._set_shape(shape["n_features"], shape["n_labels"], parameters)
        model.n_rows_ = shape["n_rows"]
        model._restore(arrays, fields["facts"])
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
