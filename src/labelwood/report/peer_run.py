"""One run of another package in a comparison: train or answer, in the Python that has the package.

    PYTHON peer_run.py TASK.json

That Python may have nothing of ours: numpy, scipy and the package are all that is imported. Speaks as compare_run does:
one JSON object a line, at the end {"result", "peak_bytes"} or {"error"}. Rows are unit rows as labelwood's own models
see them, or texts for fastText. Every package has the settings that its authors give for a start.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

ANSWERED = 5  # answers of a single query, and places whose probabilities are kept
WARM_UP_QUERIES = 20
MOST_QUERIES = 1000
QUERY_SECONDS = 5.0
LABEL = "__label__"
MOST_OVA_LABELS = 5_000  # fastText's "ova" compares a row with all labels; above, its tutorial says "hs"
Answer = Callable[[Any, int], list[list[tuple[int, float]]]]


class Peer:
    """A package: how it trains from a task and answers rows; `rows` gives test rows in the form it takes."""

    def train(self, task: dict[str, Any], part: Path) -> Callable[[], Any]:
        """The training itself, as a function to be timed; what it gives back goes to `save`."""
        raise NotImplementedError

    def save(self, trained: Any, model: Path) -> None:
        """Write what was trained below `model`."""

    def load(self, task: dict[str, Any], model: Path) -> Answer:
        """A function (rows, k) -> (label, score) pairs of each row, best first."""
        raise NotImplementedError

    def rows(self, part: Path) -> list[Any] | sparse.csr_matrix:
        """The rows of a part."""
        return unit_rows(part)


def unit_rows(part: Path) -> sparse.csr_matrix:
    """The features of a part as float32 CSR, rows at length 1."""
    x = sparse.csr_matrix(sparse.load_npz(part / "x.npz"), dtype=np.float32)
    x.sort_indices()
    squares = np.asarray(x.multiply(x).sum(axis=1)).ravel()
    x.data /= np.repeat(np.sqrt(np.where(squares > 0, squares, 1)), np.diff(x.indptr)).astype(np.float32)
    return x


def label_rows(part: Path) -> sparse.csr_matrix:
    """The labels of a part."""
    return sparse.csr_matrix(sparse.load_npz(part / "y.npz"), dtype=np.float32)


class Pecos(Peer):
    """PECOS XR-Linear: PIFA vectors, k-means tree of 16, teacher-forcing negatives."""

    def train(self, task: dict[str, Any], part: Path) -> Callable[[], Any]:
        """XLinearModel.train with the library's defaults."""
        xmc, xlinear = importlib.import_module("pecos.xmc"), importlib.import_module("pecos.xmc.xlinear.model")
        x, y, threads = unit_rows(part), label_rows(part).tocsc(), task["n_threads"] or -1

        def train() -> Any:
            vectors = xmc.LabelEmbeddingFactory.create(y, x, method="pifa", threads=threads)
            chain = xmc.Indexer.gen(vectors, indexer_type="hierarchicalkmeans", threads=threads)
            return xlinear.XLinearModel.train(x, y, C=chain, threads=threads)

        return train

    def save(self, trained: Any, model: Path) -> None:
        """PECOS's own folder."""
        trained.save(str(model))

    def load(self, task: dict[str, Any], model: Path) -> Answer:
        """The predict-only model, its fast way."""
        xlinear = importlib.import_module("pecos.xmc.xlinear.model")
        loaded = xlinear.XLinearModel.load(str(model), is_predict_only=True)
        threads = task["n_threads"] or -1

        def answer(rows: Any, k: int) -> list[list[tuple[int, float]]]:
            scores = loaded.predict(rows, only_topk=k, threads=1 if rows.shape[0] == 1 else threads)
            return [
                sorted(zip(row.indices.tolist(), row.data.tolist(), strict=True), key=lambda pair: -pair[1])
                for row in (scores[i] for i in range(scores.shape[0]))
            ]

        return answer


