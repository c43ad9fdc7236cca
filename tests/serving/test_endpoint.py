"""The eligibility endpoint over HTTP, as an ad server sees it."""

from __future__ import annotations

import json
import threading
from http.client import HTTPConnection

import pytest

from exchange.serving.answers import MAX_LIMIT
from exchange.serving.endpoint import PATH
from exchange.serving.problems import CONTENT_TYPE
from exchange.serving.requests import MAX_BODY_BYTES
from tests.serving.asking import Client, Reply
from tests.serving.conftest import EligibilityServer
from tests.serving.published import BOTH_KEY, EXPIRED_KEY, HERALD_KEY, REPORTS_KEY, publish
from tests.waiting import PATIENCE_SECONDS, wait_until

KEY_HEADER = {"Authorization": f"Api-Key {HERALD_KEY}"}


@pytest.fixture(autouse=True)
def live_snapshot(eligibility_server: EligibilityServer, client: Client) -> str:
    """Publishes bookings: 1 wants the USA, 2 a segment, 3 everyone; 4 is the Tribune's."""
    snapshot_id = publish(
        eligibility_server.directory,
        {
            1: "publisher.id = 'herald' and geo.country = 'USA'",
            2: "publisher.id = 'herald' and user.segments one of ('cars')",
            3: "publisher.id = 'herald'",
            4: "publisher.id = 'tribune'",
        },
        prices={3: 0.5},
    )
    eligibility_server.wait_for(snapshot_id, client)
    return snapshot_id


def assert_problem(reply: Reply, status: int, code: str) -> None:
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == CONTENT_TYPE
    document = reply.document()
    assert (document["status"], document["code"]) == (status, code)
    assert document["title"]
    assert document["detail"]


def test_answers_a_flat_and_a_nested_visit_alike(client: Client, live_snapshot: str) -> None:
    flat = client.ask({"geo.country": "USA", "user.segments": ["cars"]})
    nested = client.ask({"geo": {"country": "USA"}, "user": {"segments": ["cars"]}})
    assert flat.status == nested.status == 200
    assert flat.headers["content-type"] == "application/json"
    assert flat.booking_ids() == nested.booking_ids() == [1, 2, 3]
    assert flat.document()["snapshot_id"] == live_snapshot


def test_limit_shortens_the_list(client: Client) -> None:
    reply = client.ask({"geo.country": "USA"}, limit=1)
    assert (reply.booking_ids(), reply.document()["count"]) == ([1], 2)


def test_key_of_two_publishers_must_name_one(client: Client) -> None:
    assert_problem(client.ask({}, key=BOTH_KEY), 400, "publisher_needed")
    assert client.ask({}, key=BOTH_KEY, publisher="tribune").booking_ids() == [4]
    assert client.ask({}, key=BOTH_KEY, publisher="herald").booking_ids() == [3]


def test_key_of_one_publisher_may_name_it(client: Client) -> None:
    assert client.ask({}, publisher="herald").booking_ids() == [3]


def test_other_publishers_are_forbidden(client: Client) -> None:
    assert_problem(client.ask({}, publisher="tribune"), 403, "publisher_not_allowed")


@pytest.mark.parametrize("key", [None, "", "tl_unknown", EXPIRED_KEY])
def test_asks_for_a_valid_key(client: Client, key: str | None) -> None:
    reply = client.ask({}, key=key)
    assert_problem(reply, 401, "bad_key")
    assert "www-authenticate" in reply.headers


def test_a_key_for_something_else_is_forbidden(client: Client) -> None:
    assert_problem(client.ask({}, key=REPORTS_KEY), 403, "scope_missing")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_only_post_is_allowed(client: Client, method: str) -> None:
    reply = client.send(None, method=method, headers=KEY_HEADER)
    assert_problem(reply, 405, "method_not_allowed")
    assert reply.headers["allow"] == "POST"


