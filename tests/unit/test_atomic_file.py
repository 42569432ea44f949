"""Files that appear whole or not at all."""

import gzip
import os

import pytest

from labelwood.data.writing.atomic_file import atomic_output, whole_file
from labelwood.errors import DataError


def test_whole_files_appear_at_the_end_with_ordinary_rights(tmp_path):
    path = tmp_path / "a.csv"
    with whole_file(path) as part:
        part.write_text("new")
        assert not path.exists()
        assert part.suffix == ".csv"
    assert path.read_text() == "new"
    other = tmp_path / "b.csv"
    other.write_text("")
    assert path.stat().st_mode == other.stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail():
        with whole_file(path) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.zst"])
def test_streams_take_the_place_of_the_file_at_the_end(tmp_path, name):
    path = tmp_path / name
    path.write_text("old")
    with atomic_output(path) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text("latin-1") != "old"
    if name.endswith(".gz"):
        assert gzip.decompress(path.read_bytes()) == b"new"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(DataError, match=r"a\.csv: cannot be written \(No space left on device\)"),
        whole_file(tmp_path / "a.csv") as part,
    ):
        part.write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_names_the_file(tmp_path):
    with pytest.raises(DataError, match=r"a\.csv: cannot be written"), whole_file(tmp_path / "no" / "a.csv"):
        pass


def test_parts_that_killed_programs_left_are_removed(tmp_path):
    left = tmp_path / ".part-0123456789ab-a.csv"
    others = [tmp_path / ".part-0123456789ab-b.csv", tmp_path / ".part-0123456789ab-b-a.csv", tmp_path / ".part-a.csv"]
    for path in (left, *others):
        path.write_text("half")
    with whole_file(tmp_path / "a.csv") as part:
        part.write_text("one")
        assert not left.exists()
        with whole_file(tmp_path / "a.csv") as second:  # and one that lives is let alone
            second.write_text("two")
    assert (tmp_path / "a.csv").read_text() == "one"
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.csv", *others])
