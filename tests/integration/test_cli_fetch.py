"""`labelwood data fetch`: the catalogue, and a data set from a local mirror that then trains."""

import functools
import http.server
import json
import threading
import zipfile

import pytest

from labelwood.data.catalogue import names


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def mirror(tmp_path):
    """The address of a server that has bibtex.zip with a small training file."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    with zipfile.ZipFile(folder / "bibtex.zip", "w") as archive:
        archive.writestr("train.txt", "3 2 2\n0 0:1\n1 1:1\n0 0:1 1:0.5\n")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_catalogue_is_listed(cli):
    done = cli("data", "fetch")
    assert done.code == 0
    assert all(name in done.out for name in names())
    assert set(json.loads(cli("data", "fetch", "--json").out)) == set(names())


def test_a_data_set_is_fetched_and_trains(cli, mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))
    done = cli("data", "fetch", "bibtex", "--mirror", mirror, "--quiet")
    assert done.code == 0, done.err
    folder = done.out.strip()
    assert folder.startswith(str(tmp_path / "cache"))
    assert json.loads(cli("data", "fetch", "bibtex", "--mirror", mirror, "--json", "--quiet").out)["folder"] == folder
    assert cli("train", folder, "--out", tmp_path / "m", "--quiet").code == 0


def test_unknown_names_and_missing_addresses_are_told_in_one_line(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LABELWOOD_MIRROR", raising=False)
    for name, part in (("bibtx", "'bibtex'"), ("bibtex", "LABELWOOD_MIRROR")):
        done = cli("data", "fetch", name, "--quiet")
        assert done.code == 2
        assert part in done.err
        assert len(done.err.strip().splitlines()) == 1
