"""What is measured, the same for every tool: cost of training, size, loading, batch and single answers, accuracy.

Each `run_<tool>.py` hands a `Tool` to `main`. It runs in that tool's own environment and prints one JSON object:

    python run_<tool>.py FOLDER [--threads 2] [--k 10] [--deep 100] [--model DIR] [--set key=value ...]

FOLDER holds X.train.npz, Y.train.npz, X.test.npz and Y.test.npz (scipy CSR). Training, batch answers and single
answers run in three fresh processes, so that the peak memory and the threads of one do not colour the next.
Only numpy and scipy are used here: the peers' environments have nothing else in common.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

PHASES = ("prepare", "train", "batch", "single")
FILES = ("X.train.npz", "Y.train.npz", "X.test.npz", "Y.test.npz")
# Every pool of threads that one of the tools may hold.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
WARM_UP_ROWS = 100
SINGLE_ROWS = 1000
SINGLE_PASSES = 3
# A tool that takes longer for a row is asked fewer rows, once: its figures are no nearer to noise.
SLOW_SECONDS, SLOW_ROWS, SLOW_WARM_UP = 0.01, 100, 10
# A batch is repeated until this much CPU time has gone by (five times at most); the fastest counts.
BATCH_CPU_SECONDS = 3.0


class Answers(Protocol):
    """A loaded model of a tool."""

    def batch_input(self, x: sparse.csr_matrix) -> Any:
        """The rows in the form that `batch` takes; not timed."""

    def batch(self, rows: Any, k: int) -> Any:
        """The answers to all rows in the tool's own form; timed."""

    def labels(self, answers: Any, k: int) -> np.ndarray:
        """The answers of `batch` as label numbers (n_rows, k), best first, -1 padded; not timed."""

    def single_input(self, row: sparse.csr_matrix) -> Any:
        """One row in the form that `single` takes; not timed."""

    def single(self, row: Any, k: int) -> Any:
        """The answer to one row; timed."""


class Tool(Protocol):
    """A tool under measurement; `options` are the --set values as text."""

    name: str

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        """Write what training needs beside the matrices (a text file); runs alone, not timed."""

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], Any], Callable[[Any], None]]:
        """Two functions: the timed one that gives a trained model, and one that writes that below `model`."""

    def load(self, model: Path, threads: int, options: dict[str, str]) -> Answers:
        """The saved model, ready to answer; timed."""


def read_matrix(folder: Path, name: str) -> sparse.csr_matrix:
    """A stored matrix as float32 CSR with 32-bit sorted indices; feature rows ("X...") have unit length."""
    loaded = sparse.load_npz(folder / name)
    matrix = sparse.csr_matrix(loaded, dtype=np.float32)
    matrix.sum_duplicates()
    matrix.sort_indices()
    if name.startswith("X"):
        squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
        lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
        matrix.data /= np.repeat(lengths, np.diff(matrix.indptr)).astype(np.float32)
    return matrix


