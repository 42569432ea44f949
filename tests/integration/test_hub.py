"""Models on the Hub: pushed to and loaded from an endpoint on this machine that speaks the Hub's protocol."""

import base64
import copy
import dataclasses
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from urllib.parse import unquote, urlsplit

import pytest

import labelwood as lw
from labelwood.hub import hub_name

pytest.importorskip("huggingface_hub")

TEXTS = ["apple pie with cream", "cold orange juice", "cream cake", "hot apple juice", "soup of leek"] * 12
LABELS = [["dessert", "sweet"], ["drink"], ["dessert"], ["drink"], ["soup"]] * 12


class Hub:
    """The repositories of an endpoint: name -> list of commits, each a dict of files."""

    def __init__(self):
        self.repositories = {}
        self.asked = []
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", headers=()):
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                if "content-length" not in {name.lower() for name, _ in headers}:
                    self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(raw)

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = unquote(urlsplit(self.path).path)
                hub.asked.append((self.command, path, self.headers.get("Authorization")))
                if self.headers.get("Authorization") != "Bearer good-token":
                    self.answer(401, {"error": "Invalid user token."})
                elif path == "/api/repos/create":
                    asked = json.loads(body)
                    name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
                    status = 409 if name in hub.repositories else 200
                    hub.repositories.setdefault(name, [])
                    self.answer(status, {"url": f"{hub.url}/{name}"})
                elif path == "/api/validate-yaml":
                    self.answer(200, {"errors": [], "warnings": []})
                elif "/preupload/" in path:
                    files = json.loads(body)["files"]
                    modes = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]
                    self.answer(200, {"files": modes})
                elif "/commit/" in path:
                    name = path.removeprefix("/api/models/").partition("/commit/")[0]
                    lines = [json.loads(line) for line in body.splitlines() if line]
                    values = [line["value"] for line in lines if line["key"] == "file"]
                    files = {value["path"]: base64.b64decode(value["content"]) for value in values}
                    hub.repositories[name].append(files)
                    oid = hub.oid(name, len(hub.repositories[name]) - 1)
                    self.answer(200, {"commitUrl": f"{hub.url}/{name}/commit/{oid}", "commitOid": oid, "success": True})
                else:
                    self.answer(404, {"error": path})

            def do_GET(self):
                path = unquote(urlsplit(self.path).path)
                hub.asked.append((self.command, path, self.headers.get("Authorization")))
                if path.startswith("/api/models/"):
                    rest = path.removeprefix("/api/models/")
                    name = "/".join(rest.split("/")[:2])
                    words = rest.split("/")[2:]
                    revision = words[1] if len(words) > 1 else "main"
                    commit = hub.commit(name, revision)
                    if commit is None:
                        code = "RevisionNotFound" if name in hub.repositories else "RepoNotFound"
                        self.answer(404, {"error": code}, [("X-Error-Code", code)])
                        return
                    number, files = commit
                    if words and words[0] == "tree":
                        entries = [
                            {"type": "file", "path": key, "size": len(value), "oid": hashlib.sha1(value).hexdigest()}
                            for key, value in files.items()
                        ]
                        self.answer(200, entries, [("Content-Type", "application/json")])
                        return
                    siblings = [{"rfilename": key, "size": len(value)} for key, value in files.items()]
                    about = {"_id": "1", "id": name, "sha": hub.oid(name, number), "siblings": siblings, "tags": []}
                    self.answer(200, about, [("Content-Type", "application/json")])
                    return
                owner, name, _, revision, file = path.strip("/").split("/", 4)
                commit = hub.commit(f"{owner}/{name}", revision)
                if commit is None or file not in commit[1]:
                    self.answer(404, {"error": "EntryNotFound"}, [("X-Error-Code", "EntryNotFound")])
                    return
                content = commit[1][file]
                headers = [
                    ("X-Repo-Commit", hub.oid(f"{owner}/{name}", commit[0])),
                    ("ETag", f'"{hashlib.sha1(content).hexdigest()}"'),
                    ("Content-Length", str(len(content))),
                ]
                self.answer(200, content, headers)

            do_HEAD = do_GET  # noqa: N815

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def oid(self, name, number):
        return hashlib.sha1(f"{name} {number}".encode()).hexdigest()

    def commit(self, name, revision):
        """(number, files) of a revision: main is the newest commit."""
        commits = self.repositories.get(name, [])
        for number, files in enumerate(commits):
            if revision == self.oid(name, number) or (revision == "main" and number == len(commits) - 1):
                return number, files
        return None

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def hub():
    endpoint = Hub()
    yield endpoint
    endpoint.close()


