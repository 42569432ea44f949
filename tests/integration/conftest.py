"""The command line, run in this process: quick, and with the same translation of errors as the installed command."""

import json
from types import SimpleNamespace

import pytest

from labelwood.cli.main import run

ROWS = [
    ("apple pie with cinnamon", ["apple", "dessert"]),
    ("apple juice, cold and fresh", ["apple", "drink"]),
    ("chocolate cake with cream", ["dessert"]),
    ("orange juice without ice", ["drink"]),
    ("apple cake and cream", ["apple", "dessert"]),
    ("orange cake", ["dessert"]),
]


@pytest.fixture
def cli(capfd):
    """Runs one command: cli("train", ...) -> code, out, err."""

    def call(*arguments):
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def jsonl(tmp_path):
    """A small file of texts with tags."""
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({"id": f"r{i}", "text": text, "labels": names}) for i, (text, names) in enumerate(ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def xmc(tmp_path):
    """A small file of features with label numbers."""
    path = tmp_path / "rows.txt"
    path.write_text("4 5 3\n0,1 0:1 1:1\n1 1:1 2:0.5\n2 3:1\n0 0:2 4:1\n")
    return path


@pytest.fixture
def tagger(cli, jsonl, tmp_path):
    """The folder of a tagger trained on `jsonl`."""
    folder = tmp_path / "tagger"
    assert cli("train", jsonl, "--out", folder, "--threads", 1).code == 0
    return folder


@pytest.fixture
def model(cli, xmc, tmp_path):
    """The folder of a model trained on `xmc`."""
    folder = tmp_path / "model"
    assert cli("train", xmc, "--out", folder, "--threads", 1).code == 0
    return folder
