"""`labelwood inspect`: what a saved folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options


def command(
    model: options.ModelFolder,
    verify: options.Verify = False,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Write figures of a learned index (elias) into this folder."),
    ] = None,
    all_arrays: Annotated[bool, typer.Option("--arrays", help="List every array with its type and shape.")] = False,
    json: options.Json = False,
) -> None:
    """Show what a saved model is made of."""
    from labelwood.cli.console import show_json
    from labelwood.loading import load
    from labelwood.storage.load import load_folder
    from labelwood.tagger.tagger import Tagger

    manifest, arrays = load_folder(model, verify=verify)
    n_bytes = sum(array.nbytes for array in arrays.values())
    loaded = load(model)
    inside = loaded.model_ if isinstance(loaded, Tagger) else loaded
    structure = inside.structure()
    written = [] if figures is None else _figures(inside, figures)
    if json:
        show_json(
            {
                **manifest,
                **({"structure": structure} if structure else {}),
                **({"figures": written} if written else {}),
                "n_bytes": n_bytes,
                "verified": verify,
            }
        )
        return
    sizes = {name: array.nbytes for name, array in arrays.items()}
    _show(str(model), manifest, structure, sizes, verify, written, all_arrays)


def _figures(model: Any, folder: Path) -> list[str]:
    from labelwood.errors import ParamError

    if model.name != "elias":
        raise ParamError(f"--figures draws the learned index of an elias model, but this is {model.name}")
    from labelwood.report.elias_figures import write_figures

    return [str(path) for path in write_figures(model, folder)]


def _parts(sizes: dict[str, int]) -> dict[str, int]:
    """The bytes of what the names of arrays begin with, the largest first: 'model', 'rows', ...; none for one part."""
    parts: dict[str, int] = {}
    for name, n_bytes in sizes.items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + n_bytes
    return dict(sorted(parts.items(), key=lambda part: (-part[1], part[0]))) if len(parts) > 1 else {}


def _plain(value: Any) -> str:
    """A value of the manifest as people write it: lists a line an item, nothing in braces."""
    if isinstance(value, dict):
        filled = [f"{name}: {_plain(item)}" for name, item in value.items() if item not in (None, [], {})]
        return "\n".join(filled)
    if isinstance(value, list):
        texts = list(map(str, value))
        return ("\n" if any(" " in text for text in texts) else ", ").join(texts)
    return str(value)


def _show(
    folder: str,
    manifest: dict[str, Any],
    structure: dict[str, float],
    sizes: dict[str, int],
    verified: bool,
    written: list[str],
    all_arrays: bool,
) -> None:
    from labelwood.cli.console import count, show, show_table, size
    from labelwood.storage.load import training_rows

    shape, n_rows = manifest["shape"], training_rows(manifest)
    n_names = shape["n_rows"] - n_rows
    names = f" and {n_names:,} names of labels" if n_names else ""
    facts = [
        ("kind", manifest["kind"]),
        ("model", manifest["name"]),
        ("trained on", f"{count(n_rows, 'row')}{names}, {count(shape['n_features'], 'feature')}"),
        ("labels", f"{shape['n_labels']:,}"),
        ("seed", str(manifest["seed"])),
        ("size", f"{size(sum(sizes.values()))} in {count(len(manifest['arrays']), 'array')} (--arrays lists them)"),
        ("created", f"{manifest['created']} by labelwood {manifest['labelwood_version']}"),
    ]
    facts += [("checksums", "all right")] if verified else []
    show_table(folder, ("what", "value"), facts, align="ll")
    tables = [
        ("Structure", {name: f"{value:,.2f}".removesuffix(".00") for name, value in structure.items()}),
        ("Parameters", manifest["parameters"]),
        ("Metrics", manifest["metrics"]),
        ("Made from", manifest["extra"]),
        ("Size of its parts", {part: size(n) for part, n in _parts(sizes).items()}),
    ]
    for title, values in tables:
        if values:
            show_table(title, ("name", "value"), [(name, _plain(value)) for name, value in values.items()], align="ll")
    if all_arrays:
        show_table(
            "Arrays",
            ("name", "type", "shape"),
            [(n, e["dtype"], " x ".join(f"{d:,}" for d in e["shape"])) for n, e in sorted(manifest["arrays"].items())],
            align="lll",
        )
    if written:
        show(f"Figures: {', '.join(written)}")
    show("Next: labelwood predict, evaluate or explain with this folder.")
