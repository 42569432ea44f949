"""Layout: nothing public lies about unused.

The rule: every function and class at the top of a module in src, named without a leading underscore, is used
- somewhere in src outside its own definition: imported, called, read as an attribute, or named in a table
  ("delimited:read_csv"); a step of a method that only its own module calls may stay public for its unit test; or
- on a page of docs, in README, CONTRIBUTING or pyproject.toml; or
- in an example, a tool, a benchmark or a test of users' paths: contract, integration, server.
A function that calls itself, and unit, oracle, property, hostile and layout tests, are no use: what only they know is
to be deleted, with its tests.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "labelwood"
PATHS_OF_USERS = ("tests/contract", "tests/integration", "tests/server", "examples", "benchmarks", "tools")
FILES = sorted(SOURCE.rglob("*.py"))
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def names_under(node):
    """The names that code uses: imported, called, read as attributes, or spelled in a string without blanks."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.ImportFrom):
            names |= {alias.name for alias in part.names}
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and not re.search(r"\s", part.value):
            names |= set(re.findall(r"\w+", part.value))
    return names


@cache
def names_in(path):
    return names_under(tree(path))


@cache
def names_of_users():
    """The names in pages, examples, tools, benchmarks and the tests of users' paths."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    names = {name for page in pages for name in re.findall(r"\w+", page.read_text(encoding="utf-8"))}
    for folder in PATHS_OF_USERS:
        for path in (ROOT / folder).rglob("*.py"):
            names |= names_in(path)
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_public_names_are_used(path):
    elsewhere = {name for other in FILES if other != path for name in names_in(other)} | names_of_users()
    parts = tree(path).body
    for definition in parts:
        if not isinstance(definition, DEFINITIONS) or definition.name.startswith("_") or definition.name in elsewhere:
            continue
        beside = set().union(*(names_under(part) for part in parts if part is not definition))
        assert definition.name in beside, f"{path}, line {definition.lineno}: nothing uses {definition.name}"


def test_a_name_that_nothing_uses_is_seen():
    parts = ast.parse("def again(n):\n    return again(n - 1)\n\nother = None").body
    assert "again" in names_under(parts[0])
    assert "again" not in names_under(parts[1])
    assert names_under(ast.parse("table = 'delimited:read_csv', 'two words'")) == {"table", "delimited", "read_csv"}
