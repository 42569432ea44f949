"""Damaged and malicious model folders: always ModelFileError, never a crash, a hang or another exception."""

import json
import os
import random
import shutil
import struct
import sys

import numpy as np
import pytest

import labelwood as lw
from labelwood.storage.format import arrays_digest, manifest_sha256
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

MANIFEST, ARRAYS = "manifest.json", "arrays.safetensors"
X = np.ones((4, 3), np.float32)
Y = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]])


@pytest.fixture
def folder(tmp_path):
    lw.Popular().fit(X, Y).save(tmp_path / "m")
    return tmp_path / "m"


@pytest.fixture
def wide(tmp_path):
    """A folder with several arrays, so that offsets can be wrong against each other."""
    arrays = {
        "a": np.arange(6, dtype=np.float64).reshape(2, 3),
        "b": np.arange(4, dtype=np.int32),
        "c": np.ones(5, bool),
    }
    save_folder(tmp_path / "w", {"kind": "model", "name": "x"}, arrays)
    return tmp_path / "w"


def refused(folder, match=None, verify=False):
    with pytest.raises(lw.ModelFileError, match=match) as caught:
        lw.load(folder, verify=verify)
    assert str(folder) in str(caught.value)  # the message says where


def edit_manifest(folder, change, resign=True):
    manifest = json.loads((folder / MANIFEST).read_text())
    changed = change(manifest) or manifest
    if resign and isinstance(changed, dict):
        changed["manifest_sha256"] = manifest_sha256(changed)
    (folder / MANIFEST).write_text(json.dumps(changed))


def read_arrays(folder):
    raw = (folder / ARRAYS).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def write_arrays(folder, header, data, pad=True):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64 if pad else 0)
    (folder / ARRAYS).write_bytes(struct.pack("<Q", len(text)) + text + data)


def edit_header(folder, change, pad=True):
    header, data = read_arrays(folder)
    header = change(header) or header
    write_arrays(folder, header, data, pad)


def test_the_untouched_folder_loads(folder):
    assert lw.load(folder, verify=True).predict(X, 2).labels.shape == (4, 2)
    # and the editing helpers alone change nothing
    edit_manifest(folder, lambda m: None)
    edit_header(folder, lambda h: None)
    lw.load(folder, verify=True)


# files that are missing, cut or exchanged


def test_no_such_folder(tmp_path):
    refused(tmp_path / "nothing", "no such folder")


def test_not_a_folder(tmp_path):
    (tmp_path / "f").write_text("x")
    refused(tmp_path / "f", "is a file")


def test_an_empty_folder(tmp_path):
    refused(tmp_path, r"holds no saved model \(manifest.json is missing\)")


@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    refused(folder, f"{name}:? is missing")


@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
def test_a_folder_in_place_of_a_file(folder, name):
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, "not a regular file")


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
def test_a_pipe_in_place_of_a_file_does_not_hang(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder, "not a regular file")


@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
def test_every_truncation(folder, name):
    """Cut at every byte: this holds all section boundaries."""
    raw = (folder / name).read_bytes()
    for size in range(len(raw)):
        if name == MANIFEST and raw[size:].isspace():
            continue  # a missing line end is no damage
        (folder / name).write_bytes(raw[:size])
        refused(folder)


@pytest.mark.parametrize("more", [b"\0", b"x" * 64, b"{}"])
def test_bytes_after_the_end(folder, more):
    raw = (folder / ARRAYS).read_bytes()
    (folder / ARRAYS).write_bytes(raw + more)
    refused(folder, "bytes left over")
    (folder / ARRAYS).write_bytes(raw)
    with (folder / MANIFEST).open("ab") as stream:
        stream.write(more)
    refused(folder, "not valid JSON")


def test_arrays_of_another_model(folder, tmp_path):
    """The same shapes, other values: noticed even without reading the arrays."""
    lw.Popular().fit(X, Y[:, ::-1]).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / ARRAYS, folder / ARRAYS)
    refused(folder, "belongs to another model")


def test_an_edited_array_is_found(folder):
    raw = bytearray((folder / ARRAYS).read_bytes())
    for place in (1, 2, 7):
        changed = raw.copy()
        changed[-place] ^= 0x01
        (folder / ARRAYS).write_bytes(changed)
        refused(folder, "xxh3 differs")  # sizes fit: only reading everything can tell
        refused(folder, "sha256 differs", verify=True)


