"""fetch and cached against a local server that breaks connections, changes its files and lies."""

import hashlib
import io
import re
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from labelwood.data.download import cache_folder, cached, fetch
from labelwood.errors import DataError

BODY = bytes(range(256)) * 4000
SUM = hashlib.sha256(BODY).hexdigest()


class Site:
    """What the server has and how it behaves; it keeps the requests it saw."""

    def __init__(self):
        self.files = {"/a.bin": BODY}
        self.etag = '"v1"'
        self.last_modified = None
        self.ranges = True
        self.break_after = []  # for each request to come: bytes to send before the connection breaks
        self.chunked = False
        self.wrong_range = False
        self.seen = []


@pytest.fixture
def site():
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state.seen.append(dict(self.headers))
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "file:///etc/passwd")
                self.end_headers()
                return
            body = state.files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            start = 0
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            valid = self.headers.get("If-Range") in (state.etag, state.last_modified)
            if asked and valid and state.ranges:
                start = int(asked[1])
                if start >= len(body):
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                told = start + 1 if state.wrong_range else start
                self.send_header("Content-Range", f"bytes {told}-{len(body) - 1}/{len(body)}")
            else:
                self.send_response(200)
            if state.etag:
                self.send_header("ETag", state.etag)
            if state.last_modified:
                self.send_header("Last-Modified", state.last_modified)
            if not state.chunked:
                self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end = len(body)
            if state.break_after:
                end = min(start + state.break_after.pop(0), end)
            self.wfile.write(body[start:end])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def only(folder):
    return sorted(item.name for item in folder.iterdir())


def test_a_whole_file_with_sum_and_progress(site, tmp_path):
    steps = []

    class Seen:
        def step(self, what, done, total):
            steps.append((what, done, total))

    path = fetch(f"{site.url}/a.bin", tmp_path / "deep" / "a.bin", sha256=SUM.upper(), progress=Seen())
    assert path.read_bytes() == BODY
    assert only(path.parent) == ["a.bin"]
    assert steps[-1] == ("fetching bytes", len(BODY), len(BODY))
    fetch(f"{site.url}/a.bin", path, sha256=SUM)
    assert len(site.seen) == 1  # the file with the right sum was kept


def test_broken_connections_are_resumed(site, tmp_path):
    site.break_after = [300_000, 0, 300_000, 1]
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY
    assert [request.get("Range") for request in site.seen] == [
        None, "bytes=300000-", "bytes=300000-", "bytes=600000-", "bytes=600001-",
    ]  # fmt: skip


def test_a_later_call_goes_on_where_the_first_stopped(site, tmp_path):
    site.break_after = [400_000, 0, 0, 0]
    with pytest.raises(DataError, match=r"cannot be fetched: .*after 400000 bytes \(kept in a\.bin\.part"):
        fetch(f"{site.url}/a.bin", tmp_path / "a.bin")
    assert only(tmp_path) == ["a.bin.part", "a.bin.part.json"]
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY
    assert site.seen[-1]["Range"] == "bytes=400000-"
    assert only(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("validator", ["etag", "date"])
def test_a_changed_file_starts_again(site, tmp_path, validator):
    if validator == "date":
        site.etag, site.last_modified = "", "Wed, 21 Oct 2015 07:28:00 GMT"
    site.break_after = [400_000, 0, 0, 0]
    with pytest.raises(DataError):
        fetch(f"{site.url}/a.bin", tmp_path / "a.bin")
    new = BODY[::-1]
    site.files["/a.bin"] = new
    if validator == "date":
        site.last_modified = "Thu, 22 Oct 2015 07:28:00 GMT"
    else:
        site.etag = '"v2"'
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin").read_bytes() == new


def test_without_validator_or_ranges_it_starts_again(site, tmp_path):
    site.etag = ""
    site.break_after = [400_000]
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY
    assert [request.get("Range") for request in site.seen] == [None, None]
    site.etag, site.ranges, site.break_after = '"v1"', False, [400_000]
    assert fetch(f"{site.url}/a.bin", tmp_path / "b.bin", sha256=SUM).read_bytes() == BODY


def test_a_piece_of_another_place_is_not_taken(site, tmp_path):
    site.wrong_range = True
    site.break_after = [400_000]
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY


def test_a_part_longer_than_the_file_starts_again(site, tmp_path):
    site.break_after = [400_000, 0, 0, 0]
    with pytest.raises(DataError):
        fetch(f"{site.url}/a.bin", tmp_path / "a.bin")
    with (tmp_path / "a.bin.part").open("ab") as part:
        part.write(b"x" * len(BODY))
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY


def test_an_endless_answer_without_length_is_taken_whole(site, tmp_path):
    site.chunked = True
    assert fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY


def test_a_wrong_sum_discards_the_file(site, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"old")
    with pytest.raises(DataError, match=rf"wrong checksum: expected sha256 {'0' * 64}, got {SUM}"):
        fetch(f"{site.url}/a.bin", tmp_path / "a.bin", sha256="0" * 64)
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert only(tmp_path) == ["a.bin"]


def test_clear_errors(site, tmp_path):
    with pytest.raises(DataError, match=r"/absent: the server answers 404 Not Found"):
        fetch(f"{site.url}/absent", tmp_path / "a")
    with pytest.raises(DataError, match="only http and https"):
        fetch("file:///etc/passwd", tmp_path / "a")
    with pytest.raises(DataError, match="server answers 302"):
        fetch(f"{site.url}/moved", tmp_path / "a")
    with pytest.raises(DataError, match=r"cannot be fetched: .*refused"):
        fetch("http://127.0.0.1:9/a", tmp_path / "a")
    assert only(tmp_path) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        fetch(f"{site.url}/a.bin", tmp_path / "file" / "a")


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_known_data_set_comes_from_the_mirror_once(site, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path))
    site.files["/sets/eurlex-4k.zip"] = zipped({"train.txt": "1 2 3\n", "raw/test.txt": "x"})
    folder = cached("EURLex-4K", mirror=f"{site.url}/sets/")
    assert folder == tmp_path / "eurlex-4k"
    assert (folder / "raw" / "test.txt").read_text() == "x"
    assert only(tmp_path) == ["eurlex-4k"]
    monkeypatch.setenv("LABELWOOD_MIRROR", "http://127.0.0.1:9")
    assert cached("eurlex-4k") == folder
    with pytest.raises(DataError, match="cannot be fetched"):
        cached("bibtex")
    assert len(site.seen) == 1


def test_without_mirror_the_way_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path))
    monkeypatch.delenv("LABELWOOD_MIRROR", raising=False)
    with pytest.raises(DataError, match=r"Amazon-670K is not in the cache.*by hand from http.*set LABELWOOD_MIRROR"):
        cached("amazon-670k")
    monkeypatch.delenv("LABELWOOD_CACHE")
    assert cache_folder().name in ("labelwood", "cache")
