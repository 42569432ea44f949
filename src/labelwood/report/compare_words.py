"""A comparison in sentences and tables of cells: what the HTML page and the Markdown file both say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labelwood.memory import memory_text
from labelwood.metrics.evaluate import DEFAULT_KS
from labelwood.report.compare_statistics import KINDS

Report = Mapping[str, Any]
SURE = 0.05  # p below it: not by chance
NEAR = 1.0  # points of nDCG@5 that a reader may give up for speed
COMPETING = 10.0  # points of nDCG@5 behind the best, above which low costs are no merit
WORTH = 1.5  # times faster or smaller that are worth telling
MAIN = "nDCG@5"
NAMES = {"sample-F1": "F1"}

# metric -> what being best in it means
STRENGTHS = {
    "P@1": "the first answer",
    "nDCG@5": "the order of the first five",
    "PSP@5": "rare labels",
    "R@5": "finding a row's labels in five answers",
}
# cost -> (what being least in it means, how it is written)
SAVINGS = {
    "single_p50_ms": "answers fastest",
    "model_bytes": "is smallest",
    "train_cpu_s": "trains with the least work",
}


def done_runs(report: Report) -> list[dict[str, Any]]:
    """The runs that were finished, in the order that was asked for."""
    return [run for run in report["runs"] if run["status"] == "done"]


def headline(report: Report) -> list[str]:
    """The sentences at the top: who is best at what, what is chance, and what speed costs."""
    runs = done_runs(report)
    if len(runs) == 1:
        title = runs[0]["title"]
        value = report["models"][title]["compared"][MAIN]["value"]
        return [f"{title} alone was measured: {MAIN} {value:.1f} per cent. There is nothing to compare it with."]
    sentences = []
    models = report["models"]
    by_title: dict[str, list[str]] = {}
    for metric, what in STRENGTHS.items():
        best = report["best"][metric]
        by_title.setdefault(best, []).append(f"{what} ({metric} {models[best]['compared'][metric]['value']:.1f})")
    for title, strengths in by_title.items():
        sentences.append(f"{title} is best at {listed(strengths)}.")
    # A model that knows nothing is always cheap: only models that compete are worth naming here.
    best = models[report["best"][MAIN]]["compared"][MAIN]["value"]
    good = [run for run in runs if models[run["title"]]["compared"][MAIN]["value"] >= best - COMPETING]
    savings: dict[str, list[str]] = {}
    for cost, what in SAVINGS.items():
        least = min(good, key=lambda run: run["costs"][cost])
        savings.setdefault(least["title"], []).append(f"{what} ({cost_text(cost, least['costs'][cost])})")
    if len(good) > 1:
        of_good = [f"{title} {listed(parts)}" for title, parts in savings.items()]
        sentences.append(
            f"Of the {len(good)} models within {COMPETING:.0f} points of the best {MAIN}: {'; '.join(of_good)}."
        )
    sentences += _chance(report) + _trade(report)
    return sentences


def _chance(report: Report) -> list[str]:
    """Which models cannot be told from the best ones in the main metrics."""
    sentences = []
    for metric in ("P@1", MAIN):
        best = report["best"][metric]
        near = [
            f"{title} ({figures['compared'][metric]['behind']:.2f} points behind, p = {p_text(figures, metric)})"
            for title, figures in report["models"].items()
            if title != best and figures["compared"][metric]["p"] >= SURE
        ]
        if near:
            sentences.append(f"In {metric} the lead of {best} may be chance: {listed(near)}.")
    return sentences


def _trade(report: Report) -> list[str]:
    """What the best ranking costs in time, if another model is nearly as good and faster."""
    runs = {run["title"]: run["costs"] for run in done_runs(report)}
    best = report["best"][MAIN]
    near = [title for title in runs if report["models"][title]["compared"][MAIN]["behind"] <= NEAR]
    quick = min(near, key=lambda title: runs[title]["single_p50_ms"])
    times = runs[best]["single_p50_ms"] / runs[quick]["single_p50_ms"]
    if quick == best or times < WORTH:
        return []
    behind = report["models"][quick]["compared"][MAIN]["behind"]
    return [f"{quick} is {behind:.2f} points of {MAIN} behind {best} and answers {times:.1f} times as fast."]


def left_out(report: Report) -> list[str]:
    """A sentence for each model that was asked for but not measured."""
    return [
        f"{run['title']} is not in the comparison ({run['status']}): {run['why']}."
        for run in report["runs"]
        if run["status"] != "done"
    ]


def in_groups(report: Report) -> str:
    """A sentence about the groups of the rows, with a blank before it; nothing if they have none.

    Test rows alone have groups where these are copies of a text.
    """
    data = report["data"]
    if "train_groups" not in data:
        if "test_groups" not in data:
            return ""
        return f" Copies of a text are on one side; the test rows are {data['test_groups']:,} different texts."
    return f" They are of {data['train_groups']:,} and {data['test_groups']:,} groups; groups are held out whole."


def units(report: Report) -> tuple[str, str]:
    """(what intervals draw, what signs flip by): rows, or whole groups of them."""
    n_groups = report["data"].get("test_groups", 1)
    if n_groups == 1:
        return "the test rows", "row by row"
    return f"whole groups of the test rows ({n_groups:,} groups)", "group by group"


def p_text(figures: Mapping[str, Any], metric: str) -> str:
    """The p value of a model in a metric: "0.031", "< 0.001"."""
    p = figures["compared"][metric]["p"]
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def metric_name(name: str) -> str:
    """A metric as the page calls it: "sample-F1@3" is "F1@3"."""
    kind, _, k = name.partition("@")
    return f"{NAMES.get(kind, kind)}@{k}"


def metric_tables(report: Report) -> list[tuple[str, list[str], list[list[str]]]]:
    """(kind, header, rows of cells) for each kind of metric; marks: * best, ~ cannot be told from the best."""
    tables = []
    for kind in KINDS:
        metrics = [f"{kind}@{k}" for k in DEFAULT_KS]
        rows = []
        for title, figures in report["models"].items():
            cells = [title]
            for metric in metrics:
                row = figures["compared"][metric]
                mark = _mark(report, title, metric)
                cells += [
                    f"{row['value']:.2f}{mark}",
                    f"{row['low']:.1f} to {row['high']:.1f}",
                    _against(row, mark, figures, metric),
                ]
            rows.append(cells)
        header = ["model"]
        for metric in metrics:
            header += [metric_name(metric), "95 %", "p"]
        tables.append((NAMES.get(kind, kind), header, rows))
    return tables


def _mark(report: Report, title: str, metric: str) -> str:
    if len(report["models"]) == 1:
        return ""
    if report["best"][metric] == title:
        return " *"
    return " ~" if report["models"][title]["compared"][metric]["p"] >= SURE else ""


def _against(row: Mapping[str, float], mark: str, figures: Mapping[str, Any], metric: str) -> str:
    return "" if mark == " *" or (row["p"] >= 1 and row["behind"] == 0) else p_text(figures, metric)


COSTS = {
    "train_cpu_s": "training, CPU",
    "train_wall_s": "training, wall",
    "train_peak_bytes": "training, peak memory",
    "model_bytes": "model on disk",
    "load_s": "load",
    "answer_cpu_s": "all test rows, CPU",
    "single_p50_ms": "one query, median",
    "single_p99_ms": "one query, 99\u00a0%",
}


def cost_table(report: Report) -> tuple[list[str], list[list[str]]]:
    """(header, rows of cells): what each run cost."""
    rows = [
        [run["title"], *(cost_text(cost, run["costs"][cost]) for cost in COSTS), "kept" if run["reused"] else "new"]
        for run in done_runs(report)
    ]
    return ["model", *COSTS.values(), "run"], rows


def cost_text(cost: str, value: float | None) -> str:
    """A cost with its unit."""
    if value is None:
        return "unknown"
    if cost.endswith("_bytes"):
        return memory_text(int(value))
    unit = "ms" if cost.endswith("_ms") else "s"
    if unit == "s" and 0 < value < 0.1:
        value, unit = 1000 * value, "ms"
    return f"{value:.3g} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def band_table(report: Report) -> tuple[list[str], list[list[str]]]:
    """(header, rows of cells): the share of true labels found among five answers, by how frequent labels are."""
    first = next(iter(report["models"].values()))["bands"]
    header = ["model", *(f"{band['band']} ({band['labels']:,} labels)" for band in first)]
    rows = [
        [title, *(f"{band['found']:.1f}" for band in figures["bands"])] for title, figures in report["models"].items()
    ]
    return header, rows


def hardest_table(report: Report) -> tuple[list[str], list[list[str]]]:
    """(header, rows of cells): the labels that are found least."""
    titles = list(report["models"])
    rows = [
        [
            hard["label"],
            f"{hard['train_rows']:,}",
            f"{hard['test_rows']:,}",
            *(f"{hard['found'][t]:.0f}" for t in titles),
        ]
        for hard in report["hardest_labels"]
    ]
    return ["label", "training rows", "test rows", *titles], rows


def confusion_table(report: Report, title: str) -> tuple[list[str], list[list[str]]]:
    """(header, rows of cells): which label a model gives where another is right."""
    pairs = report["models"][title]["confusions"]
    return ["right label, missed", "given in its place", "rows"], [
        [pair["missed"], pair["given"], f"{pair['rows']:,}"] for pair in pairs
    ]


def machine_lines(report: Report) -> list[tuple[str, str]]:
    """(what, value) of the machine card."""
    card = report["machine"]
    memory = card["memory_bytes"]
    return [
        ("processor", f"{card['processor']}, {card['usable_processors']} usable of {card['processors']}"),
        ("memory", "unknown" if memory is None else memory_text(memory)),
        ("system", card["system"]),
        ("threads", "all processors" if card["threads"] is None else str(card["threads"])),
        ("Python", card["python"]),
        ("versions", ", ".join(f"{name} {version}" for name, version in card["versions"].items())),
    ]


def settings_text(run: Mapping[str, Any]) -> str:
    """The parameters of a run as key=value; threads and seed, which all runs share, are left out."""
    given = {name: value for name, value in run["parameters"].items() if name not in ("seed", "n_threads")}
    given |= {f"features.{name}": value for name, value in run["features"].items()}
    return ", ".join(f"{name}={value}" for name, value in given.items()) or "defaults"


def listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + f" and {parts[-1]}"
