"""Layout: a module imports only from its left, in the order that docs/architecture.md draws."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "labelwood"
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "misc"}
UNSAFE = {"pickle", "cPickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}


def drawn_order():
    """The rooms from left to right, read from the architecture page."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = re.search(r"(?:^ {4}.*\n)+", page, re.MULTILINE)
    return re.findall(r"[a-z]+", block.group()) if block else []


def module_name(path):
    parts = list(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """(line, module) of every import of the file, also inside functions; `from a import b` gives a.b too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: imports are written in full"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def room(module):
    return module.split(".")[1]


FILES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or not p.stem.startswith("__"))
ORDER = drawn_order()


def test_the_page_draws_every_room():
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__"} <= set(ORDER)
    assert len(ORDER) == len(set(ORDER))
    assert ORDER[0] == "errors"
    assert ORDER[-1] == "cli"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_come_from_the_left(path):
    own = module_name(path)
    for line, module in imports(path):
        if not module.startswith("labelwood.") or room(module) in ("_native", "__version__"):
            continue
        assert ORDER.index(room(module)) <= ORDER.index(room(own)), f"{path}, line {line}: {module} is on the right"


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
