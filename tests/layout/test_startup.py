"""Start-up budgets, in CPU seconds of a fresh process, best of five."""

import json
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="CPU time of child processes is measured on POSIX systems only")


def cpu_seconds(command, enough):
    """The least CPU time of up to five runs; a run below `enough` settles it."""
    best = float("inf")
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if best < enough:
            break
    return best


def loaded_modules(code):
    command = [sys.executable, "-c", f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"]
    return set(json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.splitlines()[-1]))


def test_import_is_quick():
    assert cpu_seconds([sys.executable, "-c", "import labelwood"], 0.3) < 0.3


@pytest.mark.parametrize(
    "command", [[], ["train"], ["demo"], ["data"]], ids=lambda words: " ".join(words) or "labelwood"
)
def test_help_is_quick(command):
    """Half a second, or on a slow machine little more than typer's own help, which loads pydantic if it is there."""
    taken = cpu_seconds([sys.executable, "-m", "labelwood", *command, "--help"], 0.5)
    assert taken < 0.5 or taken < 1.5 * cpu_seconds([sys.executable, "-m", "typer", "--help"], 0)


def test_import_pulls_in_nothing_heavy():
    heavy = {"torch", "numpy", "scipy", "pyarrow", "sklearn", "rich", "typer"}
    assert not heavy & loaded_modules("import labelwood")


def test_models_load_without_torch_and_scikit_learn():
    code = "from labelwood.models.registry import model_class\nmodel_class('popular')"
    assert not {"torch", "sklearn", "pyarrow", "pandas"} & loaded_modules(code)
