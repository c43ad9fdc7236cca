"""Requests that schemathesis makes of the OpenAPI document, fitting and not: never a 500, and every
answer is one that the document describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from pytest_django import Settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from exchange.api import explaining
from exchange.api.explaining import EXPLAIN_PATH
from exchange.api.openapi import describe_api
from exchange.keys.models import Scope
from exchange.keys.services import create_api_key
from exchange.market.seed import seeded_catalog
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import service_for
from exchange.serving.endpoint import BATCH_PATH, PATH, EligibilityEndpoint
from exchange.serving.http.messages import Route
from exchange.serving.rates import Buckets
from exchange.snapshots.keys import publish_keys
from tests.serving.calling import as_wsgi
from tests.serving.published import publish
from tests.trading import Exchange, exchange

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
EXPECTED = {200, 400, 401, 403, 405, 413}
PATHS = [PATH, BATCH_PATH, EXPLAIN_PATH]
VISIT = {"visit": {"geo.country": "USA"}}
# What chance may not hit on in a few dozen requests: one that is answered.
FITTING: dict[str, dict[str, Any]] = {
    PATH: VISIT,
    BATCH_PATH: {"requests": [VISIT]},
    EXPLAIN_PATH: {**VISIT, "campaigns": [1]},
}


class Served:
    """The application as the web server runs it, over a directory of its own, and a key for it."""

    def __init__(self, root: Path, key: str) -> None:
        self.key = key
        self._hot = EligibilityEndpoint(service_for(root))
        self._pages = get_wsgi_application()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        routes: dict[str, Route] = {PATH: self._hot, BATCH_PATH: self._hot.batch}
        route = routes.get(environ["PATH_INFO"])
        application = self._pages if route is None else as_wsgi(route)
        return application(environ, start_response)


@pytest.fixture
def kept_connection() -> Iterator[None]:
    """Keeps the test's connection, and its transaction, which Django would close with every
    request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def served(
    exchange: Exchange,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept_connection: None,
) -> Served:
    settings.SNAPSHOT_DIR = tmp_path
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setattr(explaining, "buckets", Buckets(1_000_000))
    _, key = create_api_key(
        name="Ad server",
        organisation=exchange.herald.organisation,
        publishers=[exchange.herald.party],
        scopes=(Scope.ELIGIBILITY_READ, Scope.EXPLAIN_READ),
    )
    publish_keys()
    expressions = {1: "true", 2: "geo.country = 'USA'", 3: "user.age > 30"}
    publish(SnapshotDirectory(tmp_path), expressions, catalog=seeded_catalog())
    return Served(tmp_path, key)


def fuzz(served: Served, path: str, mode: GenerationMode, examples: int) -> Counter[int]:
    """Counts how often each status was answered; raises what schemathesis finds wrong."""
    schema = schemathesis.openapi.from_dict(describe_api())
    schema.app = served
    statuses: Counter[int] = Counter()
    headers = {"Authorization": f"Api-Key {served.key}"}

    @bounded(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(schema[path]["POST"].as_strategy(generation_mode=mode))
    def send(case: Case[Any]) -> None:
        response = case.call(headers=headers)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS, headers=headers)

    send()
    if mode is GenerationMode.POSITIVE:
        case = schema[path]["POST"].Case(body=FITTING[path], media_type="application/json")
        response = case.call(headers=headers)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS, headers=headers)
    return statuses


@pytest.mark.parametrize("mode", MODES, ids=["fitting", "unfitting"])
@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_as_the_document_says(
    served: Served, path: str, mode: GenerationMode
) -> None:
    statuses = fuzz(served, path, mode, examples=40)
    assert statuses.keys() <= EXPECTED
    assert statuses[200 if mode is GenerationMode.POSITIVE else 400]


@pytest.mark.soak
@pytest.mark.fuzzing
@pytest.mark.parametrize("mode", MODES, ids=["fitting", "unfitting"])
@pytest.mark.parametrize("path", PATHS)
def test_thousands_of_answers_are_as_the_document_says(
    served: Served, path: str, mode: GenerationMode
) -> None:
    statuses = fuzz(served, path, mode, examples=2_000)
    assert statuses.keys() <= EXPECTED
