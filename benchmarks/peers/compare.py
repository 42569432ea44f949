"""labelwood's linear tree against PECOS XR-Linear, Omikuji and napkinXC: same data, same run, same threads.

    python benchmarks/peers/compare.py EURLEX57K
    python benchmarks/peers/compare.py CVE-Products --tools pecos --labelwood "n_trees=1" "balance=0.5 n_trees=3"
    python benchmarks/peers/compare.py S --folder /somewhere/synth-S

Tools run one after the other. Figures go to the benchmark cache as JSON (one file a tool) and CSV (one file a data
set), and as tables to stdout, the second one against PECOS.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import STEPS, cache_folder, environment_python
from measure import FILES, parse_options
from scipy import sparse

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Figures = dict[str, Any]

# title -> (environment, options of its script)
PEERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pecos": ("pecos", ()),
    "pecos-mmap": ("pecos", ("mmap=1",)),
    "omikuji-parabel": ("omikuji", ("tree=parabel",)),
    "omikuji-bonsai": ("omikuji", ("tree=bonsai",)),
    "napkinxc": ("napkinxc", ()),
    "fasttext": ("fasttext", ()),
    "libmultilabel": ("libmultilabel", ()),
}
# Scripts of tools whose environment has another script already.
SCRIPTS = {"fasttext": "run_fasttext_rows.py"}
GROUPS = {"omikuji": ["omikuji-parabel", "omikuji-bonsai"]}
# napkinXC's exact search needs minutes for 100 answers a row.
SHALLOW = {"napkinxc"}

# column title -> (figure, divisor, decimals); the first group is compared as a ratio, the second as a difference
COSTS = {
    "train CPU s": ("train_cpu_s", 1, 1),
    "peak MB": ("peak_rss_mb", 1, 0),
    "model MB": ("model_bytes", 1e6, 1),
    "load s": ("load_s", 1, 3),
    "batch CPU s": ("batch_cpu_s", 1, 2),
    "p50 ms": ("single_p50_ms", 1, 3),
    "p99 ms": ("single_p99_ms", 1, 3),
    "fast p50": ("fast_p50_ms", 1, 3),
    "fast p99": ("fast_p99_ms", 1, 3),
}
QUALITIES = {name: (name, 1, 2) for name in ("P@1", "P@3", "P@5", "R@10", "R@100")}
# The fast way around the matrix exists in labelwood alone; it is held against PECOS's single query.
PECOS_FIGURE = {"fast_p50_ms": "single_p50_ms", "fast_p99_ms": "single_p99_ms"}


@dataclass(frozen=True)
class Run:
    """One tool with its options, and the Python that runs it."""

    title: str
    script: str
    options: tuple[str, ...]
    environment: str | None  # None: the Python that runs this file

    @property
    def file_name(self) -> str:
        """The name of the file that keeps its figures."""
        return re.sub(r"[^\w.=-]+", "_", self.title) + ".json"


def peer_runs(names: str) -> list[Run]:
    """The runs of a comma-separated list of peers; SystemExit lists the known names."""
    wanted = [title for name in names.split(",") if name for title in GROUPS.get(name, [name])]
    unknown = [title for title in wanted if title not in PEERS]
    if unknown:
        raise SystemExit(f"unknown tool {', '.join(unknown)}; known: {', '.join([*PEERS, *GROUPS])}")
    return [
        Run(title, SCRIPTS.get(title, f"run_{PEERS[title][0]}.py"), PEERS[title][1], PEERS[title][0])
        for title in wanted
    ]


def labelwood_run(text: str) -> Run:
    """The run of one --labelwood text: an optional model name, then key=value words."""
    words = text.split()
    if words and "=" not in words[0]:
        words[0] = f"model={words[0]}"
    parse_options(words)
    return Run(" ".join(["labelwood", *words]), "run_labelwood.py", tuple(words), None)


def matrices(data: str, folder: Path | None) -> Path:
    """The folder with the four matrices of a data set: the given one, or made in the cache from its text files."""
    if folder is None:
        folder = cache_folder() / "matrices" / data
        if not all((folder / name).is_file() for name in FILES):
            convert(Path(os.environ.get("LABELWOOD_DATA", ROOT.parent / "shared" / "data")) / data, folder)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}")
    return folder


def convert(source: Path, folder: Path) -> None:
    """Read the features of a data set, or make tf-idf of its texts, and store the four matrices."""
    import labelwood

    if (source / "train.txt.gz").is_file():
        train = labelwood.read(source / "train.txt.gz")
        test = labelwood.read(source / "test.txt.gz", n_features=train.n_features, n_labels=train.n_labels)
        pairs = {"X.train": train.x, "Y.train": train.y, "X.test": test.x, "Y.test": test.y}
    elif (source / "train_raw.jsonl.gz").is_file():
        pairs = text_matrices(source)
    else:
        files = ", ".join(FILES)
        raise SystemExit(f"{source} has no train.txt.gz; set LABELWOOD_DATA, or give --folder with {files}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, matrix in pairs.items():
        temporary = folder / f"{name}.partial.npz"
        sparse.save_npz(temporary, sparse.csr_matrix(matrix), compressed=False)
        temporary.rename(folder / f"{name}.npz")


def text_matrices(source: Path) -> dict[str, Any]:
    """tf-idf of single words, learned from the training texts, and the labels; those never trained have columns too."""
    import labelwood

    train, test = (labelwood.read(source / f"{part}_raw.jsonl.gz") for part in ("train", "test"))
    names = list(dict.fromkeys([*train.label_names, *test.label_names]))
    column = {name: number for number, name in enumerate(names)}
    words = labelwood.TfidfVectorizer()
    matrices = {"X.train": words.fit_transform(train.texts), "X.test": words.transform(test.texts)}
    for part, rows in (("train", train), ("test", test)):
        y = sparse.coo_matrix(rows.y)
        columns = [column[rows.label_names[label]] for label in y.col.tolist()]
        shape = (y.shape[0], len(names))
        matrices[f"Y.{part}"] = sparse.csr_matrix((y.data, (y.row, columns)), shape=shape)
    return matrices


def measured(run: Run, folder: Path, arguments: argparse.Namespace, timeout: float | None = None) -> Figures:
    """The figures of one run, in a process of its own; SystemExit if it fails or takes longer than so many seconds."""
    python = sys.executable if run.environment is None else str(environment_python(run.environment))
    deep = 0 if run.environment in SHALLOW else arguments.deep
    command = [python, str(HERE / run.script), str(folder)]
    command += ["--threads", str(arguments.threads), "--k", str(arguments.k), "--deep", str(deep)]
    if run.options:
        command += ["--set", *run.options]
    # A session of its own: its phases are processes below it, and are ended with it.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=timeout)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise SystemExit(f"{run.title} was stopped after {timeout:.0f} s") from None
        raise
    if process.returncode:
        raise SystemExit(f"{run.title} failed with exit code {process.returncode}; its messages are above")
    figures: Figures = json.loads(out)
    return {"title": run.title, "measured": time.strftime("%Y-%m-%d %H:%M"), **figures}


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as aligned text, the first column to the left; columns without any value are left out."""
    width = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    lines = []
    for row in rows:
        cells = [row[c].ljust(width[c]) if c == 0 else row[c].rjust(width[c]) for c in filled]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def figures_table(found: Sequence[Figures]) -> list[list[str]]:
    """Header and one row of cells a run; a figure that a run does not have is an empty cell."""
    columns = COSTS | QUALITIES
    rows = [["", *columns]]
    for figures in found:
        cells = [
            f"{figures[name] / divisor:.{decimals}f}" if name in figures else ""
            for name, divisor, decimals in columns.values()
        ]
        rows.append([figures["title"], *cells])
    return rows


