"""`labelwood demo`: everything once, on made-up product texts: train, measure, tag, explain, save."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.progress import Progress
    from labelwood.tagger.tagger import Tagger

KS = (1, 3, 5)
FILES = {"model", "train.jsonl", "test.jsonl"}


def command(
    small: Annotated[bool, typer.Option("--small", help="A tenth of the data: a second instead of several.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where data and model go.")] = Path(
        "labelwood-demo"
    ),
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Try everything once, on made-up product texts.

    Makes texts with tags, trains a tagger, shows how good it is with five examples and their reasons, and saves it.
    """
    from labelwood.cli.console import count, show
    from labelwood.cli.progress import shown
    from labelwood.data.madeup.shop_texts import make_texts
    from labelwood.data.split import split

    _check_demo_folder(out)
    with shown(quiet) as progress:
        progress.step("making texts", 0, 0)
        made = make_texts(1200 if small else 12000, n_labels=120 if small else 300, seed=seed)
        train, test = split(made, test=0.2, seed=seed, stratify=True)
        tagger, popular, seconds = _trained(train, seed, threads, progress)
        where = f"{count(train.n_rows, 'text')}, {count(len(tagger.label_names), 'tag')}"
        show(f"Trained {tagger.model_.name} on {where} in {seconds:.1f} s.")
        show()
        _show_metrics(tagger, popular, test)
        _show_examples(tagger, test)
        _save(out, tagger, train, test)
    _show_next(out, test)


def _check_demo_folder(out: Path) -> None:
    """Refuse a folder that holds anything but an earlier demo."""
    from labelwood.errors import DataError

    if out.exists() and not out.is_dir():
        raise DataError(f"{out}: is a file; give the name of a folder")
    foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in FILES) if out.is_dir() else []
    if foreign:
        raise DataError(f"{out}: holds {foreign[0]!r}, so it is no earlier demo; give another folder with --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be made ({error.strerror})") from None


def _trained(train: Dataset, seed: int, threads: int | None, progress: Progress) -> tuple[Tagger, Tagger, float]:
    import time

    from labelwood.tagger.tagger import Tagger

    start = time.perf_counter()
    tagger = Tagger(seed=seed, n_threads=threads).fit(train, progress=progress)
    seconds = time.perf_counter() - start
    return tagger, Tagger("popular", n_threads=threads).fit(train), seconds


def _show_metrics(tagger: Tagger, popular: Tagger, test: Dataset) -> None:
    from labelwood.cli.console import count, show_table

    columns = [f"{name}@{k}" for name, ks in (("P", KS), ("nDCG", KS[1:]), ("PSP", KS)) for k in ks]
    rows = []
    for trained in (tagger, popular):
        figures = trained.evaluate(test, ks=KS)
        rows.append([trained.model_.name, *(f"{figures[column]:.1f}" for column in columns)])
    show_table(f"On {count(test.n_rows, 'text')} never seen in training, per cent", ("model", *columns), rows)


def _show_examples(tagger: Tagger, test: Dataset, n: int = 5) -> None:
    from labelwood.cli.console import show

    texts, names = test.texts or (), test.label_names or ()
    step = max(1, len(texts) // n)
    show("Five of these texts, their tags and the reasons:")
    for row in range(0, step * min(n, len(texts)), step):
        text = texts[row]
        line = " ".join(text.split())
        true = {names[label] for label in test.y[row].indices}
        show()
        show(f"  {line if len(line) <= 150 else line[:147] + '...'}")
        show(f"    true tags: {', '.join(sorted(true))}")
        for tag, score in tagger.predict([text], k=max(1, len(true)))[0]:
            mark = "✓" if tag in true else "✗"
            show(f"    {mark} {tag} ({score:.2f}), because of: {tagger.explain(text, tag).text(4)}")
    show()


def _save(out: Path, tagger: Tagger, train: Dataset, test: Dataset) -> None:
    from labelwood.data.writing.write import write

    write(train, out / "train.jsonl")
    write(test, out / "test.jsonl")
    tagger.save(out / "model")


def _show_next(out: Path, test: Dataset) -> None:
    import shlex

    from labelwood.cli.console import show

    model, file = shlex.quote(str(out / "model")), shlex.quote(str(out / "test.jsonl"))
    text = (test.texts or ("",))[0]
    words = " ".join(text.split()[:12])
    show(f"Saved in {out}. Go on with:")
    show(f"  labelwood predict {model} {file} -k 5 --out answers.jsonl")
    show(f"  labelwood evaluate {model} {file}")
    show(f"  labelwood explain {model} {shlex.quote(words)}")
    show(f"  labelwood inspect {model}")
    show(f"  labelwood serve {model} --port 8000")
