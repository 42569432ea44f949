"""The OpenAPI 3.1 document, made from the schemas that check the requests."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from labelwood.server import annif_schemas, schemas
from labelwood.server.access import READ, WRITE
from labelwood.server.annif_schemas import ANNIF_DOCUMENTS
from labelwood.server.problems import ProblemBody
from labelwood.server.requests import Route
from labelwood.server.routes import ROUTES
from labelwood.server.schemas import MAX_K

# path -> (body of the request, body of the answer, status of the answer, further statuses)
_BODIES: dict[tuple[str, str], tuple[Any, Any, int, tuple[int, ...]]] = {
    ("POST", "/v1/predict"): (schemas.PredictRequest, schemas.PredictAnswer, 200, (404,)),
    ("POST", "/v1/explain"): (schemas.ExplainRequest, schemas.ExplainAnswer, 200, (404,)),
    ("POST", "/v1/learn"): (schemas.LearnRequest, schemas.LearnAnswer, 202, (404,)),
    ("POST", "/v1/reload"): (schemas.ReloadRequest, schemas.ReloadAnswer, 200, (404, 422)),
    ("GET", "/v1/labels"): (None, schemas.LabelsAnswer, 200, (404,)),
    ("POST", "/v1/labels"): (schemas.LabelChange, schemas.LabelChanged, 200, (404, 409, 422)),
    ("POST", "/v1/detect-language"): (schemas.DetectRequest, schemas.DetectAnswer, 200, ()),
    ("GET", "/v1/model"): (None, schemas.ModelAnswer, 200, (404,)),
    ("GET", "/v1/card"): (None, schemas.CardAnswer, 200, (404,)),
    ("POST", "/v1/judge"): (schemas.JudgeRequest, schemas.JudgeAnswer, 200, (404,)),
    ("POST", "/v1/tree"): (schemas.TreeRequest, schemas.TreeAnswer, 200, (404,)),
    ("GET", "/healthz"): (None, schemas.HealthAnswer, 200, ()),
    ("GET", "/readyz"): (None, schemas.HealthAnswer, 200, ()),
    ("GET", "/metrics"): (None, None, 200, ()),
    ("GET", "/openapi.json"): (None, dict[str, Any], 200, ()),
    ("GET", "/v1/"): (None, annif_schemas.AnnifInfo, 200, ()),
    ("GET", "/v1/projects"): (None, annif_schemas.AnnifProjects, 200, ()),
    ("GET", "/v1/vocabs"): (None, annif_schemas.AnnifVocabularies, 200, ()),
    ("GET", "/v1/projects/{project}"): (None, annif_schemas.AnnifProject, 200, (404,)),
    ("POST", "/v1/projects/{project}/suggest"): (None, annif_schemas.AnnifSuggestions, 200, (404,)),
    ("POST", "/v1/projects/{project}/suggest-batch"): (
        annif_schemas.AnnifBatch,
        list[annif_schemas.AnnifBatchSuggestions],
        200,
        (404,),
    ),
    ("POST", "/v1/projects/{project}/learn"): (list[annif_schemas.AnnifIndexedDocument], None, 204, (404,)),
}
_MODEL = ("model", {"type": "string", "minLength": 1, "maxLength": 200}, "the name of a model; the first one if absent")
_LIMIT = ("limit", {"type": "integer", "minimum": 0, "maximum": MAX_K, "default": 10}, "how many labels")
_THRESHOLD = ("threshold", {"type": "number", "minimum": 0, "maximum": 1, "default": 0}, "the lowest score")
_LANG = ("lang", {"type": "string", "minLength": 1, "maxLength": 35}, "of the titles; the vocabulary's own if absent")
_QUERIES: dict[tuple[str, str], tuple[tuple[str, dict[str, Any], str], ...]] = {
    ("GET", "/v1/labels"): (
        ("q", {"type": "string", "maxLength": 1000}, "the beginning of a name or of a word in it"),
        ("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}, "how many labels"),
        _MODEL,
        _LANG,
    ),
    ("GET", "/v1/model"): (_MODEL,),
    ("GET", "/v1/card"): (_MODEL,),
    ("POST", "/v1/projects/{project}/suggest-batch"): (
        _LIMIT,
        _THRESHOLD,
        ("language", {"type": "string"}, "of the labels; the vocabulary's own if absent"),
    ),
}
_FORM = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string"},
        "limit": _LIMIT[1],
        "threshold": _THRESHOLD[1],
        "language": {"type": "string"},
    },
    "additionalProperties": {"type": "string"},
}
_DETAILS = {
    400: "The request does not fit; `detail` says where.",
    401: "A token is needed.",
    403: "This service takes no changes.",
    404: "There is no such model.",
    408: "The request took too long to arrive.",
    413: "The body, a text or the number of rows is too large.",
    409: "Another program changed the folder meanwhile; nothing was changed.",
    422: "The new folder is damaged; the old model stays.",
    429: "This client asks too often; `Retry-After` says when to come back.",
    431: "The head of the request is too large.",
    503: "Too much is waiting; `Retry-After` says when to come back.",
}


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of the service."""
    from labelwood import __version__

    kinds = [kind for entry in _BODIES.values() for kind in entry[:2] if kind is not None]
    _, components = msgspec.json.schema_components([*kinds, ProblemBody], ref_template="#/components/schemas/{name}")
    predict = components["PredictRequest"]
    predict["oneOf"] = [{"required": ["texts"]}, {"required": ["features"]}]
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labelwood",
            "version": __version__,
            "summary": "The few right labels of a text out of hundreds to millions.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    asked, answer, status, further = _BODIES[route.method, route.path]
    content = {"application/json": {"schema": _schema(answer)}} if answer is not None else None
    if route.path == "/metrics":
        content = {"text/plain": {"schema": {"type": "string"}}}
    if route.path == "/v1/predict" and content is not None:
        content["application/x-ndjson"] = {"schema": {"type": "string"}}
    statuses = [400, 408, 413, 431, 503, *further]
    statuses += [401, 429] if route.need else []
    statuses += [403] if route.need == WRITE else []
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": (route.handler.__doc__ or "").strip(),
        "responses": {
            str(status): {"description": "Done.", **({"content": content} if content else {})},
            **{str(refusal): _refusal(refusal) for refusal in sorted(statuses)},
        },
    }
    if route.need == READ:
        operation["security"] = [{}, {"token": []}]
    elif route.need == WRITE:
        operation["security"] = [{"token": []}]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "query", "description": text, "schema": schema}
        for name, schema, text in _QUERIES.get((route.method, route.path), ())
    ]
    if "{project}" in route.path:
        of_path: dict[str, Any] = {"name": "project", "in": "path", "required": True}
        parameters.append({**of_path, "schema": {"type": "string", "minLength": 1}})
    if parameters:
        operation["parameters"] = parameters
    if route.path.endswith("/suggest"):
        operation["requestBody"] = {
            "required": True,
            "content": {"application/x-www-form-urlencoded": {"schema": _FORM}},
        }
    elif asked is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _schema(asked)}}}
    if route.path.endswith("suggest-batch"):
        operation["description"] = f"Up to {ANNIF_DOCUMENTS} documents."
    return operation


def _operation_id(route: Route) -> str:
    words = route.path.strip("/").replace("/", "_").replace("{", "").replace("}", "")
    others = [other for other in ROUTES if other.path == route.path and other.method != route.method]
    return f"{route.method.lower()}_{words}" if others else words


def _schema(kind: Any) -> Any:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    return schema


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemBody"}
    refusal: dict[str, Any] = {
        "description": _DETAILS[status],
        "content": {"application/problem+json": {"schema": schema}},
    }
    if status in (429, 503):
        refusal["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
    return refusal
