"""Writes docs/reference/cli.md, docs/reference/parameters.md and the table of docs/how-to/formats.md from the code.

A test holds them current.

python tools/make_reference.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from labelwood.cli.main import app
from labelwood.cli.models import settings_text
from labelwood.data.formats import FORMATS
from labelwood.features.tfidf_params import TfidfParams
from labelwood.models.registry import model_class, model_names

FOLDER = Path(__file__).parents[1] / "docs"
WIDTH = 100


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
    "how-to/formats.md": formats_page,
}


def main() -> None:
    """Write the pages."""
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
