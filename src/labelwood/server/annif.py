"""Annif's REST API over the same models, so that its clients work: a model is a project, its labels a vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from msgspec import UNSET

from labelwood.server.access import READ, WRITE
from labelwood.server.annif_schemas import (
    AnnifBackend,
    AnnifBatch,
    AnnifBatchSuggestions,
    AnnifDocument,
    AnnifIndexedDocument,
    AnnifInfo,
    AnnifProject,
    AnnifProjects,
    AnnifSuggestion,
    AnnifSuggestions,
    AnnifVocabularies,
    AnnifVocabulary,
)
from labelwood.server.batching import TEXTS
from labelwood.server.labelling import Labeller, check_rows, chosen_model, keep_corrections
from labelwood.server.problems import Problem
from labelwood.server.requests import Request, Response, Route, number_in, whole_number_in
from labelwood.server.schemas import MAX_K, GivenLabel, PredictRequest, decoder, encode
from labelwood.server.served import ServedModel

if TYPE_CHECKING:
    from labelwood.server.app import App

LANGUAGE = "und"  # BCP 47 for a language that is not known
_URN = "urn:label:"
_SCHEMES = ("http://", "https://", "urn:")
_batch = decoder(AnnifBatch)
_indexed = decoder(list[AnnifIndexedDocument])


async def info(app: App, request: Request) -> Response:
    """Annif's name and version of the service."""
    from labelwood import __version__

    return Response(encode(AnnifInfo("labelwood, with Annif's REST API", __version__)))


async def projects(app: App, request: Request) -> Response:
    """All models as projects."""
    return Response(encode(AnnifProjects([_project(served) for served in app.models])))


async def project(app: App, request: Request) -> Response:
    """One model as a project."""
    return Response(encode(_project(_chosen(app, request))))


async def vocabs(app: App, request: Request) -> Response:
    """The labels of all models."""
    return Response(encode(AnnifVocabularies([_vocabulary(served) for served in app.models])))


async def suggest(app: App, request: Request) -> Response:
    """The labels of a text that comes as a form."""
    served = _chosen(app, request)
    fields = await request.form()
    if "text" not in fields:
        raise Problem(400, "the field 'text' is missing")
    rows = await _suggestions(app, served, [fields["text"]], fields)
    return Response(encode(AnnifSuggestions(rows[0])))


async def suggest_batch(app: App, request: Request) -> Response:
    """The labels of up to 32 texts."""
    served = _chosen(app, request)
    fields = request.query("limit", "threshold", "language")
    asked: AnnifBatch = await request.json(_batch)
    documents: list[AnnifDocument] = asked.documents
    rows = await _suggestions(app, served, [document.text for document in documents], fields)
    answers = [AnnifBatchSuggestions(document.document_id, row) for document, row in zip(documents, rows, strict=True)]
    return Response(encode(answers))


async def learn(app: App, request: Request) -> Response:
    """Texts with their right labels, kept for `labelwood learn`."""
    served = _chosen(app, request)
    if not app.settings.learn:
        raise Problem(403, "this service takes no corrections: it was started without --learn")
    documents: list[AnnifIndexedDocument] = await request.json(_indexed)
    labels = [[label_of(subject.uri) for subject in document.subjects] for document in documents]
    await keep_corrections(app, request, served, [document.text for document in documents], labels)
    return Response(status=204)


async def _suggestions(
    app: App, served: ServedModel, texts: list[str], fields: dict[str, str]
) -> list[list[AnnifSuggestion]]:
    if not served.takes_texts:
        raise Problem(400, f"the model {served.name!r} takes features, not texts")
    limit, threshold = whole_number_in(fields, "limit", 10, 0, MAX_K), number_in(fields, "threshold", 0.0, 0.0, 1.0)
    check_rows(app, TEXTS, texts, app.settings.limits.rows)
    if limit == 0:
        return [[] for _ in texts]
    lang = None if served.vocabulary is None else fields.get("language") or None
    labeller = Labeller(app, served, PredictRequest(k=limit, min_score=threshold or None, lang=lang))
    answers = await labeller.answers(TEXTS, texts)
    return [
        [AnnifSuggestion(uri_of(label.name), _shown_name(label), None, label.score) for label in answer.labels]
        for answer in answers
    ]


def _shown_name(label: GivenLabel) -> str:
    """The name of a label for people."""
    return label.name if label.title is UNSET else label.title


def _chosen(app: App, request: Request) -> ServedModel:
    return chosen_model(app, request.path["project"])


def _vocabulary(served: ServedModel) -> AnnifVocabulary:
    vocabulary = served.vocabulary
    if vocabulary is None:
        return AnnifVocabulary(served.name, [LANGUAGE], served.n_labels, loaded=True)
    return AnnifVocabulary(served.name, sorted(vocabulary.languages), len(vocabulary), loaded=True)


def _project(served: ServedModel) -> AnnifProject:
    return AnnifProject(
        project_id=served.name,
        name=served.name,
        language=LANGUAGE,
        backend=AnnifBackend(f"labelwood-{served.manifest['name']}"),
        vocab=_vocabulary(served),
        vocab_language=LANGUAGE if served.vocabulary is None else served.vocabulary.language,
        is_trained=True,
        modification_time=served.manifest["created"],
    )


def uri_of(name: str) -> str:
    """A URI for a label: its name if that is one, else a URN made of it."""
    return name if name.startswith(_SCHEMES) else _URN + quote(name, safe="")


def label_of(uri: str) -> str:
    """The name of the label that `uri_of` gave such a URI."""
    return unquote(uri.removeprefix(_URN)) if uri.startswith(_URN) else uri


ROUTES = (
    Route("GET", "/v1/", READ, info),
    Route("GET", "/v1/projects", READ, projects),
    Route("GET", "/v1/vocabs", READ, vocabs),
    Route("GET", "/v1/projects/{project}", READ, project),
    Route("POST", "/v1/projects/{project}/suggest", READ, suggest),
    Route("POST", "/v1/projects/{project}/suggest-batch", READ, suggest_batch),
    Route("POST", "/v1/projects/{project}/learn", WRITE, learn),
)
