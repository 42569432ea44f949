"""The balance sweep: what pulling popular labels towards the root does to precision, depth, work and time.

Baharav et al., Enabling Efficiency-Precision Trade-offs for Label Trees in Extreme Classification, CIKM 2021, draw
precision against expected depth; here the work of an exact best-first search and its measured time stand beside it.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.labelindex.interpolated import balance_of_ratio
from labelwood.matrices import as_features, as_labels, check_same_rows
from labelwood.metrics.evaluate import evaluate
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.progress import SILENT, Progress

# The paper's grid of lambda' for Parabel trees.
RATIOS = (0.0, 0.5, 1.0, 2.0, 6.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 1e5)
# How a curve is trained: by way of weighted 2-means with marginal or greedy cover frequencies, or directly.
CURVES: dict[str, dict[str, Any]] = {
    "marginal": {"path": "waypoint", "cover": "marginal"},
    "greedy": {"path": "waypoint", "cover": "greedy"},
    "direct": {"path": "direct", "cover": "marginal"},
}
# Set by the sweep itself.
OWN_PARAMETERS = ("balance", "balance_ratio", "path", "cover", "n_trees")
TIMES = ("micros1", "micros5", "cpu_micros1", "cpu_micros5")


@dataclass(frozen=True)
class SweepPoint:
    """One trained tree: precision in per cent, mean depth, blocks and microseconds of a query with 1 and 5 answers."""

    curve: str
    ratio: float
    balance: float
    p1: float
    p3: float
    p5: float
    depth1: float
    depth5: float
    blocks1: float
    blocks5: float
    micros1: float
    micros5: float
    cpu_micros1: float
    cpu_micros5: float
    n_nodes: int
    deepest: int
    expected_depth: float
    train_cpu_seconds: float


def balance_sweep(
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    ratios: Sequence[float] = RATIOS,
    curves: Sequence[str] = tuple(CURVES),
    parameters: Mapping[str, Any] | None = None,
    timed_rows: int = 1000,
    repeats: int = 7,
    progress: Progress = SILENT,
) -> list[SweepPoint]:
    """A point for every curve and ratio, in that order; train and test are (x, y).

    parameters: of LinearTree, except those that the sweep sets. Times are wall clock on one thread, the median over
    `repeats` rounds of the mean over the first `timed_rows` test rows; in every round all trees take their turn, so a
    busy machine slows all of them. The processor time of the same rounds stands beside it, for shared machines.
    """
    _check(ratios, curves, parameters or {}, timed_rows, repeats)
    (x, y), (test_x, test_y) = ((as_features(a), as_labels(b)) for a, b in (train, test))
    for features, labels in ((x, y), (test_x, test_y)):
        check_same_rows(features, labels)
    if test_x.shape[0] == 0 or test_y.nnz == 0:
        raise DataError("the sweep needs test rows with labels")
    if test_y.shape[1] != y.shape[1]:
        raise DataError(f"the test rows have {test_y.shape[1]} labels, but the training rows {y.shape[1]}")
    wanted = [(curve, float(ratio)) for curve in curves for ratio in ratios]
    models: dict[tuple[Any, ...], LinearTree] = {}
    points: dict[tuple[Any, ...], SweepPoint] = {}
    for number, (curve, ratio) in enumerate(wanted):
        progress.step("label trees", number, len(wanted))
        key = _tree_key(curve, ratio)
        if key not in models:
            start = time.process_time()
            settings = {**(parameters or {}), **CURVES[curve], "balance_ratio": ratio}
            models[key] = LinearTree(**settings).fit(x, y)
            points[key] = _measured(models[key], curve, ratio, test_x, test_y, time.process_time() - start)
    progress.step("label trees", len(wanted), len(wanted))
    times = _query_times(list(models.values()), test_x[:timed_rows], repeats, progress)
    timed = {
        key: replace(point, **dict(zip(TIMES, row.tolist(), strict=True)))
        for (key, point), row in zip(points.items(), times, strict=True)
    }
    return [replace(timed[_tree_key(curve, ratio)], curve=curve) for curve, ratio in wanted]


def write_csv(points: Sequence[SweepPoint], path: Path) -> None:
    """Write the points as a table with a header."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([field.name for field in fields(SweepPoint)])
        for point in points:
            cells = asdict(point).values()
            writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells])


