"""RaySpread: pieces of work as Ray tasks: shared values once a machine, the longest first, lost ones again."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labelwood import __version__
from labelwood.errors import LabelwoodError
from labelwood.progress import SILENT, Progress

PARTS_OF_PROCESSOR = 4  # pieces for each: the last ones end at about the same time
RETRIES = 20  # of a piece whose machine went away; one that fails by itself is not tried again
SECONDS_BETWEEN_LOOKS = 5.0


class ClusterError(LabelwoodError):
    """A cluster that cannot be reached, or that cannot do the work; the message says why."""


@dataclass(frozen=True)
class Kept:
    """A value in Ray's object store: given to `map` as shared, it is there as itself."""

    reference: Any


class RaySpread:
    """A spread over the Ray cluster that this process is connected to. n_done counts its pieces."""

    def __init__(self) -> None:
        import ray

        self._ray: Any = ray
        self._shared: dict[int, tuple[Any, Kept]] = {}
        self.n_done = 0

    @property
    def n_parts(self) -> int:
        """Four pieces for every processor of the cluster, at least two."""
        return max(2, PARTS_OF_PROCESSOR * sum(self._processors()))

    def share(self, value: Any) -> Kept:
        """The value in the object store, from where each machine fetches it once; the same value is put once."""
        if isinstance(value, Kept):
            return value
        known = self._shared.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        kept = Kept(self._ray.put(value))
        # Remembered no longer than the caller holds it; plain lists and numbers are not, and go each time.
        with contextlib.suppress(TypeError):
            number = id(value)
            self._shared[number] = (weakref.ref(value, lambda _: self._shared.pop(number, None)), kept)
        return kept

    def map(
        self,
        function: Callable[..., Any],
        shared: Sequence[Any],
        jobs: Sequence[tuple[Any, ...]],
        *,
        costs: Sequence[float] | None = None,
        keep: bool = False,
        what: str = "",
        progress: Progress = SILENT,
    ) -> list[Any]:
        """function(*shared, *job, n_threads=...) of every job; see Spread.map. ClusterError if the cluster fails."""
        costs = [1.0] * len(jobs) if costs is None else costs
        threads = threads_of(costs, self._processors())
        task = self._ray.remote(max_retries=RETRIES)(run_piece)
        references = [self.share(value).reference for value in shared]
        results: list[Any] = [None] * len(jobs)
        place_of = {}
        for place in sorted(range(len(jobs)), key=lambda job: -costs[job]):
            given = task.options(num_cpus=threads[place])
            reference = given.remote(__version__, function, threads[place], *references, *jobs[place])
            place_of[reference] = place
        waiting = list(place_of)
        try:
            while waiting:
                progress.step(what, len(jobs) - len(waiting), len(jobs))
                ready, waiting = self._ray.wait(waiting, timeout=SECONDS_BETWEEN_LOOKS, fetch_local=not keep)
                if not ready and not self._processors():
                    raise ClusterError("the cluster has no processors left: all machines that did the work are gone")
                for reference in ready:
                    results[place_of.pop(reference)] = Kept(reference) if keep else self._result(reference)
                    self.n_done += 1
        finally:
            for reference in waiting:
                self._ray.cancel(reference, force=True)
        progress.step(what, len(jobs), len(jobs))
        return results

    def _result(self, reference: Any) -> Any:
        """What a piece gave; the error that it raised, as if it had been raised here."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, ModuleNotFoundError):
                raise ClusterError(
                    f"a machine of the cluster cannot do the work: {cause}; install the same labelwood on all of them"
                ) from None
            if isinstance(cause, Exception):
                raise cause from None
            raise ClusterError(f"a piece of the work failed on the cluster: {error}") from None
        except self._ray.exceptions.RayError as error:
            words = " ".join(str(error).split())
            raise ClusterError(f"the cluster lost a piece of the work ({type(error).__name__}: {words:.300})") from None

    def _processors(self) -> list[int]:
        """The processors of every machine that is alive and has some."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        return [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Resources"].get("CPU", 0) >= 1]


def threads_of(costs: Sequence[float], processors: Sequence[int]) -> list[int]:
    """The threads of every piece: several where it would last longer than all of them, well shared out, must take.

    processors: of every machine. A piece runs on one machine, so it has no more threads than the smallest.
    """
    share = sum(costs) / max(1, sum(processors))
    most = min(processors, default=1)
    return [max(1, min(most, int(cost / share))) if share > 0 else 1 for cost in costs]


def run_piece(version: str, function: Callable[..., Any], n_threads: int, *values: Any) -> Any:
    """function(*values, n_threads=...), on a machine of the cluster."""
    if version != __version__:
        raise ClusterError(f"a machine of the cluster has labelwood {__version__}, but here it is {version}")
    return function(*values, n_threads=n_threads)
