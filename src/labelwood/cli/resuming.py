"""Runs that can go on after they were killed: whose steps are used, what is said, and when they are removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Continue a run that was stopped or killed; its finished steps are in DIR.unfinished."
    ),
]
_PIECE = 1 << 20
# Options that change nothing of what is written, or where it goes.
_NO_PART = ("data", "out", "threads", "memory", "cluster", "resume", "force", "json", "quiet")


def identity_of(data: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two runs the same one: the options given, and what data and other files hold, wherever they are."""
    given = {
        name.rstrip("_"): _by_content(value)
        for name, value in options.items()
        if name not in _NO_PART and value is not None and value is not False
    }
    plain: dict[str, Any] = json.loads(json.dumps({"data": fingerprint(data), **given}, default=str))
    return plain


def _by_content(value: Any) -> Any:
    """The value of an option, with files and folders, also of KEY=VALUE, by what they hold."""
    if isinstance(value, Path):
        return fingerprint(value) if value.exists() else str(value)
    if isinstance(value, (list, tuple)):
        return [_by_content(item) for item in value]
    if isinstance(value, str) and "=" in value:
        key, _, named = value.partition("=")
        with suppress(OSError, ValueError):  # too long a name, or a NUL in it
            return f"{key}={fingerprint(Path(named))}" if named and Path(named).exists() else value
    return value


def fingerprint(path: Path) -> str:
    """A name for what a file holds, or for what a folder lists."""
    import xxhash

    digest = xxhash.xxh3_128()
    if path.is_dir():
        for entry in sorted(path.rglob("*")):
            status = entry.stat()
            digest.update(f"{entry.relative_to(path)} {status.st_size} {status.st_mtime_ns}\n".encode())
    elif path.is_file():
        with path.open("rb") as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
    return digest.hexdigest()[:16]


def run_name(identity: Mapping[str, Any]) -> str:
    """16 digits that tell a run from others; a finished model keeps them."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def finished_already(out: Path, identity: Mapping[str, Any]) -> bool:
    """Whether `out` holds what this very run writes; its steps, if a kill left some, are removed then."""
    from labelwood.errors import LabelwoodError
    from labelwood.storage.load import read_manifest
    from labelwood.storage.unfinished import UnfinishedRun

    if not out.is_dir():
        return False
    try:
        kept = read_manifest(out)["extra"].get("run")
    except LabelwoodError:
        return False
    if kept != run_name(identity):
        return False
    with suppress(LabelwoodError):  # of another run, which someone else may want to go on with
        UnfinishedRun(out, identity, resume=True).remove()
    return True


@contextmanager
def resumable(
    out: Path, identity: Mapping[str, Any], *, resume: bool, force: bool, quiet: bool, command: str = "the same command"
) -> Iterator[None]:
    """The block is a run that writes `out`: it keeps its steps, and uses those that are there.

    They are removed when the block ends well. When it is stopped, the message says how to go on.
    """
    from labelwood.cli.console import count, say
    from labelwood.storage.steps import keeping
    from labelwood.storage.unfinished import UnfinishedRun

    run = UnfinishedRun(out, identity, resume=resume, force=force)
    if not quiet:
        if run.begins_anew:
            say(f"note: {run.begins_anew}")
        elif resume and run.has_steps():
            say(f"note: goes on with the unfinished run in {run.folder}")
    try:
        with keeping(run):
            yield
    except KeyboardInterrupt:
        if run.has_steps():
            say(f"labelwood: interrupted; {command} with --resume goes on where it was ({run.folder})")
        raise
    finally:
        run.close()
    if run.fault and not quiet:
        say(f"note: this run could not have been resumed: {run.fault}")
    if run.reused and not quiet:
        say(f"note: {count(run.reused, 'finished step')} taken from {run.folder}")
    run.remove()
