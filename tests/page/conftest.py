"""The page in a real Chromium, served by a real `labelwood serve`; without a Chromium these tests are skipped."""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from labelwood.data.madeup.shop_texts import make_texts
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.models.registry import model_class
from labelwood.tagger.tagger import Tagger

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TOKEN = "a-token-for-writing"
TEXT = "Lakeview steel skillet\nOven safe. Wipes clean, nothing clings. For stews that simmer all afternoon."
DESKTOP = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light", "locale": "en-GB"}


def pytest_collection_modifyitems(items):
    if CHROMIUM is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium on this machine"))


@pytest.fixture(scope="session")
def rows():
    """1,300 made-up products with tags; the last 100 are for the review."""
    return make_texts(1300, n_labels=120, seed=0)


@pytest.fixture(scope="session")
def names(rows):
    """The tags of each row."""
    return [[rows.label_names[label] for label in rows.y[row].indices] for row in range(rows.n_rows)]


@pytest.fixture(scope="session")
def token():
    """What the service wants for writing."""
    return TOKEN


@pytest.fixture(scope="session")
def text():
    """What `typed` has typed."""
    return TEXT


@pytest.fixture(scope="session")
def serve():
    """serve(folder, *names, options=...): a further service, for one block."""
    return served


@pytest.fixture(scope="session")
def folders(rows, names, tmp_path_factory):
    """A tree that knows how sure it is, a model without either, and one that takes numbers."""
    where = tmp_path_factory.mktemp("models")
    texts, labels = list(rows.texts)[:1200], names[:1200]
    tree = {"max_leaf": 8, "arity": 4, "n_trees": 2}
    Tagger("linear-tree", n_threads=2, assign="f1", model_params=tree).fit(texts, labels).save(where / "shop")
    Tagger("one-vs-all", n_threads=2).fit(texts[:300], labels[:300]).save(where / "plain")
    train, _ = make_sparse_pair(200, 10, n_features=400, n_labels=20)
    model_class("popular")().fit(train.x, train.y).save(where / "numbers")
    return where


@dataclass
class Service:
    url: str
    folder: Path  # of the models


@contextlib.contextmanager
def served(folder, *names, options=()):
    """`labelwood serve` in a process of its own, until the end of the block."""
    command = [sys.executable, "-m", "labelwood", "serve", *(str(folder / name) for name in names), "--port", "0"]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
    )
    try:
        seen = []
        for line in process.stdout:
            seen.append(line)
            address = re.search(r" on (http://\S+)", line)
            if address:
                break
        else:
            pytest.fail("".join(seen))
        yield Service(address[1], folder)
    finally:
        process.terminate()
        process.stdout.close()
        assert process.wait(30) == 0


@pytest.fixture(scope="session")
def service(folders):
    tokens = folders / "tokens.txt"
    tokens.write_text(f"write sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    with served(folders, "shop", "plain", "numbers", options=("--learn", "--tokens", str(tokens))) as running:
        yield running


@pytest.fixture(scope="module")  # its event loop must not stay open while other files run
def browser():
    expect.set_options(timeout=10_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


class Watched:
    """Pages that must stay without errors, without broken rules of the CSP and without requests to elsewhere."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        self.contexts, self.faults = [], []

    def open(self, view="tag", *, url=None, **settings):
        url = url or self.url
        context = self.browser.new_context(**{**DESKTOP, **settings})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self._check(request.url, url))
        page.goto(f"{url}/#{view}")
        return page

    def _check(self, asked, url):
        if not asked.startswith((url + "/", "blob:", "data:")):
            self.faults.append(f"a request to {asked}")

    def close(self):
        for context in self.contexts:
            context.close()
        assert self.faults == []


@pytest.fixture
def pages(browser, service):
    watched = Watched(browser, service.url)
    yield watched
    watched.close()


@pytest.fixture
def page(pages):
    return pages.open()


@pytest.fixture
def typed(page):
    """The page with a text and its tags."""
    page.fill("#text", TEXT)
    expect(page.locator(".tag").first).to_have_attribute("data-name", "kitchen")
    return page