def draw(points: Sequence[SweepPoint], path: Path, title: str) -> None:
    """Write a PNG of three panels: P@1 against expected depth, blocks evaluated and time per query.

    ParamError if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # without pyplot: no window system, no global state
    except ImportError:
        raise ParamError("figures need matplotlib: pip install 'labelwood[report]'") from None
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    panels = (("depth1", "expected depth@1"), ("blocks1", "blocks evaluated, k=1"), ("micros1", "µs per query, k=1"))
    for place, (field, what) in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), place)
        for curve, marker in zip(CURVES, "os^", strict=True):
            drawn = [point for point in points if point.curve == curve]
            if drawn:
                axes.plot(
                    [getattr(p, field) for p in drawn], [p.p1 for p in drawn], marker + "-", ms=4, lw=1, label=curve
                )
        start = [point for point in points if point.ratio == 0][:1]
        for point in start:
            axes.plot([getattr(point, field)], [point.p1], "k*", ms=11, label="balance 0")
        axes.set_xlabel(what)
        axes.set_ylabel("P@1, per cent")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=100, format="png")


def _check(
    ratios: Sequence[float], curves: Sequence[str], parameters: Mapping[str, Any], timed_rows: int, repeats: int
) -> None:
    for name, values in (("ratios", ratios), ("curves", curves)):
        if not values:
            raise ParamError(f"{name} must name at least one")
    for curve in curves:
        if curve not in CURVES:
            raise ParamError(unknown_name("curve", curve, tuple(CURVES)))
    for ratio in ratios:
        balance_of_ratio(ratio)
    for name in OWN_PARAMETERS:
        if name in parameters:
            raise ParamError(f"{name} is set by the sweep itself; leave it out")
    LinearTree.Parameters.check_names(parameters, LinearTree.__name__)
    LinearTree.Parameters.checked(parameters, LinearTree.__name__)
    for name, value in (("timed_rows", timed_rows), ("repeats", repeats)):
        if value < 1:
            raise ParamError(f"{name} must be a whole number from 1 up, but is {value!r}")


def _tree_key(curve: str, ratio: float) -> tuple[Any, ...]:
    """What makes two trees different: at ratio 0 no frequency counts, up to 1 no cover frequency on the waypoint."""
    if ratio == 0:
        return (0.0,)
    if ratio <= 1 and curve != "direct":
        return (ratio, "waypoint")
    return (ratio, curve)


def _measured(model: LinearTree, curve: str, ratio: float, x: Any, y: Any, train_seconds: float) -> SweepPoint:
    best, five = model.search(x, 1), model.search(x, 5)
    metrics = evaluate(five.top, y, ks=(1, 3, 5))
    tree = model.fitted_.trees[0]
    return SweepPoint(
        curve=curve,
        ratio=ratio,
        balance=balance_of_ratio(ratio),
        p1=metrics["P@1"],
        p3=metrics["P@3"],
        p5=metrics["P@5"],
        depth1=float(best.depth.mean()),
        depth5=float(five.depth.mean()),
        blocks1=float(best.n_blocks.mean()),
        blocks5=float(five.n_blocks.mean()),
        **dict.fromkeys(TIMES, 0.0),  # measured later, all trees in turns
        n_nodes=tree.n_nodes,
        deepest=tree.max_depth,
        expected_depth=float(model.structure()["expected depth"]),
        train_cpu_seconds=train_seconds,
    )


def _query_times(models: Sequence[LinearTree], x: Any, repeats: int, progress: Progress) -> npt.NDArray[np.float64]:
    """Microseconds of a query for every model, one column for each of TIMES."""
    rows = [
        (x.indices[start:end].astype(np.int32), x.data[start:end].astype(np.float32))
        for start, end in zip(x.indptr[:-1], x.indptr[1:], strict=True)
    ]
    times = np.empty((repeats, len(models), len(TIMES)))
    for repeat in range(repeats):
        progress.step("timing", repeat, repeats)
        for place, model in enumerate(models):
            for slot, k in enumerate((1, 5)):
                wall, cpu = time.perf_counter(), time.thread_time()
                for columns, values in rows:
                    model.query(columns, values, k)
                times[repeat, place, slot] = time.perf_counter() - wall
                times[repeat, place, slot + 2] = time.thread_time() - cpu
    progress.step("timing", repeats, repeats)
    median: npt.NDArray[np.float64] = np.median(times, axis=0) / len(rows) * 1e6
    return median
