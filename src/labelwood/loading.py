"""load: one loader for every model and for taggers. It stands above both: neither needs the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.errors import LabelwoodError, ModelFileError
from labelwood.hub import SCHEME, download
from labelwood.models.persistence import KIND, restored
from labelwood.models.registry import model_class
from labelwood.storage.load import load_folder

if TYPE_CHECKING:
    from labelwood.models.base import Model
    from labelwood.tagger.tagger import Tagger


def load(folder: str | Path, *, verify: bool = False) -> Model[Any, Any] | Tagger:
    """The model or tagger that was saved in a folder, ready to predict; arrays are mapped and read-only.

    "hf://owner/name" or "hf://owner/name@revision" is a model on the Hugging Face Hub, kept in its cache.
    ModelFileError if the folder is missing, damaged, from another version, or does not fit together.
    Quick checksums find damage; `verify` compares the SHA-256 of everything instead.
    """
    if isinstance(folder, str) and folder.startswith(SCHEME):
        folder = download(folder.removeprefix(SCHEME))
    manifest, arrays = load_folder(folder, verify=verify)
    kind = manifest["kind"]
    if kind == KIND:
        state = restored(manifest, arrays, folder)
        return model_class(state.name).from_fitted(state)
    if kind == "tagger":
        from labelwood.tagger.tagger import Tagger

        try:
            return Tagger._load(manifest, arrays)
        except ModelFileError as error:
            raise ModelFileError(f"{folder}: {error}") from error
        except (
            LabelwoodError,
            KeyError,
            ValueError,
            TypeError,
            IndexError,
            AttributeError,
            ArithmeticError,
            MemoryError,
        ) as error:
            raise ModelFileError(
                f"{folder}: the saved tagger does not fit together ({type(error).__name__}: {error})"
            ) from error
    raise ModelFileError(f"{folder}: unknown kind {kind!r:.80} (known: 'model', 'tagger')")