MALFORMED = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"visit"',
    b"{}",
    b'{"visit": null}',
    b'{"visit": []}',
    b'{"visit": {}, "publisher": 7}',
    b'{"visit": {}, "limit": 0}',
    b'{"visit": {}, "limit": 1.5}',
    b'{"visit": {}, "limit": "3"}',
    b'{"visit": {}, "limit": %d}' % (MAX_LIMIT + 1),
    b'{"visit": {}, "unheard_of": 1}',
    b'{"visit": {"a": NaN}}',
    b'{"visit": {"a": "\xff"}}',
    b'{"visit": {"a": "\\ud800"}}',
    b'{"visit": {"a": 01}}',
    b"\x00" * 10,
    b'{"visit": ' * 5_000,
    b'{"visit": {"a": ' + b"[" * 50_000,
    b'{"visit": {"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}",
    b'{"visit": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}}}',
    b'{"visit": {%s}}' % b",".join(b'"a%d": 1' % i for i in range(501)),
    b'{"visit": {}} trailing',
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_body_is_the_callers_fault(client: Client, body: bytes) -> None:
    reply = client.send(body, headers=KEY_HEADER)
    assert reply.status == 400, reply.body
    assert reply.headers["content-type"] == CONTENT_TYPE
    assert reply.document()["detail"]


ODD_VALUES = [
    "text",
    "\x00",
    "",
    10**30,
    -(10**30),
    1e308,
    True,
    None,
    [],
    [[]],
    [1, "a", None],
    {"lat": 91, "lon": 0},
    {"lat": "x"},
    {"deep": {"er": 1}},
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=range(len(ODD_VALUES)))
@pytest.mark.parametrize(
    "name", ["geo.country", "geo.location", "user.age", "user.segments", "time", "no.such", ""]
)
def test_odd_values_never_break_an_answer(client: Client, name: str, value: object) -> None:
    reply = client.ask({name: value})
    assert reply.status == 200, reply.body
    assert 3 in reply.booking_ids()


def test_body_at_the_limit_is_read_and_one_over_is_not(client: Client) -> None:
    empty = json.dumps({"visit": {"no.such": ""}})
    padding = "x" * (MAX_BODY_BYTES - len(empty))
    at_limit = json.dumps({"visit": {"no.such": padding}}).encode()
    assert client.send(at_limit, headers=KEY_HEADER).status == 200
    assert_problem(client.send(at_limit + b" ", headers=KEY_HEADER), 413, "body_too_large")


def test_chunked_body_is_bounded_too(eligibility_server: EligibilityServer) -> None:
    def status_of(chunks: list[bytes]) -> int:
        connection = HTTPConnection("127.0.0.1", eligibility_server.port, timeout=PATIENCE_SECONDS)
        connection.request("POST", PATH, iter(chunks), KEY_HEADER, encode_chunked=True)
        return connection.getresponse().status

    assert status_of([b'{"visit"', b": {}}"]) == 200
    assert status_of([b"x" * 65_536] * 5) == 413


def test_other_addresses_below_are_not_the_endpoint(client: Client) -> None:
    reply = client.send(b"{}", path=f"{PATH}/", headers=KEY_HEADER)
    assert_problem(reply, 404, "not_found")


def test_a_refusal_keeps_the_callers_connection(client: Client) -> None:
    long_visit = {f"custom.{number}": "x" * 400 for number in range(400)}
    for _ in range(20):
        assert_problem(client.ask(long_visit, key="tl_unknown"), 401, "bad_key")
        assert client.ask({}).status == 200


def test_revoked_key_stops_working(eligibility_server: EligibilityServer, client: Client) -> None:
    before = dict(eligibility_server.directory.read_keys())
    eligibility_server.directory.write_keys({})
    try:
        wait_until(lambda: client.ask({}).status != 200)
        assert_problem(client.ask({}), 401, "bad_key")
    finally:
        eligibility_server.directory.write_keys(before)
        wait_until(lambda: client.ask({}).status == 200)


def test_swaps_under_requests_fail_none_and_mix_none(
    eligibility_server: EligibilityServer,
) -> None:
    """Answers every snapshot with its own hundred bookings."""
    expected: dict[str, list[int]] = {}
    wrong: list[object] = []
    is_over = threading.Event()

    def read() -> None:
        client = Client(eligibility_server.port)
        while not is_over.is_set():
            reply = client.ask({})
            known = expected.get(reply.document().get("snapshot_id", ""))
            if reply.status != 200 or (known is not None and reply.booking_ids() != known):
                wrong.append(reply)
        client.close()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    watcher = Client(eligibility_server.port)
    for turn in range(5):
        ids = list(range(turn * 1000 + 1, turn * 1000 + 101))
        snapshot_id = publish(eligibility_server.directory, dict.fromkeys(ids, "true"))
        expected[snapshot_id] = ids
        eligibility_server.wait_for(snapshot_id, watcher)
    is_over.set()
    for reader in readers:
        reader.join()
    assert not wrong
