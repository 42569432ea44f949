"""Other packages in a comparison: which of them this machine has, and rows in the form they take."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from labelwood.features.tfidf import TfidfVectorizer
from labelwood.report.compare_data import Parts, store

# name -> the module that must be importable, here or elsewhere: no dependency of ours
PEERS: Mapping[str, str] = {
    "pecos": "pecos",
    "omikuji": "omikuji",
    "napkinxc": "napkinxc",
    "fasttext": "fasttext",
}
NEEDS_TEXTS = ("fasttext",)
SCRIPT = Path(__file__).with_name("peer_run.py")


def installed_peers() -> dict[str, str]:
    """Peer -> the Python that has it: this one, or an environment made by benchmarks/peers/environments.py."""
    found = {}
    for name, module in PEERS.items():
        python = _environment(name)
        if find_spec(module) is not None:
            found[name] = sys.executable
        elif (python.parents[1] / "installed.txt").is_file() and python.is_file():
            found[name] = str(python)
    return found


def why_not(name: str, parts: Parts, pythons: Mapping[str, str]) -> str:
    """Why a peer cannot join the comparison; empty if it can."""
    if name not in pythons:
        return (
            f"not installed: neither here nor in {_environment(name).parents[1]}; "
            f"`python benchmarks/peers/environments.py {name}` makes that"
        )
    if name in NEEDS_TEXTS and parts.train.texts is None:
        return "it reads texts, and these rows have none"
    return ""


def store_features(parts: Parts, data: Path, n_threads: int | None) -> Path:
    """The folder of rows for peers: `data` itself, or where rows are texts, one with features beside the texts.

    The features are the words' tf-idf values, as labelwood's models have them by default.
    """
    if parts.train.x is not None:
        return data
    folder = data.with_name(f"{data.name}-peers")
    if not (folder / "test" / "strings.json").is_file():  # written last
        vectorizer = TfidfVectorizer(n_threads=n_threads)
        x = vectorizer.fit_transform(parts.train.texts or ())
        store(replace(parts.train, x=x, feature_names=None), folder / "train")
        x = vectorizer.transform(parts.test.texts or ())
        store(replace(parts.test, x=x, feature_names=None), folder / "test")
    return folder


def _environment(name: str) -> Path:
    """The Python of a peer's environment, whether it is there or not."""
    cache = Path(os.environ.get("LABELWOOD_BENCH_CACHE", Path.home() / ".cache" / "labelwood-bench"))
    return cache / "environments" / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