def test_an_edited_manifest_is_found(folder):
    edit_manifest(folder, lambda m: m["parameters"].update(seed=5), resign=False)
    refused(folder, "manifest_sha256 differs")


def test_without_xxh3_sha256_still_tells(folder):
    """As format 1 was: nothing reads its arrays unless it is asked to."""
    edit_manifest(folder, as_format_1)
    lw.load(folder, verify=True)
    raw = bytearray((folder / ARRAYS).read_bytes())
    raw[-1] ^= 0x01
    (folder / ARRAYS).write_bytes(raw)
    lw.load(folder)
    refused(folder, "sha256 differs", verify=True)


def as_format_1(manifest):
    manifest["format_version"] = 1
    for entry in manifest["arrays"].values():
        del entry["xxh3"]


# links and paths


def test_links_out_of_the_folder(folder, tmp_path):
    for name in (MANIFEST, ARRAYS):
        shutil.move(folder / name, tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
        refused(folder, "leads out of the folder")
        (folder / name).unlink()
        shutil.move(tmp_path / name, folder / name)
    lw.load(folder)


def test_a_link_to_itself(folder):
    (folder / ARRAYS).unlink()
    (folder / ARRAYS).symlink_to(ARRAYS)
    refused(folder)


def test_a_linked_folder_is_fine(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    lw.load(tmp_path / "link", verify=True)


PATHS = [
    "../m/arrays.safetensors",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "C:x",
    "\0",
    "arrays.safetensors\0",
    "~",
    "x" * 300,
]


@pytest.mark.parametrize("path", [*PATHS, None, 5, ["a"], {"a": 1}])
def test_file_names_with_path_tricks(folder, path):
    edit_manifest(folder, lambda m: m["arrays"]["shares"].update(file=path))
    refused(folder, "not a plain file name")


@pytest.mark.parametrize("name", ["../shares", "", "a b", "__metadata__", "\ud800"])
def test_array_names_with_tricks(folder, name):
    edit_manifest(folder, lambda m: m["arrays"].update({name: m["arrays"].pop("shares")}))
    refused(folder, "array name")


def test_a_file_that_may_not_be_read(folder, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    refused(folder, "Permission denied")


# the manifest


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"5",
        b'"x"',
        b"{",
        b"{}",
        b"\xff\xfe{}",
        b"\x00",
        b"{'a': 1}",
        b'{"format": "labelwood"}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"1" * 10_000,
        b'{"format": NaN}',
        b'{"format": Infinity}',
        b'{"format": 1e999}',
        b'{"format": -1e999}',
        b'{"format": "labelwood", "format": "labelwood"}',
        b'{"format": "gguf", "format_version": 1}',
    ],
    ids=lambda text: text[:24].decode("latin1"),
)
def test_manifests_that_are_none(folder, text):
    (folder / MANIFEST).write_bytes(text)
    refused(folder, "manifest.json")


def test_a_manifest_without_end(folder):
    with (folder / MANIFEST).open("wb") as stream:
        stream.truncate(10 << 30)  # a hole: takes no room on disk, would take all memory
    refused(folder, "larger than 16 MB")


@pytest.mark.parametrize("where", ["facts", "extra", "parameters", "metrics"])
@pytest.mark.parametrize("value", ["[" * 100_000 + "]" * 100_000, "1" * 5000, "NaN", "1e999"], ids=lambda v: v[:5])
def test_bombs_deep_inside(folder, where, value):
    edit_manifest(folder, lambda m: m.update({where: {"bomb": "@"}}), resign=False)
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"@"', value))
    refused(folder, "JSON")


@pytest.mark.parametrize("version", [0, 3, -1, 10**30, 10**400, "1", None, True, 1.0, [1]], ids=lambda v: str(v)[:40])
def test_other_versions(folder, version):
    edit_manifest(folder, lambda m: m.update(format_version=version), resign=False)
    refused(folder, r"manifest\.json")


def test_a_newer_version_says_so(folder):
    edit_manifest(folder, lambda m: m.update(format_version=3))
    refused(folder, "a newer labelwood: format 3, this one reads 1 to 2")


@pytest.mark.parametrize("value", [None, 5, "", "0" * 15, "G" * 16, "0" * 64])
def test_quick_checksums_that_are_none(folder, value):
    edit_manifest(folder, lambda m: m["arrays"]["shares"].update(xxh3=value))
    refused(folder, "'shares' has no valid xxh3")


def test_unknown_keys(folder):
    edit_manifest(folder, lambda m: m.update(pickle="gASVAAAA"))
    refused(folder, "unknown key 'pickle'")


def test_every_missing_key(folder):
    text = (folder / MANIFEST).read_text()
    for key in json.loads(text):
        (folder / MANIFEST).write_text(text)
        edit_manifest(folder, lambda m, key=key: {k: v for k, v in m.items() if k != key}, resign=False)
        refused(folder)


@pytest.mark.parametrize("value", [None, True, 5, -1, 1.5, "x", [], ["x"], {}, {"x": 1}, {"x": None}])
def test_every_key_with_every_kind_of_value(folder, value):
    text = (folder / MANIFEST).read_text()
    original = json.loads(text)
    harmless = {
        "created",
        "seed",
        "metrics",
        "extra",
        "facts",
        "data_fingerprint",
        "labelwood_version",
        "parameters",
    }
    for key in original:
        (folder / MANIFEST).write_text(text)
        edit_manifest(folder, lambda m, key=key: {**m, key: value}, resign=key != "manifest_sha256")
        try:
            model = lw.load(folder)
        except lw.ModelFileError:
            continue
        assert model.n_labels_ == 4
        assert key in harmless or (key == "label_names_sha256" and value is None), key


ARRAY_EDITS = {
    "dtype unknown": {"dtype": "float8"},
    "dtype object": {"dtype": "object"},
    "dtype list": {"dtype": ["float32"]},
    "dtype other": {"dtype": "int32"},
    "shape other": {"shape": [2, 2]},
    "shape shorter": {"shape": [3]},
    "shape negative": {"shape": [-4]},
    "shape text": {"shape": "4"},
    "shape bool": {"shape": [True, 4]},
    "shape fraction": {"shape": [4.0]},
    "shape huge": {"shape": [2**62, 2**62]},
    "shape overflow": {"shape": [2**64]},
    "shape wraps to zero": {"shape": [2**32, 2**32]},
    "shape deep": {"shape": [1] * 40 + [4]},
    "sha short": {"sha256": "ab"},
    "sha none": {"sha256": None},
    "sha other": {"sha256": "0" * 64},
    "extra key": {"strides": [4]},
}


@pytest.mark.parametrize("what", ARRAY_EDITS)
def test_array_tables(folder, what):
    edit_manifest(folder, lambda m: m["arrays"]["shares"].update(ARRAY_EDITS[what]))
    refused(folder)
    # and when the arrays file agrees that it belongs to this manifest
    table = json.loads((folder / MANIFEST).read_text())["arrays"]
    edit_header(folder, lambda h: h["__metadata__"].update(labelwood=arrays_digest(table)))
    refused(folder, verify=True)


def test_arrays_too_many_and_too_few(folder):
    text = (folder / MANIFEST).read_text()
    edit_manifest(folder, lambda m: m["arrays"].update(more=m["arrays"]["shares"]))
    refused(folder)
    table = json.loads((folder / MANIFEST).read_text())["arrays"]
    edit_header(folder, lambda h: h["__metadata__"].update(labelwood=arrays_digest(table)))
    refused(folder, "but the manifest lists 'labels.counts', 'more', 'shares'")
    (folder / MANIFEST).write_text(text)
    edit_manifest(folder, lambda m: m.update(arrays={}))
    refused(folder, "missing")


# the header of the arrays file


@pytest.mark.parametrize("length", [0, 1, 2**20, 100 << 20, (100 << 20) + 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
def test_header_lengths(folder, length):
    raw = (folder / ARRAYS).read_bytes()
    (folder / ARRAYS).write_bytes(struct.pack("<Q", length) + raw[8:])
    refused(folder, "arrays.safetensors")


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"a": NaN}',
        b'{"a":1,"a":1}',
        b"9" * 9999,
        b'{"__metadata__": 1}',
    ],
    ids=lambda text: text[:20].decode("latin1"),
)
def test_headers_that_are_none(folder, header):
    _, data = read_arrays(folder)
    write_arrays(folder, header, data)
    refused(folder, "arrays.safetensors")


