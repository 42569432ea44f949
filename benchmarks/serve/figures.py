"""All figures of the service on this machine: speed from a second process, faults, attacks and overload.

    python benchmarks/serve/figures.py [--seconds 30] [--only speed faults attacks]

speed: EURLEX57K, a linear tree, test texts of 2,000 characters, wrk on the same machine (1, 64 and 640 connections).
faults: kill -9 while learning, damaged folders, SIGTERM, random requests. attacks: raw sockets and overload. The last
two run the slow tests of tests/server and print what they counted. speed needs a quiet machine; the load is told.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("LABELWOOD_DATA", ROOT.parent / "shared" / "data"))
CACHE = Path(os.environ.get("LABELWOOD_BENCH_CACHE", Path.home() / ".cache" / "labelwood-bench"))
CHARACTERS = 2_000
CONNECTIONS = (1, 64, 640)
FAULTS = ("test_process.py", "test_reload.py", "test_openapi.py")
ATTACKS = ("test_attacks.py",)
# wrk asks with one of these texts after the other.
SCRIPT = """
bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
place = 0
request = function()
  place = place %% #bodies + 1
  return wrk.format("POST", "/v1/predict", {["Content-Type"] = "application/json"}, bodies[place])
end
"""


def model() -> Path:
    folder = CACHE / "serve-EURLEX57K-linear-tree"
    if not folder.exists():
        import labelwood as lw

        CACHE.mkdir(parents=True, exist_ok=True)
        data = lw.read(DATA / "EURLEX57K" / "train_raw.jsonl.gz")
        lw.Tagger("linear-tree", keep_rows=False).fit(data).save(folder)
    return folder


def texts() -> list[str]:
    with gzip.open(DATA / "EURLEX57K" / "test_raw.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line)["text"][:CHARACTERS] for line in lines]
    return [row for row in rows if len(row) == CHARACTERS][:1_000]


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def milliseconds(text: str) -> float:
    value, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def speed(seconds: int) -> None:
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: --only faults attacks")
    command = [sys.executable, "-m", "labelwood", "serve", str(model()), "--port", "0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        port = service.stderr.readline().split("http://127.0.0.1:")[1].split()[0]
        with tempfile.TemporaryDirectory() as place:
            bodies = Path(place) / "bodies.jsonl"
            bodies.write_text("".join(json.dumps({"texts": [text], "k": 5}) + "\n" for text in texts()))
            script = Path(place) / "predict.lua"
            script.write_text(SCRIPT % bodies)
            _wrk(port, 64, 3, script)  # the first requests map the model's pages
            print("| connections | requests/s | p50 ms | p99 ms | not 2xx | socket errors | MB | load average |")
            print("|---:|---:|---:|---:|---:|---:|---:|---:|")
            for connections in CONNECTIONS:
                printed = _wrk(port, connections, seconds, script)
                shares = dict(re.findall(r"(\d+)%\s+([\d.]+(?:us|ms|s))", printed))
                rate = float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])
                refused = re.search(r"Non-2xx or 3xx responses: (\d+)", printed)
                errors = re.search(r"Socket errors: (.*)", printed)
                cells = [
                    f"{connections}",
                    f"{rate:,.0f}",
                    f"{milliseconds(shares['50']):.2f}",
                    f"{milliseconds(shares['99']):.2f}",
                    refused[1] if refused else "0",
                    errors[1] if errors else "0",
                    f"{resident(service.pid):.0f}",
                    f"{os.getloadavg()[0]:.1f}",
                ]
                print("| " + " | ".join(cells) + " |", flush=True)
            _overload(port, service.pid, seconds)
    finally:
        service.terminate()
        service.wait(60)


def _wrk(port: str, connections: int, seconds: int, script: Path) -> str:
    words = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), f"http://127.0.0.1:{port}"]
    return subprocess.run(["wrk", *words], capture_output=True, text=True, check=True).stdout


def _overload(port: str, pid: int, seconds: int) -> None:
    """Ten times as many rows as may wait: 640 connections with 16 texts each."""
    words = [sys.executable, str(Path(__file__).with_name("load.py")), "127.0.0.1", port]
    words += ["--connections", "640", "--rows", "16", "--characters", str(CHARACTERS), "--seconds"]
    subprocess.run([*words, "5"], capture_output=True, check=True)
    before = resident(pid)
    figures = json.loads(subprocess.run([*words, str(seconds)], capture_output=True, check=True).stdout)
    after = resident(pid)
    print(f"overload, 640 connections of 16 texts: {figures}; memory {before:.0f} -> {after:.0f} MB")


def slow_tests(files: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.xml"
        words = ["-q", "-m", "slow", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        started = time.monotonic()
        paths = [str(ROOT / "tests" / "server" / file) for file in files]
        command = [sys.executable, "-m", "pytest", *words, *paths]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            failed = case.find("failure") is not None or case.find("error") is not None
            for figure in case.iter("property"):
                print(f"- {'FAILED ' if failed else ''}{figure.attrib['value']}")
        print(f"{done.stdout.strip().splitlines()[-1]} (load average {os.getloadavg()[0]:.1f})")
        if done.returncode != 0:
            print(done.stdout)
        print(f"{time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--only", nargs="+", choices=("speed", "faults", "attacks"))
    asked = parser.parse_args()
    chosen = asked.only or ("speed", "faults", "attacks")
    if "speed" in chosen:
        speed(asked.seconds)
    if "faults" in chosen:
        slow_tests(FAULTS)
    if "attacks" in chosen:
        slow_tests(ATTACKS)


if __name__ == "__main__":
    main()
