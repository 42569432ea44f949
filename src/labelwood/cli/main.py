"""The `labelwood` command: every command in its own file, every error one line and an exit code.

Exit codes: 0 done, 2 bad usage or bad input, 130 interrupted, 1 anything else. Command files import the library inside
their functions, so that `labelwood --help` costs no more than typer.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from labelwood.cli import (
    bench_balance,
    compare,
    data_cache,
    data_convert,
    data_fetch,
    data_info,
    data_split,
    data_synth,
    demo,
    evaluate,
    explain,
    inspect,
    labels,
    learn,
    models,
    predict,
    reproduce,
    serve,
    shrink,
    train,
)
from labelwood.errors import LabelwoodError

BAD_INPUT = 2
BROKEN = 1

app = typer.Typer(
    name="labelwood",
    help="Give an item the few right labels out of hundreds to millions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich alone would cost more than the rest of the start
)
data = typer.Typer(
    help="Look at, convert, split, make and fetch data sets.", no_args_is_help=True, rich_markup_mode=None
)

for module in (
    demo, train, predict, evaluate, compare, reproduce, explain, learn, labels, shrink, inspect, models, serve,
):  # fmt: skip
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.add_typer(data, name="data")
for module in (data_info, data_convert, data_split, data_synth, data_fetch, data_cache):
    data.command(module.__name__.rpartition("_")[2])(module.command)
bench = typer.Typer(help="Measure methods against each other.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench, name="bench")
bench.command("balance")(bench_balance.command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from labelwood import __version__

        typer.echo(f"labelwood {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and end.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Give an item the few right labels out of hundreds to millions."""


def run(arguments: Sequence[str]) -> int:
    """The exit code of one command; every error has become one line on stderr."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=list(arguments), prog_name="labelwood", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except LabelwoodError as error:
        from labelwood.cli.inputs import option_name
        from labelwood.wording import spelled

        return _fail(spelled(error, option_name), BAD_INPUT)
    except typer.Abort:
        return _fail("stopped", BROKEN)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # Who read our output has gone (`| head`): nothing is wrong, and nothing more can be written.
        from labelwood.cli.console import close_stdout

        close_stdout()
        return BROKEN
    except Exception as error:
        usage = _usage_message(error)
        if usage is not None:
            return _fail(usage, BAD_INPUT) if usage else BAD_INPUT
        if os.environ.get("LABELWOOD_TRACEBACK"):
            traceback.print_exc()
        hint = "set LABELWOOD_TRACEBACK=1 to see where"
        return _fail(f"unexpected {type(error).__name__}: {error} ({hint})", BROKEN)


def _usage_message(error: Exception) -> str | None:
    """The text of typer's own errors (unknown option, missing argument, ...); None for any other error."""
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        return None
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(format_message(), err=True)
        return ""
    path = context.command_path if context is not None else "labelwood"
    return f"{_clearer(error, format_message())} (see `{path} --help`)"


def _clearer(error: Exception, message: str) -> str:
    """Typer's message with what is missing explained, and arguments that are too many named as they were typed."""
    if type(error).__name__ == "MissingParameter":
        meaning = getattr(getattr(error, "param", None), "help", None)
        return message if not meaning else f"{message.rstrip('.')}: {meaning}"
    extra = re.fullmatch(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)", message, re.DOTALL)
    return message if extra is None else f"One argument too many, or an option that takes no value: {extra[1]!r}."


def _fail(message: str, code: int) -> int:
    from labelwood.cli.console import say

    say("labelwood: " + " ".join(message.split()))
    return code


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from labelwood.cli.ranks import silence_others

    silence_others()
    sys.exit(run(sys.argv[1:]))
