"""The routes of the service and what answers them; those that Annif's clients know are in annif.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from labelwood.data.dataset import TableForm
from labelwood.errors import DataError, ModelFileError
from labelwood.features.languages import language_shares
from labelwood.server import annif
from labelwood.server.access import READ, WRITE
from labelwood.server.batching import BATCH_ROWS, FEATURES, TEXTS
from labelwood.server.labelling import Labeller, check_rows, chosen_model, keep_corrections
from labelwood.server.model_card import card, judge
from labelwood.server.page_files import PAGE_PATH
from labelwood.server.problems import Problem
from labelwood.server.requests import Request, Response, Route, whole_number_in
from labelwood.server.schemas import (
    DetectAnswer,
    DetectedLanguage,
    DetectRequest,
    ExplainAnswer,
    ExplainRequest,
    FoundLabel,
    HealthAnswer,
    LabelChange,
    LabelChanged,
    LabelsAnswer,
    LearnAnswer,
    LearnRequest,
    ModelAnswer,
    PathNode,
    PredictAnswer,
    PredictRequest,
    Reason,
    ReloadAnswer,
    ReloadRequest,
    TrainingTable,
    VotingRow,
    decoder,
    encode,
)
from labelwood.server.served import ServedModel
from labelwood.server.tree_view import n_trees, tree
from labelwood.storage.load import training_rows
from labelwood.tagger.tagger import Tagger

if TYPE_CHECKING:
    from labelwood.server.app import App

NDJSON = b"application/x-ndjson"
_predict_request = decoder(PredictRequest)
_explain_request = decoder(ExplainRequest)
_learn_request = decoder(LearnRequest)
_label_change = decoder(LabelChange)
_detect_request = decoder(DetectRequest)
_reload_request = decoder(ReloadRequest)


# predicting


async def predict(app: App, request: Request) -> Response:
    """The best labels of texts or feature rows."""
    app.batcher.check_room(1)  # before the work of reading: a full service refuses quickly
    asked: PredictRequest = await request.json(_predict_request)
    served = chosen_model(app, asked.model)
    kind, rows = _rows(served, asked)
    streamed = NDJSON.decode() in request.header(b"accept")
    check_rows(app, kind, rows, app.settings.limits.streamed_rows if streamed else app.settings.limits.rows)
    labels = Labeller(app, served, asked)
    labels.check_reasons(rows)
    if streamed:
        return Response(content_type=NDJSON, stream=_lines(labels, kind, rows))
    return Response(encode(PredictAnswer(await labels.answers(kind, rows))))


async def _lines(labels: Labeller, kind: str, rows: Sequence[Any]) -> AsyncIterator[bytes]:
    """A line for each row, in order; one part is answered while the part before it is sent."""
    starts = range(0, len(rows), BATCH_ROWS)
    parts = [rows[start : start + BATCH_ROWS] for start in starts]
    following = asyncio.ensure_future(labels.answers(kind, parts[0], patient=True)) if parts else None
    for number in range(len(parts)):
        if following is None:
            return
        answers = await following
        more = number + 1 < len(parts)
        following = asyncio.ensure_future(labels.answers(kind, parts[number + 1], patient=True)) if more else None
        yield b"".join(encode(answer) + b"\n" for answer in answers)


def _rows(served: ServedModel, asked: PredictRequest) -> tuple[str, Sequence[Any]]:
    """(kind, rows) of a request; exactly one kind must be given, and it must be what the model takes."""
    if (asked.texts is UNSET) == (asked.features is UNSET):
        raise Problem(400, "the body must have either 'texts' or 'features'")
    if asked.texts is not UNSET:
        if not served.takes_texts:
            raise Problem(400, f"the model {served.name!r} takes features, not texts")
        return TEXTS, asked.texts or []
    rows = [(row.indices, row.values) for row in asked.features or []]
    served.check_features(rows)
    return FEATURES, rows


# explaining


async def explain(app: App, request: Request) -> Response:
    """Why a text gets a label."""
    asked: ExplainRequest = await request.json(_explain_request)
    served = chosen_model(app, asked.model)
    tagger = served.loaded
    if not isinstance(tagger, Tagger):
        raise Problem(400, f"the model {served.name!r} takes features; only the labels of texts are explained here")
    check_rows(app, TEXTS, [asked.text], 1)
    number = served.label_number(asked.label)
    why = await app.batcher.run(partial(tagger.fitted_.explain, asked.text, served.label_names[number], 1))
    shown = why.words[: asked.words]
    rest = why.rest + sum(push for _, push in why.words[asked.words :])
    answer = ExplainAnswer(
        label=number,
        name=why.label,
        score=round(why.score, 6),
        words=[Reason(word, round(push, 6)) for word, push in shown],
        rows=[VotingRow(voter.row, voter.text, round(voter.push, 6)) for voter in why.voters],
        sides=[Reason(side, round(push, 6)) for side, push in why.sides],
        rest=round(rest, 6),
        path=[PathNode(node.node, node.margin, node.log_score) for node in why.explanation.nodes],
        summary=why.text(),
    )
    return Response(encode(answer))


# corrections


async def learn(app: App, request: Request) -> Response:
    """Texts with their right labels, kept for `labelwood learn`."""
    if not app.settings.learn:
        raise Problem(403, "this service takes no corrections: it was started without --learn")
    asked: LearnRequest = await request.json(_learn_request)
    served = chosen_model(app, asked.model)
    if len(asked.texts) != len(asked.labels):
        raise Problem(400, f"there are {len(asked.texts)} texts but {len(asked.labels)} lists of labels")
    await keep_corrections(app, request, served, asked.texts, asked.labels)
    unknown = sorted({name for names in asked.labels for name in names if not served.knows(name)})
    return Response(encode(LearnAnswer(len(asked.texts), unknown)), 202)


async def change_labels(app: App, request: Request) -> Response:
    """A label added, renamed, merged, retired or forbidden; saved, and answered with from now on."""
    if not app.settings.change_labels:
        raise Problem(403, "this service takes no label changes: it was started without --change-labels")
    asked: LabelChange = await request.json(_label_change)
    served = chosen_model(app, asked.model)
    if not served.takes_texts:
        raise Problem(400, f"the model {served.name!r} takes features; only a tagger's labels can be changed")
    if asked.text is not None:
        check_rows(app, TEXTS, [asked.text], 1)
    try:
        message, version = await app.change_labels(served.name, asked.action, asked.names, asked.text)
    except ModelFileError as error:
        raise Problem(422, f"the folder is refused, nothing was changed: {_without_folder(error, served)}") from None
    return Response(encode(LabelChanged(message, version)))


async def reload(app: App, request: Request) -> Response:
    """Load models again from their folders."""
    asked: ReloadRequest = await request.json(_reload_request)
    names = [chosen_model(app, asked.model).name] if asked.model is not None else [m.name for m in app.models]
    versions = {}
    for name in names:
        try:
            served = await app.reload(name)
        except ModelFileError as error:
            detail = _without_folder(error, chosen_model(app, name))
            raise Problem(422, f"the new folder is refused, the old model stays: {detail}") from None
        versions[name] = served.manifest["manifest_sha256"]
    return Response(encode(ReloadAnswer(versions)))


def _without_folder(error: Exception, served: ServedModel) -> str:
    return str(error).replace(str(served.folder), served.name)  # folders are nobody's business


# looking


async def labels(app: App, request: Request) -> Response:
    """The labels whose names begin with, or have a word that begins with, what is asked for."""
    fields = request.query("q", "limit", "model", "lang")
    limit = whole_number_in(fields, "limit", 20, 1, 1_000)
    question, lang = fields.get("q", ""), fields.get("lang")
    if len(question) > 1_000:
        raise Problem(400, f"q has {len(question)} characters; at most 1000 are taken")
    served = chosen_model(app, fields.get("model"))
    served.check_language(lang)
    search = await asyncio.wrap_future(served.search)
    if search.concepts is None:
        names = [(served.label_names[number], "") for number in search.find(question, limit)]
    else:
        names = [(name.concept, name.text) for name in search.find_names(question, limit)]
    answer = LabelsAnswer([_found_label(served, name, matched, lang) for name, matched in names], served.n_labels)
    return Response(encode(answer))


def _found_label(served: ServedModel, name: str, matched: str, lang: str | None) -> FoundLabel:
    number = served.ids.get(name)
    label = FoundLabel(number, name, 0 if number is None else int(served.label_counts[number]))
    label.title = served.title(name, lang)
    if label.title is not UNSET and matched != label.title:
        label.matched = matched
    return label


async def detect_language(app: App, request: Request) -> Response:
    """The languages that a text is written in, of those that are asked for."""
    asked: DetectRequest = await request.json(_detect_request)
    check_rows(app, TEXTS, [asked.text], 1)
    shares = await app.batcher.run(partial(language_shares, asked.text, asked.languages))
    return Response(encode(DetectAnswer([DetectedLanguage(code, round(share, 6)) for code, share in shares])))


async def model(app: App, request: Request) -> Response:
    """What the model is."""
    served = chosen_model(app, request.query("model").get("model"))
    manifest = served.manifest
    shape = manifest["shape"]
    answer = ModelAnswer(
        name=served.name,
        kind=manifest["kind"],
        model=manifest["name"],
        n_labels=served.n_labels,
        n_features=shape["n_features"],
        n_rows=training_rows(manifest),
        takes=["texts", "features"] if served.takes_texts else ["features"],
        created=manifest["created"],
        version=manifest["manifest_sha256"],
        metrics={name: value for name, value in manifest["metrics"].items() if isinstance(value, (int, float))},
        learn=app.settings.learn,
        change_labels=app.settings.change_labels,
        languages=[] if served.vocabulary is None else list(served.vocabulary.languages),
        table=_training_table(manifest["extra"].get("table")),
        trees=n_trees(served),
        models=[one.name for one in app.models],
    )
    return Response(encode(answer))


def _training_table(saved: Any) -> TrainingTable | None:
    """The columns that a manifest names; None where it names none, or nothing that could be some."""
    try:
        form = TableForm.restored(saved)
    except DataError:
        return None
    return TrainingTable(list(form.text), list(form.labels), form.separator) if form.text else None


async def healthz(app: App, request: Request) -> Response:
    """That the process answers."""
    return Response(encode(HealthAnswer("ok")))


async def readyz(app: App, request: Request) -> Response:
    """Whether new requests should come here: not while the service ends or its queue is full."""
    if not app.ready or app.batcher.waiting_rows >= app.settings.limits.waiting_rows:
        raise Problem(503, "not ready: the service is ending or its queue is full", retry_after=1)
    return Response(encode(HealthAnswer("ready")))


async def metrics(app: App, request: Request) -> Response:
    """The meters for Prometheus."""
    text = app.meters.text(app.batcher.waiting_rows)
    return Response(text.encode(), content_type=b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(app: App, request: Request) -> Response:
    """The description of the service."""
    from labelwood.server.openapi import document

    return Response(encode(document()))


ROUTES = (
    Route("POST", "/v1/predict", READ, predict),
    Route("POST", "/v1/explain", READ, explain),
    Route("POST", "/v1/learn", WRITE, learn),
    Route("POST", "/v1/reload", WRITE, reload),
    Route("GET", "/v1/labels", READ, labels),
    Route("POST", "/v1/labels", WRITE, change_labels),
    Route("POST", "/v1/detect-language", READ, detect_language),
    Route("GET", "/v1/model", READ, model),
    Route("GET", "/v1/card", READ, card),
    Route("POST", "/v1/judge", READ, judge),
    Route("POST", "/v1/tree", READ, tree),
    Route("GET", "/healthz", "", healthz),
    Route("GET", "/readyz", "", readyz),
    Route("GET", "/metrics", READ, metrics),
    Route("GET", "/openapi.json", READ, openapi),
    *annif.ROUTES,
)
# What requests are counted under: the paths of all routes, the page, and all that is not here.
ROUTE_NAMES = tuple(dict.fromkeys([*(route.path for route in ROUTES), PAGE_PATH, "other"]))
