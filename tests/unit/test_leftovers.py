"""Leftovers: what a killed program leaves is removed by the next, what a living one holds is not."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from labelwood.errors import ModelFileError
from labelwood.storage import leftovers, swap
from labelwood.storage.leftovers import hidden_name, remove_leftovers, unfinished
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

FIELDS = {"kind": "model", "name": "popular"}
SAVER = """
import sys, time
from pathlib import Path
import numpy as np
from labelwood.storage import save

wait = save.put_in_place
def slow(new, target, *, replace):
    print("writing", flush=True)
    sys.stdin.readline()
    return wait(new, target, replace=replace)
save.put_in_place = slow
save.save_folder(sys.argv[1], {"kind": "model", "name": "popular"}, {"a": np.arange(7)}, overwrite=sys.argv[2] == "yes")
"""


def saver(target, overwrite="yes"):
    """A program that has written its model and waits for a line before it puts it in place."""
    process = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(target), overwrite],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "writing\n"
    return process


def go_on(process):
    _, err = process.communicate("\n", timeout=60)
    return process.returncode, err


def kill(process):
    process.kill()
    process.communicate()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_of_a_killed_save_is_removed_by_the_next(tmp_path):
    kill(saver(tmp_path / "m"))
    kill(saver(tmp_path / "m"))
    assert [name.startswith(".m.saving-") for name in names_in(tmp_path)] == [True], "the second removed the first's"
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    assert names_in(tmp_path) == ["m"]


def test_two_living_saves_leave_each_other_alone_and_the_last_wins(tmp_path):
    first, second = saver(tmp_path / "m"), saver(tmp_path / "m")
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    assert len(names_in(tmp_path)) == 3
    assert go_on(first) == (0, "")
    assert go_on(second) == (0, "")
    assert names_in(tmp_path) == ["m"]
    assert len(load_folder(tmp_path / "m", verify=True)[1]["a"]) == 7


def test_without_overwrite_the_second_save_is_refused_at_its_end(tmp_path):
    late = saver(tmp_path / "m", overwrite="no")
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)}, overwrite=False)
    code, err = go_on(late)
    assert code == 1
    assert f"ModelFileError: {tmp_path / 'm'}: exists already; it is not replaced" in err
    assert names_in(tmp_path) == ["m"]
    assert len(load_folder(tmp_path / "m", verify=True)[1]["a"]) == 3


def test_without_overwrite_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "m").mkdir()
    save_folder(tmp_path / "m", FIELDS, {}, overwrite=False)
    with pytest.raises(ModelFileError, match="exists already"):
        save_folder(tmp_path / "m", FIELDS, {}, overwrite=False)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_named_as_our_file_is_never_deleted(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(swap, "_exchange", lambda one, other: False)
    target = tmp_path / "m"
    save_folder(target, FIELDS, {})
    (target / "arrays.safetensors").mkdir()
    (target / "arrays.safetensors" / "thesis.txt").write_text("mine")
    with pytest.raises(ModelFileError, match=r"'arrays\.safetensors' beside the model"):
        save_folder(target, FIELDS, {"a": np.arange(3)})
    assert (target / "arrays.safetensors" / "thesis.txt").read_text() == "mine"


def test_nothing_but_our_own_two_files_is_ever_removed(tmp_path):
    """Also in a hidden folder that looks like a leftover."""
    left = tmp_path / ".m.saving-0123456789ab"
    (left / "arrays.safetensors").mkdir(parents=True)
    (left / "arrays.safetensors" / "thesis.txt").write_text("mine")
    (left / "manifest.json").write_text("{}")
    save_folder(tmp_path / "m", FIELDS, {})
    assert (left / "arrays.safetensors" / "thesis.txt").read_text() == "mine"


def test_foreign_files_that_come_while_a_save_writes(tmp_path):
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    late = saver(tmp_path / "m")
    (tmp_path / "m" / "thesis.txt").write_text("mine")  # after the last look: put aside, not deleted
    assert go_on(late)[0] == 0
    assert len(load_folder(tmp_path / "m")[1]["a"]) == 7
    kept = [path for path in tmp_path.glob(".m.*/thesis.txt") if path.read_text() == "mine"]
    assert len(kept) == 1


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_links_and_pipes_with_such_names_are_left_alone(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "manifest.json").write_text("mine")
    (tmp_path / ".m.saving-0123456789ab").symlink_to("precious")
    save_folder(tmp_path / "m", FIELDS, {})
    assert (tmp_path / "precious" / "manifest.json").read_text() == "mine"


def test_the_previous_folder_of_a_killed_replacement_goes_when_a_new_model_is_in_place(tmp_path):
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    (tmp_path / "m").rename(tmp_path / ".m.previous-0123456789ab")
    with pytest.raises(ModelFileError, match="rename it back"):
        load_folder(tmp_path / "m")
    save_folder(tmp_path / "m", FIELDS, {"a": np.arange(3)})
    assert names_in(tmp_path) == ["m"]


def test_a_path_taken_for_a_leftover_before_it_was_locked_is_made_again(tmp_path):
    made = []

    def make(path):
        path.mkdir()
        made.append(path)
        if len(made) == 1:
            remove_leftovers(tmp_path, ".x-", "", Path.rmdir)

    with unfinished(tmp_path, ".x-", make=make, remove=Path.rmdir) as path:
        assert path == made[1]
        assert names_in(tmp_path) == [made[1].name]
    assert names_in(tmp_path) == []


def test_where_nothing_can_be_locked_age_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "_lock", lambda descriptor, wait: None)
    young, old = (tmp_path / hidden_name(".x-") for _ in range(2))
    young.touch()
    old.touch()
    day_before = time.time() - leftovers.SECONDS_UNTIL_OLD - 60
    os.utime(old, (day_before, day_before))
    remove_leftovers(tmp_path, ".x-", "", Path.unlink)
    assert names_in(tmp_path) == [young.name]


def test_a_folder_that_is_not_there_has_no_leftovers(tmp_path):
    remove_leftovers(tmp_path / "nowhere", ".x-", "", Path.unlink)


MANY = """
import sys
import numpy as np
from labelwood.storage import swap
from labelwood.storage.save import save_folder

if sys.argv[3] == "aside":
    swap._exchange = lambda one, other: False
for number in range(20):
    save_folder(sys.argv[1], {"kind": "model", "name": "x"}, {"a": np.full(int(sys.argv[2]), number)})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders in use cannot be renamed there")
@pytest.mark.parametrize("how", ["exchange", "aside"])
def test_many_saves_to_one_folder_at_once(tmp_path, how):
    """Whoever comes last wins; nobody fails, nothing is left."""
    command = [sys.executable, "-c", MANY, str(tmp_path / "m")]
    savers = [subprocess.Popen([*command, str(length), how]) for length in (1000, 2000, 3000)]
    assert [process.wait(timeout=120) for process in savers] == [0, 0, 0]
    assert names_in(tmp_path) == ["m"]
    array = load_folder(tmp_path / "m", verify=True)[1]["a"]
    assert len(array) in (1000, 2000, 3000)
    assert array[0] == 19
