"""Contract: whatever stops a fit, a trained model is as it was, to the bit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labelwood.errors import LabelwoodError
from labelwood.progress import Callback

HERE = Path(__file__).parent


class StoppedError(Exception):
    """What a callback raises."""


def steps_of(model, data):
    """How often a fit reports."""
    calls = []
    model.fit(data.x[:60], data.y[:60], progress=Callback(lambda *step: calls.append(step)))
    return len(calls)


def stopped_at(place, error):
    """A progress that raises at its report number `place`."""
    seen = []

    def step(*args):
        seen.append(args)
        if len(seen) == place + 1:
            raise error

    return Callback(step)


@pytest.mark.parametrize(
    "error", [StoppedError("callback"), KeyboardInterrupt(), MemoryError()], ids=lambda e: type(e).__name__
)
def test_a_fit_that_fails_at_any_step_changes_nothing(make, data, same, error):
    model = make().fit(data.x, data.y)
    state, before = model.fitted_, model.predict(data.x, k=6)
    parameters = model.get_params()
    n_steps = steps_of(make(), data)
    # Every step of the short ones; of the long ones the first, the last and some between.
    places = range(n_steps) if n_steps <= 12 else sorted({0, 1, n_steps // 3, n_steps // 2, n_steps - 2, n_steps - 1})
    for place in places:
        with pytest.raises(type(error)):
            model.fit(data.x[:60], data.y[:60], progress=stopped_at(place, error))
        assert model.fitted_ is state
        assert model.get_params() == parameters
    same(model.predict(data.x, k=6), before)


def test_a_fit_with_bad_input_changes_nothing(make, data, same):
    model = make().fit(data.x, data.y)
    state = model.fitted_
    for x, y in ((data.x[:5], data.y), (data.x, None), ("text", data.y)):
        with pytest.raises(LabelwoodError):
            model.fit(x, y)
    model.set_params(seed=-1)
    with pytest.raises(LabelwoodError):
        model.fit(data.x, data.y)
    assert model.fitted_ is state


INTERRUPTED = """
import sys, time
import numpy as np
sys.path.insert(0, {here!r})
import conftest
from labelwood.models.registry import model_class

name, settings = conftest.CONFIGURATIONS[{configuration!r}]
x, y = conftest.problem()
model = model_class(name)(**{{"n_threads": 2, **settings}}).fit(x, y)
before = model.predict(x, k=5)
many = np.arange(200_000) % x.shape[0]
rows, labels = x[many], y[many]
print("ready", flush=True)
try:
    while True:
        {work}
except KeyboardInterrupt:
    print("stopped", time.time(), flush=True)
def same(one, other):
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)

after = model.predict(x, k=5)
# A quick fit may have ended before the signal came: then the model is wholly the new one.
assert same(after, before) or same(after, model.fit(rows, labels).predict(x, k=5))
print("same", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("work", ["model.fit(rows, labels)", "model.predict(rows, k=5)"], ids=["fit", "predict"])
def test_ctrl_c(configuration, work):
    """A signal in the middle of real work ends it soon, and the model answers as before."""
    code = INTERRUPTED.format(here=str(HERE), configuration=configuration, work=work)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline().strip() == "ready", child.stderr.read()
        time.sleep(0.7)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        stopped = child.stdout.readline().split()
        # Not communicate: it would miss what readline has read ahead.
        rest, errors = child.stdout.read(), child.stderr.read()
    assert stopped[:1] == ["stopped"], errors
    assert rest.strip() == "same", errors
    # 0.3 s is promised on a machine of one's own; this one may be shared by other tests.
    assert float(stopped[1]) - sent < 3.0
