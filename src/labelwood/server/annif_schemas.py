"""The JSON that Annif's clients know: their requests, and the answers to them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from labelwood.server.schemas import LabelName

ANNIF_DOCUMENTS = 32


class AnnifInfo(Struct):
    """Annif's name and version of the service."""

    title: str
    version: str


class AnnifBackend(Struct):
    """The model behind a project."""

    backend_id: str


class AnnifVocabulary(Struct):
    """The labels of a model."""

    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class AnnifProject(Struct):
    """A model as Annif describes projects."""

    project_id: str
    name: str
    language: str
    backend: AnnifBackend
    vocab: AnnifVocabulary
    vocab_language: str
    is_trained: bool
    modification_time: str | None


class AnnifProjects(Struct):
    """All models as projects."""

    projects: list[AnnifProject]


class AnnifVocabularies(Struct):
    """The labels of all models."""

    vocabs: list[AnnifVocabulary]


class AnnifSuggestion(Struct):
    """A label as Annif gives subjects."""

    uri: str
    label: str
    notation: str | None
    score: float


class AnnifSuggestions(Struct):
    """The labels of one text."""

    results: list[AnnifSuggestion]


class AnnifDocument(Struct):
    """A text with a name of the client's."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] | None = None


class AnnifBatch(Struct):
    """Up to 32 texts."""

    documents: Annotated[list[AnnifDocument], Meta(max_length=ANNIF_DOCUMENTS)]


class AnnifBatchSuggestions(Struct):
    """The labels of one of several texts."""

    document_id: str | None
    results: list[AnnifSuggestion]


class AnnifSubject(Struct):
    """A right label."""

    uri: LabelName
    label: str | None = None


class AnnifIndexedDocument(Struct):
    """A text with its right labels."""

    text: str = ""
    subjects: list[AnnifSubject] = []
    metadata: dict[str, str] | None = None