class Omikuji(Peer):
    """Omikuji's Parabel with its three trees."""

    def train(self, task: dict[str, Any], part: Path) -> Callable[[], Any]:
        """It trains from a text file, which is written before; rows without features are left out."""
        omikuji = importlib.import_module("omikuji")
        x, y = unit_rows(part), label_rows(part)
        filled = np.flatnonzero(np.diff(x.indptr))
        text = Path(task["out"]).with_name("omikuji.txt")
        with text.open("w") as stream:
            stream.write(f"{len(filled)} {x.shape[1]} {y.shape[1]}\n")
            for i in filled.tolist():
                labels = ",".join(map(str, y.indices[y.indptr[i] : y.indptr[i + 1]].tolist()))
                here = slice(x.indptr[i], x.indptr[i + 1])
                pairs = zip(x.indices[here].tolist(), x.data[here].tolist(), strict=True)
                stream.write(f"{labels} {' '.join(f'{column}:{value:.7g}' for column, value in pairs)}\n")

        def train() -> Any:
            parameters = omikuji.Model.default_hyper_param()
            return omikuji.Model.train_on_data(str(text), parameters, n_threads=task["n_threads"] or 0)

        return train

    def save(self, trained: Any, model: Path) -> None:
        """Omikuji's own folder; its text file goes."""
        trained.save(str(model))
        model.with_name("omikuji.txt").unlink()

    def load(self, task: dict[str, Any], model: Path) -> Answer:
        """One row a call is the only way it has."""
        loaded = importlib.import_module("omikuji").Model.load(str(model))
        loaded.init_prediction_thread_pool(task["n_threads"] or 0)

        def answer(rows: Any, k: int) -> list[list[tuple[int, float]]]:
            found = []
            for i in range(rows.shape[0]):
                here = slice(rows.indptr[i], rows.indptr[i + 1])
                pairs = list(zip(rows.indices[here].tolist(), rows.data[here].tolist(), strict=True))
                found.append([(int(label), float(score)) for label, score in loaded.predict(pairs, top_k=k)])
            return found

        return answer


class NapkinXC(Peer):
    """napkinXC's label tree; beam search, since its exact search takes minutes for a hundred answers."""

    def train(self, task: dict[str, Any], part: Path) -> Callable[[], Any]:
        """PLT.fit, which writes the model while it trains."""
        Path(task["out"]).mkdir(parents=True, exist_ok=True)
        tree = self._tree(task, Path(task["out"]))
        x, y = unit_rows(part), label_rows(part)
        return lambda: tree.fit(x, y)

    def load(self, task: dict[str, Any], model: Path) -> Answer:
        """Its predict_proba."""
        tree = self._tree(task, model)
        tree.load()
        return lambda rows, k: [
            [(int(label), float(score)) for label, score in row] for row in tree.predict_proba(rows, top_k=k)
        ]

    def _tree(self, task: dict[str, Any], model: Path) -> Any:
        models = importlib.import_module("napkinxc.models")
        return models.PLT(str(model), tree_search_type="beam", seed=task["seed"], threads=task["n_threads"] or 0)


class FastText(Peer):
    """fastText with the settings of its tutorial for texts with several labels."""

    def rows(self, part: Path) -> list[Any] | sparse.csr_matrix:
        """The texts, a line each."""
        texts = json.loads((part / "strings.json").read_text(encoding="utf-8"))["texts"]
        return [" ".join(text.lower().split()) for text in texts]

    def train(self, task: dict[str, Any], part: Path) -> Callable[[], Any]:
        """train_supervised from a file of labelled lines, which is written before."""
        fasttext, y = importlib.import_module("fasttext"), label_rows(part)
        lines = Path(task["out"]).with_name("fasttext.txt")
        with lines.open("w", encoding="utf-8") as stream:
            for i, text in enumerate(self.rows(part)):
                labels = " ".join(f"{LABEL}{label}" for label in y.indices[y.indptr[i] : y.indptr[i + 1]].tolist())
                stream.write(f"{labels} {text}\n")
        loss = "ova" if y.shape[1] <= MOST_OVA_LABELS else "hs"

        def train() -> Any:
            threads = {"thread": task["n_threads"]} if task["n_threads"] else {}
            return fasttext.train_supervised(
                str(lines), lr=0.5, epoch=25, wordNgrams=2, bucket=200_000, dim=50, loss=loss, verbose=0,
                seed=task["seed"], **threads,
            )  # fmt: skip

        return train

    def save(self, trained: Any, model: Path) -> None:
        """One file of fastText's; its lines go."""
        model.mkdir(parents=True, exist_ok=True)
        trained.save_model(str(model / "model.bin"))
        model.with_name("fasttext.txt").unlink()

    def load(self, task: dict[str, Any], model: Path) -> Answer:
        """Its predict, of a list of texts."""
        fasttext = importlib.import_module("fasttext")
        fasttext.FastText.eprint = lambda *_, **__: None  # it warns of its own loading
        loaded = fasttext.load_model(str(model / "model.bin"))

        def answer(rows: Any, k: int) -> list[list[tuple[int, float]]]:
            names, scores = loaded.predict(list(rows), k=k)
            return [
                [(int(name[len(LABEL) :]), float(score)) for name, score in zip(*row, strict=True)]
                for row in zip(names, scores, strict=True)
            ]

        return answer


