"""`--memory`: the same bytes in slices and with files in place of memory; the cache of parsed files."""

import gzip
import hashlib
import json

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood import scratch
from labelwood.cli.main import run
from labelwood.cli.sparing import row_cache
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.data.reading import row_cache as caches
from labelwood.data.reading import sparse_rows
from labelwood.data.reading.row_cache import RowCache, caching
from labelwood.features import two_passes
from labelwood.labelspace import pifa
from labelwood.models.linear import training_parts
from labelwood.scratch import Scratch, in_memory, sparing
from labelwood.tagger import training


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch, tmp_path):
    """Slices and files for data of some kilobytes; a cache of our own."""
    monkeypatch.setattr(training_parts, "WORK_OF_PART", 3e4)
    monkeypatch.setattr(scratch, "LEAST_BYTES", 100)
    monkeypatch.setattr(pifa, "_SLICE", 2000)
    monkeypatch.setattr(caches, "LEAST_BYTES", 100)
    monkeypatch.setattr(sparse_rows, "MAPPED_BYTES", 3000)
    monkeypatch.setattr(sparse_rows, "STREAM_BYTES", 3000)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def rows():
    x = sparse.random(1500, 300, 0.05, "csr", np.float32, random_state=1)
    y = (sparse.random(1500, 400, 0.006, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    return x, y


@pytest.fixture
def data(rows, tmp_path):
    lw.write(lw.Dataset(*rows), tmp_path / "rows.txt")
    return tmp_path / "rows.txt"


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def assert_same_matrix(one, other):
    assert one.shape == other.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("parameters", [{}, {"n_trees": 3}, {"balance": 0.5}, {"normalize": False}], ids=str)
def test_slices_give_the_same_model(parameters, rows):
    model = lw.LinearTree(max_leaf=20, C=1.0, **parameters)
    whole = model.fit(*rows).fitted_.arrays()
    needed = model.estimate_memory(*rows)
    sliced = model.fit(*rows, memory=needed - 1) if _fits(model, rows, needed - 1) else _forced(model, rows)
    for name, array in sliced.fitted_.arrays().items():
        np.testing.assert_array_equal(array, whole[name], err_msg=name)
    assert in_memory(sliced.fitted_.blocks[0].arrays["payload"]) == 0


def _fits(model, rows, memory):
    """On tiny data slices need no less: then the files are forced."""
    from labelwood.models.fit_input import checked_input

    return model._spared_memory(model._settings(), checked_input(*rows)) <= memory


def _forced(model, rows, folder=None):
    import tempfile
    from pathlib import Path

    with sparing(Scratch(Path(folder or tempfile.gettempdir()))):
        return model.fit(*rows)


def test_what_does_not_fit_in_slices_is_refused_with_both_figures(rows):
    with pytest.raises(lw.BudgetError, match=r"would need about .* \(.* in slices\) beside the data, but 1 KB"):
        lw.LinearTree().fit(*rows, memory=1024)
    with pytest.raises(lw.BudgetError, match=r"would need about [^(]* beside the data"):
        lw.LinearTree(keep_rows=True).fit(*rows, memory=1024)


@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz", "rows.svm"])
def test_streamed_rows_are_the_rows(name, rows, tmp_path):
    lw.write(lw.Dataset(*rows), tmp_path / name)
    plain = lw.read(tmp_path / name)
    with sparing(Scratch(tmp_path)):
        streamed = lw.read(tmp_path / name)
    assert_same_matrix(plain.x, streamed.x)
    assert_same_matrix(plain.y, streamed.y)
    assert plain.notes == streamed.notes
    assert in_memory(streamed.x.data, streamed.x.indices) == 0


@pytest.mark.parametrize("policy", ["error", "skip"])
def test_streamed_faults_name_the_same_lines(policy, data):
    lines = data.read_text().splitlines()
    lines[700] = "1,2 5:x"
    lines[900] = "1,2 999:1"
    data.write_text("\n".join(lines) + "\n")

    def outcome():
        try:
            read = lw.read(data, on_bad_row=policy)
        except lw.DataError as error:
            return str(error)
        return read.notes, read.n_rows

    plain = outcome()
    with sparing(Scratch(data.parent)), caching(RowCache(data.parent / "cache")):
        assert outcome() == plain
    assert "701" in str(plain)
    assert not (data.parent / "cache").exists()  # damaged files are not kept


def test_the_cache_is_used_until_the_file_changes(data, tmp_path, monkeypatch):
    cache = RowCache(tmp_path / "cache")
    plain = lw.read(data)
    with caching(cache):
        first = lw.read(data)
        with monkeypatch.context() as patch:
            patch.setattr(sparse_rows, "_read", None)  # whoever parses now fails
            again = lw.read(data)
    for read in (first, again):
        assert_same_matrix(plain.x, read.x)
        assert_same_matrix(plain.y, read.y)
        assert read.notes == plain.notes
    assert in_memory(again.x.data) == 0
    assert [entry.current for entry in cache.entries()] == [True]
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    with caching(cache):
        changed = lw.read(data)
    assert_same_matrix(changed.x, plain.x[::-1])
    assert sorted(entry.current for entry in cache.entries()) == [False, True]
    assert cache.clear() > 0
    assert cache.entries() == []


def test_a_damaged_entry_is_made_again(data, tmp_path):
    cache = RowCache(tmp_path / "cache")
    with caching(cache):
        plain = lw.read(data)
        arrays = cache.entries()[0].folder / "arrays.safetensors"
        damaged = bytearray(arrays.read_bytes())
        damaged[-5] ^= 1
        del plain
        arrays.write_bytes(damaged)
        again = lw.read(data)
    assert_same_matrix(again.x, lw.read(data).x)


def test_a_cache_that_cannot_be_written_is_a_note(data, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with caching(RowCache(tmp_path / "file" / "cache")):
        read = lw.read(data)
    assert read.n_rows == 1500
    assert any("not kept in the cache" in note for note in read.notes)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"min_df": 2, "max_df": 0.5},
        {"max_features": 57},
        {"ngram_range": (1, 2), "sublinear_tf": True},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 300},
    ],
    ids=str,
)
def test_two_passes_give_the_same_rows(parameters, tmp_path, monkeypatch):
    monkeypatch.setattr(two_passes, "SLICE", 700)
    texts = [*make_texts(200, seed=3).texts, "", "Ünïcode straße 北京 straße", "a"]
    one = lw.TfidfVectorizer(**parameters)
    two = lw.TfidfVectorizer(**parameters)
    plain = one.fit_transform(texts)
    with sparing(Scratch(tmp_path)):
        sliced = two.fit_transform(texts)
    assert one.feature_names == two.feature_names
    np.testing.assert_array_equal(one.document_frequencies_, two.document_frequencies_)
    assert_same_matrix(plain, sliced)
    assert in_memory(sliced.data, sliced.indices) == 0


