"""Tagger: texts in, label names out; features, model and names in one saved folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from scipy import sparse

from labelwood.calibration.fitted import FittedCalibration
from labelwood.calibration.rule import asked_threshold
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ParamError
from labelwood.estimator import Estimator, nested
from labelwood.features.bag import BagVectorizer
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.hub import hub_name, model_card, upload
from labelwood.labelspace import names as naming
from labelwood.metrics.evaluate import evaluate
from labelwood.models.base import PROBABLE_LABELS, SCORED_AT, Model
from labelwood.models.registry import AUTO, model_class
from labelwood.progress import SILENT, Progress
from labelwood.storage.load import read_manifest
from labelwood.storage.save import save_folder
from labelwood.tagger.fitted import FittedTagger, restored_tagger, vectorizer_class
from labelwood.tagger.given import (
    check_as_many,
    checked_texts,
    labels_for,
    lesson_of,
    named_labels,
    texts_of,
)
from labelwood.tagger.label_changes import LabelRow, changed_labels, label_table
from labelwood.tagger.learning import Learnt, learned
from labelwood.tagger.reasons import TagReason
from labelwood.tagger.settings import TaggerSettings
from labelwood.tagger.training import trained
from labelwood.topk import USUAL_K, TopK
from labelwood.vocabulary.rules import RULES, checked_rule
from labelwood.vocabulary.vocabulary import Vocabulary

Vectorizer = TfidfVectorizer | BagVectorizer
_OWN = tuple(field.name for field in fields(TaggerSettings))


class Tagger(Estimator):
    """Gives texts the names of their labels.

    model: a registry name, such as "linear-tree", an untrained model, or "auto": one-vs-all as long as that trains in
    about a minute, else the linear tree (`model_.name` says which). features: parameters of TfidfVectorizer that differ
    from the defaults here (words, sublinear tf, unit length), or of BagVectorizer for models that take counts of words
    and n-grams, such as "hsoftmax". model_params: parameters of a model that is given by name. scikit-learn reaches the
    parts as "model__C" and "features__min_df". assign: the rule by which `predict(assign=True)` gives labels: "f1",
    "f1-macro", "f1-sample", "precision=0.9", "recall=0.8", "count=4" or "threshold=0.5"; learning it, and how sure
    answers are, takes about as long again as training, so None leaves it out. keep_rows: keep the training rows,
    compactly, so that `learn` can teach the model corrections; None: if they take at most 100 MB. lang: the language of
    the texts, such as "fi", makes inflected words alike by their stems; "auto" detects it and keeps what held-out rows
    prefer, as `notes_` then says; without it, too, scripts such as Japanese or Thai, where spaces do not tell words
    apart, are cut into runs of letters (features={"analyzer": "word"}: into words). Texts that are HTML, as most of
    them show, are read as a reader sees them, and so are all texts that come later (features={"markup": False}: as they
    are). vocabulary: a thesaurus or its file; labels are its ids then, which have names, and deprecated ones are not
    suggested. name_rows: learn from the names of the labels, too, as from rows: rare labels, and those without a row,
    are then found by their words; None: if held-out rows are answered better so, as `notes_` then says. The constructor
    only stores; `fit` validates.
    """

    # What the last fit has to say about its choices; of the class, so that the constructor sets nothing but parameters.
    notes_: tuple[str, ...] = ()

    def __init__(
        self,
        model: str | Model[Any, Any] = AUTO,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        features: Mapping[str, Any] | None = None,
        model_params: Mapping[str, Any] | None = None,
        assign: str | None = None,
        keep_rows: bool | None = None,
        lang: str | None = None,
        vocabulary: Vocabulary | str | Path | None = None,
        name_rows: bool | None = None,
    ) -> None:
        self.model = model
        self.seed = seed
        self.n_threads = n_threads
        self.features = features
        self.model_params = model_params
        self.assign = assign
        self.keep_rows = keep_rows
        self.lang = lang
        self.vocabulary = vocabulary
        self.name_rows = name_rows

    def __repr__(self) -> str:
        return f"Tagger(model={self.model!r}, seed={self.seed})"

    # parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; deep: also those of the model ("model__C") and the features ("features__min_df")."""
        values = {name: getattr(self, name) for name in _OWN}
        if deep:
            settings = self._settings()
            values |= nested("model", settings.model_values()) | nested("features", settings.feature_values())
        return values

    def set_params(self, **parameters: Any) -> Tagger:
        """The tagger itself with some parameters changed; takes effect at the next fit."""
        for name, value in parameters.items():
            if name in _OWN:
                setattr(self, name, value)
        for name, value in parameters.items():
            owner, inner, key = name.partition("__")
            if name in _OWN:
                continue
            if not inner or owner not in ("model", "features"):
                known = ", ".join((*_OWN, "model__*", "features__*"))
                raise ParamError(f"Tagger: unknown parameter {name!r} (known: {known})")
            if owner == "features":
                self._settings().vectorizer_type.Parameters.check_names({key: value}, "Tagger, features")
                self.features = {**(self.features or {}), key: value}
            elif isinstance(self.model, Model):
                self.model.set_params(**{key: value})
            else:
                if self.model != AUTO:
                    model_class(self.model).Parameters.check_names({key: value}, "Tagger, model")
                self.model_params = {**(self.model_params or {}), key: value}
        return self

    def _settings(self) -> TaggerSettings:
        return TaggerSettings(**self.get_params(deep=False))

    # training

    def fit(
        self,
        texts: Iterable[str] | Dataset,
        labels: Any = None,
        *,
        groups: Sequence[Any] | None = None,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> Tagger:
        """The tagger itself, trained on texts and a list of label names for each, or on a Dataset with texts.

        groups: what group each text is of, such as its author (None or "": of none); texts of a group are held out
        together, as suits a tagger that will meet groups it has not seen. Without groups, where a tenth of the texts or
        more have an exact copy, copies are held out together, as `notes_` then says. memory: the bytes that training
        the model may take beside the data; see Model.fit. With `assign`, fewer than 50 labelled texts are too few to
        hold some out: `calibration_` is then None.
        """
        self._fitted, self.notes_ = trained(
            self._settings(), texts, labels, groups=groups, memory=memory, progress=progress
        )
        return self

    def learn(
        self,
        texts: Iterable[str] | Dataset,
        labels: Any = None,
        ids: Sequence[str] | None = None,
        *,
        groups: Sequence[Any] | None = None,
        refit: bool = False,
        progress: Progress = SILENT,
    ) -> Learnt:
        """What the tagger made of corrections: texts and a list of label names for each, or a Dataset with texts.

        Unknown labels and words are new ones. A row replaces all earlier rows with its id or its text, and is of their
        group if it has none of its own; retired labels are answered again. A linear tree is taught the rows at once, as
        is dxml; other models are trained again when that takes seconds or more than a tenth of the rows wait for it, or
        with refit. Until then new labels are answered by their nearest examples, and corrected texts as they were
        corrected.
        """
        taught, learnt = learned(
            self.fitted_,
            lesson_of(texts, labels, ids, groups, self.fitted_.ids),
            refit=refit,
            n_threads=self.n_threads,
            progress=progress,
        )
        self._fitted = taught
        return learnt

    def change_labels(self, action: str, *names: str, text: str | None = None) -> str:
        """What was done, for people: "add" names, "rename" or "merge" one into another, "retire" or "forbid" names.

        text: an example of the label that is added. A retired label is never answered until it is taught or added
        again; a forbidden one is refused in what is taught, too. Rows of a merged label become the other one's. A
        renamed label is known by its earlier names, too, unless one of them is added, or given to another label.
        """
        self._fitted, message = changed_labels(self.fitted_, action, names, text, self.n_threads)
        return message

    def label_table(self) -> list[LabelRow]:
        """Every label with its rows and its state: "in use", "new", "retired", "forbidden", "merged into ..."."""
        return label_table(self.fitted_)

    # what was learnt

    @property
    def fitted_(self) -> FittedTagger:
        """What was learnt; NotFittedError before fit."""
        state: FittedTagger = self._state()
        return state

    @property
    def model_(self) -> Model[Any, Any]:
        """The trained model inside; it takes the rows of `vectorizer_`."""
        state = self.fitted_.model
        model = model_class(state.name).from_fitted(state)
        model.n_threads = self.n_threads
        return model

    @property
    def vectorizer_(self) -> Vectorizer:
        """What turns texts into the model's rows."""
        words = self.fitted_.words
        kind = vectorizer_class(self.fitted_.model.name)
        return kind.from_fitted(words, {**words.parameters.as_given(), "n_threads": self.n_threads})

    @property
    def calibration_(self) -> FittedCalibration | None:
        """How sure answers are and which labels are assigned; None if that was not learnt."""
        return self.fitted_.calibration

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of all labels the tagger can give."""
        return self.fitted_.label_names

    @property
    def classes_(self) -> Any:
        """The names of all labels, as an array."""
        classes = self.fitted_.model.trained_on.classes
        return replace(classes, n=len(self.label_names), names=self.label_names).array()

    # answering

    def predict(
        self,
        texts: Iterable[str],
        k: int | None = None,
        *,
        assign: bool | str = False,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        rule: str | None = None,
    ) -> list[list[tuple[str, float]]]:
        """The k best labels of each text as (label, score), best first; k: 5 if it is not given.

        assign: the labels that the tagger's rule gives, 0 to n (at most k), as (label, probability); with
        "threshold=0.5" the labels that are at least so probable. A text without a word that the tagger knows gets none.
        include and exclude choose what may be answered: labels; with a vocabulary
        also "below:ID" (with all below it) and "scheme:ID", and `name` gives the names of its ids. rule, with a
        vocabulary: "ancestors" adds the concepts above the answers, "specific" drops answers above another.
        """
        top = self.predict_top(texts, k, assign=assign, include=include, exclude=exclude)
        answers = top.names(self.label_names)
        if rule is None:
            return answers
        apply, vocabulary = RULES[checked_rule(rule)], self.fitted_.vocabulary
        if vocabulary is None:
            raise ParamError(f"the rule {rule!r} needs a tagger that was trained with a vocabulary")
        return [apply(row, vocabulary) for row in answers]

    def predict_top(
        self,
        texts: Iterable[str],
        k: int | None = None,
        *,
        assign: bool | str = False,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> TopK:
        """What `predict` gives, as TopK; numbers are places in `label_names`."""
        state, threshold, rows = self.fitted_, asked_threshold(assign), checked_texts(texts)
        if assign:
            return state.assigned(rows, k, self.n_threads, threshold=threshold, include=include, exclude=exclude)
        width = USUAL_K if k is None else k
        return state.predict(rows, width, self.n_threads, include=include, exclude=exclude)

    def predict_proba(self, texts: Iterable[str], k: int = PROBABLE_LABELS) -> sparse.csr_matrix:
        """How probable the k best labels of each text are: CSR (n_texts, n_labels); needs a tagger with `assign`."""
        state, n_labels = self.fitted_, len(self.label_names)
        return state.ranked(checked_texts(texts), min(k, n_labels), self.n_threads).to_csr(n_labels)

    def name(self, label: str, lang: str | None = None) -> str:
        """The name of a label in the vocabulary, in a language or in the tagger's own; without one, the label."""
        vocabulary = self.fitted_.vocabulary
        if vocabulary is None:
            if lang is not None:
                raise ParamError(f"names in {lang!r} need a tagger that was trained with a vocabulary")
            return label
        return vocabulary.name(label, lang)

    def explain(self, text: str, label: str | None = None) -> TagReason:
        """Why one text gets a label: its words and how much each pushes for (+) or against (-) it.

        label: None explains the best answer.
        """
        state = self.fitted_
        if not isinstance(text, str):
            raise DataError(f"explain takes one text, but got {text!r}")
        if label is None:
            best = self.predict([text], k=1)[0]
            if not best:
                raise DataError("the text gets no label, so there is none to explain; name one")
            label = best[0][0]
        return state.explain(text, label, self.n_threads)

    def evaluate(
        self, texts: Iterable[str] | Dataset, labels: Any = None, *, ks: Sequence[int] = (1, 3, 5)
    ) -> dict[str, float]:
        """The metrics of the tagger's answers to texts whose labels are known: name -> per cent.

        Labels that the tagger does not know count as missed. Propensities come from its training labels. With a
        vocabulary that has broader concepts also "hP@k", "hR@k" and "hF1@k".
        """
        if isinstance(texts, Dataset):
            rows, (y, unknown) = texts_of(texts), self.label_matrix(texts)
        else:
            rows, (y, unknown) = checked_texts(texts), self.label_matrix(labels_for(labels))
            check_as_many(len(rows), y.shape[0])
        top = self.predict_top(rows, max(ks))
        counts = naming.padded_counts(self.fitted_.label_counts, y.shape[1])
        figures = evaluate(top, y, train_y=counts, n_train=self.fitted_.n_texts, ks=ks)
        return figures | self.fitted_.hierarchy_figures(top, y, unknown, ks)

    def score(self, texts: Iterable[str] | Dataset, labels: Any = None) -> float:
        """The nDCG@5 of the answers for texts with known labels, per cent: what scikit-learn compares settings by."""
        return self.evaluate(texts, labels, ks=(SCORED_AT,))[f"nDCG@{SCORED_AT}"]

    def label_matrix(self, labels: Any) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
        """(y, unknown): labels by name as a matrix over `label_names`, with columns for unknown names at its end.

        A merged label is the one that it is answered as, an earlier name of a label stands for it, and the name of a
        concept of the vocabulary for its id.
        """
        state = self.fitted_
        if isinstance(labels, Dataset):
            if labels.label_names is None:
                raise DataError(f"{labels.source}: its labels have no names, but this tagger knows labels by name")
            y, names = labels.y, tuple(labels.label_names)
        else:
            y, names = named_labels(labels, state.ids)
        return naming.renumbered(y, [state.meant(name) for name in names], state.ids)

    # saving

    def save(self, folder: str | Path, *, extra: Mapping[str, Any] | None = None, overwrite: bool = True) -> None:
        """Write features, model and names to one folder, atomically; `extra` is kept in its manifest."""
        fields, arrays = self.fitted_.state()
        fields["extra"] = dict(extra or {})
        save_folder(folder, fields, arrays, overwrite=overwrite)

    def push_to_hub(
        self,
        name: str,
        *,
        figures: Mapping[str, float] | None = None,
        license: str | None = None,
        private: bool = False,
        rows: bool = False,
        token: str | None = None,
    ) -> str:
        """The address of the tagger on the Hugging Face Hub, as "owner/name"; `lw.load("hf://owner/name")` loads it.

        Its card is written from what it is and what was measured: figures, such as `evaluate` gives, and those of the
        rows that training held out. rows: also publish the training rows, which later corrections need; without them
        nothing of the training texts but their words leaves this machine. token: else that of `hf auth login`.
        """
        state = self.fitted_
        if not rows:
            if state.kept.n_pending or state.words.n_features > state.model.n_features:
                raise DataError(
                    "corrections wait for the next training and would be lost without the rows: "
                    "learn([], [], refit=True) first, or push with rows=True"
                )
            state = replace(state, rows=None, texts=None)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "model"
            save_folder(folder, *state.state())
            card = model_card(read_manifest(folder), hub_name(name)[0], figures or {}, license)
            return upload(folder, name, card=card, private=private, token=token)

    @classmethod
    def _load(cls, manifest: Mapping[str, Any], arrays: Mapping[str, Any]) -> Tagger:
        """The tagger of a saved folder; ModelFileError if its parts do not fit together."""
        return cls.from_fitted(restored_tagger(manifest, dict(arrays)))

    @classmethod
    def from_fitted(cls, state: FittedTagger) -> Tagger:
        """The tagger of a fitted state, with the settings that it was trained with."""
        settings = state.model.settings
        words = state.words.parameters.as_given()
        tagger = cls(state.model.name, seed=settings.seed, features=words, model_params=settings.saved())
        tagger.assign = None if state.calibration is None else str(state.calibration.rule)
        tagger.name_rows = state.name_counts is not None
        tagger._fitted = state
        return tagger

    # what scikit-learn asks for

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.sparse = True, False, False
        return tags
