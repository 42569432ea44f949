"""The wheel and the source archive: the right tag, what they hold, and the wheel at work without a compiler.

The environment LABELWOOD_WHEEL names a wheel to take; else one is built, from the source archive as users would.
pip fetches numpy and the other dependencies: these tests need a package index.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a minute of compiling
ROOT = Path(__file__).parents[2]
BIN = "Scripts" if os.name == "nt" else "bin"
LIBRARIES = (".so", ".pyd", ".dylib")


def run(*command, **options):
    """What a command wrote, or a failed test that shows it."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | options.pop("environ", {})
    done = subprocess.run(
        [str(word) for word in command],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source_archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    code = "import sys, scikit_build_core.build; print(scikit_build_core.build.build_sdist(sys.argv[1]))"
    run(sys.executable, "-c", code, folder, cwd=ROOT)
    (archive,) = folder.glob("labelwood-*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(source_archive, tmp_path_factory):
    given = os.environ.get("LABELWOOD_WHEEL")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    tools = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    options = ("--no-build-isolation", "--no-deps", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, source_archive, environ=tools)
    (made,) = folder.glob("*.whl")
    return made


def test_the_source_archive_holds_all_that_is_compiled(source_archive):
    with tarfile.open(source_archive) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    source = [path for folder in ("native", "src") for path in (ROOT / folder).rglob("*") if path.is_file()]
    wanted = {path.relative_to(ROOT).as_posix() for path in source if path.suffix not in (*LIBRARIES, ".pyc")}
    assert {*wanted, "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= held
    assert not {name for name in held if name.startswith(("tests/", "build/", ".venv")) or name.endswith(LIBRARIES)}


def test_the_tag_and_the_library_in_it_fit(wheel):
    """The stable ABI from 3.12 on, which nanobind needs; 3.10 and 3.11 have wheels of their own."""
    stable = sys.version_info >= (3, 12)
    this = f"cp3{sys.version_info.minor}"
    _, _, python, abi, _ = wheel.stem.split("-")
    assert (python, abi) == (("cp312", "abi3") if stable else (this, this))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        tag = next(archive.read(name).decode() for name in names if name.endswith(".dist-info/WHEEL"))
    (library,) = [name for name in names if name.endswith(LIBRARIES)]
    assert f"Tag: {python}-{abi}-" in tag
    assert library.startswith("labelwood/_native.")
    if os.name != "nt":
        assert (".abi3." in library) == stable


def test_only_the_package_is_installed(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"labelwood", "labelwood-0.1.0.dist-info"}
    assert {"labelwood/py.typed", "labelwood/_native.pyi", "labelwood/__main__.py"} <= set(names)
    page = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/labelwood/server/page").iterdir()}
    assert page <= set(names)
    assert "labelwood/server/page/index.html" in page
    python_files = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == python_files


def test_it_works_in_an_empty_environment_without_a_compiler(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    programs = tmp_path / "empty" / BIN
    alone = {"PATH": str(programs)}
    assert not any(shutil.which(name, path=str(programs)) for name in ("cc", "c++", "gcc", "g++", "clang", "cmake"))
    options = ("--no-build-isolation", "--only-binary", ":all:", "-c", ROOT / "constraints.txt")
    run(programs / "python", "-m", "pip", "install", *options, wheel, environ=alone)
    shown = run(programs / "labelwood", "demo", "--small", "--quiet", cwd=tmp_path, environ=alone)
    assert "one-vs-all" in shown
    assert shown.count("because of: ") >= 5
    model, rows = tmp_path / "labelwood-demo" / "model", tmp_path / "labelwood-demo" / "test.jsonl"
    run(programs / "labelwood", "predict", model, rows, "--out", tmp_path / "answers.jsonl", environ=alone)
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 240

    command = [programs / "labelwood", "data", "convert", rows, tmp_path / "rows.parquet"]
    refused = subprocess.run(command, env=os.environ | alone, capture_output=True, text=True, check=False, timeout=100)
    assert refused.returncode == 2
    assert 'pip install "labelwood[parquet]"' in refused.stderr
