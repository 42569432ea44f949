"""Draws docs/pictures/peers.svg, labelwood beside its peers, from the measured figures in docs/pictures/peers.csv.

    python benchmarks/peers/picture.py

Left: precision against the work of training. Right: what an answer, loading and the model cost. Shapes as well as
colours tell ours from theirs; the picture brings its own background, light or dark as the reader's system is.
"""

from __future__ import annotations

import csv
from html import escape
from pathlib import Path

from labelwood.report.pictures import Axis, number

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "pictures" / "peers.csv"
PICTURE = FIGURES.with_suffix(".svg")
WIDTH, HEIGHT = 860, 372
LEFT, RIGHT, TOP, BOTTOM = 66, 520, 52, 312
# Blue and orange of Okabe and Ito, which the colour-blind tell apart.
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de } text { fill: #1f2328; font: 13px system-ui, sans-serif }
  .title { font-weight: 600; font-size: 15px } .small { fill: #59636e; font-size: 12px } .grid { stroke: #e4e8ec }
  .ours { fill: #0072b2; stroke: #0072b2 } .theirs { fill: #d55e00; stroke: #d55e00 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .small { fill: #b1bac4 } .grid { stroke: #2a313a }
    .ours { fill: #56b4e9; stroke: #56b4e9 } .theirs { fill: #e69f00; stroke: #e69f00 }
  }
"""
# Where a name stands beside its point, so that none covers another: (x, y, anchor).
PLACES = {
    "PECOS XR-Linear": (0, 22, "middle"),
    "Omikuji Parabel, 3 trees": (12, 5, "start"),
    "Omikuji Bonsai, 3 trees": (-12, -8, "end"),
    "elias": (-12, -8, "end"),
}
COSTS = (("query_ms", "one query, median", "ms"), ("load_ms", "loading", "ms"), ("model_mb", "model on disk", "MB"))


def figures() -> list[dict[str, str]]:
    """The rows of the table of figures, one a tool."""
    with FIGURES.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def picture(tools: list[dict[str, str]]) -> str:
    """The picture as SVG."""
    parts = [f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>']
    parts += precision_against_training(tools)
    parts += costs([tool for tool in tools if tool["query_ms"]])
    for ours, name, x in ((True, "labelwood", 30), (False, "others", 120)):
        parts += [mark(ours, x, HEIGHT - 20), text(x + 12, HEIGHT - 16, name, "small")]
    about = "EURLEX57K (4,271 labels), two cores. Lines: least and most of several runs. Bars: one run."
    parts.append(text(WIDTH - 20, HEIGHT - 16, about, "small", "end"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    title = "<title>labelwood trains in a tenth of PECOS's time at the same precision or better</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def precision_against_training(tools: list[dict[str, str]]) -> list[str]:
    """The parts of the left half: a point for each tool, with the range of its training times."""
    seconds, precision = Axis("training, CPU seconds", 5, 500, True), Axis("P@5, per cent", 68.0, 69.5)

    def across(value: float) -> float:
        return LEFT + seconds.share(value) * (RIGHT - LEFT)

    def up(value: float) -> float:
        return BOTTOM - precision.share(value) * (BOTTOM - TOP)

    parts = [text(LEFT - 46, 30, "Precision (P@5, per cent) against training (CPU seconds)", "title")]
    for value in precision.ticks():
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}"/>')
        parts.append(text(LEFT - 8, up(value) + 4, f"{value:.1f}", "small", "end"))
    for value in seconds.ticks():
        parts.append(text(across(value), BOTTOM + 18, number(value), "small", "middle"))
    for tool in tools:
        x, y, ours = across(float(tool["train_cpu_s"])), up(float(tool["P@5"])), tool["ours"] == "yes"
        kind = "ours" if ours else "theirs"
        ends = [across(float(tool[name])) for name in ("least_cpu_s", "most_cpu_s")]
        path = f"M {ends[0]:.1f} {y:.1f} H {ends[1]:.1f}"
        parts.append(f'<path class="{kind}" stroke-width="2" d="{path}"/>')
        parts.append(mark(ours, x, y))
        dx, dy, anchor = PLACES.get(tool["tool"], (12, -8, "start"))
        parts.append(text(x + dx, y + dy, escape(tool["tool"]), "", anchor))
    return parts


def costs(tools: list[dict[str, str]]) -> list[str]:
    """The parts of the right half: bars of what a trained model costs, the longest of each pair full."""
    start, end = RIGHT + 50, WIDTH - 125
    parts = [text(start, 30, "What a trained model costs", "title")]
    y = TOP + 14.0
    for column, title, unit in COSTS:
        parts.append(text(start, y, title, ""))
        most = max(float(tool[column]) for tool in tools)
        for tool in sorted(tools, key=lambda tool: float(tool[column])):
            value = float(tool[column])
            long = max(2.0, (end - start) * value / most)
            kind = "ours" if tool["ours"] == "yes" else "theirs"
            parts.append(f'<rect class="{kind}" x="{start}" y="{y + 8:.1f}" width="{long:.1f}" height="14"/>')
            name = "linear-tree" if kind == "ours" else "PECOS"
            parts.append(text(start + long + 6, y + 19, f"{number(value)} {unit} {name}", "small"))
            y += 22
        y += 30
    return parts


def mark(ours: bool, x: float, y: float) -> str:
    """A disc for ours, a diamond for the others."""
    if ours:
        return f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    return f'<path class="theirs" d="M {x:.1f} {y - 7:.1f} l 7 7 l -7 7 l -7 -7 z"/>'


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    """A line of text; `words` is escaped already."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(figures()), encoding="utf-8")
