"""The OpenAPI document is true: random requests made from it get only answers that it describes."""

import json

import pytest

from labelwood.server.openapi import document
from labelwood.server.routes import ROUTES

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis needs Python 3.11")


def test_every_route_is_described(service):
    served = service.json("GET", "/openapi.json")[1]
    assert served == json.loads(json.dumps(document()))
    described = {(method.upper(), path) for path, methods in served["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    assert served["openapi"] == "3.1.0"


@pytest.mark.parametrize(
    ("n_examples", "least"),  # of each operation, of proper and of wrong requests
    [(16, 300), pytest.param(320, 5_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
)
def test_random_requests_get_described_answers(
    start, own_folder, write_tokens, writer, n_examples, least, record_property
):
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    service = start({"dishes": own_folder}, tokens=write_tokens, learn=True, change_labels=True, watch_seconds=0)
    schema = schemathesis.openapi.from_url(service.url + "/openapi.json")
    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    n_cases = 0
    for operation in schema.get_all_operations():
        if operation.ok().label == "POST /v1/reload":
            continue
        modes = [schemathesis.GenerationMode.POSITIVE]
        if operation.ok().body or operation.ok().query:
            modes.append(schemathesis.GenerationMode.NEGATIVE)
        for mode in modes:
            strategy = operation.ok().as_strategy(generation_mode=mode)

            @settings(
                max_examples=n_examples,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy, path=st.just("dishes"))
            def check(case, path):
                nonlocal n_cases
                n_cases += 1
                if "project" in (case.path_parameters or {}) and n_cases % 2:
                    case.path_parameters["project"] = path
                case.call_and_validate(headers=writer, checks=checks)

            check()
    record_property("figure", f"random requests: {n_cases:,} cases, every answer as described, no 5xx")
    assert n_cases > least
