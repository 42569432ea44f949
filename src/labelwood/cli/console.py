"""What the commands show: results on stdout, everything else on stderr, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Any

import typer


def say(message: str) -> None:
    """Write one line for the person, on stderr."""
    typer.echo(message, err=True)


def say_note(message: str) -> None:
    """Write a note or a reason for the person, on stderr."""
    say(prose(message, sys.stderr))


def show_sentence(text: str) -> None:
    """Write a sentence of the result, on stdout."""
    show(prose(text, sys.stdout))


def show(text: str = "") -> None:
    """Write one line of the result, on stdout."""
    typer.echo(text)


def prose(text: str, stream: IO[str]) -> str:
    """A sentence for people: on a terminal broken between words where its line ends, elsewhere as it is."""
    if not stream.isatty():
        return text
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)) or text


def show_json(value: Any) -> None:
    """Write the result as one JSON object on stdout; numbers that JSON lacks become null."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def close_stdout() -> None:
    """Send what is left for stdout nowhere, so that Python does not try it again, and complain, at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain(value: Any) -> Any:
    """The value made of JSON's own kinds: NumPy numbers unwrapped, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "l") -> None:
    """Write a table on stdout; align: 'l' or 'r' for each column, columns beyond it are numbers and go right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if align[place : place + 1] == "l" else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: a label such as "[red]" is no markup
    # Without a terminal the width is unknown: wide enough for any of our tables, so that lines are not broken.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, highlight=False)
    # A line of its own: rich would break the title of a narrow table at the table's width.
    console.print(Text(title, style="italic"), soft_wrap=True)
    console.print(table)


def count(number: int, noun: str) -> str:
    """'1 row', '2,000 rows'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(n_bytes: int) -> str:
    """A number of bytes for people: '3.2 MB'."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = min((len(str(n_bytes)) - 1) // 3, len(units))
    return f"{n_bytes / 1000**power:.1f} {units[power - 1]}"


def bar(value: float, largest: float, width: int = 20) -> str:
    """A bar of blocks whose length shows |value| against the largest."""
    length = round(width * abs(value) / largest) if largest > 0 else 0
    return ("█" if value >= 0 else "░") * length
