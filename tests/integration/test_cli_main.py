"""The command itself: help, version, exit codes, and what happens when things go wrong."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import labelwood
from labelwood.cli import main

COMMAND = [sys.executable, "-m", "labelwood"]
COMMANDS = [
    "demo",
    "train",
    "predict",
    "evaluate",
    "compare",
    "reproduce",
    "shrink",
    "explain",
    "inspect",
    "models",
    "serve",
    "data",
]


def test_version(cli):
    done = cli("--version")
    assert (done.code, done.out) == (0, f"labelwood {labelwood.__version__}\n")


def test_help_names_every_command(cli):
    done = cli("--help")
    assert done.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in done.out
    assert "..." not in done.out.partition("Commands:")[2], "first lines of commands fit into the list"


@pytest.mark.parametrize("command", [*COMMANDS, "data info", "data convert", "data split", "data synth"])
def test_every_command_has_help(cli, command):
    done = cli(*command.split(), "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: labelwood {command} ")


@pytest.mark.parametrize("arguments", [[], ["data"]])
def test_nothing_to_do_shows_help_and_fails(cli, arguments):
    done = cli(*arguments)
    assert done.code == 2
    assert done.err.startswith("Usage: labelwood")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["trian"], "No such command 'trian'"),
        (["train"], "Missing argument 'DATA'"),
        (["train", "x.jsonl"], "Missing option '--out'"),
        (["train", "x.jsonl", "--out", "m", "extra"], "extra"),
        (["predict", "m", "x", "-k", "many"], "'-k'"),
        (["data", "infos"], "No such command 'infos'"),
    ],
)
def test_wrong_usage_is_one_line_and_code_two(cli, arguments, part):
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("labelwood: ")
    assert part in done.err
    assert "--help" in done.err


def test_models_are_listed_with_their_parameters(cli):
    assert "popular" in cli("models").out
    assert set(json.loads(cli("models", "--json").out)) >= {"popular"}
    assert "seed" in cli("models", "popular").out
    keys = {"name", "default", "allowed", "help", "presets"}
    assert keys == set(json.loads(cli("models", "popular", "--json").out)[0])
    assert "parabel" in cli("models", "linear-tree").out
    (leaf,) = [row for row in json.loads(cli("models", "linear-tree", "--json").out) if row["name"] == "max_leaf"]
    assert leaf["presets"] == {"paper": "100", "parabel": "100"}
    done = cli("models", "populr")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'popular'" in done.err


def test_surprises_are_one_line_with_a_hint(cli, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("labelwood.models.registry.model_names", broken)
    monkeypatch.delenv("LABELWOOD_TRACEBACK", raising=False)
    done = cli("models")
    assert done.code == 1
    assert done.err == (
        "labelwood: unexpected RuntimeError: first line second line (set LABELWOOD_TRACEBACK=1 to see where)\n"
    )
    monkeypatch.setenv("LABELWOOD_TRACEBACK", "1")
    assert "Traceback" in cli("models").err


def test_an_interrupt_is_code_130(cli, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("labelwood.models.registry.model_names", interrupted)
    assert cli("models").code == 130


def test_main_ends_the_process_with_the_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["labelwood", "trian"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2


def test_the_installed_command_fails_in_one_line(tmp_path):
    done = subprocess.run(
        [*COMMAND, "train", "absent.txt", "--out", "m"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "labelwood: absent.txt: no such file\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently on Windows")
def test_a_reader_that_goes_away_is_no_error(tagger, tmp_path):
    (tmp_path / "many.csv").write_text("text\n" + "cold juice\n" * 20000)
    quoted = f"'{sys.executable}' -m labelwood predict '{tagger}' '{tmp_path / 'many.csv'}' -k 3 --quiet | head -n 1"
    done = subprocess.run(["sh", "-c", quoted], capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["labels"]
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupted_training_leaves_nothing(tmp_path):
    """SIGINT while the command waits for its data: exit code 130 (or the signal), one line at most, no folder."""
    fifo = tmp_path / "rows.jsonl"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*COMMAND, "train", str(fifo), "--out", str(tmp_path / "m")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with fifo.open("w"):  # returns when the command has opened the other end, and so is running
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not (tmp_path / "m").exists()


def test_completion_script_is_offered(tmp_path):
    environment = {
        **os.environ,
        "_LABELWOOD_COMPLETE": "complete_bash",
        "COMP_WORDS": "labelwood tr",
        "COMP_CWORD": "1",
    }
    code = "import sys; from labelwood.cli.main import run; sys.exit(run([]))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["train"]
