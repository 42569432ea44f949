"""save_folder and load_folder: what goes in comes out, whole, mapped, and the same bytes every time."""

import json
import os
import stat
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from labelwood.errors import ModelFileError
from labelwood.storage import swap
from labelwood.storage.format import DTYPES
from labelwood.storage.load import load_folder, read_manifest
from labelwood.storage.save import save_folder

FIELDS = {"kind": "model", "name": "popular", "facts": {"depth": 3, "words": ["a", "ü"]}, "seed": 7}


def some_arrays():
    rng = np.random.default_rng(0)
    arrays = {f"a_{name}": rng.integers(0, 2, (3, 5)).astype(name) for name in DTYPES}
    arrays |= {
        "odd-bytes": np.arange(7, dtype=np.uint8),
        "halves": np.arange(3, dtype=np.float16),
        "empty": np.zeros((0, 4), np.float32),
        "scalar": np.array(2.5),
        "special": np.array([np.nan, np.inf, -0.0], np.float32),
    }
    return arrays


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("verify", [False, True])
def test_round_trip_of_every_dtype(tmp_path, verify):
    save_folder(tmp_path / "m", FIELDS, some_arrays())
    manifest, arrays = load_folder(tmp_path / "m", verify=verify)
    assert_same(arrays, some_arrays())
    assert manifest["facts"] == FIELDS["facts"]
    assert manifest["seed"] == 7
    assert manifest["extra"] == {}
    assert read_manifest(tmp_path / "m") == manifest


def test_arrays_are_read_only_views_of_the_mapped_file(tmp_path):
    save_folder(tmp_path / "m", FIELDS, some_arrays())
    _, arrays = load_folder(tmp_path / "m")
    for name, array in arrays.items():
        assert not array.flags.writeable, name
        assert array.flags.aligned, name
        assert array.flags.c_contiguous, name
        if array.size:
            assert not array.flags.owndata, name
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    big = np.arange(5_000_000, dtype=np.float64)
    save_folder(tmp_path / "big", FIELDS, {"big": big})
    loaded = load_folder(tmp_path / "big")[1]["big"]
    assert loaded.__array_interface__["data"][0] % 64 == 0
    np.testing.assert_array_equal(loaded, big)


def test_the_arrays_file_is_ordinary_safetensors(tmp_path):
    save_folder(tmp_path / "m", FIELDS, some_arrays())
    assert_same(load_file(tmp_path / "m" / "arrays.safetensors"), some_arrays())


def test_arrays_in_any_memory_order_and_byte_order(tmp_path):
    base = np.arange(12, dtype=np.int32).reshape(3, 4)
    save_folder(
        tmp_path / "m",
        FIELDS,
        {"f": np.asfortranarray(base), "t": base.T, "b": base.astype(">i4"), "s": base[:, ::2]},
    )
    _, arrays = load_folder(tmp_path / "m", verify=True)
    assert_same(arrays, {"f": base, "t": base.T.copy(), "b": base, "s": base[:, ::2].copy()})


def test_no_arrays_at_all(tmp_path):
    save_folder(tmp_path / "m", FIELDS, {})
    assert load_folder(tmp_path / "m", verify=True)[1] == {}


def test_same_content_same_bytes(tmp_path, monkeypatch):
    def bytes_of(name):
        return [(tmp_path / name / file).read_bytes() for file in ("manifest.json", "arrays.safetensors")]

    arrays = some_arrays()
    save_folder(tmp_path / "a", FIELDS, arrays, timestamp=False)
    save_folder(tmp_path / "b", FIELDS, dict(reversed(arrays.items())), timestamp=False)
    assert bytes_of("a") == bytes_of("b")
    assert json.loads(bytes_of("a")[0])["created"] is None
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    save_folder(tmp_path / "c", FIELDS, arrays)
    assert read_manifest(tmp_path / "c")["created"] == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ModelFileError, match="SOURCE_DATE_EPOCH"):
        save_folder(tmp_path / "d", FIELDS, arrays)
    assert not (tmp_path / "d").exists()


def test_created_is_the_present_time(tmp_path):
    save_folder(tmp_path / "m", FIELDS, {})
    created = time.strptime(read_manifest(tmp_path / "m")["created"], "%Y-%m-%dT%H:%M:%SZ")
    assert abs(time.mktime(time.gmtime()) - time.mktime(created)) < 100


@pytest.mark.parametrize("exchange", [True, False])
def test_a_model_is_replaced_and_nothing_is_left_beside_it(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(swap, "_exchange", lambda one, other: False)
    target = tmp_path / "deep" / "er" / "m"
    save_folder(target, FIELDS, {"a": np.arange(3)})
    _, old = load_folder(target)
    save_folder(target, FIELDS, {"a": np.arange(5), "b": np.ones(2)})
    _, new = load_folder(target, verify=True)
    assert sorted(new) == ["a", "b"]
    assert old["a"].tolist() == [0, 1, 2]  # an open model goes on answering from the file it mapped
    assert names_in(target.parent) == ["m"]
    save_folder(target, FIELDS, new)  # and a model can be saved into the folder it was loaded from
    assert load_folder(target, verify=True)[1]["b"].tolist() == [1, 1]


def test_what_may_be_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    save_folder(tmp_path / "empty", FIELDS, {})
    assert read_manifest(tmp_path / "empty")["name"] == "popular"

    (tmp_path / "file").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "manifest.json").write_text('{"format": "somebody else"}')
    save_folder(tmp_path / "mixed", FIELDS, {})
    (tmp_path / "mixed" / "thesis.txt").write_text("mine")
    for name, message in (
        ("file", "is a file"),
        ("other", "no labelwood model"),
        ("json", "no labelwood model"),
        ("mixed", "thesis.txt"),
    ):
        with pytest.raises(ModelFileError, match=message):
            save_folder(tmp_path / name, FIELDS, {})
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "other" / "thesis.txt").read_text() == "mine"
    assert (tmp_path / "mixed" / "thesis.txt").read_text() == "mine"
    with pytest.raises(ModelFileError, match="exists already"):
        save_folder(tmp_path / "mixed", FIELDS, {}, overwrite=False)
    assert not [name for name in names_in(tmp_path) if name.startswith(".")]


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    save_folder(tmp_path / "v1", FIELDS, {})
    (tmp_path / "current").symlink_to("v1")
    save_folder(tmp_path / "current", {**FIELDS, "seed": 8}, {})
    assert (tmp_path / "current").is_symlink()
    assert read_manifest(tmp_path / "v1")["seed"] == 8


