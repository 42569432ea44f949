"""--cluster: a command's work on a Ray cluster, and a word about how much of it went there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelwood.cli.loaded import Loaded


@dataclass
class Told:
    """What a person should know afterwards: a note, or nothing."""

    note: str | None = None


def check_cluster(address: str | None) -> None:
    """Refuse an address where no cluster answers, before the long work of reading begins; None: no cluster."""
    if address is not None:
        from labelwood.cluster.connection import reachable

        reachable(address)


@contextmanager
def on_cluster(address: str | None) -> Iterator[Told]:
    """The block's work goes to the cluster (None: it stays here); `Told` says so if nothing could go."""
    told = Told()
    if address is None:
        yield told
        return
    from labelwood.cluster.connection import connected

    with connected(address) as spread:
        yield told
        lost = spread.n_lost()
        if lost:
            told.note = f"{lost} of the cluster's machines went away; what they had begun was done again by the others"
        elif not spread.n_done:
            told.note = "nothing of this could be spread over the cluster: it was done here"


def predict_on_cluster(
    loaded: Loaded,
    data: Path,
    out: Path | None,
    address: str,
    *,
    k: int | None,
    assign: bool | str,
    text: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
    other: Mapping[str, bool],
) -> int:
    """The number of rows answered, in shards in the folder `out`; other: options for one machine, True if given."""
    from labelwood.cluster.connection import connected
    from labelwood.cluster.predictions import Asked, predict_shards, shards_of
    from labelwood.errors import ParamError

    given = [option for option, value in other.items() if value]
    if given:
        raise ParamError(f"--cluster goes without {', '.join(given)}")
    if out is None:
        raise ParamError("--cluster writes a folder of shards: give it with --out")
    if loaded.tagger is None:
        raise ParamError(f"--cluster is for taggers, but {loaded.folder} is a model of feature rows")
    shards_of(data)
    asked = Asked(k, assign, include=tuple(include), exclude=tuple(exclude))
    with connected(address):
        return predict_shards(loaded.tagger, data, out, asked, like=loaded.form, text=text)
