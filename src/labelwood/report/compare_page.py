"""The page of a comparison: one HTML file with pictures, tables and numbers inside; it loads nothing."""

from __future__ import annotations

from html import escape
from pathlib import PurePath

from labelwood.metrics.bands import BANDS
from labelwood.metrics.evaluate import DEFAULT_KS
from labelwood.report import compare_words as words
from labelwood.report.compare_words import Report
from labelwood.report.page_parts import NUMBERS, document, figure, table, table_rows
from labelwood.report.pictures import Axis, bars, key, lines, scatter, whiskers

MEANINGS = {
    "P": "the share of the first answers that is right",
    "nDCG": "the same, early answers counting more",
    "PSP": "right answers, rare labels counting more",
    "R": "the share of a row's labels that is found",
    "F1": "the balance of both, mean over rows",
}

FEWEST_ANSWERS = 20  # in a bin of scores: what is right of fewer is chance


def page(report: Report, command: str) -> str:
    """The whole page; command: what makes it again."""
    data = report["data"]
    title = f"Comparison on {'/'.join(PurePath(data['source']).parts[-2:])}"
    sections = [
        _lead(report),
        _accuracy(report),
        _costs(report),
        _bands(report),
        _recall(report),
        _reliability(report),
        _hard(report),
        _samples(report),
        _repeat(report, command),
    ]
    return document(title, sections, {**report, "command": command})


def _lead(report: Report) -> str:
    data = report["data"]
    sentences = words.headline(report)
    told = f"<p><strong>{escape(sentences[0])}</strong></p>" + "".join(f"<p>{escape(s)}</p>" for s in sentences[1:])
    told += "".join(f"<p>{escape(sentence)}</p>" for sentence in words.left_out(report))
    unknown = data["unknown_labels"]
    extra = f" {unknown:,} labels of the test rows are unknown to training and count as missed." if unknown else ""
    return (
        f"<p>{data['train_rows']:,} rows of {data['holds']} to train on, {data['test_rows']:,} rows to judge by, "
        f"{data['n_labels']:,} labels, {data['labels_a_row']:.1f} labels a row.{extra}{words.in_groups(report)}</p>"
        f'<div class="lead">{told}</div>{_key(report)}'
    )


def _key(report: Report) -> str:
    items = "".join(f"<li>{key(place)} {escape(title)}</li>" for place, title in enumerate(report["models"]))
    return f'<ul class="key" aria-label="Models and their marks">{items}</ul>'


def _accuracy(report: Report) -> str:
    pictures = []
    for metric, what in (
        ("P@1", "the first answer is right"),
        ("nDCG@5", "right answers among five, early ones count more"),
        ("PSP@5", "the same with rare labels counting more"),
        ("R@5", "true labels found in five answers"),
    ):
        rows = []
        for title, figures in report["models"].items():
            row = figures["compared"][metric]
            rows.append((title, row["value"], row["low"], row["high"]))
        pictures.append(figure(whiskers(rows, f"{metric}, per cent", f"{metric} of each model"), f"{metric}: {what}."))
    tables = words.metric_tables(report)
    width = len(tables[0][1])
    head = ["", *(f"at {k}" if not place else what for k in DEFAULT_KS for place, what in enumerate(("", "95 %", "p")))]
    body = "".join(
        f'<tr><th colspan="{width}" scope="rowgroup">{escape(f"{kind}: {MEANINGS[kind]}")}</th></tr>{table_rows(rows)}'
        for kind, _, rows in tables
    )
    alone = len(report["models"]) == 1
    marks = (
        ""
        if alone
        else (
            " <strong>*</strong> is the best of its column; <strong>~</strong> cannot be told from the best "
            f"(p of {words.SURE} or more). p: how often chance alone gives such a difference to the best, by "
            f"{report['n_resamples']:,} random sign flips of the differences {words.units(report)[1]}, corrected "
            "for the number of models (Holm)."
        )
    )
    return (
        f"<h2>How good the answers are</h2><p>Per cent. Lines are 95 % intervals from {report['n_resamples']:,} "
        f"resamples of {words.units(report)[0]}.{marks}</p>"
        f'<div class="row">{"".join(pictures)}</div>'
        f"{table(head, (), body)}"
    )


def _costs(report: Report) -> str:
    runs = words.done_runs(report)
    pictures = []
    for cost, divisor, label, caption in (
        ("single_p50_ms", 1, "ms for one query (median)", "Accuracy against the time of one query."),
        ("model_bytes", 1e6, "MB of the saved model", "Accuracy against size."),
        ("train_cpu_s", 1, "CPU seconds of training", "Accuracy against the work of training."),
    ):
        points = [
            (
                run["title"],
                max(run["costs"][cost] / divisor, 1e-6),
                report["models"][run["title"]]["compared"][words.MAIN]["value"],
            )
            for run in runs
        ]
        pictures.append(figure(scatter(points, label, f"{words.MAIN}, per cent", caption), caption))
    header, rows = words.cost_table(report)
    return (
        "<h2>What the answers cost</h2><p>Up and to the left is better. Models on the dashed line are beaten by no "
        f'other in both directions.</p><div class="row">{"".join(pictures)}</div>{table(header, rows)}'
        '<p class="small">Training and answering ran in processes of their own. CPU and wall seconds are those of '
        "training alone, without reading the data; peak memory is that of the whole process, as the kernel counted it, "
        "data and Python included. Single queries: one thread, five answers, one row after the other, from "
        f"{'the text' if report['data']['holds'] == 'texts' else 'the features'} to the labels. “kept”: measured in an "
        "earlier comparison of the same data, settings and version.</p>"
    )