def test_two_passes_blame_the_same_row(tmp_path, monkeypatch):
    monkeypatch.setattr(two_passes, "SLICE", 10)
    with sparing(Scratch(tmp_path)), pytest.raises(lw.DataError, match="row 7: a text must be a str, but is int"):
        lw.TfidfVectorizer().fit_transform([*["some words"] * 7, 3])


def test_a_tagger_within_memory_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(two_passes, "SLICE", 700)
    rows = make_texts(400, seed=3)
    whole = lw.Tagger("linear-tree", n_threads=1).fit(rows).fitted_.state()[1]
    monkeypatch.setattr(training, "BYTES_OF_CHARACTER", 1 << 20)  # as if the texts were long
    memory = 1 << 30
    sliced = lw.Tagger("linear-tree", n_threads=1).fit(rows, memory=memory).fitted_.state()[1]
    assert sorted(whole) == sorted(sliced)
    for name in whole:
        np.testing.assert_array_equal(whole[name], sliced[name], err_msg=name)


def test_train_and_predict_within_memory(data, tmp_path, capsys):
    arguments = ["train", str(data), "--model", "linear-tree", "--quiet", "--set", "C=1"]
    assert run([*arguments, "--out", str(tmp_path / "whole")]) == 0
    assert run([*arguments, "--out", str(tmp_path / "sliced"), "--memory", "100M"]) == 0
    assert content(tmp_path / "whole") == content(tmp_path / "sliced")
    assert len(row_cache().entries()) == 1
    for name, more in (("whole", []), ("sliced", ["--memory", "100M"])):
        out = ["--out", str(tmp_path / f"{name}.jsonl"), "--quiet", *more]
        assert run(["predict", str(tmp_path / name), str(data), *out]) == 0
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "sliced.jsonl").read_bytes()
    capsys.readouterr()
    assert run(["data", "cache", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {entry["source"] for entry in listed["files"]} == {str(data)}
    assert run(["data", "cache"]) == 0
    assert "rows.txt" in capsys.readouterr().out
    assert run(["data", "cache", "--clear"]) == 0
    assert "removed" in capsys.readouterr().out
    assert run(["data", "cache"]) == 0
    assert "nothing is kept" in capsys.readouterr().out
    assert not list(tmp_path.glob(".labelwood-*"))


def test_a_full_disk_is_an_error_that_says_so(tmp_path):
    with pytest.raises(lw.BudgetError, match=r"the disk has no room for .* more, which this run needs there"):
        Scratch(tmp_path).empty(1 << 60, np.uint8)
    with pytest.raises(lw.BudgetError, match="no room"):
        Scratch(tmp_path / "absent").empty(1 << 20, np.uint8)


def test_compressed_files_are_cached_too(data, tmp_path):
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    with caching(RowCache(tmp_path / "cache")):
        assert_same_matrix(lw.read(packed).x, lw.read(data).x)
        assert_same_matrix(lw.read(packed).x, lw.read(data).x)
    assert len(RowCache(tmp_path / "cache").entries()) == 2