@pytest.fixture
def python(hub, tmp_path):
    """Run a program that uses the endpoint; gives what it printed. The library reads the address at its import."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("HF_")},
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "cache"),
        "HF_TOKEN": "good-token",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }

    def call(program, **more):
        command = [sys.executable, "-c", "import labelwood as lw\n" + program]
        done = subprocess.run(command, env={**environment, **more}, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


@pytest.fixture(scope="module")
def tagger():
    return lw.Tagger(n_threads=1, assign="f1").fit(TEXTS, LABELS)


@pytest.fixture
def folder(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    return tmp_path / "model"


def pushed(folder, **words):
    given = ", ".join(f"{key}={value!r}" for key, value in words.items())
    return f"print(lw.load({str(folder)!r}).push_to_hub('someone/dishes', {given}))"


def test_pushed_and_loaded(hub, python, folder, tagger, tmp_path):
    address = python(pushed(folder, figures={"P@1": 87.654}, license="cc-by-4.0"))
    assert address == f"{hub.url}/someone/dishes/commit/{hub.oid('someone/dishes', 0)}"
    files = hub.repositories["someone/dishes"][0]
    assert set(files) == {"README.md", "manifest.json", "arrays.safetensors"}
    card = files["README.md"].decode()
    assert card.startswith("---\nlibrary_name: labelwood\n")
    assert "license: cc-by-4.0" in card
    assert 'lw.load("hf://someone/dishes")' in card
    assert "| P@1 | 87.65 |" in card
    held_out = tagger.calibration_.facts()["held_out"]
    assert f"| precision | {100 * held_out['precision']:.1f} |" in card
    assert b"apple pie with cream" not in b"".join(files.values()), "training texts stay here"
    assert b"rows." not in files["manifest.json"], "training rows stay here"
    answers = "print(lw.load('hf://someone/dishes').predict(['cream cake'], 2))"
    assert python(answers) == str(tagger.predict(["cream cake"], 2))
    hub.asked.clear()
    assert python(answers) == str(tagger.predict(["cream cake"], 2))
    assert not [path for _, path, _ in hub.asked if path.endswith(".safetensors")], "it is not fetched twice"
    assert python(answers, HF_HUB_OFFLINE="1") == str(tagger.predict(["cream cake"], 2))


def test_revisions(hub, python, folder, tmp_path):
    python(pushed(folder))
    other = lw.Tagger(n_threads=1).fit(["red rose", "blue sky"], [["red"], ["blue"]])
    other.save(tmp_path / "other")
    python(pushed(tmp_path / "other"))
    first = hub.oid("someone/dishes", 0)
    assert python("print(lw.load('hf://someone/dishes').label_names)") == "('blue', 'red')"
    assert "dessert" in python(f"print(lw.load('hf://someone/dishes@{first}').label_names)")


def test_rows_go_along_if_wanted(hub, python, folder):
    python(pushed(folder, rows=True))
    learning = "t = lw.load('hf://someone/dishes'); t.learn(['green tea'], [['tea']])"
    assert "'tea'" in python(f"{learning}; print(t.predict(['green tea'], 1))")


def test_corrections_are_not_lost_silently(tagger):
    model = copy.deepcopy(tagger)
    pending = dataclasses.replace(model.fitted_.rows, n_pending=1)
    model._fitted = dataclasses.replace(model.fitted_, rows=pending)
    with pytest.raises(lw.DataError, match="corrections wait"):
        model.push_to_hub("someone/dishes")


def test_refusals_are_one_line(hub, python, folder):
    told = "\ntry:\n    {}\nexcept lw.LabelwoodError as error:\n    print(type(error).__name__, error)"
    missing = python(told.format("lw.load('hf://someone/none')"))
    assert missing.startswith("HubError hf://someone/none: ")
    assert "\n" not in missing
    refused = python(told.format(pushed(folder)), HF_TOKEN="wrong")
    assert refused.startswith("HubError hf://someone/dishes: ")
    assert "wrong" not in refused, "a token is never shown"
    hub.repositories["someone/else"] = [{"config.json": b"{}"}]
    assert "no labelwood model" in python(told.format("lw.load('hf://someone/else')"))
    damaged = python(pushed(folder)) and dict(hub.repositories["someone/dishes"][0])
    damaged["arrays.safetensors"] = damaged["arrays.safetensors"][:-8] + b"damaged!"
    hub.repositories["someone/dishes"].append(damaged)
    assert python(told.format("lw.load('hf://someone/dishes')")).startswith("ModelFileError")


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "owner/name/file",
        "../name",
        "owner/..",
        "owner/../../etc",
        "/etc/passwd",
        "owner/name@../x",
        "owner/name@a/b",
        "owner/name@",
        "owner/na me",
        "owner/name?x=1",
        "owner/name#x",
        "http://host/name",
        "owner\\name",
        "owner/name\n",
        "own--er/name",
        "",
    ],
)
def test_only_owner_and_name_are_names(name):
    with pytest.raises(lw.ParamError, match="owner/name"):
        lw.load(f"hf://{name}")
    with pytest.raises(lw.ParamError, match="owner/name"):
        hub_name(name)


def test_names_and_revisions():
    assert hub_name("owner/a.name_x-1") == ("owner/a.name_x-1", None)
    assert hub_name("owner/name@v1.0") == ("owner/name", "v1.0")
