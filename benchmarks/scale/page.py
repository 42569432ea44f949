"""Tables, exponents and pictures of the scale benchmark: figures -> docs/measurements/scale.csv -> docs/scale.md.

python benchmarks/scale/page.py        # from docs/measurements/scale.csv as it is
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from points import SWEEPS

from labelwood.report.machine import machine_card
from labelwood.report.pictures import STYLE, Axis, Frame, marker, number

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "measurements" / "scale.csv"
PAGE = ROOT / "docs" / "scale.md"
PICTURES = ROOT / "docs" / "pictures"
# column of the CSV -> figure of a run
COLUMNS = {
    "rows": "rows",
    "labels": "labels",
    "tool": "title",
    "threads": "threads",
    "train_cpu_s": "train_cpu_s",
    "train_wall_s": "train_wall_s",
    "peak_mb": "peak_rss_mb",
    "model_mb": "model_bytes",
    "load_ms": "load_s",
    "batch_ms_a_row": "batch_cpu_s",
    "p50_ms": "single_p50_ms",
    "p99_ms": "single_p99_ms",
    "P@1": "P@1",
    "P@5": "P@5",
    "load_average": "load_average",
    "measured": "measured",
    "machine": "machine",
}
FACTORS = {"model_mb": 1e-6, "load_ms": 1e3, "batch_ms_a_row": 1e3 / 2_000}
ABOUT = {
    "labels": ("100,000 rows, more and more labels", "labels"),
    "rows": ("30,000 labels, more and more rows", "rows"),
    "both": ("a third as many rows as labels, both grow", "labels"),
}
DRAWN = (("train_cpu_s", "training, CPU seconds"), ("p50_ms", "a row alone, ms (median)"))
Row = dict[str, str]


def write_page(found: Sequence[dict[str, Any]]) -> None:
    """Write measured figures into the CSV, if there are any, then page and pictures from the CSV.

    What the CSV holds of other points and tools stays.
    """
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if found:
        card = machine_card()
        machine = (
            f"{card['processor']}, {card['usable_processors']} cores, {(card['memory_bytes'] or 0) / 2**30:.0f} GB"
        )
        fresh = [{column: cell(column, {"machine": machine, **figures}) for column in COLUMNS} for figures in found]
        both = {(int(row["labels"]), int(row["rows"]), row["tool"]): row for row in [*rows, *fresh]}
        rows = [both[key] for key in sorted(both)]
        with TABLE.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    for sweep in ABOUT:
        for column, title in DRAWN:
            drawn = picture(rows, sweep, column, title)
            if drawn is not None:
                (PICTURES / f"scale-{sweep}-{column.partition('_')[0]}.svg").write_text(drawn, encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


def cell(column: str, figures: dict[str, Any]) -> str:
    """A figure as the CSV holds it."""
    value = figures.get(COLUMNS[column], "")
    if isinstance(value, list):
        return "/".join(f"{item:g}" for item in value)
    return f"{value * FACTORS.get(column, 1):.4g}" if isinstance(value, float) or column in FACTORS else str(value)


def with_tables(page: str, rows: Sequence[Row]) -> str:
    """The page with the text between its markers made anew."""
    made = "\n\n".join(section(rows, sweep) for sweep in ABOUT if len(of_sweep(rows, sweep)) > 1)
    return re.sub(
        r"(<!-- measured -->\n).*(<!-- end -->)", lambda found: f"{found[1]}{made}\n{found[2]}", page, flags=re.DOTALL
    )


def of_sweep(rows: Sequence[Row], sweep: str, tool: str | None = None) -> list[Row]:
    """The rows of a sweep, smallest first; of one kind of tool if that is named."""
    points = {(str(point.rows), str(point.labels)) for point in SWEEPS[sweep]}
    chosen = [row for row in rows if (row["rows"], row["labels"]) in points]
    chosen = [row for row in chosen if tool is None or row["tool"].partition(" ")[0] == tool]
    return sorted(chosen, key=lambda row: (int(row["labels"]), int(row["rows"]), row["tool"]))


def exponent(rows: Sequence[Row], grows: str, column: str) -> float | None:
    """The slope of log(column) in log(grows), by least squares; None from fewer than three sizes."""
    sizes = {row[grows] for row in rows}
    if len(sizes) < 3:
        return None
    x, y = (np.log([float(row[name]) for row in rows]) for name in (grows, column))
    return round(float(np.polyfit(x, y, 1)[0]), 2) + 0.0  # no minus before a zero


def section(rows: Sequence[Row], sweep: str) -> str:
    """Heading, table, exponents and pictures of one sweep."""
    about, grows = ABOUT[sweep]
    chosen = of_sweep(rows, sweep)
    head = ["rows", "labels", "tool", "train, CPU s", "peak MB", "model MB", "load ms", "batch, ms a row"]
    head += ["alone p50 ms", "p99 ms", "P@1", "P@5"]
    shown = ("train_cpu_s", "peak_mb", "model_mb", "load_ms", "batch_ms_a_row", "p50_ms", "p99_ms", "P@1", "P@5")
    lines = [f"### {about[0].upper()}{about[1:]}\n", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in chosen:
        sizes = [f"{int(row[name]):,}" for name in ("rows", "labels")]
        figures = [number(float(row[name])) if row[name] else "" for name in shown]
        lines.append("| " + " | ".join([*sizes, row["tool"], *figures]) + " |")
    told = []
    for tool in ("labelwood", "pecos"):
        own = of_sweep(rows, sweep, tool)
        slopes = {name: exponent(own, grows, name) for name in ("train_cpu_s", "peak_mb", "model_mb", "p50_ms")}
        if slopes["train_cpu_s"] is not None:
            words = ("training", "memory", "model", "a row alone")
            each = ", ".join(f"{word} {slope:.2f}" for word, slope in zip(words, slopes.values(), strict=True))
            told.append(f"{tool}: {each}")
    if told:
        lines.append(
            f"\nExponents in the number of {grows} (cost ~ {grows}^e, least squares over the table): {'; '.join(told)}."
        )
    pictures = [f"scale-{sweep}-{column.partition('_')[0]}.svg" for column, _ in DRAWN]
    lines += [f"\n![{about}: {title}](pictures/{name})" for name, (_, title) in zip(pictures, DRAWN, strict=True)
              if (PICTURES / name).is_file()]  # fmt: skip
    return "\n".join(lines)


def picture(rows: Sequence[Row], sweep: str, column: str, title: str) -> str | None:
    """A line a tool over the sizes of a sweep, both axes logarithmic; None if nothing has two sizes."""
    about, grows = ABOUT[sweep]
    series = [(tool, of_sweep(rows, sweep, tool)) for tool in ("labelwood", "pecos")]
    series = [(tool, own) for tool, own in series if own]
    points = [(float(row[grows]), float(row[column])) for _, own in series for row in own if row[column]]
    if len({x for x, _ in points}) < 2:
        return None
    x = Axis(grows, min(x for x, _ in points) / 1.5, max(x for x, _ in points) * 1.5, True)
    low, high = min(y for _, y in points), max(y for _, y in points)
    frame = Frame(x, Axis(title, low / 1.6, max(high * 1.6, low * 12), True), 560, 320)
    parts = [frame.axes()]
    for place, (tool, own) in enumerate(series):
        drawn = [frame.at(float(row[grows]), float(row[column])) for row in own if row[column]]
        way = "M" + "L".join(f"{left:.1f} {top:.1f}" for left, top in drawn)
        parts.append(f'<path class="line s{place}" d="{way}"/>')
        parts += [marker(place, left, top, tool) for left, top in drawn]
        parts.append(marker(place, 70, 26 + 18 * place, tool))
        parts.append(f'<text x="82" y="{30 + 18 * place}">{tool}</text>')
    style = STYLE + "svg{color:#1f2328;background:#fff}"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 560 320" width="560" height="320">'
        f"<title>{about}: {title}</title><style>{style}</style>"
        f'<rect width="560" height="320" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    if not TABLE.is_file():
        sys.exit(f"{TABLE} is not there: run benchmarks/scale/run.py first")
    write_page([])
