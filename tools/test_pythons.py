"""Runs the demo and the quick tests on every Python found on this machine; `make test-pythons` calls it.

Each Python has an environment .venv-3.X of its own, with the package from a wheel and the [dev] extra. From 3.12 on
there is one wheel: the oldest such Python builds it and the newer ones install the same file, as users do. PyTorch and
what needs it is left out (`make test` has it): where pip finds builds with CUDA, four of them take 20 GB.

python tools/test_pythons.py [3.10 3.12 ...]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
FIRST_WITH_STABLE_ABI = 12
BUILD_TOOLS = ("pip", "scikit-build-core", "nanobind", "cmake", "ninja")


def main(wanted: list[str]) -> int:
    """0 if every Python that was found is content; says at the end which ones ran."""
    unknown = [version for version in wanted if version not in VERSIONS]
    if unknown:
        print(f"unknown Python {unknown[0]} (known: {', '.join(VERSIONS)})", file=sys.stderr)
        return 2
    results: list[str] = []
    failed = False
    stable_wheel: Path | None = None
    for version in wanted or VERSIONS:
        python = interpreter(version)
        if python is None:
            results.append(f"Python {version}: not on this machine")
            failed = failed or bool(wanted)
            continue
        start = time.perf_counter()
        try:
            shared = stable_wheel if int(version[2:]) >= FIRST_WITH_STABLE_ABI else None
            wheel = check(version, python, shared)
        except subprocess.CalledProcessError as error:
            failed = True
            results.append(f"Python {version}: FAILED: {' '.join(map(str, error.cmd))}")
            continue
        if "abi3" in wheel.name:
            stable_wheel = wheel
        results.append(f"Python {version}: passed in {time.perf_counter() - start:.0f} s, {wheel.name}")
    print("\n" + "\n".join(results))
    return 1 if failed else 0


def interpreter(version: str) -> Path | None:
    """The newest python3.X, from pyenv or the PATH; None if there is none that starts."""
    places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), key=_patch, reverse=True)
    on_path = shutil.which(f"python{version}")
    for place in [*places, *([Path(on_path)] if on_path else [])]:
        # A shim of pyenv is on the PATH also for versions that are not switched on.
        if subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
            return place
    return None


def _patch(python: Path) -> int:
    digits = python.parents[1].name.split(".")[2]
    return int(digits) if digits.isdecimal() else -1  # 3.14.0rc1, 3.13.0-dev: after every release


def check(version: str, python: Path, wheel: Path | None) -> Path:
    """The wheel that was tested; it is built first if none is given."""
    environment = ROOT / f".venv-{version}"
    executable = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    print(f"\n== Python {version}: {python}", flush=True)
    run(python, "-m", "venv", environment)
    pip = (executable, "-m", "pip", "--disable-pip-version-check", "-qq")
    run(*pip, "install", "-c", "constraints.txt", *BUILD_TOOLS)
    if wheel is None:
        wheel = built_wheel(version, pip, executable.parent)
    run(*pip, "install", "--force-reinstall", "--no-deps", wheel)
    run(*pip, "install", "-c", "constraints.txt", f"labelwood[dev] @ {wheel.as_uri()}", "faiss-cpu")
    with tempfile.TemporaryDirectory() as folder:
        run(executable, "-m", "labelwood", "demo", "--quiet", "--out", Path(folder) / "demo")
    environ = {"LABELWOOD_WHEEL": str(wheel)}
    pytest = (executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    run(*pytest, "-m", "not slow and not torch", "-n", "auto", "--dist", "worksteal")
    run(*pytest, "tests/layout/test_wheel.py", environ=environ)
    return wheel


def built_wheel(version: str, pip: tuple[Path | str, ...], tools: Path) -> Path:
    """The wheel that a Python builds from this source, with warnings as errors."""
    folder = ROOT / "build" / f"wheel-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    options = ("--no-build-isolation", "--no-deps", "--wheel-dir", folder, "-C", "cmake.define.LABELWOOD_WERROR=ON")
    run(*pip, "wheel", *options, ".", environ={"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"})
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(*command: Path | str, environ: dict[str, str] | None = None) -> None:
    """Run a command in the project's folder, without paths to other copies of the package; an error ends it."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(word) for word in command], cwd=ROOT, env={**plain, **(environ or {})}, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
