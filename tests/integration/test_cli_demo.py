"""The demo: a metrics table, five examples with reasons, a saved model, and commands that work."""

import json
import shlex
import socket
import subprocess
import sys
import urllib.request

import labelwood


def test_demo_shows_everything_and_its_commands_work(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("demo", "--small", "--quiet")
    assert done.code == 0, done.err
    assert done.err == ""
    for word in ("one-vs-all", "popular", "P@1", "nDCG@5", "PSP@5"):
        assert word in done.out
    assert done.out.count("true tags: ") == 5
    assert done.out.count("because of: ") >= 5
    metrics = {
        row.split()[0]: row.split()[1:]
        for row in done.out.splitlines()
        if row.split()[:1] in (["one-vs-all"], ["popular"])
    }
    assert float(metrics["one-vs-all"][0]) > 2 * float(metrics["popular"][0])
    assert isinstance(labelwood.load("labelwood-demo/model"), labelwood.Tagger)
    commands = [shlex.split(line) for line in done.out.partition("Go on with:")[2].strip().splitlines()]
    assert [command[1] for command in commands] == ["predict", "evaluate", "explain", "inspect", "serve"]
    for command in commands[:-1]:
        again = cli(*command[1:])
        assert again.code == 0, again.err
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 240


def test_demo_can_be_repeated_but_replaces_nothing_else(cli, tmp_path):
    assert cli("demo", "--small", "--quiet", "--out", tmp_path / "demo").code == 0
    first = (tmp_path / "demo" / "test.jsonl").read_bytes()
    assert cli("demo", "--small", "--quiet", "--out", tmp_path / "demo").code == 0
    assert (tmp_path / "demo" / "test.jsonl").read_bytes() == first
    (tmp_path / "demo" / "mine.txt").write_text("x")
    done = cli("demo", "--small", "--quiet", "--out", tmp_path / "demo")
    assert done.code == 2
    assert "mine.txt" in done.err
    (tmp_path / "file").write_text("x")
    assert cli("demo", "--small", "--quiet", "--out", tmp_path / "file").code == 2


def test_serve_answers_over_http(tagger):
    command = [sys.executable, "-m", "labelwood", "serve", str(tagger), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = process.stderr.readline()
        address = said.split(" on ")[1].split(" ")[0]
        body = json.dumps({"texts": ["cream cake"], "k": 1}).encode()
        with urllib.request.urlopen(urllib.request.Request(address + "/v1/predict", data=body), timeout=30) as answer:
            assert json.load(answer)["results"][0]["labels"][0]["name"] == "dessert"
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stderr.close()


def test_serve_refuses_a_port_in_use(cli, tagger):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli("serve", tagger, "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "cannot listen" in done.err
