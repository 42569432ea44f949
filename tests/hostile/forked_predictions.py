"""The same answers in child processes, after the parent's threads have answered: `python forked_predictions.py WAY`."""

import multiprocessing
import os
import signal
import sys

import numpy as np

import labelwood as lw


def examples():
    random = np.random.default_rng(0)
    x = (random.random((600, 80)) * (random.random((600, 80)) < 0.3)).astype(np.float32)
    return x, random.random((600, 300)) < 0.05


def answers(model):
    """A batch large enough for both threads."""
    top = model.predict(examples()[0], k=5)
    return top.labels.tobytes() + top.scores.tobytes()


def answers_of_saved(folder):
    model = lw.load(folder)
    return answers(model), answers(type(model)(n_threads=2).fit(*examples()))


def plain_fork(folder, model, expected):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs ends by itself
        os._exit(0 if answers(model) == expected and answers_of_saved(folder) == (expected, expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def pool(way):
    def run(folder, model, expected):
        with multiprocessing.get_context(way).Pool(2) as processes:
            for found in processes.map_async(answers_of_saved, [folder] * 4).get(60):
                assert found == (expected, expected)

    return run


WAYS = {"plain_fork": plain_fork, "pool_fork": pool("fork"), "pool_spawn": pool("spawn")}


def main():
    way, folder = sys.argv[1:]
    x, y = examples()
    model = lw.LinearTree(n_threads=2).fit(x, y)
    model.save(folder)
    expected = answers(model)
    WAYS[way](folder, model, expected)
    assert answers(model) == expected
    sys.stdout.write("same\n")


if __name__ == "__main__":
    main()
