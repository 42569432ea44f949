"""torchrun: several processes of one command; the first of them alone talks and writes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TRAINED_IN_RANKS = ("glas", "dxml", "neuralxc", "elias")


def torchrun_rank() -> int | None:
    """The number of this process among those that torchrun started; None if it started none, or only one."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    return int(os.environ["RANK"])


def silence_others() -> None:
    """Send what this process says nowhere, unless it is the first."""
    if torchrun_rank():
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


@contextmanager
def ranks_of(model: str | None, out: Path) -> Iterator[Path]:
    """Models in the block are trained by all processes of torchrun; gives the folder that this one may write to.

    That is `out` for the first, or without torchrun; for the others one that is gone afterwards. ParamError if the
    model is none that several processes train.
    """
    rank = torchrun_rank()
    if rank is None:
        yield out
        return
    from labelwood.errors import ParamError
    from labelwood.models.neural.runtime import require_torch

    if model not in TRAINED_IN_RANKS:
        names = ", ".join(TRAINED_IN_RANKS)
        raise ParamError(f"torchrun trains {names} only, but the model is {model or 'auto'}; start one process")
    require_torch("torchrun")
    from labelwood.models.neural.ranks import torchrun_ranks

    with torchrun_ranks(), tempfile.TemporaryDirectory(prefix="labelwood-rank-") as folder:
        yield Path(folder) / "model" if rank else out
