"""`labelwood data cache`: the files that were parsed once and are kept in binary."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwood.cli import options


def command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything; it is made again when needed.")] = False,
    json: options.Json = False,
) -> None:
    """List or clear the files that `--memory` keeps.

    These are data files in binary form, in the folder `rows` of LABELWOOD_CACHE or of the usual place for caches.
    """
    from labelwood.cli.console import count, show, show_json, show_table, size
    from labelwood.cli.sparing import row_cache

    cache = row_cache()
    if clear:
        n_files, freed = len(cache.entries()), cache.clear()
        if json:
            show_json({"folder": str(cache.folder), "removed": n_files, "bytes": freed})
        else:
            show(f"removed {count(n_files, 'file')}, {size(freed)}")
        return
    entries = cache.entries()
    if json:
        files = [
            {"source": entry.source, "rows": entry.n_rows, "bytes": entry.n_bytes, "current": entry.current}
            for entry in entries
        ]
        show_json({"folder": str(cache.folder), "files": files})
    elif not entries:
        show(f"{cache.folder}: nothing is kept")
    else:
        table = [
            [entry.source, f"{entry.n_rows:,}", size(entry.n_bytes), "" if entry.current else "changed since"]
            for entry in entries
        ]
        show_table(str(cache.folder), ["file", "rows", "size", ""], table)
