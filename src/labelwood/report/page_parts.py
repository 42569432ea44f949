"""What the pages of reports share: one self-contained HTML document, its style, tables and figures; Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

from labelwood.report.pictures import STYLE

NUMBERS = "report"  # the id of the element that holds the numbers
CSS = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1a1a;--soft:#f3f4f6;--rule:#cfd4da}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e8e8e8;--soft:#20252a;--rule:#454c54}}
body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;
max-width:1080px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--rule)}
h3{font-size:1rem;margin-bottom:.3rem}
.lead{background:var(--soft);padding:.8rem 1.1rem;border-radius:.5rem}.lead p{margin:.3rem 0}
.row{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;min-width:0}figcaption{font-size:.85rem;max-width:36rem}
svg{max-width:100%;height:auto}
.wide{overflow-x:auto;margin-top:.8rem}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th{vertical-align:bottom}td{white-space:nowrap}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child,th.text,td.text{text-align:left}th[colspan]{padding-top:.8rem}td.word{white-space:normal;text-align:left}
td.best{font-weight:700}ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.4rem 0}
ul.key svg{vertical-align:-3px}blockquote{margin:.4rem 0;padding:.4rem .8rem;background:var(--soft);border-radius:.4rem}
pre{background:var(--soft);padding:.7rem 1rem;overflow-x:auto;border-radius:.4rem;white-space:pre-wrap}
.right{font-weight:700}.answer{white-space:nowrap}.small{font-size:.85rem}
@media (max-width:40rem){.wide td:first-child,.wide th:first-child{position:sticky;left:0;background:var(--bg)}}
@media print{:root{--bg:#fff;--fg:#000;--soft:#fff;--rule:#888}body{max-width:none;margin:0;font-size:10pt}
figure,table,article{break-inside:avoid}h2{break-after:avoid}details{display:block}table{font-size:7.5pt}
th,td{padding:.15rem .35rem}.wide{overflow:visible}}
"""


def document(title: str, sections: Sequence[str], numbers: Mapping[str, Any]) -> str:
    """The whole page: sections of HTML, and the numbers as JSON inside it; it loads nothing."""
    held = json.dumps(numbers, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(sections)
        + f'\n<script type="application/json" id="{NUMBERS}">{held}</script>\n</body></html>\n'
    )


def figure(picture: str, caption: str) -> str:
    """A picture with the words below it."""
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{picture}{told}</figure>"


def table_rows(rows: Sequence[Sequence[str]], words: Collection[int] = ()) -> str:
    """The lines of a table; cells that end in " *" are set as best; words: columns of words, not numbers."""
    lines_ = []
    for row in rows:
        kinds = (
            " class=text" if place in words else " class=best" if cell.endswith(" *") else ""
            for place, cell in enumerate(row)
        )
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        lines_.append(f"<tr>{cells}</tr>")
    return "".join(lines_)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], body: str = "", words: Collection[int] = ()) -> str:
    """A table that scrolls when it is too wide; body: lines made otherwise; words: columns of words, not numbers."""
    head = "".join(
        f'<th scope="col"{" class=text" if place in words else ""}>{escape(cell)}</th>'
        for place, cell in enumerate(header)
    )
    lines_ = body or table_rows(rows, words)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines_}</tbody></table></div>'


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, numbers to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("~", "\\~") if text else " "