PEERS: dict[str, Peer] = {"pecos": Pecos(), "omikuji": Omikuji(), "napkinxc": NapkinXC(), "fasttext": FastText()}


def trained(task: dict[str, Any]) -> dict[str, Any]:
    """What training cost; the model is in task["out"]."""
    peer, out = PEERS[task["name"]], Path(task["out"])
    train = peer.train(task, Path(task["data"]) / "train")
    start, start_cpu = time.perf_counter(), time.process_time()
    model = train()
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peer.save(model, out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return {"train_wall_s": wall, "train_cpu_s": cpu, "model_bytes": size}


def answered(task: dict[str, Any]) -> dict[str, Any]:
    """What answering cost; the answers to all test rows are in task["out"]."""
    peer, k = PEERS[task["name"]], task["k"]
    rows = peer.rows(Path(task["data"]) / "test")
    start = time.perf_counter()
    answer = peer.load(task, Path(task["model"]))
    load_seconds = time.perf_counter() - start
    start, start_cpu = time.perf_counter(), time.process_time()
    found = answer(rows, k)
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    labels = np.full((len(found), k), -1, np.int32)
    scores = np.full((len(found), k), -np.inf, np.float32)
    for i, row in enumerate(found):
        ids = [label for label, _ in row[:k]]
        labels[i, : len(ids)] = ids
        scores[i, : len(ids)] = [score for _, score in row[:k]]
    chances = np.clip(np.where(labels[:, :ANSWERED] < 0, 0, scores[:, :ANSWERED]), 0, 1)
    np.savez(task["out"], labels=labels, scores=scores, chances=chances.astype(np.float32))
    times = 1000 * np.array(single_queries(answer, rows))
    return {
        "load_s": load_seconds,
        "answer_wall_s": wall,
        "answer_cpu_s": cpu,
        "single_p50_ms": float(np.quantile(times, 0.5)),
        "single_p99_ms": float(np.quantile(times, 0.99)),
        "single_queries": len(times),
    }


def single_queries(answer: Answer, rows: Any) -> list[float]:
    """The seconds of single queries, one row after the other."""
    n_rows = len(rows) if isinstance(rows, list) else rows.shape[0]
    asked = [rows[i : i + 1] for i in np.random.default_rng(0).permutation(n_rows)[:MOST_QUERIES].tolist()]
    for row in asked[:WARM_UP_QUERIES]:
        answer(row, ANSWERED)
    times: list[float] = []
    begin = time.perf_counter()
    for row in asked:
        start = time.perf_counter()
        answer(row, ANSWERED)
        times.append(time.perf_counter() - start)
        if time.perf_counter() - begin > QUERY_SECONDS:
            break
    return times


def peak_bytes() -> int | None:
    """The largest resident memory of this process so far, as Linux counts it; None elsewhere."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main(task_file: str) -> int:
    """0 if the task of the file is done; every line on stdout is a JSON object."""
    # What a package prints, its native code included, does not come between the lines.
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    task = json.loads(Path(task_file).read_text(encoding="utf-8"))
    try:
        result = {"train": trained, "answer": answered}[task["phase"]](task)
        line: dict[str, Any] = {"result": result, "peak_bytes": peak_bytes()}
    except Exception as error:
        line = {"error": f"{type(error).__name__}: {error}"}
    stream.write(json.dumps(line) + "\n")
    stream.flush()
    return 1 if "error" in line else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
