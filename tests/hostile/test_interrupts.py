"""Ctrl-C in the middle of a native call: KeyboardInterrupt soon, and the process works on."""

import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CALLS = Path(__file__).with_name("interrupted_calls.py")
CASES = tuple(runpy.run_path(str(CALLS))["CASES"])
# Seconds from the signal to the exception: 0.1 on a quiet machine (0.3 is promised), more if others use the processors.
MOST_SECONDS = 1.0
# One attempt may meet a moment when others have the processors; a call that never looks for Ctrl-C fails in all.
ATTEMPTS = 3


def seconds_to_stop(case):
    with subprocess.Popen([sys.executable, CALLS, case], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "begin\n"
            time.sleep(0.25)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            said, rest = child.stdout.readline().strip(), child.stdout.read()
        finally:
            child.kill()
    assert rest == "works\n"
    return float(said) - sent


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole group of processes")
@pytest.mark.parametrize("case", CASES)
def test_a_native_call_stops_at_ctrl_c(case, record_property):
    attempts = []
    while not attempts or (attempts[-1] >= MOST_SECONDS and len(attempts) < ATTEMPTS):
        attempts.append(seconds_to_stop(case))
    record_property("seconds", attempts)
    assert min(attempts) < MOST_SECONDS, attempts
