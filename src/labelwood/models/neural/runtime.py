"""Where and how torch computes: device, threads, precision; and a clear word if torch is missing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from labelwood.errors import ParamError

DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "float32", "bf16")
MEAN, CLS = "mean", "cls"
POOLINGS = (MEAN, CLS)  # what of a text encoder's last layer stands for a text


def require_torch(what: str, does: str = "is trained") -> None:
    """Refuse with a ParamError that says what to install if torch is not there."""
    if importlib.util.find_spec("torch") is None:
        raise ParamError(f'{what} {does} with PyTorch, which is not installed: pip install "labelwood[neural]"')


def chosen_device(name: str) -> Any:
    """The torch device of "auto" (CUDA where there is one), "cpu" or "cuda"."""
    import torch

    if name not in DEVICES:
        raise ParamError(f"device must be one of {', '.join(map(repr, DEVICES))}, but is {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise ParamError("device is 'cuda', but this machine or this build of torch has no CUDA; use 'auto' or 'cpu'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def uses_bf16(precision: str, device: Any) -> bool:
    """True if forward passes run in bfloat16: asked for, or "auto" on a GPU that has it; never a default on a CPU."""
    import torch

    if precision not in PRECISIONS:
        raise ParamError(f"precision must be one of {', '.join(map(repr, PRECISIONS))}, but is {precision!r}")
    if precision == "float32":
        return False
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported()) if precision == "auto" else True
    if precision == "auto":
        return False
    if not _cpu_survives_bf16():
        raise ParamError("precision is 'bf16', but this processor has no bfloat16 arithmetic; use 'float32'")
    return True


@cache
def _cpu_survives_bf16() -> bool:
    """Try a product in another process: on some processors torch dies of an illegal instruction."""
    code = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); assert float((a @ a)[0, 0]) == 64"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False).returncode == 0


@contextmanager
def torch_threads(n_threads: int | None) -> Iterator[None]:
    """Run the block with so many torch threads (None: as it is), then set the old number back."""
    import torch

    before = torch.get_num_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
