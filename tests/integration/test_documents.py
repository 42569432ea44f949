"""README, tutorial and how-to pages: every ```sh and ```python block runs, and shows what the page says it shows."""

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOW_TO = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "how-to").glob("*.md"))
PAGES = ["README.md", "docs/index.md", "docs/tutorial.md", "docs/which-model.md", *HOW_TO]
# reproduce.md shows a preset with a neural part.
RUN = [pytest.param(page, marks=pytest.mark.torch) if page.endswith("reproduce.md") else page for page in PAGES]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def shape(line):
    """A line without what may differ from machine to machine and from version to version: numbers, bars, spaces."""
    return " ".join(re.sub(r"\d[\d,.]*", "#", re.sub(r"[█░─]+", "", line)).split())


def finished(command, folder, environment):
    """(exit code, stdout, stderr) of a command; what it left running in the background is ended with it."""
    pipe = subprocess.PIPE
    block = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, encoding="utf-8", start_new_session=True
    )
    try:
        out, err = block.communicate(timeout=120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(block.pid, signal.SIGKILL)
    return block.returncode, out, err


@pytest.mark.skipif(os.name == "nt", reason="the pages speak to a POSIX shell")
@pytest.mark.parametrize("page", RUN)
def test_a_page_runs_from_top_to_bottom(page, tmp_path):
    found = blocks(page)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"}
    earlier, shown = "", ""
    for language, code in found:
        if language == "sh":
            command = ["sh", "-ec", code]
        elif language == "python":
            # One page is one session: later blocks use the names of earlier ones; only the last one's output counts.
            setup = f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({earlier!r})\n"
            command = [sys.executable, "-W", "error", "-c", setup + code]
            earlier += code
        elif language == "text":
            real = {shape(line) for line in shown.splitlines()}
            for line in code.splitlines():
                assert shape(line) in real, f"{page} shows {line!r}, but the command printed:\n{shown}"
            continue
        else:
            assert language == "console", f"{page}: a block of {language} is neither run nor marked as not to be run"
            continue
        status, out, err = finished(command, tmp_path, environment)
        assert status == 0, f"{page}:\n{code}\n{err}"
        assert "Traceback" not in err
        shown = out + err


def anchors(page):
    """The names that links may give to the headings of a page, made as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if "://" in target:
            continue
        file = (ROOT / page).parent / target if target else ROOT / page
        assert file.exists(), f"{page} links to {target}"
        assert not anchor or anchor in anchors(file), f"{page} links to {target}#{anchor}"


def test_the_example_runs(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "quickstart.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert "same answers: True" in done.stdout


def test_reference_pages_are_current():
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "tools" / "make_reference.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for name, make in tool.PAGES.items():
        written = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert written == make(), f"run `python tools/make_reference.py`: {name} is old"
