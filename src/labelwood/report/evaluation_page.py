"""An evaluation as one self-contained HTML page: the sentence, a reliability picture, tables; no external request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from labelwood.metrics.reliability import Reliability
from labelwood.report.judgement import Table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem } p.first { font-size: 1.15rem }
p.warning { border-left: 4px solid #b35900; padding-left: .7rem } figure { margin: 0 }
table { border-collapse: collapse } td + td, th + th { text-align: right }
td, th { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid #d0d7de }
figcaption { color: #57606a; font-size: .9rem }
"""
_SIDE, _EDGE = 300, 45


def evaluation_page(
    title: str, sentences: Sequence[str], warnings: Sequence[str], figure: Reliability | None, tables: Sequence[Table]
) -> str:
    """The page; sentences come first, then warnings, the picture, and the tables."""
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [f'<p class="first">{escape(sentence)}</p>' for sentence in sentences]
    parts += [f'<p class="warning">{escape(warning)}</p>' for warning in warnings]
    if figure is not None:
        parts += ["<h2>How sure, and how often right</h2>", reliability_picture(figure)]
    parts += [_table(*table) for table in tables]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def reliability_picture(figure: Reliability) -> str:
    """An SVG picture: a dot a bin of answers, on the line where what is said is what is right."""
    whole, largest = _SIDE + _EDGE + 15, max(1, int(figure.n_answers.max()) if len(figure.n_answers) else 1)

    def at(said: float, right: float) -> tuple[float, float]:
        return _EDGE + said * _SIDE, 10 + (1 - right) * _SIDE

    marks = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at(tick, tick)
        marks.append(f'<text x="{x:.0f}" y="{_SIDE + 28}" text-anchor="middle">{100 * tick:.0f}%</text>')
        marks.append(f'<text x="{_EDGE - 6}" y="{y + 4:.0f}" text-anchor="end">{100 * tick:.0f}%</text>')
    for said, right, n in zip(figure.said, figure.right, figure.n_answers, strict=True):
        x, y = at(float(said), float(right))
        size = 3 + 7 * (int(n) / largest) ** 0.5
        told = f"said {100 * said:.0f}%, right {100 * right:.0f}%, {n:,} answers"
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="#0969da"><title>{told}</title></circle>')
    (x0, y0), (x1, y1) = at(0, 0), at(1, 1)
    frame = f'<rect x="{_EDGE}" y="10" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#8c959f"/>'
    line = f'<line x1="{x0:.0f}" y1="{y0:.0f}" x2="{x1:.0f}" y2="{y1:.0f}" stroke="#8c959f" stroke-dasharray="4"/>'
    svg = (
        f'<svg viewBox="0 0 {whole} {_SIDE + 40}" width="{whole}" role="img" aria-label="reliability" '
        f'font-family="system-ui,sans-serif" font-size="11">{frame}{line}{"".join(marks)}</svg>'
    )
    caption = (
        f"Across: how sure the tagger says it is. Up: how often it is right. On the line both agree; "
        f"the mean difference is {100 * figure.error:.1f} points over {int(figure.n_answers.sum()):,} answers."
    )
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2>\n<table><tr>{head}</tr>{body}</table>"