HEADER_EDITS = {
    "metadata gone": lambda h: h.pop("__metadata__") and None,
    "metadata more": lambda h: h["__metadata__"].update(more="x"),
    "metadata text": lambda h: h.update(__metadata__="x"),
    "digest number": lambda h: h["__metadata__"].update(labelwood=5),
    "array gone": lambda h: h.pop("b") and None,
    "array more": lambda h: h.update(d={"dtype": "U8", "shape": [0], "data_offsets": [69, 69]}),
    "array renamed": lambda h: h.update(d=h.pop("b")),
    "entry list": lambda h: h.update(b=[]),
    "entry more": lambda h: h["b"].update(strides=[4]),
    "dtype other": lambda h: h["b"].update(dtype="F32"),
    "dtype unknown": lambda h: h["b"].update(dtype="BF16"),
    "dtype number": lambda h: h["b"].update(dtype=4),
    "dtype list": lambda h: h["b"].update(dtype=["I32"]),
    "shape other": lambda h: h["b"].update(shape=[2, 2]),
    "shape larger": lambda h: h["b"].update(shape=[5]),
    "shape huge": lambda h: h["b"].update(shape=[2**62, 4]),
    "shape wraps": lambda h: h["b"].update(shape=[2**62, 4, 2**2]),
    "shape text": lambda h: h["b"].update(shape=["4"]),
    "shape many": lambda h: h["b"].update(shape=[1] * 1000 + [4]),
    "offsets negative": lambda h: h["b"].update(data_offsets=[-16, 0]),
    "offsets backwards": lambda h: h["b"].update(data_offsets=[64, 48]),
    "offsets overlap": lambda h: h["b"].update(data_offsets=[40, 56]),
    "offsets same": lambda h: h["b"].update(data_offsets=[0, 16]),
    "offsets hole": lambda h: h["b"].update(data_offsets=[52, 68]),
    "offsets beyond": lambda h: h["b"].update(data_offsets=[2**40, 2**40 + 16]),
    "offsets huge": lambda h: h["b"].update(data_offsets=[10**400, 10**400 + 16]),
    "offsets fraction": lambda h: h["b"].update(data_offsets=[48.0, 64.0]),
    "offsets bool": lambda h: h["b"].update(data_offsets=[False, True]),
    "offsets one": lambda h: h["b"].update(data_offsets=[48]),
    "offsets text": lambda h: h["b"].update(data_offsets="48"),
    "order": lambda h: [h["b"].update(data_offsets=[0, 16]), h["a"].update(data_offsets=[16, 64])][0],
}


