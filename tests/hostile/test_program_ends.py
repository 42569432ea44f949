"""The end of a program is quiet, whatever still holds a model."""

import subprocess
import sys

PROGRAM = """
import threading, time
import labelwood as lw
from labelwood.data.madeup.synthetic import make_sparse_pair

train, test = make_sparse_pair(200, 20, n_features=300, n_labels=20)
answered = threading.Event()

def answer():
    model = lw.LinearTree(n_threads=1).fit(train.x, train.y)
    model.predict(test.x, k=5)
    answered.set()
    time.sleep(100)

threading.Thread(target=answer, daemon=True).start()
answered.wait()
"""


def test_a_daemon_thread_that_holds_a_model_at_the_end():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