def against(found: Sequence[Figures], base: Mapping[str, Any]) -> list[list[str]]:
    """Header and one row a run: costs as times of the base's, qualities as points above or below it."""
    rows = [["", *COSTS, *QUALITIES]]
    for figures in found:
        cells = []
        for name, _, _ in COSTS.values():
            reference = base.get(PECOS_FIGURE.get(name, name))
            cells.append(f"{figures[name] / reference:.3f}x" if name in figures and reference else "")
        for name, _, _ in QUALITIES.values():
            both = name in figures and name in base
            cells.append(f"{figures[name] - base[name]:+.2f}" if both else "")
        rows.append([figures["title"], *cells])
    return rows


def write_csv(found: Sequence[Figures], path: Path) -> None:
    """Write every figure of every run, one row a run."""
    names = list(dict.fromkeys(name for figures in found for name in figures))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a data set below LABELWOOD_DATA, or any title together with --folder")
    parser.add_argument("--folder", type=Path, help=f"a folder with {', '.join(FILES)}")
    known = ", ".join([*PEERS, *GROUPS])
    parser.add_argument("--tools", default="pecos,omikuji,napkinxc", help=f"some of {known}; '' for none")
    parser.add_argument(
        "--labelwood", nargs="*", default=["n_trees=1", "n_trees=3"], metavar="TEXT",
        help="one run a text: '[MODEL] key=value ...'; MODEL is linear-tree if left out",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--k", type=int, default=10, help="answers a row")
    parser.add_argument("--deep", type=int, default=100, help="answers a row for R@100; 0: leave it out")
    parser.add_argument("--reuse", action="store_true", help="take the stored figures of peers where there are some")
    arguments = parser.parse_args()
    runs = peer_runs(arguments.tools) + [labelwood_run(text) for text in arguments.labelwood]
    for tool in STEPS:
        if any(run.environment == tool for run in runs):
            environment_python(tool)
    folder = matrices(arguments.data, arguments.folder)
    results = cache_folder() / "results" / arguments.data
    results.mkdir(parents=True, exist_ok=True)
    found: list[Figures] = []
    for run in runs:
        stored = results / run.file_name
        if arguments.reuse and run.environment is not None and stored.is_file():
            figures = json.loads(stored.read_text())
        else:
            print(f"{arguments.data}: {run.title}", file=sys.stderr, flush=True)
            figures = measured(run, folder, arguments)
            stored.write_text(json.dumps(figures, indent=1))
        found.append(figures)
    write_csv(found, results.with_suffix(".csv"))
    results.with_suffix(".json").write_text(json.dumps(found, indent=1))
    print(f"{arguments.data}, {arguments.threads} threads, top {arguments.k}, single queries on 1 thread")
    print(table(figures_table(found)))
    base = next((figures for figures in found if figures["title"] == "pecos"), None)
    if base is not None and len(found) > 1:
        print("\nagainst pecos (costs: times; accuracy: points)")
        print(table(against(found, base)))


if __name__ == "__main__":
    main()