def model_bytes(folder: Path) -> int:
    """The size of all files of a saved model."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def cpu_seconds() -> float:
    """CPU time so far: user and system, all threads, this process and the children that it has waited for."""
    # getrusage counts microseconds where os.times counts ticks of 10 ms.
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def peak_rss_mb() -> float:
    """The largest resident memory of this process in MB.

    ru_maxrss would also count what the parent held when it started this process; the kernel's VmHWM does not.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return float(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        scale = 2**20 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def forget_peak() -> None:
    """Let the peak start again at what is resident now, so that reading the matrices cannot hide a lean training."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # elsewhere than on Linux the peak keeps the reading; rss_before_training_mb shows whether it matters


def top_of_csr(scores: sparse.csr_matrix, k: int) -> np.ndarray:
    """The k best columns of every row (n_rows, k), best first, ties to the smaller column, -1 padded."""
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    rank = np.arange(len(rows)) - scores.indptr[rows]
    kept = rank < k
    top = np.full((scores.shape[0], k), -1, dtype=np.int64)
    top[rows[kept], rank[kept]] = scores.indices[order][kept]
    return top


def top_of_lists(answers: Sequence[Sequence[Any]], k: int) -> np.ndarray:
    """Lists of labels, or of (label, score) pairs, best first, as an array (n_rows, k), -1 padded."""
    top = np.full((len(answers), k), -1, dtype=np.int64)
    for i, answer in enumerate(answers):
        found = [pair[0] if isinstance(pair, tuple) else pair for pair in answer[:k]]
        top[i, : len(found)] = found
    return top


def accuracy(top: np.ndarray, y: sparse.csr_matrix) -> dict[str, float]:
    """P@1, P@3, P@5 and R@10, R@100 in per cent, as far as `top` (n_rows, k) has places."""
    truth = sparse.csr_matrix((np.ones(y.nnz, dtype=bool), y.indices, y.indptr), shape=y.shape)
    rows = np.repeat(np.arange(top.shape[0]), top.shape[1])
    asked = np.where(top < 0, 0, top).ravel()
    hit = np.asarray(truth[rows, asked]).reshape(top.shape) & (top >= 0)
    n_true = np.maximum(1, np.diff(y.indptr))
    found = {f"P@{k}": 100 * hit[:, :k].sum() / (k * len(hit)) for k in (1, 3, 5) if k <= top.shape[1]}
    for k in (10, 100):
        if k <= top.shape[1]:
            found[f"R@{k}"] = 100 * (hit[:, :k].sum(axis=1) / n_true).mean()
    return {name: round(float(value), 3) for name, value in found.items()}


def train_phase(tool: Tool, folder: Path, model: Path, threads: int, options: dict[str, str]) -> dict[str, float]:
    """Cost of training: CPU and wall seconds of the training call alone, peak memory, bytes saved."""
    train, save = tool.train(folder, model, threads, options)
    forget_peak()
    rss_before = peak_rss_mb()
    wall, cpu = time.perf_counter(), cpu_seconds()
    trained = train()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    peak = peak_rss_mb()
    save(trained)
    return {
        "train_cpu_s": cpu,
        "train_wall_s": wall,
        "peak_rss_mb": peak,
        "rss_before_training_mb": rss_before,
        "model_bytes": model_bytes(model),
    }


def batch_phase(
    tool: Tool, folder: Path, model: Path, threads: int, options: dict[str, str], k: int, deep: int
) -> dict[str, float]:
    """Cost and accuracy of answering the whole test set at once; R@100 from a second, deeper run."""
    x, y = read_matrix(folder, "X.test.npz"), read_matrix(folder, "Y.test.npz")
    answers = tool.load(model, threads, options)
    answers.batch(answers.batch_input(x[:WARM_UP_ROWS]), k)
    rows = answers.batch_input(x)
    spent: list[tuple[float, float]] = []
    while not spent or (len(spent) < 5 and sum(cpu for cpu, _ in spent) < BATCH_CPU_SECONDS):
        wall, cpu = time.perf_counter(), cpu_seconds()
        found = answers.batch(rows, k)
        spent.append((cpu_seconds() - cpu, time.perf_counter() - wall))
    result = {"k": k, "batch_cpu_s": min(cpu for cpu, _ in spent), "batch_wall_s": min(wall for _, wall in spent)}
    result |= accuracy(answers.labels(found, k), y)
    if deep > k:
        cpu = cpu_seconds()
        found = answers.batch(rows, deep)
        result |= {"deep_k": deep, "deep_batch_cpu_s": cpu_seconds() - cpu}
        result |= {name: v for name, v in accuracy(answers.labels(found, deep), y).items() if name.startswith("R@")}
    return result


def single_phase(tool: Tool, folder: Path, model: Path, options: dict[str, str], k: int) -> dict[str, float]:
    """Latency of one row a call on one thread, and of loading and the first answer.

    A row's time is the fastest of SINGLE_PASSES passes over all rows, which removes what other programs on the
    machine did to it; `..._raw_...` are the percentiles over all calls as they came. A tool whose `Answers` also has
    `fast_input` and `fast` (a way around the matrix of one row) gets the same figures for that way.
    """
    x = read_matrix(folder, "X.test.npz")
    chosen = np.random.default_rng(0).permutation(x.shape[0])
    warm, asked = chosen[:WARM_UP_ROWS], chosen[WARM_UP_ROWS : WARM_UP_ROWS + SINGLE_ROWS]
    # A tool that imports parts of itself only when they are used brings `imports`; the others did it at the top.
    if hasattr(tool, "imports"):
        tool.imports(options)
    start = time.perf_counter()
    answers = tool.load(model, 1, options)
    load = time.perf_counter() - start
    start = time.perf_counter()
    answers.single(answers.single_input(x[warm[0]]), k)
    first = time.perf_counter() - start
    result = {"load_s": load, "first_query_ms": 1000 * first, "single_rows": len(asked)}
    result |= latency("single", answers.single_input, answers.single, x[warm], x[asked], k)
    if hasattr(answers, "fast"):
        result |= latency("fast", answers.fast_input, answers.fast, x[warm], x[asked], k)
    return result


def latency(
    name: str,
    prepare: Callable[[sparse.csr_matrix], Any],
    answer: Callable[[Any, int], Any],
    warm: sparse.csr_matrix,
    asked: sparse.csr_matrix,
    k: int,
) -> dict[str, float]:
    """Percentiles in ms over the asked rows, one a call: of the fastest pass of each row, and raw over all calls."""
    start = time.perf_counter()
    for i in range(min(SLOW_WARM_UP, warm.shape[0])):
        answer(prepare(warm[i]), k)
    slow = time.perf_counter() - start > SLOW_SECONDS * SLOW_WARM_UP
    for i in range(SLOW_WARM_UP, 0 if slow else warm.shape[0]):
        answer(prepare(warm[i]), k)
    rows = [prepare(asked[i]) for i in range(min(SLOW_ROWS, asked.shape[0]) if slow else asked.shape[0])]
    times = np.empty((1 if slow else SINGLE_PASSES, len(rows)))  # (passes, rows) seconds
    for one_pass in times:
        for i, row in enumerate(rows):
            start = time.perf_counter()
            answer(row, k)
            one_pass[i] = time.perf_counter() - start
    found = {}
    for kind, values in (("", times.min(axis=0)), ("raw_", times)):
        for percentile in (50, 99):
            found[f"{name}_{kind}p{percentile}_ms"] = 1000 * float(np.percentile(values, percentile))
    return found


def run_phase(tool: Tool, phase: str, arguments: argparse.Namespace, model: Path) -> dict[str, float]:
    """The figures of one phase, measured in this process."""
    folder, options, k = arguments.folder, parse_options(arguments.set), arguments.k
    if phase == "prepare":
        tool.prepare(folder, model, options)
        return {}
    if phase == "train":
        return train_phase(tool, folder, model, arguments.threads, options)
    if phase == "batch":
        return batch_phase(tool, folder, model, arguments.threads, options, k, arguments.deep)
    return single_phase(tool, folder, model, options, k)


def run_in_fresh_process(phase: str, threads: int, model: Path, scratch: Path) -> dict[str, float]:
    """The figures of one phase of this script, measured in a process of its own."""
    result = scratch / f"{phase}.json"
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    command = [sys.executable, *sys.argv, "--phase", phase, "--result", str(result), "--model", str(model)]
    # What a tool prints belongs to the log, not into the JSON on stdout.
    subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
    figures: dict[str, float] = json.loads(result.read_text())
    return figures


def parse_options(assignments: Sequence[str]) -> dict[str, str]:
    """key=value texts as a dictionary."""
    options = {}
    for assignment in assignments:
        key, sign, value = assignment.partition("=")
        if not sign or not key:
            raise SystemExit(f"--set takes key=value, but got {assignment!r}")
        options[key] = value
    return options


def refuse_unknown(options: dict[str, str], known: Sequence[str], tool: str) -> None:
    """Stop at an option that the tool's script does not read, so that no run is labelled with what it did not use."""
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise SystemExit(f"{tool} has no option {', '.join(unknown)}; known: {', '.join(known) or 'none'}")


