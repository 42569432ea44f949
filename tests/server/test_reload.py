"""A new model takes the place of the old one whole, or not at all, while requests go on."""

import shutil
import threading
import time

import pytest

import labelwood as lw

TEXTS = ["red rose", "blue sky", "green leaf"]


def save(folder, names):
    lw.Tagger(n_threads=1).fit(TEXTS, [[name] for name in names]).save(folder)


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "colours", ["old red", "old blue", "old green"])
    return tmp_path / "colours"


def spoil(folder):
    """Put a damaged copy in the folder's place."""
    copy = shutil.copytree(folder, folder.with_name("spoilt"))
    raw = bytearray((copy / "arrays.safetensors").read_bytes())
    raw[-3] ^= 4
    (copy / "arrays.safetensors").write_bytes(raw)
    folder.rename(folder.with_name(f"away-{time.monotonic_ns()}"))
    copy.rename(folder)


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_new_folder_is_taken_and_a_damaged_one_refused(start, folder, write_tokens, writer):
    service = start({"colours": folder}, tokens=write_tokens, watch_seconds=0)
    assert service.predict(texts=["red rose"], k=1)[0][0]["name"] == "old red"
    save(folder, ["new red", "new blue", "new green"])
    assert service.predict(texts=["red rose"], k=1)[0][0]["name"] == "old red"
    assert service.json("POST", "/v1/reload", {})[0] == 401
    status, answer = service.json("POST", "/v1/reload", {}, headers=writer)
    assert (status, list(answer["reloaded"])) == (200, ["colours"])
    assert service.predict(texts=["red rose"], k=1)[0][0]["name"] == "new red"
    assert service.json("GET", "/v1/labels?q=old")[1]["labels"] == []
    spoil(folder)
    status, problem = service.json("POST", "/v1/reload", {"model": "colours"}, headers=writer)
    assert status == 422
    assert "the old model stays" in problem["detail"]
    assert str(folder) not in problem["detail"]
    assert service.predict(texts=["red rose"], k=1)[0][0]["name"] == "new red"
    assert service.json("POST", "/v1/reload", {"model": "none"}, headers=writer)[0] == 404


def test_the_folder_is_watched_and_no_request_fails(start, folder):
    service = start({"colours": folder}, watch_seconds=0.05)
    failures, ended = [], threading.Event()

    def ask():
        while not ended.is_set():
            status, answer = service.json("POST", "/v1/predict", {"texts": TEXTS, "k": 3})
            names = {label["name"].split()[0] for row in answer.get("results", []) for label in row["labels"]}
            if status != 200 or len(names) != 1:  # labels of one model only, never of two
                failures.append((status, answer))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(3):
        save(folder, [f"v{turn} {colour}" for colour in ("red", "blue", "green")])
        until(lambda: service.predict(texts=["red rose"], k=1)[0][0]["name"] == f"v{turn} red")  # noqa: B023
        refused = b"labelwood_refused_reloads_total %d" % (turn + 1)
        spoil(folder)
        until(lambda: refused in service.ask("GET", "/metrics")[2])  # noqa: B023
        time.sleep(0.15)  # a refused folder is not tried again and again
        assert refused in service.ask("GET", "/metrics")[2]
    ended.set()
    for thread in threads:
        thread.join()
    assert failures == []