@pytest.mark.parametrize("what", HEADER_EDITS)
def test_headers(wide, what):
    edit_header(wide, HEADER_EDITS[what])
    if what == "order":  # well-formed: the same bytes cut differently, which only the hashes can tell
        with pytest.raises(lw.ModelFileError, match="sha256 differs"):
            load_folder(wide, verify=True)
    with pytest.raises(lw.ModelFileError, match=r"arrays\.safetensors"):
        load_folder(wide)


def test_arrays_that_are_not_aligned(wide):
    edit_header(wide, lambda h: None, pad=False)
    header, data = read_arrays(wide)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 8 + 1)
    (wide / ARRAYS).write_bytes(struct.pack("<Q", len(text)) + text + data)
    with pytest.raises(lw.ModelFileError, match="not aligned"):
        load_folder(wide)


def test_bools_that_are_neither(wide):
    raw = bytearray((wide / ARRAYS).read_bytes())
    raw[-1] = 2
    (wide / ARRAYS).write_bytes(raw)
    with pytest.raises(lw.ModelFileError, match="neither 0 nor 1"):
        load_folder(wide)


# well-formed folders whose content is not a model


MODEL_EDITS = {
    "kind": (lambda m: m.update(kind="cake"), "unknown kind 'cake'"),
    "name": (lambda m: m.update(name="populer"), "did you mean 'popular'"),
    "parameter unknown": (lambda m: m["parameters"].update(colour=1), "unknown parameter 'colour'"),
    "parameter range": (lambda m: m["parameters"].update(seed=-1), "seed must be"),
    "parameter kind": (lambda m: m["parameters"].update(seed="2"), "seed must be"),
    "shape gone": (lambda m: m.update(shape={}), "shape must hold"),
    "shape more": (lambda m: m["shape"].update(n_trees=1), "shape must hold"),
    "labels negative": (lambda m: m["shape"].update(n_labels=-1), "n_labels must be"),
    "labels huge": (lambda m: m["shape"].update(n_labels=2**40), "n_labels must be"),
    "labels many": (lambda m: m["shape"].update(n_labels=2**31 - 1), "'labels.counts' has the shape"),
    "labels text": (lambda m: m["shape"].update(n_labels="4"), "n_labels must be"),
    "features fraction": (lambda m: m["shape"].update(n_features=3.0), "n_features must be"),
    "rows bool": (lambda m: m["shape"].update(n_rows=True), "n_rows must be"),
}


