"""`labelwood train`: a data file in, a saved model out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.models.base import Model
    from labelwood.progress import Progress
    from labelwood.tagger.tagger import Tagger


def command(
    data: options.DataFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to save the model in.")],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="A model (see `labelwood models`); auto: one-vs-all, or linear-tree where that would take long.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A parameter of the model, or features.KEY for texts; repeatable.",
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            "--tree",
            metavar="FILE",
            help="Your own label hierarchy for linear-tree: lines of name, tab, parent; or a SKOS file.",
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="auto|CODE",
            help="The language of the texts, such as de or fi+sv: inflected words count as one. auto: detect and try.",
        ),
    ] = None,
    vocab: Annotated[
        Path | None,
        typer.Option(
            "--vocab",
            metavar="FILE",
            help="The thesaurus of the labels: SKOS (.ttl, .rdf, .jsonld), .tsv or .csv; answers then carry names.",
        ),
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="Refuse to train if it would need more than this, such as 8G."),
    ] = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on DATA and save it.

    A file of texts gives a tagger that answers with label names; a file of features gives a plain model.
    """
    import time

    from labelwood.cli.console import count, say, show, show_json
    from labelwood.cli.inputs import read_data
    from labelwood.cli.outputs import check_folder
    from labelwood.cli.progress import shown
    from labelwood.memory import parse_memory
    from labelwood.models.registry import AUTO

    check_folder(out, force=force)
    budget = None if memory is None else parse_memory(memory)
    if tree is not None and model is None:
        model = "linear-tree"
    given_tree = [] if tree is None else [f"tree={tree}"]
    settings = Settings(model or AUTO, [*(set_ or []), *given_tree], seed, threads, lang=lang, vocab=vocab)
    start = time.perf_counter()
    with shown(quiet) as progress:
        rows = read_data(
            data,
            format=format,
            text=text,
            labels=labels,
            separator=separator,
            index_base=index_base,
            on_bad_row=on_bad_row,
            n_threads=threads,
            progress=progress,
            quiet=quiet or json,
        )
        trained = train(rows, settings, progress, budget)
        seconds = time.perf_counter() - start
        base = {} if rows.index_base is None else {"index_base": rows.index_base}
        check_folder(out, force=force)  # another program may have saved there meanwhile
        choices = list(getattr(trained, "notes_", ()))
        said = {"choices": choices} if choices else {}
        trained.save(out, extra={"data": str(data)} | base | said, overwrite=force)
    fitted: Any = getattr(trained, "model_", trained)  # a Tagger's model, or the model itself
    name = fitted.name
    facts = {
        "out": str(out),
        "kind": "tagger" if rows.x is None else "model",
        "model": name,
        "n_rows": rows.n_rows,
        "n_labels": rows.n_labels,
        "seconds": round(seconds, 3),
        "notes": [*rows.notes, *choices],
    }
    if json:
        show_json(facts)
        return
    if not quiet:
        for choice in choices:
            say(f"note: {choice}")
    what = f"{count(rows.n_rows, 'row')} with {count(rows.n_labels, 'label')}"
    show(f"trained {name} on {what} in {seconds:.1f} s; saved in {out}")


class Settings:
    """The model's name and its parameters as the command line gave them, checked before any data is read."""

    def __init__(
        self,
        name: str,
        assignments: list[str],
        seed: int,
        threads: int | None,
        *,
        lang: str | None = None,
        vocab: Path | None = None,
    ) -> None:
        from labelwood.errors import ParamError
        from labelwood.models.registry import AUTO, model_class
        from labelwood.params import Params

        of_features = [text.removeprefix("features.") for text in assignments if text.startswith("features.")]
        of_model = [text for text in assignments if not text.startswith("features.")]
        parameters = Params if name == AUTO else model_class(name).Parameters
        self.name = name
        self.lang = lang
        self.vocabulary = None
        if vocab is not None:
            from labelwood.vocabulary.read import read_vocabulary

            self.vocabulary = read_vocabulary(vocab)
        if lang not in (None, "auto"):
            from labelwood.features.languages import checked_codes

            checked_codes(str(lang), "--lang")
        self.model_params: dict[str, Any] = {"seed": seed, "n_threads": threads}
        try:
            self.model_params.update(parameters.parse(of_model, name))
            parameters.checked(self.model_params, name)
        except ParamError as error:
            if name != AUTO:
                raise
            raise ParamError(f"{error}; parameters of one model need --model (see `labelwood models`)") from None
        self.features: dict[str, Any] = {}
        if of_features:
            from labelwood.features.bag import BagParams
            from labelwood.features.tfidf_params import TfidfParams
            from labelwood.params import Declared

            bag = name != AUTO and model_class(name).text_features == "bag"
            declared: type[Declared] = BagParams if bag else TfidfParams
            self.features = declared.parse(of_features, "features")
            declared.checked(self.features, "features")


def train(data: Dataset, settings: Settings, progress: Progress, memory: int | None = None) -> Tagger | Model[Any, Any]:
    """The trained Tagger if the rows are texts, else the trained model."""
    from labelwood.errors import ParamError
    from labelwood.models.registry import AUTO, model_class, recommended_model
    from labelwood.tagger.tagger import Tagger

    if data.x is None:
        tagger = Tagger(
            settings.name,
            features=settings.features,
            model_params=settings.model_params,
            lang=settings.lang,
            vocabulary=settings.vocabulary,
        )
        return tagger.fit(data, memory=memory, progress=progress)
    if settings.features or settings.lang or settings.vocabulary:
        given = "--lang" if settings.lang else "--vocab" if settings.vocabulary else "--set features.*"
        raise ParamError(f"{data.source}: holds features, not texts; {given} is for texts")
    name = recommended_model(data.n_labels, data.x.nnz) if settings.name == AUTO else settings.name
    return model_class(name)(**settings.model_params).fit(data, memory=memory, progress=progress)
