"""The desk: what a caller's second plain request meets is what its first one met."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from exchange.serving.answer_log import AnswerLog
from exchange.serving.directory import KeyEntry, SnapshotDirectory, hash_key
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.instruments import TALLY
from exchange.serving.key_use import read_key_use
from matcher_ext.serving import Bucket, Counts, Desk
from tests.serving.asking import Reply
from tests.serving.calling import call, post
from tests.serving.published import BOTH_KEY, HERALD_KEY, publish

HERALD_HEADER = f"Api-Key {HERALD_KEY}"


@pytest.fixture
def service(directory: SnapshotDirectory) -> EligibilityService:
    publish(
        directory,
        {
            1: "publisher.id = 'herald' and geo.country = 'USA'",
            2: "publisher.id = 'herald' and user.segments one of ('cars')",
            3: "publisher.id = 'herald' and time > '2020-01-01T00:00:00Z'",
            4: "publisher.id = 'tribune'",
        },
        prices={3: 0.5},
    )
    return EligibilityService(directory.root)


@pytest.fixture
def endpoint(service: EligibilityService) -> EligibilityEndpoint:
    return EligibilityEndpoint(service)


def without_age(reply: Reply) -> tuple[int, dict[str, object]]:
    document = reply.document()
    assert document.pop("snapshot_age_seconds", 0.0) >= 0
    return reply.status, document


def ask_desk(service: EligibilityService, body: bytes) -> bytes | None:
    live = service.live
    assert live is not None
    buckets = {hash_key(HERALD_KEY): Bucket(1000, 1000)}
    return Desk(buckets, Counts([1.0])).answer(live.answers, service.passes, HERALD_HEADER, body)


@pytest.mark.parametrize(
    "request_of",
    [
        {"visit": {"geo.country": "USA", "user.segments": ["cars"]}, "limit": 2},
        {"visit": {"geo.country": "USA", "publisher.id": "tribune", "time": 5}},
        {"publisher": "herald", "visit": {}},
        {"publisher": "tribune", "visit": {}},
        {"visit": {"user.age": "old", "geo.country": "USA"}},
        {"visit": {"user.shoe": 43}},
        {"visit": {"geo": {"country": "USA"}}},
        {"visit": {"geo.country": "U\u0001"}},
        {"visit": {}, "limit": 0},
        {"visit": {}, "limit": 100_000},
        {"visit": {}, "order": "id"},
        {"visit": {}, "limit": None},
        {},
    ],
)
def test_second_request_is_answered_like_the_first(
    endpoint: EligibilityEndpoint, request_of: dict[str, object]
) -> None:
    first, second = (without_age(post(endpoint, request_of)) for _ in range(2))
    assert first == second


def test_desk_answers_only_whom_it_knows_and_what_is_valid(
    service: EligibilityService, endpoint: EligibilityEndpoint
) -> None:
    plain = b'{"visit":{"geo.country":"USA"}}'
    assert ask_desk(service, plain) is None
    post(endpoint, {"visit": {}})
    assert isinstance(ask_desk(service, plain), bytes)
    assert isinstance(ask_desk(service, b'{"visit":{"user.age":"old"}}'), bytes)
    assert isinstance(ask_desk(service, b'{"visit":{"geo":{"country":"USA"}}}'), bytes)
    assert ask_desk(service, b'{"visit":{},"publisher":"tribune"}') is None
    assert ask_desk(service, b'{"visit":{},"limit":0}') is None


def test_every_state_is_answered_from_itself(
    directory: SnapshotDirectory, service: EligibilityService, endpoint: EligibilityEndpoint
) -> None:
    for _ in range(2):
        assert post(endpoint, {"visit": {}}).booking_ids() == [3]
    second = publish(directory, {9: "true"})
    service.refresh()
    reply = post(endpoint, {"visit": {}})
    assert (reply.booking_ids(), reply.document()["snapshot_id"]) == ([9], second)


def test_a_revoked_key_is_refused_at_once(
    directory: SnapshotDirectory, service: EligibilityService, endpoint: EligibilityEndpoint
) -> None:
    assert [post(endpoint, {"visit": {}}).status for _ in range(2)] == [200, 200]
    directory.write_keys({})
    service.refresh()
    assert post(endpoint, {"visit": {}}).status == 401


def test_a_key_expires_between_two_requests(
    directory: SnapshotDirectory, service: EligibilityService, endpoint: EligibilityEndpoint
) -> None:
    def count_answers(seconds: float) -> int:
        """Counts answers until the key, which lives for so long, is refused."""
        soon = datetime.now(UTC) + timedelta(seconds=seconds)
        entry = KeyEntry(("herald",), soon, ("eligibility:read",))
        directory.write_keys({hash_key(HERALD_KEY): entry})
        service.refresh()
        answers, asked_at = 0, datetime.now(UTC)
        while (status := post(endpoint, {"visit": {}}).status) == 200:
            assert asked_at < soon
            answers += 1
            time.sleep(0.001)  # fewer than a key may ask for
            asked_at = datetime.now(UTC)
        assert status == 401
        assert datetime.now(UTC) >= soon
        return answers

    # A machine that does other things may sleep through a short life.
    assert any(count_answers(seconds) for seconds in (0.5, 5, 50))


def test_the_rate_holds_for_both_ways_together(service: EligibilityService) -> None:
    endpoint = EligibilityEndpoint(service, 0.01)
    plain: dict[str, object] = {"visit": {}}
    twice = b'{"visit":{"geo.country":"USA","geo":{"country":"DEU"}}}'
    assert call(endpoint, twice).status == 200
    refused = [post(endpoint, plain), call(endpoint, twice), post(endpoint, plain)]
    assert [reply.status for reply in refused] == [429, 429, 429]
    assert int(refused[0].headers["retry-after"]) > 40
    assert post(endpoint, {**plain, "publisher": "tribune"}, key=BOTH_KEY).status == 200


def test_answers_are_counted_wherever_they_come_from(endpoint: EligibilityEndpoint) -> None:
    names = {
        "treeline_eligibility_requests_total": {"endpoint": "eligibility", "code": "200"},
        "treeline_eligibility_seconds_count": {},
        "treeline_match_seconds_count": {},
        "treeline_matches_total": {},
    }
    TALLY.flush()
    before = {name: REGISTRY.get_sample_value(name, labels) or 0 for name, labels in names.items()}
    for visit in ({}, {}, {"geo": {"country": "USA"}}, {"user.age": "old"}):
        assert post(endpoint, {"visit": visit}).status == 200
    TALLY.flush()
    grown = [
        (REGISTRY.get_sample_value(name, labels) or 0) - before[name]
        for name, labels in names.items()
    ]
    assert grown == [4, 4, 4, 5]


def test_sampled_answers_are_kept_whole(
    service: EligibilityService, endpoint: EligibilityEndpoint, tmp_path: Path
) -> None:
    log = AnswerLog(tmp_path / "answers", every=3, salt=b"k")
    service.keep_answers(log)
    visit = {"geo.country": "USA", "user.age": 30}
    replies = [without_age(post(endpoint, {"visit": visit})) for _ in range(7)]
    assert all(reply == replies[0] for reply in replies)
    kept = list(log._kept)
    assert len(kept) == 2
    for each in kept:
        assert each.booking_ids is not None
        assert each.booking_ids.tolist() == [1, 3]
        assert each.read_visit() == {
            **visit,
            "publisher.id": "herald",
            "time": each.read_visit()["time"],
            "local_time": each.read_visit()["time"],
        }


def test_use_at_the_desk_is_written_down(
    directory: SnapshotDirectory, service: EligibilityService, endpoint: EligibilityEndpoint
) -> None:
    post(endpoint, {"visit": {}})
    service.passes[HERALD_HEADER].used_at_seconds = 0.0
    post(endpoint, {"visit": {}})
    used = service.passes[HERALD_HEADER].used_at_seconds
    assert time.time() - used < 60
    service._note_use()
    service._key_use.flush(at_once=True)
    assert read_key_use(directory.root)[hash_key(HERALD_KEY)].timestamp() == pytest.approx(used)
