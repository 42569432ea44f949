"""The state of a training run on disk: whole at every moment, so that a killed run goes on where it was."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from labelwood.errors import ModelFileError, ParamError
from labelwood.models.neural.optimizers import Optimizer
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

KIND = "checkpoint"
_STATE = "state"
Tensors = dict[str, Tensor]


class Checkpoint:
    """One run's state in a folder of its own; `identity` is what two runs must share to be one run."""

    def __init__(self, folder: str | Path, identity: str) -> None:
        self._folder = Path(folder)
        self._identity = identity

    def load(self) -> tuple[dict[str, Any], Tensors] | None:
        """(facts, tensors) of the last save, None if there is none; ParamError if it belongs to another run."""
        state = self._folder / _STATE
        if self._folder.exists():
            if not self._folder.is_dir():
                raise ParamError(f"checkpoint: {self._folder} is a file; a folder is needed")
            foreign = [entry.name for entry in self._folder.iterdir() if not _ours(entry.name)]
            if foreign:
                raise ParamError(
                    f"checkpoint: {self._folder} holds {sorted(foreign)[0]!r}, which is no checkpoint; "
                    "choose an empty or new folder"
                )
            for left in self._folder.glob(f".{_STATE}.*"):  # a save that was killed
                shutil.rmtree(left, ignore_errors=True)
        if not state.exists():
            return None
        manifest, arrays = load_folder(state, verify=True)
        if manifest["kind"] != KIND:
            raise ModelFileError(f"{state}: is a {manifest['kind']}, not a checkpoint")
        if manifest["extra"].get("identity") != self._identity:
            raise ParamError(
                f"checkpoint: {self._folder} belongs to a training run with other parameters or data; "
                "remove it to start anew, or choose another folder"
            )
        # Copies: the arrays are views of the file that the next save replaces.
        return manifest["facts"], {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    def save(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Replace the saved state in one step."""
        arrays = {name: _array(name, tensor) for name, tensor in tensors.items()}
        fields = {"kind": KIND, "name": KIND, "facts": dict(facts), "extra": {"identity": self._identity}}
        save_folder(self._folder / _STATE, fields, arrays, timestamp=False)


def optimizer_tensors(optimizers: Sequence[Optimizer]) -> Tensors:
    """The state of optimisers as named tensors."""
    tensors: Tensors = {}
    for number, optimizer in enumerate(optimizers):
        for place, state in enumerate(optimizer.state):
            for name, tensor in state.items():
                tensors[f"optimizer.{number}.{place}.{name}"] = tensor
    return tensors


def restore_optimizers(optimizers: Sequence[Optimizer], tensors: Mapping[str, Tensor]) -> None:
    """Give optimisers the state back that `optimizer_tensors` took."""
    for key, tensor in tensors.items():
        _, number, place, name = key.split(".", 3)
        optimizer = optimizers[int(number)]
        device = optimizer.parameters[int(place)].device
        # Counters stay on the CPU, moments are where their parameter is.
        optimizer.state[int(place)][name] = tensor if tensor.ndim == 0 else tensor.to(device)


def weights_of(network: nn.Module) -> Tensors:
    """Copies of all weights and buffers by name."""
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


def prefixed(prefix: str, tensors: Mapping[str, Tensor] | None) -> Tensors:
    """The tensors with a prefix before their names; nothing if there are none."""
    return {f"{prefix}.{name}": tensor for name, tensor in (tensors or {}).items()}


def without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """The tensors whose names begin with the prefix, without it."""
    return {name[len(prefix) + 1 :]: tensor for name, tensor in tensors.items() if name.startswith(prefix + ".")}


def _ours(name: str) -> bool:
    return name == _STATE or name.startswith(f".{_STATE}.")


def _array(name: str, tensor: Tensor) -> np.ndarray[Any, Any]:
    if tensor.is_sparse or tensor.dtype == torch.bfloat16:
        raise ModelFileError(f"checkpoint: {name} is {tensor.dtype} (sparse: {tensor.is_sparse}), which cannot be kept")
    array: np.ndarray[Any, Any] = tensor.detach().cpu().contiguous().numpy()
    return array
