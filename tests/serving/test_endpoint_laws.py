"""Laws of the endpoint on random expressions, visits and bodies; in process, no network."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from targeting import parse
from tests.serving.calling import call
from tests.serving.published import publish
from tests.targeting.strategies import CATALOG, texts, visits

bounded = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


@pytest.fixture
def endpoint(directory: SnapshotDirectory) -> EligibilityEndpoint:
    publish(directory, {1: "geo.country = 'USA' or user.age > 3", 2: "true"})
    return EligibilityEndpoint(EligibilityService(directory.root))


def post(endpoint: EligibilityEndpoint, body: bytes, *, is_batch: bool = False) -> tuple[int, Any]:
    reply = call(endpoint.batch if is_batch else endpoint, body)
    return reply.status, reply.document()


def encode(document: object) -> bytes:
    """Writes JSON, which has neither infinity nor half a character."""
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        assume(condition=False)
        raise


@bounded
@given(st.lists(texts(), min_size=1, max_size=5), st.lists(visits(), min_size=1, max_size=5))
def test_answers_are_those_of_the_plain_evaluator(
    directory: SnapshotDirectory, expressions: list[str], asked: list[dict[str, Any]]
) -> None:
    """Leaves `time` out of the visits: the server has its own."""
    publish(directory, dict(enumerate(expressions)), catalog=CATALOG)
    endpoint = EligibilityEndpoint(EligibilityService(directory.root))
    for visit in asked:
        visit.pop("time", None)
        body = encode({"visit": visit})
        status, answer = post(endpoint, body)
        assert status == 200
        found = {item["booking_id"] for item in answer["eligible"]}
        for number, text in enumerate(expressions):
            expression = parse(text, CATALOG)
            if "time" not in expression.attributes:
                expected = expression.evaluate(json.loads(body)["visit"]) is True
                assert (number in found) == expected, text


@bounded
@given(st.binary(max_size=200))
def test_any_bytes_are_at_most_the_callers_fault(
    endpoint: EligibilityEndpoint, body: bytes
) -> None:
    status, answer = post(endpoint, body)
    assert status == 400
    assert answer["status"] == 400


@bounded
@given(ANY_JSON)
def test_any_json_is_at_most_the_callers_fault(
    endpoint: EligibilityEndpoint, document: object
) -> None:
    status, _ = post(endpoint, encode(document))
    assert status in {200, 400}


@bounded
@given(st.dictionaries(st.text() | st.sampled_from(["geo", "user.age", "time"]), ANY_JSON))
def test_any_visit_is_answered_or_too_much(
    endpoint: EligibilityEndpoint, visit: dict[str, object]
) -> None:
    status, answer = post(endpoint, encode({"visit": visit}))
    if status == 200:
        assert 2 in {item["booking_id"] for item in answer["eligible"]}
    else:
        assert (status, answer["code"]) == (400, "invalid_visit")


FIELDS = ["visit", "bid_request", "publisher", "limit", "campaigns", "order", "paths", "other"]


@bounded
@given(st.dictionaries(st.sampled_from(FIELDS), ANY_JSON))
def test_any_request_is_answered_or_the_callers_fault(
    endpoint: EligibilityEndpoint, document: dict[str, object]
) -> None:
    status, answer = post(endpoint, encode(document))
    assert status in {200, 400, 403}
    assert status == 200 or answer["status"] == status


@bounded
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), ANY_JSON) | ANY_JSON, max_size=6))
def test_any_batch_is_answered_item_by_item(
    endpoint: EligibilityEndpoint, requests: list[object]
) -> None:
    status, answer = post(endpoint, encode({"requests": requests}), is_batch=True)
    if not requests:
        assert status == 400
        return
    assert status == 200
    assert len(answer["answers"]) == len(requests)
    alone = [post(endpoint, encode(request)) for request in requests]
    for item, (single, _) in zip(answer["answers"], alone, strict=True):
        assert item.get("problem", {"status": 200})["status"] == single


@bounded
@given(st.binary(max_size=200))
def test_any_bytes_are_no_batch(endpoint: EligibilityEndpoint, body: bytes) -> None:
    assert post(endpoint, body, is_batch=True)[0] == 400
