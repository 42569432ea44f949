"""Contract: copies of every kind answer alike, in this process, in other processes and in many threads."""

import copy
import io
import multiprocessing
import os
import pickle
import threading

import cloudpickle
import joblib
import numpy as np
import pytest

SECONDS = 60


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def through_cloudpickle(model):
    return cloudpickle.loads(cloudpickle.dumps(model))


def through_joblib(model):
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize(
    "way", [through_pickle, through_cloudpickle, through_joblib, copy.deepcopy, copy.copy], ids=lambda way: way.__name__
)
def test_a_copy_answers_alike(trained, data, same, way):
    other = way(trained)
    assert type(other) is type(trained)
    assert other.get_params() == trained.get_params()
    same(other, trained)
    same(other.predict(data.x, k=20), trained.predict(data.x, k=20))
    assert other.classes_.tolist() == trained.classes_.tolist()


def test_an_untrained_model_can_be_copied_too(make):
    for way in (through_pickle, copy.deepcopy):
        assert way(make()).get_params() == make().get_params()


def test_training_a_copy_leaves_the_first_alone(trained, data, same):
    before = trained.predict(data.x)
    other = copy.deepcopy(trained)
    other.set_params(seed=99).fit(data.x[:40], data.y[:40])
    same(trained.predict(data.x), before)


def answer(model, x, connection):
    top = model.predict(x, k=3)
    connection.send((top.labels, top.scores))
    connection.close()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(trained, data, method, same):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    trained.predict(data.x)  # threads have run before the fork
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=answer, args=(trained, data.x, theirs))
    child.start()
    theirs.close()
    try:
        assert ours.poll(SECONDS), f"the child gave no answer within {SECONDS} s"
        labels, scores = ours.recv()
    finally:
        child.join(5)
        if child.is_alive():
            child.kill()
    assert child.exitcode == 0
    top = trained.predict(data.x, k=3)
    np.testing.assert_array_equal(labels, top.labels)
    np.testing.assert_array_equal(scores, top.scores)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_after_a_batch_with_threads(trained, data):
    """The child of a process whose threads have worked answers with threads of its own."""
    many = copy.copy(trained)
    many.n_threads = 2
    rows = data.x[np.arange(400) % data.x.shape[0]]
    wanted = many.predict(rows, k=3).labels
    child = multiprocessing.get_context("fork").Process(target=check, args=(many, rows, wanted))
    child.start()
    child.join(SECONDS)
    hangs = child.is_alive()
    if hangs:
        child.kill()
    assert not hangs
    assert child.exitcode == 0


def check(model, rows, wanted):
    os._exit(0 if np.array_equal(model.predict(rows, k=3).labels, wanted) else 3)


def test_eight_threads_at_once(trained, data, same):
    wanted = trained.predict(data.x, k=4)
    answers, errors = [None] * 8, []

    def ask(place):
        try:
            for _ in range(5):
                answers[place] = trained.predict(data.x, k=4)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not errors
    for top in answers:
        same(top, wanted)
