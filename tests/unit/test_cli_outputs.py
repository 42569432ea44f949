"""Outputs: what cannot be written is refused before the work begins."""

import os

import pytest

from labelwood.cli.outputs import check_file, check_folder
from labelwood.errors import DataError, ModelFileError
from labelwood.storage.save import save_folder


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
    with pytest.raises(ModelFileError, match="is a file"):
        check_folder(tmp_path / "file", force=True)


def test_other_peoples_folders_are_never_replaced(tmp_path):
    (tmp_path / "photo.jpg").write_text("x")
    with pytest.raises(ModelFileError, match="holds files but no labelwood model"):
        check_folder(tmp_path, force=True)


def test_models_need_force(tmp_path):
    save_folder(tmp_path / "m", {"kind": "model", "name": "popular"}, {})
    with pytest.raises(DataError, match="holds a saved model already"):
        check_folder(tmp_path / "m", force=False)
    check_folder(tmp_path / "m", force=True)


def test_models_with_other_files_beside_are_refused_even_with_force(tmp_path):
    save_folder(tmp_path / "m", {"kind": "model", "name": "popular"}, {})
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match=r"'notes\.txt' beside the model"):
        check_folder(tmp_path / "m", force=True)


@pytest.mark.parametrize("check", [check_file, check_folder])
def test_the_parent_must_exist(check, tmp_path):
    with pytest.raises(DataError, match=r"nowhere does not exist"):
        check(tmp_path / "nowhere" / "out", force=False)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is writable for root")
def test_the_parent_must_be_writable(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(DataError, match="permission denied"):
        check_file(tmp_path / "locked" / "out", force=False)