BAD_SAVES = {
    "unknown field": ({**FIELDS, "colour": 1}, {}, "unknown manifest field 'colour'"),
    "no kind": ({"name": "x"}, {}, "'kind' is missing"),
    "seed type": ({**FIELDS, "seed": "7"}, {}, "seed must be int or null"),
    "seed bool": ({**FIELDS, "seed": True}, {}, "seed must be int or null"),
    "nan fact": ({**FIELDS, "facts": {"a": float("nan")}}, {}, "facts cannot be written as JSON"),
    "tuple fact": ({**FIELDS, "facts": {"a": (1, 2)}}, {}, "facts cannot be written as JSON"),
    "int key": ({**FIELDS, "extra": {1: 2}}, {}, "extra cannot be written as JSON"),
    "endless number": ({**FIELDS, "extra": {"a": 10**50}}, {}, "51 digits"),
    "object": ({**FIELDS, "extra": {"a": object()}}, {}, "extra cannot be written as JSON"),
    "large": ({**FIELDS, "extra": {"a": "x" * (17 << 20)}}, {}, "keep large data in arrays"),
    "array name": (FIELDS, {"../a": np.ones(1)}, "array name"),
    "reserved name": (FIELDS, {".a": np.ones(1)}, "array name"),
    "dtype": (FIELDS, {"a": np.array(["x"])}, "cannot be saved"),
    "object array": (FIELDS, {"a": np.array([object()])}, "cannot be saved"),
    "complex": (FIELDS, {"a": np.ones(1, complex)}, "cannot be saved"),
    "dimensions": (FIELDS, {"a": np.ones((1,) * 9)}, "9 dimensions"),
}


@pytest.mark.parametrize("what", BAD_SAVES)
def test_refused_saves_leave_nothing(tmp_path, what):
    fields, arrays, message = BAD_SAVES[what]
    with pytest.raises(ModelFileError, match=message):
        save_folder(tmp_path / "m", fields, arrays)
    assert names_in(tmp_path) == []


def test_metadata_is_not_an_array_name(tmp_path):
    with pytest.raises(ModelFileError, match="array name"):
        save_folder(tmp_path / "m", FIELDS, {"__metadata__": np.ones(2)})


def test_a_failing_disk_is_a_model_file_error(tmp_path, monkeypatch):
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match="No space left"):
        save_folder(tmp_path / "m", FIELDS, {"a": np.arange(4)})
    assert names_in(tmp_path) == ["m"]
    assert len(load_folder(tmp_path / "m", verify=True)[1]["a"]) == 3


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_impossible_names(tmp_path, name):
    with pytest.raises(ModelFileError):
        save_folder(str(tmp_path / name), FIELDS, {})
    with pytest.raises(ModelFileError):
        load_folder(str(tmp_path / name))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a user whom permissions hold back")
def test_a_folder_without_permission(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(ModelFileError, match="Permission denied"):
        save_folder(tmp_path / "locked" / "m", FIELDS, {})


def test_files_have_the_usual_permissions(tmp_path):
    """A server that runs as another user must be able to read what a person saved."""
    (tmp_path / "plain").touch()
    expected = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    save_folder(tmp_path / "m", FIELDS, {"a": np.ones(1)})
    for name in ("manifest.json", "arrays.safetensors"):
        assert stat.S_IMODE((tmp_path / "m" / name).stat().st_mode) == expected


def test_a_save_between_two_reads_is_read_again(tmp_path, monkeypatch):
    """A reader that meets the old manifest and the new arrays looks again instead of failing."""
    from labelwood.storage import load

    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    map_arrays, calls = load.map_arrays, []

    def with_a_save_before(path, table):
        if not calls:
            save_folder(tmp_path / "m", FIELDS, {"a": np.arange(4)})
        calls.append(path)
        return map_arrays(path, table)

    monkeypatch.setattr(load, "map_arrays", with_a_save_before)
    assert len(load_folder(tmp_path / "m")[1]["a"]) == 4
    assert len(calls) == 2


def test_loading_a_small_folder_takes_milliseconds(tmp_path):
    save_folder(tmp_path / "m", FIELDS, some_arrays())
    times = []
    for _ in range(10):
        start = time.process_time()
        load_folder(tmp_path / "m")
        times.append(time.process_time() - start)
    assert min(times) < 0.005


def test_plain_safetensors_files_are_refused(tmp_path):
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    (tmp_path / "m" / "arrays.safetensors").write_bytes(save({"a": np.arange(3)}))
    with pytest.raises(ModelFileError, match="does not say which model"):
        load_folder(tmp_path / "m")
