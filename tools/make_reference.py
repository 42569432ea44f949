"""Writes docs/reference/{cli,api,parameters}.md and the table of docs/how-to/formats.md from the code.

A test holds them current.

python tools/make_reference.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

import labelwood
from labelwood.cli.main import app
from labelwood.cli.models import settings_text
from labelwood.data.formats import FORMATS
from labelwood.features.tfidf_params import TfidfParams
from labelwood.models.registry import model_class, model_names

FOLDER = Path(__file__).parents[1] / "docs"
WIDTH = 100
# The public names in the order of the Python page; models and errors come from labelwood.__all__.
TAGGING = ("Tagger", "tune", "read", "load", "write", "evaluate", "Client")
PARTS = ("Dataset", "TopK", "Explanation", "Vocabulary", "read_vocabulary", "TfidfVectorizer", "scorer")


def parameters_page() -> str:
    """The page of all parameters, one table a model."""
    parts = [
        "# Parameters\n",
        "Made by `tools/make_reference.py` from the declarations in the code.\n",
        "Python: `labelwood.OneVsAll(C=0.5)`. Command line: `--set C=0.5`; for the features of texts",
        '`--set features.min_df=3` (Python: `Tagger(features={"min_df": 3})`). `labelwood models NAME` shows them.',
        "Presets are the published configurations: [methods/presets.md](../methods/presets.md).\n",
    ]
    for name in model_names():
        cls = model_class(name)
        parts.append(f"## {name}\n")
        parts.append(f"`labelwood.{cls.__name__}`: {(cls.__doc__ or '').strip().splitlines()[0]}\n")
        parts.append(_table(cls.Parameters.table()))
        if cls.PRESETS:
            parts.append(_presets(cls))
    parts.append("## Features of texts\n")
    parts.append("`labelwood.TfidfVectorizer`; a Tagger chooses `sublinear_tf=True`.\n")
    parts.append(_table(TfidfParams.table()))
    return "\n".join(parts)


def _table(rows: list[tuple[str, str, str, str]]) -> str:
    lines = ["| name | default | allowed | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | `{default}` | {allowed} | {help} |" for name, default, allowed, help in rows]
    return "\n".join(lines) + "\n"


def _presets(cls: Any) -> str:
    lines = [f"| preset: `{cls.__name__}.preset(name)` | what it sets |", "|---|---|"]
    lines += [f"| `{name}` | {settings_text(settings)} |" for name, settings in cls.PRESETS.items()]
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    """The page of all commands: their help texts."""
    parts = [
        "# Command line\n",
        "Made by `tools/make_reference.py` from the help texts.\n",
        "Exit codes: 0 done; 2 bad usage or bad input, with one line on stderr; 130 interrupted; 1 anything else",
        "(`LABELWOOD_TRACEBACK=1` shows where). Results go to stdout, notes and progress to stderr.",
        "`--json` prints one JSON object on stdout. Output paths are checked before the",
        "work begins, and files appear whole or not at all.",
        "`labelwood --install-completion` makes your shell complete commands and options.\n",
    ]
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        if inner is None:
            parts.append(_help(f"labelwood {name}", command))
        else:
            parts += [_help(f"labelwood {name} {sub}", found) for sub, found in inner.items()]
    return "\n".join(parts)


def _help(title: str, command: Any) -> str:
    context = command.context_class(command, info_name=title, terminal_width=WIDTH)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"## {title}\n\n```text\n{text}\n```\n"


def api_page() -> str:
    """The page of all public names: signatures and docstrings."""
    classes = {name: value for name in labelwood.__all__ if inspect.isclass(value := getattr(labelwood, name))}
    errors = [name for name, value in classes.items() if issubclass(value, labelwood.LabelwoodError)]
    models = [name for name, value in classes.items() if issubclass(value, labelwood.Model) and name != "Model"]
    parts = [
        "# Python\n",
        "Made by `tools/make_reference.py` from the docstrings. `import labelwood as lw` has all of these names.\n",
    ]
    for title, names in (
        ("Tag texts", TAGGING),
        ("Data and answers", PARTS),
        ("Models", ("Model", *models)),
        ("Errors", errors),
    ):
        parts.append(f"## {title}\n")
        parts += [_described(name, getattr(labelwood, name)) for name in names]
    return "\n".join(parts)


def _described(name: str, value: Any) -> str:
    """One public name: how it is called, what its docstring says, and its methods; of a model only its own ones."""
    lines = [f"### {name}\n"]
    if not inspect.isclass(value):
        return "\n".join([*lines, _call(name, value), _prose(value)])
    homes = [home for home in value.__mro__ if home.__module__.startswith("labelwood.")]
    if issubclass(value, labelwood.Model) and value is not labelwood.Model:
        homes = [value]
        parameters = f"[{value.name}](parameters.md#{value.name})"
        lines.append(f"Parameters: {parameters}. What all models have: [Model](#model).\n")
    elif not issubclass(value, (labelwood.LabelwoodError, labelwood.Model)):
        lines.append(_call(name, value.__init__))
    lines.append(_prose(value))
    members = {method: member for home in reversed(homes) for method, member in vars(home).items()}
    for method, member in members.items():
        called = getattr(member, "__func__", member)  # a class method is called like the function behind it
        if method.startswith("_") or inspect.isclass(called):
            continue
        if isinstance(called, property):
            lines.append(f"**`{method}`**: {_prose(called)}")
        elif inspect.isfunction(called):
            lines += [_call(method, called), _prose(called)]
    return "\n".join(lines)


def _prose(value: Any) -> str:
    """The docstring as Markdown: `<` is a character there, not the start of a tag."""
    parts = re.split("(`[^`]*`)", inspect.getdoc(value) or "")
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts) + "\n"


def _call(name: str, function: Callable[..., Any]) -> str:
    """A block of Python with the function's name, its arguments and what it gives back."""
    signature = inspect.signature(function)
    given = []
    starred = False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            given.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        given.append(_argument(parameter))
    back = signature.return_annotation
    result = "" if back in (inspect.Signature.empty, "None", None) else f" -> {back}"
    line = f"{name}({', '.join(given)}){result}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {argument},\n" for argument in given) + f"){result}"
    return f"```py\n{line}\n```\n"


def _argument(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str, tuple))
    value = repr(parameter.default) if plain else "..."
    return f"{stars}{parameter.name}{kind} = {value}" if kind else f"{parameter.name}={value}"


def formats_page() -> str:
    """The page of the formats as it is, with the table between its marks made anew."""
    lines = ["| format | holds | what it is | written |", "|---|---|---|---|"]
    for format in FORMATS.values():
        written = "yes" if format.write else "no"
        lines.append(f"| `{format.name}` | {format.holds} | {format.help} | {written} |")
    table = "\n".join(lines)
    page = (FOLDER / "how-to" / "formats.md").read_text(encoding="utf-8")
    front, _, rest = page.partition("<!-- formats -->\n")
    return f"{front}<!-- formats -->\n{table}\n<!-- end of formats -->{rest.partition('<!-- end of formats -->')[2]}"


PAGES = {
    "reference/parameters.md": parameters_page,
    "reference/cli.md": cli_page,
    "reference/api.md": api_page,
    "how-to/formats.md": formats_page,
}


def main() -> None:
    """Write the pages."""
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
