"""Annif's own command line with labelwood as a backend: load-vocab, train, suggest, eval, learn.

Annif needs other versions of some packages than the tests do, so it may have an environment of its own, which
LABELWOOD_ANNIF_PYTHON names (its Python has annif and labelwood's dependencies).
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ANNIF_PYTHON = os.environ.get("LABELWOOD_ANNIF_PYTHON", sys.executable if importlib.util.find_spec("annif") else "")
SOURCE = Path(__file__).parents[2] / "src"
pytestmark = pytest.mark.skipif(not ANNIF_PYTHON, reason="Annif is not installed; LABELWOOD_ANNIF_PYTHON may name it")

ROWS = [
    ("cream cake and pie", "cake"),
    ("cold orange juice", "juice"),
    ("sweet cream cake", "cake"),
    ("hot apple juice", "juice"),
    ("soup of leek", "soup"),
    ("leek soup with cream", "soup"),
]


def corpus(path, rows):
    path.write_text("".join(f"{text}\t<http://example.org/{name}>\n" for text, name in rows))
    return path


@pytest.fixture
def annif(tmp_path):
    """Call a command in a folder with one project; gives what it printed."""
    project = "name=dishes\nlanguage=en\nbackend=labelwood\nvocab=dishes\nallow_learn=True\nlang=en\n"
    (tmp_path / "projects.cfg").write_text(f"[dishes]\n{project}model=one-vs-all\nmodel__C=2.0\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "ANNIF_CONFIG": "labelwood.annif_backend.Config",
        "ANNIF_PROJECTS": str(tmp_path / "projects.cfg"),
        "ANNIF_DATADIR": str(tmp_path / "data"),
    }

    def call(*words, stdin="", code=0):
        command = [ANNIF_PYTHON, "-c", "from annif.cli import cli; cli()", *map(str, words)]
        done = subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    names = [f"<http://example.org/{name}>\t{name}s\n" for name in ("cake", "juice", "soup", "tea")]
    (tmp_path / "vocabulary.tsv").write_text("".join(names))
    call("load-vocab", "--language", "en", "dishes", tmp_path / "vocabulary.tsv")
    return call


def test_annifs_commands(annif, tmp_path):
    train = corpus(tmp_path / "train.tsv", ROWS * 3)
    assert "not trained" in annif("suggest", "dishes", stdin="leek soup", code=1)
    annif("train", "dishes", train)
    manifest = tmp_path / "data" / "projects" / "dishes" / "labelwood-model" / "manifest.json"
    assert '"C": 2.0' in manifest.read_text()
    suggested = annif("suggest", "--limit", 2, "dishes", stdin="leek soups").splitlines()
    assert suggested[0].split("\t")[:2] == ["<http://example.org/soup>", "soups"]
    assert len(suggested) == 2
    assert "http" not in annif("suggest", "dishes", stdin="zzz"), "nothing is suggested for unknown words"
    figures = dict(line.split(":") for line in annif("eval", "dishes", train).splitlines() if line.startswith("NDCG"))
    assert float(figures["NDCG"]) == pytest.approx(1.0)
    annif("learn", "dishes", corpus(tmp_path / "more.tsv", [("green tea leaves", "tea")]))
    assert "tea>" in annif("suggest", "dishes", stdin="tea leaves").splitlines()[0]


def test_what_cannot_be_done_is_told(annif, tmp_path):
    assert "no documents" in annif("train", "dishes", corpus(tmp_path / "empty.tsv", []), code=1)
    wrong = corpus(tmp_path / "train.tsv", ROWS)
    told = annif("train", "--backend-param", "labelwood.model=none", "dishes", wrong, code=1)
    assert "none" in told
    assert "Traceback" not in told
