"""Bid requests, batches and rates at the endpoint, in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exchange.market.seed import seeded_catalog
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.http.messages import Request
from exchange.serving.requests import MAX_BATCH, MAX_BATCH_BYTES, count_visits
from tests.serving.bid_requests import bid_request
from tests.serving.calling import call, post
from tests.serving.published import BOTH_KEY, HERALD_KEY, REPORTS_KEY, publish, publish_keys

EXPRESSIONS = {
    1: "publisher.id = 'herald' and imp.media_types one of ('banner')",
    2: "publisher.id = 'herald' and imp.media_types one of ('video') and geo.country = 'USA'",
    3: "publisher.id = 'herald' and user.segments one of ('loom:parents')",
    4: "publisher.id = 'somebody-else'",
}


@pytest.fixture
def directory(directory: SnapshotDirectory) -> SnapshotDirectory:
    publish(directory, EXPRESSIONS, catalog=seeded_catalog())
    return directory


@pytest.fixture
def endpoint(directory: SnapshotDirectory) -> EligibilityEndpoint:
    return EligibilityEndpoint(EligibilityService(directory.root))


def booking_ids(part: dict[str, Any]) -> list[int]:
    return sorted(item["booking_id"] for item in part["eligible"])


def test_bid_request_gets_one_answer_per_imp(endpoint: EligibilityEndpoint) -> None:
    document = post(endpoint, {"bid_request": bid_request(), "limit": 1}).document()
    assert [imp["imp_id"] for imp in document["imps"]] == ["top", "clip"]
    assert [imp["count"] for imp in document["imps"]] == [2, 2]
    everything = post(endpoint, {"bid_request": bid_request()}).document()
    assert [booking_ids(imp) for imp in everything["imps"]] == [[1, 3], [2, 3]]
    assert {"code": "deprecated_attribute", "attribute": "user.age"} in document["imps"][0][
        "warnings"
    ]
    assert document.keys() == {"snapshot_id", "delta", "snapshot_age_seconds", "imps"}


def test_countries_in_two_letters_are_those_in_three(endpoint: EligibilityEndpoint) -> None:
    request = bid_request()
    request["imp"] = [{"id": "1", "video": {}}]
    for country, is_eligible in [("USA", True), ("us", True), ("DE", False), ("Utopia", False)]:
        request["device"]["geo"]["country"] = country
        (imp,) = post(endpoint, {"bid_request": request}).document()["imps"]
        assert (2 in booking_ids(imp)) is is_eligible, country


def test_floor_in_another_currency_is_warned_of(endpoint: EligibilityEndpoint) -> None:
    """Sends two imps: the first has a floor in dollars, the second one in euros."""
    warning = {"code": "floor_not_in_usd", "attribute": "imp.floor"}
    imps = post(endpoint, {"bid_request": bid_request()}).document()["imps"]
    assert [warning in imp["warnings"] for imp in imps] == [False, True]


def test_bid_requests_publisher_has_no_say(endpoint: EligibilityEndpoint) -> None:
    """Sends a site that names another publisher, whose booking 4 is."""
    imps = post(endpoint, {"bid_request": bid_request()}).document()["imps"]
    assert all(4 not in booking_ids(imp) for imp in imps)
    refused = post(endpoint, {"bid_request": bid_request(), "publisher": "somebody-else"})
    assert (refused.status, refused.document()["code"]) == (403, "publisher_not_allowed")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"visit": {}, "bid_request": {}},
        {"bid_request": {}},
        {"bid_request": {"imp": 7}},
        {"bid_request": []},
        {"visit": {}, "order": "price"},
        {"visit": {}, "paths": "all"},
        {"visit": {}, "campaigns": [0]},
        {"visit": {}, "campaigns": ["1"]},
        {"visit": {}, "campaigns": list(range(1, 10_002))},
        {"visit": {"site.cat": ["x"] * 10_001}},
        {"visit": {"site": {"cat": ["x"] * 10_001}}},
    ],
)
def test_wrong_requests_are_the_callers_fault(
    endpoint: EligibilityEndpoint, document: object
) -> None:
    reply = post(endpoint, document)
    assert reply.status == 400, reply.body
    assert reply.document()["detail"]


def test_options_reach_the_answer(endpoint: EligibilityEndpoint) -> None:
    visit = {"imp.media_types": ["banner", "video"], "geo.country": "USA"}
    whole = post(endpoint, {"visit": visit}).document()
    assert booking_ids(whole) == [1, 2]
    some = post(
        endpoint, {"visit": visit, "campaigns": [20, 30], "order": "id", "paths": "none"}
    ).document()
    assert (booking_ids(some), some["count"]) == ([2], 1)
    assert "path" in whole["eligible"][0]
    assert "path" not in some["eligible"][0]


def test_bad_visit_does_not_fail_the_others(endpoint: EligibilityEndpoint) -> None:
    requests = [
        {"visit": {"imp.media_types": ["banner"]}},
        {"visit": []},
        {"bid_request": bid_request()},
        {"visit": {}, "publisher": "tribune"},
        {"visit": {"a": {"b": 1}}, "limit": 0},
        7,
        {"visit": {"user": {"segments": ["loom:parents"]}}},
    ]
    reply = post(endpoint.batch, {"requests": requests})
    assert reply.status == 200
    document = reply.document()
    answers = document["answers"]
    assert booking_ids(answers[0]) == [1]
    assert [booking_ids(imp) for imp in answers[2]["imps"]] == [[1, 3], [2, 3]]
    assert booking_ids(answers[6]) == [3]
    codes = {place: answers[place]["problem"]["code"] for place in (1, 3, 4, 5)}
    assert codes == {
        1: "invalid_request",
        3: "publisher_not_allowed",
        4: "invalid_request",
        5: "invalid_request",
    }


def test_batch_answers_as_single_requests_do(endpoint: EligibilityEndpoint) -> None:
    visits = [{"imp.media_types": [kind]} for kind in ("banner", "video", "audio")]
    answers = post(endpoint.batch, {"requests": [{"visit": v} for v in visits]}).document()
    alone = [post(endpoint, {"visit": visit}).document() for visit in visits]
    for answer, single in zip(answers["answers"], alone, strict=True):
        assert answer == {name: single[name] for name in ("eligible", "count", "warnings")}
    assert answers["snapshot_id"] == alone[0]["snapshot_id"]


@pytest.mark.parametrize("count", [0, MAX_BATCH + 1])
def test_batch_is_bounded(endpoint: EligibilityEndpoint, count: int) -> None:
    reply = post(endpoint.batch, {"requests": [{"visit": {}}] * count})
    assert (reply.status, reply.document()["code"]) == (400, "invalid_request")
    large = b'{"requests": [%s]}' % (b" " * MAX_BATCH_BYTES)
    assert call(endpoint.batch, large).status == 413


def test_full_batch_is_answered(endpoint: EligibilityEndpoint) -> None:
    reply = post(endpoint.batch, {"requests": [{"visit": {}}] * MAX_BATCH})
    assert len(reply.document()["answers"]) == MAX_BATCH


def test_a_batch_of_refused_requests_lets_others_be_answered(
    endpoint: EligibilityEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holds because reading a request may take as long as answering it."""
    monkeypatch.setattr("exchange.serving.eligibility.STEP_SECONDS", 0.0)
    request = Request(endpoint.batch)
    request.authorization = f"Api-Key {HERALD_KEY}"
    request.body = json.dumps({"requests": [{"visit": {"x": []}, "limit": 0}] * 10}).encode()
    pauses = list(endpoint.batch.answer(request))
    assert len(pauses) >= 10


