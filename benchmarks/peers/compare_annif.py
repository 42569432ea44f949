"""labelwood's backend for Annif beside Annif's own Omikuji backend: the same corpus, through Annif's command line.

    python benchmarks/peers/compare_annif.py --annif ENVIRONMENT/bin/python [--data YSO-Finna-en] [--rows N]

ENVIRONMENT holds annif[omikuji] and labelwood (or PYTHONPATH names its source). Commands are those that people type:
`annif load-vocab`, `train`, `suggest`, `eval`. Seconds are wall and CPU time of the whole command, Annif's own start
included; MB is the largest resident memory of its process. Settings: Annif's defaults for Omikuji (Parabel), the Bonsai
settings of Annif's tutorial, and labelwood's: defaults, one tree, three trees (Omikuji has three), and its ensemble,
which `labelwood train --best` trains.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

DATA = Path(os.environ.get("LABELWOOD_DATA", Path(__file__).parents[3] / "shared" / "data"))
LANGUAGES = {"YSO-Finna-en": ("en", "english"), "YSO-Finna-fi": ("fi", "finnish")}
YSO = "http://www.yso.fi/onto/yso/"
BONSAI = {"cluster_balanced": "False", "cluster_k": "100", "max_depth": "3"}
FIGURES = ("NDCG", "NDCG@5", "NDCG@10", "F1@5", "Precision@1")


def projects(language: str, snowball: str) -> dict[str, dict[str, str]]:
    omikuji = {"backend": "omikuji", "analyzer": f"snowball({snowball})"}
    labelwood = {"backend": "labelwood"}
    return {
        "labelwood": labelwood,
        "labelwood-tree": {**labelwood, "model": "linear-tree"},
        "labelwood-forest": {**labelwood, "model": "linear-tree", "model__n_trees": "3"},
        "labelwood-best": {**labelwood, "model": "ensemble"},
        "omikuji-parabel": omikuji,
        "omikuji-bonsai": {**omikuji, **BONSAI},
    }


def write_corpus(source: Path, target: Path, most: int | None) -> int:
    n_rows = 0
    with gzip.open(source, "rt", encoding="utf-8") as lines, target.open("w", encoding="utf-8") as corpus:
        for line in lines:
            if n_rows == most:
                break
            row = json.loads(line)
            uris = " ".join(f"<{YSO}{label.removeprefix('yso:')}>" for label in row["labels"])
            corpus.write(f"{' '.join(row['text'].split())}\t{uris}\n")
            n_rows += 1
    return n_rows


def write_vocabulary(target: Path, language: str) -> None:
    with gzip.open(DATA / "vocabularies" / "yso-names.tsv.gz", "rt", encoding="utf-8") as lines:
        columns = next(lines).rstrip("\n").split("\t")
        place = columns.index(language)
        with target.open("w", encoding="utf-8") as table:
            for line in lines:
                cells = line.rstrip("\n").split("\t")
                table.write(f"<{YSO}{cells[0].removeprefix('yso:')}>\t{cells[place] or cells[1]}\n")


class Annif:
    """Annif's command line in a folder of its own."""

    def __init__(self, python: Path, folder: Path, projects: str) -> None:
        self._annif = python.with_name("annif")
        self._environment = {
            **os.environ,
            "ANNIF_CONFIG": "labelwood.annif_backend.Config",
            "ANNIF_PROJECTS": str(folder / projects),  # one project each: Annif loads all that a file names
            "ANNIF_DATADIR": str(folder / "data"),
        }

    def run(self, *words: str, stdin: str = "") -> tuple[str, dict[str, float]]:
        """(what it printed, seconds, CPU seconds and peak MB of the command)."""
        command = [str(self._annif), *words]
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        complaints: list[bytes] = []
        reader = threading.Thread(target=lambda: complaints.append(process.stderr.read()))
        reader.start()
        process.stdin.write(stdin.encode())
        process.stdin.close()
        printed = process.stdout.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        reader.join()
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{b''.join(complaints).decode()}")
        seconds = time.perf_counter() - started
        return printed, {"s": seconds, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}


def figures_of(printed: str) -> dict[str, float]:
    pairs = (line.split(":", 1) for line in printed.splitlines() if ":" in line)
    return {name.strip(): float(value) for name, value in pairs if name.strip() in FIGURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annif", type=Path, required=True, help="the Python of an environment with annif[omikuji]")
    parser.add_argument("--data", choices=LANGUAGES, default="YSO-Finna-en")
    parser.add_argument("--rows", type=int, help="only so many training and test rows")
    parser.add_argument("--only", nargs="+", help="some of the projects")
    parser.add_argument("--threads", default="2")
    asked = parser.parse_args()
    language, snowball = LANGUAGES[asked.data]
    chosen = {name: keys for name, keys in projects(language, snowball).items() if name in (asked.only or [name])}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part in ("train", "test"):
            n_rows = write_corpus(DATA / asked.data / f"{part}_raw.jsonl.gz", folder / f"{part}.tsv", asked.rows)
            print(f"{part}: {n_rows:,} rows", flush=True)
        write_vocabulary(folder / "vocabulary.tsv", language)
        common = f"language={language}\nvocab=yso\n"
        for name, keys in chosen.items():
            (folder / f"{name}.cfg").write_text(f"[{name}]\nname={name}\n{common}" + _lines(keys))
        first = Annif(asked.annif, folder, f"{next(iter(chosen))}.cfg")
        first.run("load-vocab", "--language", language, "yso", str(folder / "vocabulary.tsv"))
        print("| backend | train s | train CPU s | train MB | eval s | eval MB | " + " | ".join(FIGURES) + " |")
        print("|---|" + "---:|" * (5 + len(FIGURES)))
        for name in chosen:
            annif = Annif(asked.annif, folder, f"{name}.cfg")
            _, training = annif.run("train", "-j", asked.threads, name, str(folder / "train.tsv"))
            suggested, _ = annif.run("suggest", name, stdin="A history of film editing")
            printed, evaluation = annif.run("eval", "-j", "1", name, str(folder / "test.tsv"))
            costs = [training["s"], training["cpu"], training["mb"], evaluation["s"], evaluation["mb"]]
            figures = figures_of(printed)
            cells = [f"{cost:,.0f}" for cost in costs] + [f"{100 * figures[figure]:.2f}" for figure in FIGURES]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            best = [line for line in suggested.splitlines() if line.startswith("<")]
            print(f"  suggests {best[:3]}", file=sys.stderr)


def _lines(keys: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in keys.items())


if __name__ == "__main__":
    main()
