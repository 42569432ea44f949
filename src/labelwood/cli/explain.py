"""`labelwood explain`: which words (or features) push a row towards a label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.cli.loaded import Loaded
    from labelwood.tagger.reasons import TagReason


def command(
    model: options.ModelFolder,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The text, for a tagger.")] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", metavar="NAME", help="The label to explain, by name or id. Default: the best."),
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Take the row from this file.")] = None,
    row: Annotated[
        int | None, typer.Option("--row", metavar="N", min=0, help="The row of --data, counted from 0. Default: 0.")
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Show the N strongest.")] = 10,
    lang: options.Lang = None,
    verify: options.Verify = False,
    json: options.Json = False,
) -> None:
    """Show the words that push towards a label."""
    from labelwood.cli.console import bar, say, show_json, show_table
    from labelwood.cli.loaded import Loaded
    from labelwood.errors import ParamError
    from labelwood.models.explanation import way_text

    if (text is None) == (data is None):
        raise ParamError("explain needs either a TEXT or --data FILE with --row N")
    if row is not None and data is None:
        raise ParamError("--row is a row of --data FILE, but a TEXT was given")
    loaded = Loaded(model, verify=verify)
    titles = loaded.titles(lang)
    reason = _reason(loaded, text, data, row or 0, label)
    title = reason.label if titles is None else f"{titles[loaded.label(reason.label)]} ({reason.label})"
    if json:
        parts = [{"feature": word, "contribution": push} for word, push in reason.words]
        votes = [{"row": vote.row, "text": vote.text, "contribution": vote.push} for vote in reason.voters]
        named = {} if titles is None else {"name": titles[loaded.label(reason.label)]}
        show_json(
            {
                "label": reason.label,
                **named,
                "score": reason.score,
                "contributions": parts,
                "votes": votes,
                "sides": [{"side": side, "contribution": push} for side, push in reason.sides],
                "bias": reason.rest,
            }
        )
        return
    if loaded.tagger is not None and not reason.words:
        say("note: the text has no word that the tagger knows")
    pushes = sorted(pushes_of(reason), key=lambda item: -abs(item[1]))
    strongest, weaker = pushes[:n], pushes[n:]
    largest = max((abs(push) for _, push in strongest), default=0.0)
    rows = [(word, f"{push:+.4f}", bar(push, largest)) for word, push in strongest]
    if weaker:
        rows.append((f"({len(weaker)} more)", f"{sum(push for _, push in weaker):+.4f}", ""))
    rows.append(("(rest)", f"{reason.rest:+.4f}", ""))
    rows.append(("sum", f"{reason.explanation.total:+.4f}", f"-> {way_text(reason.explanation)}"))
    what = "word" if loaded.tagger else "feature"
    show_table(f"{title}: score {reason.score:.4f}", (what, "push", ""), rows, align="lrl")


def pushes_of(reason: TagReason) -> list[tuple[str, float]]:
    """What pushes for or against the label: words, training rows that voted, and other sides."""
    votes = [(f"row {vote.row}: {vote.text[:60]}".rstrip(": "), vote.push) for vote in reason.voters]
    return [*reason.words, *votes, *reason.sides]


def _reason(loaded: Loaded, text: str | None, data: Path | None, row: int, label: str | None) -> TagReason:
    """Why a text, or a row of a file, gets the label; without one, the label that is answered first."""
    from labelwood.errors import DataError, ParamError
    from labelwood.topk import PAD

    if data is not None:
        rows = loaded.read(data, quiet=True, labels=loaded.no_labels)
        if row >= rows.n_rows:
            raise DataError(f"{data}: row {row} is outside 0..{rows.n_rows - 1}")
        asked = rows.take([row])
        text = asked.texts[0] if loaded.tagger is not None and asked.texts else None
    if loaded.tagger is not None:
        if text is None:
            raise ParamError("a tagger explains a TEXT")
        return loaded.tagger.explain(text, label or None)
    if data is None:
        raise ParamError(
            f"{loaded.folder}: holds a model of feature rows; give --data FILE and --row N instead of a text"
        )
    best = loaded.label(label) if label is not None else int(loaded.model.predict(asked.features(), 1).labels[0, 0])
    if best == PAD:
        raise DataError(f"{data}: row {row} gets no label, so there is none to explain; name one")
    return loaded.reason(asked, best)
