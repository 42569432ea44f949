"""The documentation's site: it builds without a warning, and its pages load nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a browser fetches by itself when it shows a page; a link that somebody may click on is none of it.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*>"""
)
LOADED_BY_STYLES = re.compile(r"""(?:@import\s+|url\()["']?(?:https?:)?//[^)"']*""")
# What makes the theme's scripts ask other hosts: diagrams are drawn by a script from elsewhere, and the box of a
# repository shows figures that its host is asked for.
ASKING = ('class="mermaid"', 'data-md-component="source"')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="mkdocs-material needs Python 3.11")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_there(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in pages if not (site / path).is_file()} == set()


def test_pages_load_nothing_from_other_hosts(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not LOADED.findall(text), page
        assert not [mark for mark in ASKING if mark in text], page
    for sheet in site.rglob("*.css"):
        assert not LOADED_BY_STYLES.findall(sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.parametrize(
    "line",
    [
        '<link href="https://fonts.example.org/css?family=Roboto" rel="stylesheet">',
        '<script src="https://cdn.example.org/x.js"></script>',
        '<img alt="badge" src="//badges.example.org/build.svg">',
    ],
)
def test_a_foreign_resource_would_be_seen(line):
    assert LOADED.search(line)
    assert not LOADED.search('<a href="https://example.org">')