def test_others_are_answered_while_a_batch_is_read(
    endpoint: EligibilityEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.serving.endpoint.STEP_SECONDS", 0.0)
    request = Request(endpoint.batch)
    request.authorization = f"Api-Key {HERALD_KEY}"
    request.body = json.dumps({"requests": [{"visit": {"x": []}}] * 10}).encode()
    pauses = list(endpoint.batch.answer(request))
    assert len(pauses) >= 18  # nine while it is read, nine while it is answered


def test_batch_asks_for_the_same_key_and_scope(endpoint: EligibilityEndpoint) -> None:
    document: dict[str, Any] = {"requests": [{"visit": {}}]}
    assert post(endpoint.batch, document, key=None).status == 401
    assert post(endpoint.batch, document, key=REPORTS_KEY).status == 403
    assert post(endpoint.batch, document, key=BOTH_KEY).document()["answers"][0]["problem"][
        "code"
    ] == ("publisher_needed")
    assert call(endpoint.batch, b"", method="GET").status == 405


def test_too_many_requests_are_told_when_to_come_back(directory: SnapshotDirectory) -> None:
    endpoint = EligibilityEndpoint(EligibilityService(directory.root), visits_per_second=3)
    statuses = [post(endpoint, {"visit": {}}).status for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    reply = post(endpoint.batch, {"requests": [{"visit": {}}] * 2})
    assert (reply.status, reply.document()["code"]) == (429, "rate_limited")
    assert int(reply.headers["retry-after"]) >= 1
    assert post(endpoint, {"visit": {}, "publisher": "herald"}, key=BOTH_KEY).status == 200


def test_every_imp_is_a_visit_of_its_key(directory: SnapshotDirectory) -> None:
    """Gives sixty on credit to whoever may ask for ten a second; then it has to wait, in whatever
    form it asks."""
    asked = {"bid_request": {**bid_request(), "imp": [{"id": str(n)} for n in range(60)]}}
    visit: dict[str, Any] = {"visit": {}}
    for is_batch in (False, True):
        endpoint = EligibilityEndpoint(EligibilityService(directory.root), visits_per_second=10)
        first = post(endpoint.batch, {"requests": [asked]}) if is_batch else post(endpoint, asked)
        assert first.status == 200
        assert post(endpoint, asked).status == 429
        assert post(endpoint, visit).status == 429
        assert post(endpoint.batch, {"requests": [visit]}).status == 429


@pytest.mark.parametrize(
    ("body", "visits"),
    [
        (b'{"bid_request": {"imp": [{}, {"id": "[,]"}, 3]}}', 3),
        (b'{"bid_request": {"id": "1", "imp": [%s]}}' % b",".join([b"{}"] * 101), 100),
        (b'{"bid_request": {"imp": []}}', 1),
        (b'{"bid_request": {"imp": {}}}', 1),
        (b'{"bid_request": {}}', 1),
        (b'{"visit": {"imp": [1, 2]}}', 1),
        (b'{"bid_request": {"imp": [{}, {}', 1),
        (b"7", 1),
        (b"[" * 100_000, 1),
        (b"\xff", 1),
    ],
)
def test_visits_of_a_request_are_counted_before_it_is_read(body: bytes, visits: int) -> None:
    assert count_visits(body) == visits


def test_unavailable_without_a_snapshot(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "empty")
    publish_keys(directory)
    endpoint = EligibilityEndpoint(EligibilityService(directory.root))
    for reply in [
        post(endpoint, {"visit": {}}),
        post(endpoint, {"bid_request": bid_request()}),
        post(endpoint.batch, {"requests": [{"visit": {}}]}),
    ]:
        assert (reply.status, reply.document()["code"]) == (503, "no_snapshot")
        assert json.loads(reply.headers["retry-after"]) > 0
