"""The files of deploy/: they parse, name what exists, and start the service as it can be started.

hadolint and systemd-analyze look at them, too, where they are installed.
"""

import configparser
import http.server
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labelwood.cli.main import run

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def instructions():
    """(instruction, rest) of every line of the Dockerfile, continued lines joined."""
    lines = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


@pytest.fixture
def options(capsys):
    """The options that `labelwood serve` takes."""
    run(["serve", "--help"])
    return set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


def options_in(words):
    return {word for word in words if word.startswith("--")}


def test_the_dockerfile(options):
    words = [word for word, _ in instructions()]
    starts = [place for place, word in enumerate(words) if word == "FROM"]
    assert len(starts) == 2, "one stage compiles, another one runs"
    last = dict(instructions()[starts[1] :])
    assert last["USER"].isdigit()
    assert int(last["USER"]) > 0, "not root"
    assert "/readyz" in last["HEALTHCHECK"]
    port = re.search(r":(\d+)/readyz", last["HEALTHCHECK"])[1]
    entry = json.loads(last["ENTRYPOINT"])
    assert entry[:2] == ["labelwood", "serve"]
    assert entry[entry.index("--port") + 1] == port == last["EXPOSE"]
    assert options_in(entry) <= options
    assert "g++" not in str(instructions()[starts[1] :])
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for word, rest in instructions()[: starts[1]]:
        for source in shlex.split(rest)[:-1] if word == "COPY" else []:
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored, "the build would not see it"


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check(status, code):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    python, flag, program = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD")[2])
    assert (python, flag) == ("python", "-c")
    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        asking = [sys.executable, flag, program.replace("8000", str(server.server_port))]
        assert subprocess.run(asking, capture_output=True, timeout=30).returncode == code
        thread.join()


def test_hadolint():
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, str(DEPLOY / "Dockerfile")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_compose(options):
    yaml = pytest.importorskip("yaml")
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = composed["services"]["labelwood"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert options_in(service["command"]) <= options
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert set(service["secrets"]) == set(composed["secrets"])


def test_systemd(options):
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "labelwood.service")
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[1] == "serve"
    assert options_in(command) <= options
    assert unit["Service"]["DynamicUser"] == "yes"
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed: only parsed")
    done = subprocess.run(
        [analyze, "verify", str(DEPLOY / "labelwood.service")], capture_output=True, text=True, timeout=60
    )
    complaints = [line for line in done.stderr.splitlines() if "labelwood.service" in line]
    assert [line for line in complaints if "is not executable" not in line] == [], "the program is not installed there"


def test_the_page_names_the_files():
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    for path in DEPLOY.iterdir():
        assert path.name in page