def main(tool: Tool) -> None:
    """Run the phases and print their figures as one JSON object."""
    parser = argparse.ArgumentParser(description=f"cost and accuracy of {tool.name} on stored matrices")
    parser.add_argument("folder", type=Path, help=f"holds {', '.join(FILES)}")
    parser.add_argument("--threads", type=int, default=2, help="for training and batch answers; single ones use 1")
    parser.add_argument("--k", type=int, default=10, help="answers a row")
    parser.add_argument("--deep", type=int, default=0, help="also answer this deep, for R@100")
    parser.add_argument("--model", type=Path, help="folder for the model (made, replaced); a temporary one if left out")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="options of the tool")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    missing = [name for name in FILES if not (arguments.folder / name).is_file()]
    if missing:
        raise SystemExit(f"{arguments.folder} lacks {', '.join(missing)}")
    if arguments.phase:
        arguments.result.write_text(json.dumps(run_phase(tool, arguments.phase, arguments, arguments.model)))
        return
    with tempfile.TemporaryDirectory(prefix="labelwood-bench-") as scratch:
        model = (arguments.model or Path(scratch) / "model").absolute()
        shutil.rmtree(model, ignore_errors=True)
        model.parent.mkdir(parents=True, exist_ok=True)
        figures: dict[str, Any] = {"tool": tool.name, "options": parse_options(arguments.set)}
        figures |= {"threads": arguments.threads, "load_average": [round(value, 1) for value in os.getloadavg()]}
        for phase in PHASES:
            threads = 1 if phase == "single" else arguments.threads
            figures |= run_in_fresh_process(phase, threads, model, Path(scratch))
    print(json.dumps(figures))
