"""Tables and pictures of all tools on all data sets: figures -> docs/measurements/benchmarks.csv -> docs/benchmarks.md.

python benchmarks/peers/tables.py      # from docs/measurements/benchmarks.csv as it is
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environments import STEPS

from labelwood.report.pictures import STYLE, number, scatter

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "measurements" / "benchmarks.csv"
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "pictures"
# column -> (figure of a run, factor)
COSTS = {
    "train CPU s": ("train_cpu_s", 1.0),
    "peak MB": ("peak_rss_mb", 1.0),
    "model MB": ("model_bytes", 1e-6),
    "load ms": ("load_s", 1e3),
    "batch CPU s": ("batch_cpu_s", 1.0),
    "p50 ms": ("single_p50_ms", 1.0),
    "p99 ms": ("single_p99_ms", 1.0),
}
QUALITIES = ("P@1", "P@3", "P@5", "R@10")
OTHERS = ("threads", "load_average", "measured", "machine", "failed")
COLUMNS = ("data", "tool", *COSTS, *QUALITIES, *OTHERS)
# Below these two figures are the same (benchmarks/README.md).
SAME_COST, SAME_POINTS = 1.3, 0.3
OURS = "labelwood"
Row = dict[str, str]


def write_page(found: Sequence[dict[str, Any]], order: Sequence[str] = ()) -> None:
    """Write measured figures into the CSV, if there are any, then page and pictures from the CSV.

    What the CSV holds of other data sets and tools stays. order: of the data sets; others come last.
    """
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if found:
        rows = with_figures(rows, found, order)
        with TABLE.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    for data in dict.fromkeys(row["data"] for row in rows):
        done = [row for row in rows if row["data"] == data and row["P@5"]]
        if len(done) > 1:
            picture_file(data).write_text(picture(data, done), encoding="utf-8")
    made = "\n\n".join([*sections(rows), behind(rows), machines(rows)])
    page = PAGE.read_text(encoding="utf-8")
    replaced = re.sub(
        r"(<!-- measured -->\n).*(<!-- end -->)", lambda m: f"{m[1]}{made}\n{m[2]}", page, flags=re.DOTALL
    )
    PAGE.write_text(replaced, encoding="utf-8")


def with_figures(rows: Sequence[Row], found: Sequence[dict[str, Any]], order: Sequence[str]) -> list[Row]:
    """The rows with those of the measured figures in place of theirs, by data set and tool."""
    fresh = [{column: cell(column, figures) for column in COLUMNS} for figures in found]
    both = {(row["data"], row["tool"]): row for row in [*rows, *fresh]}
    place = {data: number for number, data in enumerate(order)}
    return sorted(both.values(), key=lambda row: (place.get(row["data"], len(place)), row["data"], row["tool"]))


def cell(column: str, figures: dict[str, Any]) -> str:
    """A figure as the CSV holds it."""
    if column == "tool":
        return str(figures["title"])
    if column == "machine":
        card = figures["machine"]
        return f"{card['processor']}, {card['usable_processors']} cores, {(card['memory_bytes'] or 0) / 2**30:.0f} GB"
    name, factor = COSTS.get(column, (column, 1.0))
    value = figures.get(name, "")
    if isinstance(value, list):
        return "/".join(f"{item:g}" for item in value)
    return f"{value * factor:.4g}" if isinstance(value, (int, float)) and column != "threads" else str(value)


def sections(rows: Sequence[Row]) -> list[str]:
    """A table and a picture for each data set."""
    parts = []
    for data in dict.fromkeys(row["data"] for row in rows):
        lines = [f"### {data}\n", "| tool | " + " | ".join((*COSTS, *QUALITIES)) + " |"]
        lines.append("|---|" + "---|" * (len(COSTS) + len(QUALITIES)))
        for row in (row for row in rows if row["data"] == data):
            if row["failed"]:
                lines.append(f"| {row['tool']} | {row['failed']} |" + " |" * (len(COSTS) + len(QUALITIES) - 1))
                continue
            figures = [number(float(row[name])) if row[name] else "" for name in COSTS]
            figures += [f"{float(row[name]):.2f}" if row[name] else "" for name in QUALITIES]
            lines.append(f"| {row['tool']} | " + " | ".join(figures) + " |")
        if picture_file(data).is_file():
            lines.append(f"\n![P@5 against training on {data}](pictures/{picture_file(data).name})")
        parts.append("\n".join(lines))
    return parts


def behind(rows: Sequence[Row]) -> str:
    """The list of all figures in which every run of labelwood is worse than some other tool's, beyond noise."""
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        done = [row for row in rows if row["data"] == data and not row["failed"]]
        ours = [row for row in done if row["tool"].startswith(OURS)]
        others = [row for row in done if not row["tool"].startswith(OURS)]
        for name in (*QUALITIES, *COSTS):
            sign = 1 if name in QUALITIES else -1
            best = [max((r for r in group if r[name]), key=lambda r: sign * float(r[name]), default=None)
                    for group in (ours, others)]  # fmt: skip
            if best[0] is None or best[1] is None:
                continue
            own, other = float(best[0][name]), float(best[1][name])
            worse = other - own > SAME_POINTS if sign > 0 else own > SAME_COST * other
            if worse:
                lines.append(f"- {data}, {name}: {number(own)} ({best[0]['tool']}), {best[1]['tool']} {number(other)}")
    head = "## Where labelwood is behind\n\n"
    rule = f"by more than {SAME_POINTS} points or {SAME_COST} times, with its best run for the figure"
    if not lines:
        return f"{head}In no figure above, {rule}."
    return (
        f"{head}The best run of labelwood is behind the best of the others in these figures, {rule}:\n\n"
        + "\n".join(lines)
    )


def machines(rows: Sequence[Row]) -> str:
    """On what it was measured, with the versions of the peers."""
    cards = dict.fromkeys(f"{row['machine']}, {row['threads']} threads" for row in rows if row["threads"])
    loads = [float(row["load_average"].partition("/")[0]) for row in rows if row["load_average"]]
    versions = "; ".join(step for steps in STEPS.values() for step in steps[-1][:1])
    return (
        f"## Machine and versions\n\n{'; '.join(cards)}. Load average when the runs began: {min(loads, default=0):g} "
        f"to {max(loads, default=0):g} (above 2 other programs shared the cores, and times are too long). "
        f"Peers: {versions}."
    )


def picture_file(data: str) -> Path:
    """Where the picture of a data set lies."""
    return PICTURES / f"peers-{data}.svg"


def picture(data: str, rows: Sequence[Row]) -> str:
    """P@5 against the CPU seconds of training, a point a tool."""
    points = [(row["tool"], float(row["train CPU s"]), float(row["P@5"])) for row in rows]
    drawn = scatter(points, "training, CPU seconds", "P@5, per cent", f"{data}: precision against training", width=560)
    style = f"<style>{STYLE}svg{{color:#1f2328}}</style>"
    head, inside, rest = drawn.partition("<title>")
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    ground = '<rect width="560" height="300" fill="#fff"/>'
    return head + inside + rest.replace("</desc>", f"</desc>{style}{ground}", 1) + "\n"


if __name__ == "__main__":
    if not TABLE.is_file():
        sys.exit(f"{TABLE} is not there: run benchmarks/peers/all.py first")
    write_page([])
