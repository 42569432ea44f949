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


def damage(folder, turn):
    """Put a copy in the folder's place that is damaged in one of several ways."""
    copy = shutil.copytree(folder, folder.with_name(f"damaged-{turn}"))
    arrays, manifest = copy / "arrays.safetensors", copy / "manifest.json"
    raw = arrays.read_bytes()
    if turn % 5 == 0:  # one bit
        place = len(raw) - 1 - turn % (len(raw) // 2)
        arrays.write_bytes(raw[:place] + bytes([raw[place] ^ 1 << turn % 8]) + raw[place + 1 :])
    elif turn % 5 == 1:
        arrays.write_bytes(raw[: len(raw) * (turn % 90) // 100])
    elif turn % 5 == 2:
        manifest.write_text("{" * (turn + 1))
    elif turn % 5 == 3:
        arrays.unlink()
    else:
        manifest.unlink()
    folder.rename(folder.with_name(f"before-{turn}"))
    copy.rename(folder)


@pytest.mark.parametrize("runs", [5, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_damaged_folders_are_refused_under_load(start, folder, write_tokens, writer, runs, record_property):
    service = start({"colours": folder}, tokens=write_tokens, watch_seconds=0.05)
    good = shutil.copytree(folder, folder.with_name("good"))
    version = service.json("GET", "/v1/model")[1]["version"]
    failures, answered, ended = [], [0], threading.Event()

    def ask():
        while not ended.is_set():
            status, answer = service.json("POST", "/v1/predict", {"texts": TEXTS, "k": 3})
            answered[0] += 1
            if status != 200:
                failures.append((status, answer))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(runs):
        damage(folder, turn)
        assert service.json("POST", "/v1/reload", {}, headers=writer)[0] == 422
        assert service.json("GET", "/v1/model")[1]["version"] == version
        shutil.rmtree(folder)
        shutil.copytree(good, folder)
        shutil.rmtree(folder.with_name(f"before-{turn}"))
    ended.set()
    for thread in threads:
        thread.join()
    record_property(
        "figure", f"damaged folders: {runs} refused, {answered[0]:,} requests beside them, {len(failures)} failed"
    )
    assert failures == []
    assert answered[0] > runs


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
