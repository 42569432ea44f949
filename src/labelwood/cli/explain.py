"""`labelwood explain`: which words (or features) push a row towards a label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.cli.loaded import Loaded


def command(
    model: options.ModelFolder,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The text, for a tagger.")] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", metavar="NAME", help="The label; without it, the best one.")
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Take the row from this file.")] = None,
    row: Annotated[int, typer.Option("--row", metavar="N", min=0, help="The row of --data, counted from 0.")] = 0,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Show the N strongest.")] = 10,
    verify: options.Verify = False,
    json: options.Json = False,
) -> None:
    """Show the words that push towards a label."""
    from labelwood.cli.console import bar, show_json, show_table
    from labelwood.cli.loaded import Loaded
    from labelwood.errors import ParamError

    if (text is None) == (data is None):
        raise ParamError("explain needs either a TEXT or --data FILE with --row N")
    loaded = Loaded(model, verify=verify)
    name, score, pushes, rest = _reason(loaded, text, data, row, label)
    strongest = pushes[:n]
    if json:
        parts = [{"feature": word, "contribution": push} for word, push in pushes]
        show_json({"label": name, "score": score, "contributions": parts, "bias": rest})
        return
    largest = max((abs(push) for _, push in strongest), default=0.0)
    left = sum(push for _, push in pushes[n:])
    rows = [(word, f"{push:+.4f}", bar(push, largest)) for word, push in strongest]
    if len(pushes) > n:
        rows.append((f"({len(pushes) - n} more)", f"{left:+.4f}", ""))
    rows.append(("(bias)", f"{rest:+.4f}", ""))
    rows.append(("sum", f"{rest + sum(push for _, push in pushes):+.4f}", ""))
    show_table(f"{name}: score {score:.4f}", ("word" if loaded.tagger else "feature", "push", ""), rows, align="lrl")


def _reason(
    loaded: Loaded, text: str | None, data: Path | None, row: int, label: str | None
) -> tuple[str, float, list[tuple[str, float]], float]:
    """(label name, score, [(feature, contribution)] strongest first, bias)."""
    from labelwood.errors import DataError, ParamError

    if data is not None:
        rows = loaded.read(data, quiet=True)
        if row >= rows.n_rows:
            raise DataError(f"{data}: row {row} is outside 0..{rows.n_rows - 1}")
        one = rows.take([row])
        text = one.texts[0] if loaded.tagger is not None and one.texts else None
    if loaded.tagger is not None:
        if text is None:
            raise ParamError("a tagger explains a TEXT")
        wanted = label if label is not None else loaded.tagger.predict([text], 1)[0][0][0]
        why = loaded.tagger.explain(text, wanted)
        return wanted, why.score, list(why.words), why.rest
    if data is None:
        raise ParamError(
            f"{loaded.folder}: holds a model of feature rows; give --data FILE and --row N instead of a text"
        )
    x = one.features()
    number = loaded.label(label) if label is not None else int(loaded.model.predict(x, 1).labels[0, 0])
    found = loaded.model.explain(x, number)
    pushes = found.by_feature()
    rest = pushes.pop(-1, 0.0)
    names = rows.feature_names
    named = [(names[f] if names is not None else f"feature {f}", push) for f, push in pushes.items()]
    return loaded.name(number), found.score, sorted(named, key=lambda item: (-abs(item[1]), item[0])), rest
