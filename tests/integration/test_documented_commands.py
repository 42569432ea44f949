"""Every command that a page names exists: scripts with their options, `labelwood` with its commands and options.

The pages that test_documents.py runs are held to more; here are also the pages of methods and measurements, whose
commands take minutes to hours.
"""

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_command

from labelwood.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
)
SCRIPT = re.compile(r"(?<![\w/.])((?:benchmarks|tools|examples)/[\w/]+\.py)([^`\n|]*)")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")
FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
INDENTED = re.compile(r"^    (\S.*)$", re.MULTILINE)


def text_of(page):
    """The text of a page; a line that a backslash breaks is one line."""
    return re.sub(r"\\\n\s*", " ", (ROOT / page).read_text(encoding="utf-8"))


def declared_options(script, seen=()):
    """The options that a script declares, itself or in the files beside it that it imports."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    found = {"--help"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            found |= {word.value for word in node.args if isinstance(word, ast.Constant)}
        elif isinstance(node, (ast.ImportFrom, ast.Import)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in filter(None, names):
                beside = script.with_name(f"{name.split('.')[-1]}.py")
                if beside.exists() and beside not in (script, *seen):
                    found |= declared_options(beside, (script, *seen))
    return found


def faults_of_scripts(text):
    """What is wrong with the scripts that a text names."""
    faults = []
    for name, rest in SCRIPT.findall(text):
        if not (ROOT / name).is_file():
            faults.append(f"{name} does not exist")
            continue
        declared = declared_options(ROOT / name)
        faults += [f"{name} has no {option}" for option in OPTION.findall(rest) if option not in declared]
    return faults


def code_lines(text):
    """The lines of code blocks and the code inside sentences."""
    fenced = [line for block in FENCE.findall(text) for line in block.splitlines()]
    without = FENCE.sub("", text)
    return [line.strip() for line in [*fenced, *INDENTED.findall(without), *SPAN.findall(without)]]


def faults_of_commands(text):
    """What is wrong with the `labelwood` commands that a text shows."""
    faults = []
    for line in code_lines(text):
        for part in re.split(r"\s*(?:&&|;|\|)\s+", line.removeprefix("$ ")):
            words = part.split()
            if words[:1] != ["labelwood"] or len(words) < 2 or not re.fullmatch(r"[a-z][a-z-]*", words[1]):
                continue
            command, path = get_command(app), []
            for word in words[1:]:
                deeper = getattr(command, "commands", {}).get(word)
                if deeper is None:
                    break
                command, path = deeper, [*path, word]
            if not path:
                faults.append(f"`{part}`: there is no command {words[1]}")
                continue
            known = {"--help"} | {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
            nested = getattr(command, "commands", {})
            known |= {name for deeper in nested.values() for param in deeper.params for name in param.opts}
            faults += [f"`{part}`: no option {option}" for option in OPTION.findall(part) if option not in known]
    return faults


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_commands_that_exist(page):
    text = text_of(page)
    assert faults_of_scripts(text) + faults_of_commands(text) == []


def test_what_does_not_exist_is_found():
    shown = "See `benchmarks/speed/nothing.py`, `benchmarks/speed/stems.py DATA --lang fi --slowly`."
    assert faults_of_scripts(shown) == [
        "benchmarks/speed/nothing.py does not exist",
        "benchmarks/speed/stems.py has no --slowly",
    ]
    shown = "Try `labelwood trian x`, `labelwood train x --worst`, `labelwood data info x`.\n"
    shown += "\n    labelwood serve m --prot 1\n"
    assert [fault.split(": ")[1] for fault in faults_of_commands(shown)] == [
        "no option --prot",
        "there is no command trian",
        "no option --worst",
    ]


def test_the_pages_with_commands_are_looked_at():
    named = [page for page in PAGES if SCRIPT.search(text_of(page))]
    assert {"docs/measurements/calibration.md", "docs/methods/elias.md", "benchmarks/README.md"} <= set(named)
