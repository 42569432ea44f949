"""What the commands that train are told about a model, and the training itself: once, or within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.models.base import Model
    from labelwood.progress import Progress
    from labelwood.tagger.tagger import Tagger
    from labelwood.tuning.tune import Tuned

PLAIN = "none"  # --lang none: plain words, whatever the language


class Settings:
    """The model's name and its parameters as the command line gave them, checked before any data is read."""

    def __init__(
        self,
        name: str,
        assignments: list[str],
        seed: int,
        threads: int | None,
        *,
        assign: str | None = None,
        keep_rows: bool | None = None,
        preset: str | None = None,
        lang: str | None = None,
        vocab: Path | None = None,
        name_rows: bool | None = None,
    ) -> None:
        from labelwood.calibration.rule import Assignment
        from labelwood.errors import ParamError
        from labelwood.models.registry import AUTO, model_class
        from labelwood.params import Params

        self.asked = assign
        self.assign = None if assign == "none" else assign or "f1"
        if self.assign is not None:
            Assignment.parse(self.assign)
        of_features = [text.removeprefix("features.") for text in assignments if text.startswith("features.")]
        of_model = [text for text in assignments if not text.startswith("features.")]
        parameters = Params if name == AUTO else model_class(name).Parameters
        self.name = name
        self.keep_rows = keep_rows
        # A published configuration learns from the rows alone, unless more is asked for.
        self.name_rows = False if name_rows is None and preset is not None else name_rows
        self.names_asked = name_rows is not None
        self.lang = lang
        self.vocabulary = None
        if vocab is not None:
            from labelwood.vocabulary.read import read_vocabulary

            self.vocabulary = read_vocabulary(vocab)
        if lang not in (None, "auto", PLAIN):
            from labelwood.features.languages import checked_codes

            checked_codes(str(lang), "--lang")
        self.model_params: dict[str, Any] = {"seed": seed, "n_threads": threads}
        if preset is not None:
            if name == AUTO:
                raise ParamError(f"--preset {preset} needs --model: each model has presets of its own")
            self.model_params.update(model_class(name).preset_settings(preset))
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

    @property
    def plain_words(self) -> dict[str, Any]:
        """The features that --lang none asks for."""
        from labelwood.models.registry import AUTO, model_class

        bag = self.name != AUTO and model_class(self.name).text_features == "bag"
        return {"analyzer": "word"} if self.lang == PLAIN and not bag else {}

    @property
    def chooses_words(self) -> bool:
        """Whether the words are chosen for the texts: with --best or without --model, unless features are given."""
        from labelwood.models.registry import AUTO, model_class

        return self.features.keys() <= {"markup"} and (self.name == AUTO or model_class(self.name).takes_texts)

    def refuse_texts_options(self, data: Dataset) -> None:
        """ParamError if an option was given that rows of features have no use for."""
        from labelwood.errors import ParamError

        of_texts = {
            "--keep-rows": self.keep_rows is not None,
            "--name-rows": self.names_asked,
            "--set features.*": bool(self.features),
            "--assign": self.asked not in (None, "none"),
            "--lang": self.lang is not None,
            "--vocab": self.vocabulary is not None,
        }
        for option, given in of_texts.items():
            if given:
                raise ParamError(f"{data.source}: holds features, not texts; {option} is for texts")


def train(
    data: Dataset, settings: Settings, progress: Progress, memory: int | None = None
) -> tuple[Tagger | Model[Any, Any], list[str], list[str]]:
    """(the trained Tagger if the rows are texts, else the trained model; why it has these words; other notes)."""
    from labelwood.calibration.fit import outlined
    from labelwood.cli.choices import FEWEST_TO_TRY, words_choice
    from labelwood.models.fit_input import checked_input
    from labelwood.models.registry import AUTO, model_class, recommended_model
    from labelwood.tagger.tagger import Tagger

    if data.x is None:
        lang = settings.lang
        reasons: list[str] = []
        if lang is None and settings.chooses_words:
            lang, reasons = words_choice(data.texts or (), views=settings.name != AUTO, features=settings.features)
        tagger = Tagger(
            settings.name,
            features={**settings.plain_words, **settings.features},
            model_params=settings.model_params,
            keep_rows=settings.keep_rows,
            assign=settings.assign,
            lang=None if lang == PLAIN else lang,
            vocabulary=settings.vocabulary,
            name_rows=settings.name_rows,
        )
        tagger.fit(data, memory=memory, progress=progress)
        notes = list(tagger.notes_)
        if lang != settings.lang:
            reasons = [f"words: {notes.pop(0)} (--lang none takes plain words)"]
        elif _may_gain(lang) and data.n_rows >= FEWEST_TO_TRY and not settings.features:
            notes.append("--lang auto would try dictionary forms and runs of letters on held-out rows too")
        return tagger, reasons, notes
    settings.refuse_texts_options(data)
    name = recommended_model(data.n_labels, data.x.nnz) if settings.name == AUTO else settings.name
    model: Model[Any, Any] = model_class(name)(**settings.model_params)
    if model.trains_several:
        progress = outlined(model, checked_input(data), None, None, progress)
    model.fit(data, memory=memory, progress=progress)
    return model, [], list(model.notes_)


def _may_gain(lang: str | None) -> bool:
    """Whether that is a language whose words "auto" would try in more forms."""
    from labelwood.features.languages import AUTO, SYLLABIC

    return lang not in (None, PLAIN, AUTO) and SYLLABIC.keys().isdisjoint(str(lang).split("+"))


def tuned_within(
    budget: str,
    data: Dataset,
    settings: Settings,
    out: Path,
    progress: Progress,
    memory: int | None = None,
    *,
    restart: bool = False,
) -> Tuned:
    """What a search of that time gives; the journal lies beside `out`."""
    from labelwood.cli.choices import words_choice
    from labelwood.tuning.tune import tune

    lang = settings.lang
    if data.x is not None:
        settings.refuse_texts_options(data)
    elif lang is None and settings.chooses_words:
        # The search tries other words itself.
        lang, _ = words_choice(data.texts or (), views=True, features=settings.features)
    return tune(
        data,
        budget=budget,
        model=settings.name,
        params=settings.model_params,
        features={**settings.plain_words, **settings.features},
        lang=None if lang == PLAIN else lang,
        vocabulary=settings.vocabulary,
        assign=settings.assign if data.x is None else None,
        keep_rows=settings.keep_rows,
        name_rows=settings.name_rows,
        out=out,
        restart=restart,
        memory=memory,
        progress=progress,
    )
