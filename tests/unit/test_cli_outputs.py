"""Outputs: refused before the work begins, written whole or not at all."""

import os

import pytest

from labelwood.cli.outputs import check_file, check_folder, whole_file
from labelwood.errors import DataError


def test_new_names_are_fine(tmp_path):
    check_file(tmp_path / "a.csv", force=False)
    check_folder(tmp_path / "model", force=False)
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty", force=False)


def test_existing_files_need_force(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x")
    with pytest.raises(DataError, match=r"a\.csv: exists already; .* --force"):
        check_file(path, force=False)
    check_file(path, force=True)


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="is a folder"):
        check_file(tmp_path, force=True)
    with pytest.raises(DataError, match="is a file"):
        check_folder(tmp_path / "file", force=True)


def test_other_peoples_folders_are_never_replaced(tmp_path):
    (tmp_path / "photo.jpg").write_text("x")
    with pytest.raises(DataError, match="holds other files, not a saved model"):
        check_folder(tmp_path, force=True)


def test_models_need_force(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(DataError, match="holds a saved model already"):
        check_folder(tmp_path, force=False)
    check_folder(tmp_path, force=True)


@pytest.mark.parametrize("check", [check_file, check_folder])
def test_the_parent_must_exist(check, tmp_path):
    with pytest.raises(DataError, match=r"nowhere does not exist"):
        check(tmp_path / "nowhere" / "out", force=False)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is writable for root")
def test_the_parent_must_be_writable(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(DataError, match="permission denied"):
        check_file(tmp_path / "locked" / "out", force=False)


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
