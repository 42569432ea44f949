"""Layout: a module imports only from its left, in the order that docs/architecture.md draws."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "labelwood"
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "misc"}
UNSAFE = {"pickle", "cPickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def module_name(path):
    parts = list(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """(line, module) of every import of the file, also inside functions; `from a import b` gives a.b too."""
    modules = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: imports are written in full"
            modules += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return modules


def room(module):
    return module.split(".")[1]


FILES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or not p.stem.startswith("__"))
ARCHITECTURE = load_tool("make_architecture")
PAGE = ARCHITECTURE.PAGE.read_text(encoding="utf-8")
ORDER = ARCHITECTURE.drawn_order(PAGE)


def test_the_page_draws_the_rooms_that_are_there_and_no_others():
    rooms = {path.stem for path in SOURCE.glob("[a-z]*.py")}
    rooms |= {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms - set(ORDER) == set(), "docs/architecture.md draws the line without these"
    assert set(ORDER) - rooms == set(), "docs/architecture.md draws rooms that do not exist"
    assert len(ORDER) == len(set(ORDER))
    assert ORDER[0] == "errors"
    assert ORDER[-1] == "cli"


def test_the_map_is_current():
    assert ARCHITECTURE.architecture_page() == PAGE, "run `python tools/make_architecture.py`"
    silent = [line for line in PAGE.splitlines() if line.strip().startswith("- `") and "`: " not in line]
    assert not silent, "these begin without a comment that says what they hold"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_every_file_says_what_it_holds(path):
    """The map is made of these first lines: one sentence within the line."""
    first_line = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
    assert first_line.endswith((".", ":")), f"{path}: the first line of its docstring is {first_line!r}"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_come_from_the_left(path):
    here = room(module_name(path))
    for line, module in imports(path):
        if not module.startswith("labelwood.") or room(module) in ("_native", "__version__"):
            continue
        assert ORDER.index(room(module)) <= ORDER.index(here), f"{path}, line {line}: {module} is on the right"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_nothing_unsafe_and_nothing_heavy(path):
    for line, module in imports(path):
        top = module.split(".")[0]
        assert top not in UNSAFE, f"{path}, line {line}: models are data, never {top}"
        if "neural" not in path.parts:
            assert top != "torch", f"{path}, line {line}: torch belongs into models/neural"


def test_no_import_cycles():
    """Modules that import each other at their top level cannot be understood, or loaded, alone."""
    known = {module_name(path): path for path in FILES}
    edges = {}
    for name, path in known.items():
        tree = ast.parse(path.read_text())
        targets = set()
        for node in tree.body:  # top level only: what a function imports is loaded later
            if isinstance(node, ast.ImportFrom) and node.module:
                targets |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
        edges[name] = (targets & set(known)) - {name}
    done, path_now = set(), []

    def visit(name):
        if name in done:
            return
        assert name not in path_now, " -> ".join([*path_now[path_now.index(name) :], name])
        path_now.append(name)
        for other in sorted(edges[name]):
            visit(other)
        path_now.pop()
        done.add(name)

    for name in edges:
        visit(name)


def test_names_say_what_is_inside():
    names = {path.stem for path in FILES} | {path.parent.name for path in FILES}
    assert not names & FORBIDDEN_NAMES
