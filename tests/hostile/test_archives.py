"""Archives that try to leave their folder, fill the disk or break: refused, and nothing is left behind."""

import io
import tarfile
import zipfile

import pytest

from labelwood.data.archives import unpack
from labelwood.errors import DataError


def zip_of(path, files, mode=0):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return path


def tar_of(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                info.linkname = content
                archive.addfile(info)
    return path


def refused(archive, tmp_path, words, **limits):
    before = sorted(item.name for item in tmp_path.iterdir())
    with pytest.raises(DataError, match=words):
        unpack(archive, tmp_path / "out", **limits)
    assert sorted(item.name for item in tmp_path.iterdir()) == before


def test_good_archives(tmp_path):
    folder = unpack(zip_of(tmp_path / "a.zip", [("d/", b""), ("d/a.txt", b"one"), ("b.txt", b"two")]), tmp_path / "zip")
    assert (folder / "d" / "a.txt").read_bytes() == b"one"
    members = [
        ("d", tarfile.DIRTYPE, ""),
        ("d/a.txt", tarfile.REGTYPE, b"one"),
        ("./b.txt", tarfile.REGTYPE, b"two"),
    ]
    for name, mode in (("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar", "w")):
        folder = unpack(tar_of(tmp_path / name, members, mode), tmp_path / f"out-{name}")
        assert (folder / "d" / "a.txt").read_bytes() == b"one"
        assert (folder / "b.txt").read_bytes() == b"two"


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil", "C:/evil", "C:evil", "."])
def test_names_that_point_outside(tmp_path, name):
    refused(zip_of(tmp_path / "a.zip", [("good", b"x"), (name, b"x")]), tmp_path, "points outside")
    refused(tar_of(tmp_path / "a.tar.gz", [(name, tarfile.REGTYPE, b"x")]), tmp_path, "points outside")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices(tmp_path, kind):
    refused(tar_of(tmp_path / "a.tar.gz", [("link", kind, "/etc/passwd")]), tmp_path, r"link or device|damaged")


def test_links_in_zip(tmp_path):
    refused(zip_of(tmp_path / "a.zip", [("link", b"/etc/passwd")], mode=0o120777), tmp_path, "link or device")


def test_bombs_are_counted_while_unpacking(tmp_path):
    refused(
        zip_of(tmp_path / "a.zip", [("big", b"0" * 5_000_000)]),
        tmp_path,
        "more than the allowed 1000000 bytes",
        max_bytes=1_000_000,
    )
    members = [(f"part{i}", tarfile.REGTYPE, b"0" * 600_000) for i in range(2)]
    refused(tar_of(tmp_path / "a.tar.gz", members), tmp_path, "more than the allowed", max_bytes=1_000_000)


def test_names_twice(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = zip_of(tmp_path / "a.zip", [("a", b"x"), ("a", b"y")])
    refused(archive, tmp_path, "holds 'a' twice")


def test_damaged_and_foreign_archives(tmp_path):
    whole = zip_of(tmp_path / "a.zip", [("a", b"hello" * 1000)]).read_bytes()
    (tmp_path / "a.zip").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "a.zip", tmp_path, "damaged")
    flipped = bytearray(whole)
    flipped[40] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(flipped)
    refused(tmp_path / "a.zip", tmp_path, "damaged|cannot be unpacked")
    packed = tar_of(tmp_path / "a.tar.gz", [("a", tarfile.REGTYPE, bytes(range(256)) * 500)]).read_bytes()
    (tmp_path / "a.tar.gz").write_bytes(packed[: len(packed) // 2])
    refused(tmp_path / "a.tar.gz", tmp_path, "damaged|cannot be unpacked")
    (tmp_path / "a.rar").write_bytes(b"x")
    refused(tmp_path / "a.rar", tmp_path, "unknown kind of archive")
    refused(zip_of(tmp_path / "empty.zip", []), tmp_path, "holds no files")
    refused(tmp_path / "absent.zip", tmp_path, "cannot be unpacked")


def test_an_existing_folder_is_kept(tmp_path):
    archive = zip_of(tmp_path / "a.zip", [("a", b"x")])
    (tmp_path / "out").mkdir()
    refused(archive, tmp_path, "exists already")


def test_what_a_killed_program_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / ".data.unpacking-0123456789ab" / "deep"
    left.mkdir(parents=True)
    (left / "half.txt").write_text("half")
    archive = zip_of(tmp_path / "a.zip", [("x.txt", b"x")])
    unpack(archive, tmp_path / "data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "data"]