@pytest.mark.parametrize("what", MODEL_EDITS)
def test_models(folder, what):
    change, message = MODEL_EDITS[what]
    edit_manifest(folder, change)
    refused(folder, message)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"share": np.ones(4, np.float32)},
        {"shares": np.ones((4, 1), np.float32)},
        {"shares": np.array(1.0)},
    ],
    ids=["none", "name", "dimensions", "scalar"],
)
def test_models_with_other_arrays(tmp_path, arrays):
    shape = {"n_features": 3, "n_labels": 4, "n_rows": 4}
    save_folder(tmp_path / "m", {"kind": "model", "name": "popular", "shape": shape}, arrays)
    refused(tmp_path / "m")


@pytest.mark.parametrize(
    "error",
    [KeyError("weights"), ValueError("x"), TypeError("x"), IndexError("x"), MemoryError(), OverflowError()],
)
def test_whatever_a_restore_stumbles_over(folder, monkeypatch, error):
    def stumble(settings, trained_on, arrays, facts):
        raise error

    monkeypatch.setattr(lw.Popular.FittedState, "restore", stumble)
    refused(folder)


# random damage


def mutated(raw, rng):
    """Some bytes changed, removed, doubled or moved."""
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 8])):
        place = rng.randrange(len(changed))
        how = rng.randrange(4)
        if how == 0:
            changed[place] = rng.randrange(256)
        elif how == 1:
            changed[place] ^= 1 << rng.randrange(8)
        elif how == 2:
            del changed[place : place + rng.randrange(1, 20)]
        else:
            changed[place:place] = changed[rng.randrange(len(changed)) :][: rng.randrange(1, 20)]
        if not changed:
            break
    return bytes(changed)


@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
@pytest.mark.parametrize("verify", [False, True])
def test_random_mutations_load_equal_or_are_refused(folder, name, verify):
    rng = random.Random(f"{name}{verify}")
    good = lw.load(folder)
    expected, raw = good.fitted_.shares.tobytes(), (folder / name).read_bytes()
    loaded = 0
    for _ in range(400):
        (folder / name).write_bytes(mutated(raw, rng))
        try:
            model = lw.load(folder, verify=verify)
        except lw.ModelFileError:
            continue
        loaded += 1
        assert model.fitted_.shares.tobytes() == expected
        assert json.loads((folder / MANIFEST).read_text()) == json.loads(
            raw if name == MANIFEST else (folder / MANIFEST).read_text()
        )
    assert loaded < 350


def test_random_truncations_of_a_larger_file(tmp_path):
    rng = random.Random(5)
    save_folder(
        tmp_path / "m",
        {"kind": "model", "name": "x"},
        {"a": np.arange(9999), "b": np.arange(999, dtype=np.uint8)},
    )
    raw = (tmp_path / "m" / ARRAYS).read_bytes()
    for _ in range(100):
        (tmp_path / "m" / ARRAYS).write_bytes(raw[: rng.randrange(len(raw))])
        with pytest.raises(lw.ModelFileError):
            load_folder(tmp_path / "m")