def _bands(report: Report) -> str:
    header, rows = words.band_table(report)
    series = [(title, [band["found"] for band in figures["bands"]]) for title, figures in report["models"].items()]
    axis = Axis("found in five answers, per cent", 0, max(10.0, max(max(values) for _, values in series) * 1.1))
    picture = bars(list(BANDS), series, axis, "Share of true labels found, by how frequent they are")
    return (
        "<h2>Frequent and rare labels</h2><p>Labels in three bands with the same number of training entries each: the "
        "head has few, very frequent labels, the tail many rare ones. Shown: the share of true labels found in five "
        f"answers.</p>{figure(picture, '')}{_key(report)}{table(header, rows)}"
    )


def _recall(report: Report) -> str:
    series = [
        (title, [(float(place), value) for place, value in enumerate(figures["recall_curve"], start=1)])
        for title, figures in report["models"].items()
    ]
    width = len(series[0][1][:])
    picture = lines(
        series,
        Axis("answers asked for", 1, width, True),
        Axis("recall, per cent", 0, 100),
        "Recall by number of answers",
    )
    rows = [
        [title, *(f"{points[k - 1][1]:.1f}" for k in (1, 5, 10, 20, 50, 100) if k <= width)] for title, points in series
    ]
    header = ["model", *(f"R@{k}" for k in (1, 5, 10, 20, 50, 100) if k <= width)]
    return (
        "<h2>How many answers it takes</h2><p>The share of a row's labels among the first answers, for 1 to "
        f"{width} of them.</p>{figure(picture, '')}{_key(report)}{table(header, rows)}"
    )


def _reliability(report: Report) -> str:
    series, left_out = [], ""
    for title, figures in report["models"].items():
        bins = figures["reliability"]["bins"]
        shown = [b for b in bins if b["answers"] >= FEWEST_ANSWERS] or bins
        if len(shown) < len(bins):
            left_out = f" Bins with fewer than {FEWEST_ANSWERS} answers are not drawn."
        series.append((title, [(b["said"], b["right"]) for b in shown]))
    picture = lines(
        series, Axis("score", 0, 1), Axis("share that is right", 0, 1), "How often answers of each score are right",
        diagonal=True, markers=True, width=420,
    )  # fmt: skip
    rows = [[title, f"{figures['reliability']['gap']:.1f}"] for title, figures in report["models"].items()]
    return (
        "<h2>Can scores be read as chances?</h2><p>Answers (five a row) in ten bins of score. On the dashed line a "
        "score of 0.7 is right seven times in ten; below it the model promises too much."
        f"{left_out}</p>{figure(picture, '')}{_key(report)}{table(['model', 'mean gap, points'], rows)}"
    )


def _hard(report: Report) -> str:
    header, rows = words.hardest_table(report)
    parts = [
        "<h2>Hard labels</h2><p>Labels of several test rows that are found least: per cent of their test rows that "
        f"have them among five answers.</p>{table(header, rows)}<h3>What is given in place of what</h3>"
        "<p>Taking as many answers as a row has labels (five at most): "
        "which label was missed, and which came instead.</p>"
    ]
    best = report["best"][words.MAIN]
    for title in sorted(report["models"], key=lambda title: title != best):
        open_ = " open" if title == best else ""
        confusions = table(*words.confusion_table(report, title), words={1})
        parts.append(f"<details{open_}><summary>{escape(title)}</summary>{confusions}</details>")
    return "".join(parts)


def _samples(report: Report) -> str:
    articles = []
    for sample in report["samples"]:
        rows = []
        for title, given in sample["models"].items():
            answers = ", ".join(
                f'<span class="answer{" right" if answer["right"] else ""}">{"✓" if answer["right"] else "✗"} '
                f"{escape(answer['label'])} {answer['score']:.2f}</span>"
                for answer in given["answers"]
            )
            rows.append(
                f'<tr><td>{escape(title)}</td><td class="word">{answers}</td>'
                f'<td class="word">{escape(given["reason"])}</td></tr>'
            )
        true = ", ".join(sample["true"]) or "none"
        articles.append(
            f"<article><h3>Row {sample['row']}: {escape(sample['why'])}</h3><blockquote>{escape(sample['shown'])}"
            f'</blockquote><p class="small">True labels: {escape(true)}</p><div class="wide"><table><thead><tr>'
            '<th scope="col">model</th><th scope="col" style="text-align:left">first answers</th>'
            '<th scope="col" style="text-align:left">why the first one</th></tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div></article>"
        )
    return "<h2>Some rows and the reasons</h2>" + "".join(articles)


def _repeat(report: Report, command: str) -> str:
    runs = [
        [run["title"], run["model"], words.settings_text(run), run["status"], run["costs"].get("measured", "")]
        for run in report["runs"]
    ]
    card = "".join(
        f'<tr><th scope="row">{escape(what)}</th><td class="word">{escape(value)}</td></tr>'
        for what, value in words.machine_lines(report)
    )
    return (
        f"<h2>How to repeat it</h2><pre>{escape(command)}</pre>"
        f"{table(['title', 'model', 'settings', 'state', 'measured'], runs, words=range(1, 5))}<h3>The machine</h3>"
        f'<table><tbody>{card}</tbody></table><p class="small">Data sha256 {report["data"]["fingerprint"]}. All '
        f"numbers of this page, and more, are inside it as JSON (the element with the id “{NUMBERS}”).</p>"
    )
