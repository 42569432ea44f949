"""A backend for Annif: `backend=labelwood` in a project; ANNIF_CONFIG=labelwood.annif_backend.Config registers it.

Annif has a fixed table of backends and loads the configuration class that ANNIF_CONFIG names before it opens a project.
So this module, which holds such classes, enters the backend into the table when it is loaded; Annif stays as it is.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import annif.backend
import annif.default_config
from annif.backend.backend import AnnifLearningBackend
from annif.exception import NotInitializedException, NotSupportedException, OperationFailedException
from annif.suggestion import SubjectSuggestion, SuggestionBatch

from labelwood.errors import LabelwoodError, ModelFileError
from labelwood.features.languages import AUTO
from labelwood.loading import load
from labelwood.tagger.tagger import Tagger

FOLDER = "labelwood-model"
# The keys of a project that are the Tagger's; "model__C" and "features__min_df" reach its parts.
_OWN = ("model", "seed", "assign", "keep_rows", "lang")
_PARTS = ("model__", "features__")


class LabelwoodBackend(AnnifLearningBackend):  # type: ignore[misc]
    """Annif's projects with labelwood's Tagger: train, suggest, learn; labels are the URIs of the subjects."""

    name = "labelwood"
    DEFAULT_PARAMETERS: dict[str, Any] = {"lang": AUTO}  # noqa: RUF012 - Annif's way
    _tagger: Tagger | None = None

    @property
    def _folder(self) -> Path:
        return Path(self.datadir) / FOLDER

    def initialize(self, parallel: bool = False) -> None:
        """Load the tagger, once."""
        if self._tagger is not None:
            return
        if not self._folder.exists():
            raise NotInitializedException(f"model {self._folder} not found", backend_id=self.backend_id)
        try:
            loaded = load(self._folder)
        except ModelFileError as error:
            raise OperationFailedException(str(error), backend_id=self.backend_id) from None
        if not isinstance(loaded, Tagger):
            raise OperationFailedException(f"{self._folder}: holds no tagger", backend_id=self.backend_id)
        self._tagger = loaded

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            raise NotSupportedException("labelwood keeps no training data to be used again", backend_id=self.backend_id)
        texts, labels = self._rows(corpus)
        if not texts:
            raise NotSupportedException("Cannot train labelwood project with no documents", backend_id=self.backend_id)
        try:
            tagger = Tagger(n_threads=jobs or None).set_params(**tagger_parameters(params))
            tagger.fit(texts, labels)
        except LabelwoodError as error:
            raise OperationFailedException(str(error), backend_id=self.backend_id) from None
        for note in tagger.notes_:
            self.info(note)
        tagger.save(self._folder)
        self._tagger = tagger

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        self.initialize()
        texts, labels = self._rows(corpus)
        if self._tagger is None or not texts:
            return
        try:
            learnt = self._tagger.learn(texts, labels)
        except LabelwoodError as error:
            raise OperationFailedException(str(error), backend_id=self.backend_id) from None
        self.info(learnt.text())
        self._tagger.save(self._folder)

    def _rows(self, corpus: Any) -> tuple[list[str], list[list[str]]]:
        """(texts, the URIs of each); documents without a text or a subject teach nothing."""
        subjects = self.project.subjects
        rows = [
            (document.text, [subjects[number].uri for number in document.subject_set])
            for document in corpus.documents
            if document.text.strip() and len(document.subject_set)
        ]
        return [text for text, _ in rows], [uris for _, uris in rows]

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> Any:
        tagger, subjects = self._tagger, self.project.subjects
        if tagger is None:
            raise NotInitializedException("the model is not loaded", backend_id=self.backend_id)
        limit = min(int(params["limit"]), len(tagger.label_names))
        top, known = tagger.fitted_.predict_known([document.text for document in documents], limit, 1)
        rows = []
        for has_words, answers in zip(known.tolist(), top.names(tagger.label_names), strict=True):
            numbers = [(subjects.by_uri(uri, warnings=False), score) for uri, score in answers if has_words]
            rows.append([SubjectSuggestion(number, score) for number, score in numbers if number is not None])
        return SuggestionBatch.from_sequence(rows, subjects)


def tagger_parameters(project: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the Tagger among those of a project; numbers, True, False and None are read as such."""
    chosen = {name: value for name, value in project.items() if name in _OWN or name.startswith(_PARTS)}
    return {name: _value(value) for name, value in chosen.items()}


def _value(text: Any) -> Any:
    try:
        return ast.literal_eval(text) if isinstance(text, str) else text
    except (ValueError, SyntaxError):
        return text  # a plain word, such as linear-tree


class Config(annif.default_config.Config):  # type: ignore[misc]
    """Annif's usual configuration for commands; naming it in ANNIF_CONFIG brings the backend along."""


class ProductionConfig(annif.default_config.ProductionConfig):  # type: ignore[misc]
    """Annif's usual configuration for its web service, which loads all projects at its start; with the backend."""


annif.backend._backend_fns[LabelwoodBackend.name] = lambda: LabelwoodBackend
