"""nginx before two real ad servers: who is slow disturbs nobody, and who dies is not missed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection

import pytest

from exchange.serving.directory import SnapshotDirectory
from exchange.serving.endpoint import BATCH_PATH, PATH
from exchange.serving.requests import MAX_BATCH, MAX_BATCH_BYTES, MAX_BODY_BYTES
from tests.docker.proxied import TRUSTED_PROXY, AdServer, Pages, running_nginx
from tests.docker.slow_callers import (
    connections_to,
    go_on,
    half_a_body,
    half_a_head,
    is_cut_off,
    is_still_open,
    paused_callers,
    whole_request,
)
from tests.serving.asking import Client, Reply
from tests.serving.published import HERALD_KEY, SNAPSHOT_KEY, publish, publish_keys
from tests.serving.readers import Readers
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.faults]

SLOW_ADDRESSES = [f"127.0.0.{last}" for last in range(2, 8)]
SLOW_CALLERS = 300
MOST_REQUESTS_PER_ADDRESS = 256
BOOKINGS = 40
AUTHORIZED = {"Authorization": f"Api-Key {HERALD_KEY}", "Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a caller reaches at `port`, and what stands behind it."""

    port: int
    ad_servers: tuple[AdServer, AdServer]
    pages: Pages


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("snapshots"))
    publish_keys(directory)
    publish(directory, dict.fromkeys(range(1, BOOKINGS + 1), "true"))
    first, second = AdServer(directory), AdServer(directory)
    try:
        first.start()
        second.start()
        ports = (first.port, second.port)
        with (
            Pages().answering() as pages,
            running_nginx(ad_servers=ports, pages=pages.port) as port,
        ):
            yield Exchange(port, (first, second), pages)
    finally:
        for server in (first, second):
            if server.running:
                server.running.stop()


@pytest.fixture
def client(exchange: Exchange) -> Iterator[Client]:
    with closing(Client(exchange.port)) as client:
        yield client


def has_every_booking(reply: Reply) -> bool:
    return reply.booking_ids() == list(range(1, BOOKINGS + 1))


def readers_of(exchange: Exchange) -> Readers:
    return Readers(exchange.port, has_every_booking)


def batch() -> bytes:
    return json.dumps({"requests": [{"visit": {}}] * MAX_BATCH}).encode()


def test_ad_servers_answer_their_three_paths(client: Client) -> None:
    assert has_every_booking(client.ask({}))
    assert client.send(batch(), path=BATCH_PATH, headers=AUTHORIZED).status == 200
    headers = {"Authorization": f"Api-Key {SNAPSHOT_KEY}"}
    live = client.send(None, method="GET", path="/api/v1/snapshots/live", headers=headers)
    assert live.document()["snapshot_id"]


@pytest.mark.parametrize(
    "path", ["/", "/campaigns/?page=2", "/api/v1/eligibility:explain", "/api/v1/eligibilities"]
)
def test_pages_answer_the_rest(client: Client, exchange: Exchange, path: str) -> None:
    assert client.send(None, method="GET", path=path).body == b"pages"
    assert exchange.pages.asked[-1][0] == path


@pytest.mark.parametrize(
    "path",
    [
        "/metrics",
        "/metrics?x=1",
        "//metrics",
        "/%6detrics",
        "/x/../metrics",
        "/readyz",
        "/./readyz",
    ],
)
def test_what_is_for_operators_is_not_public(client: Client, exchange: Exchange, path: str) -> None:
    before = len(exchange.pages.asked)
    assert client.send(None, method="GET", path=path).status == 404
    assert len(exchange.pages.asked) == before


def test_callers_cannot_say_who_they_are(client: Client, exchange: Exchange) -> None:
    lies = {
        "X-Forwarded-For": "192.0.2.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "elsewhere.example",
        "X-Real-IP": "192.0.2.1",
        "Forwarded": "for=192.0.2.1",
    }
    client.send(None, method="GET", path="/", headers=lies)
    headers = exchange.pages.asked[-1][1]
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "http"
    assert not {"x-forwarded-host", "x-real-ip", "forwarded"} & set(headers)


def test_what_ends_tls_before_us_says_who_calls(exchange: Exchange) -> None:
    headers = {"X-Forwarded-For": "192.0.2.1, 192.0.2.7", "X-Forwarded-Proto": "https"}
    front = HTTPConnection("127.0.0.1", exchange.port, source_address=(TRUSTED_PROXY, 0))
    with closing(front):
        front.request("GET", "/", headers=headers)
        assert front.getresponse().status == 200
    seen = exchange.pages.asked[-1][1]
    assert seen["x-forwarded-for"] == "192.0.2.7", "the one that the proxy added itself"
    assert seen["x-forwarded-proto"] == "https"


@pytest.mark.parametrize(("given", "is_kept"), [("ssp-7.42", True), ("a b;c", False)])
def test_only_a_well_formed_request_id_is_kept(
    client: Client, exchange: Exchange, given: str, is_kept: bool
) -> None:
    client.send(None, method="GET", path="/", headers={"X-Request-Id": given})
    seen = exchange.pages.asked[-1][1]["x-request-id"]
    assert (seen == given) is is_kept
    assert seen


@pytest.mark.parametrize(("path", "most"), [(PATH, MAX_BODY_BYTES), (BATCH_PATH, MAX_BATCH_BYTES)])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_refuses_a_body_that_is_too_large(
    exchange: Exchange, path: str, most: int, is_chunked: bool
) -> None:
    connection = HTTPConnection("127.0.0.1", exchange.port, timeout=PATIENCE_SECONDS)
    with closing(connection):
        body = b" " * (most + 1)
        pieces = iter([body[:1000], body[1000:]])
        connection.request("POST", path, pieces if is_chunked else body, AUTHORIZED)
        response = connection.getresponse()
        assert response.status == 413
        assert response.headers["Content-Type"] == "application/problem+json"
        problem = json.load(response)
    assert problem["code"] == "body_too_large"
    assert str(most) in problem["detail"]


@pytest.mark.parametrize(("path", "most"), [(PATH, MAX_BODY_BYTES), (BATCH_PATH, MAX_BATCH_BYTES)])
def test_passes_on_the_largest_body(client: Client, path: str, most: int) -> None:
    """Shows that it is the ad server that says what is wrong with the body."""
    reply = client.send(b" " * most, path=path, headers=AUTHORIZED)
    assert reply.document()["code"] == "invalid_request"


@pytest.mark.parametrize("sent", [half_a_head(), half_a_body()], ids=["head", "body"])
def test_slow_senders_disturb_nobody(exchange: Exchange, sent: bytes) -> None:
    readers = readers_of(exchange)
    with (
        readers.reading(),
        paused_callers(
            exchange.port, sent, count=SLOW_CALLERS, addresses=SLOW_ADDRESSES
        ) as callers,
    ):
        behind = sum(connections_to(server.port) for server in exchange.ad_servers)
        assert behind < SLOW_CALLERS / 2, "no ad server knows of them"
        answered = sum(readers.states.values())
        wait_until(lambda: sum(readers.states.values()) > answered + 100)
        wait_until(lambda: all(map(is_cut_off, callers)))
    assert not readers.wrong


def test_slow_readers_disturb_nobody(exchange: Exchange) -> None:
    sent = whole_request(batch(), path=BATCH_PATH)
    readers = readers_of(exchange)
    with (
        readers.reading(),
        paused_callers(
            exchange.port, sent, count=SLOW_CALLERS // 3, addresses=SLOW_ADDRESSES
        ) as callers,
    ):
        answered = sum(readers.states.values())
        wait_until(lambda: sum(readers.states.values()) > answered + 100)
        wait_until(lambda: not any(map(is_still_open, callers)))
    assert not readers.wrong


def test_one_address_cannot_take_every_connection(exchange: Exchange) -> None:
    most = MOST_REQUESTS_PER_ADDRESS
    greedy = ["127.0.0.1"]
    with paused_callers(exchange.port, half_a_body(), count=most, addresses=greedy) as callers:
        with closing(Client(exchange.port)) as client:

            def is_refused() -> bool:
                go_on(callers)
                return client.ask({}).status == 429

            wait_until(is_refused)
            refused = client.ask({})
            assert refused.document()["code"] == "too_many_connections"
            assert refused.headers["retry-after"] == "1"
        other = HTTPConnection("127.0.0.1", exchange.port, source_address=("127.0.0.8", 0))
        with closing(other):
            other.request("POST", PATH, b'{"visit": {}}', AUTHORIZED)
            assert other.getresponse().status == 200


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "restarted"])
def test_no_request_fails_while_one_ad_server_is_away(
    exchange: Exchange, number: signal.Signals
) -> None:
    readers = readers_of(exchange)

    def has_answered_more(count: int = 300) -> None:
        enough = sum(readers.states.values()) + count
        wait_until(lambda: sum(readers.states.values()) > enough or bool(readers.wrong))

    with readers.reading():
        for server in exchange.ad_servers:
            has_answered_more()
            server.end(number)
            has_answered_more()
            server.start()
    assert not readers.wrong


def test_says_so_when_no_ad_server_answers(exchange: Exchange, client: Client) -> None:
    for server in exchange.ad_servers:
        server.end(signal.SIGKILL)
    try:
        reply = client.ask({})
        assert reply.status == 503
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.headers["retry-after"] == "1"
        assert reply.document()["code"] == "no_ad_server"
    finally:
        for server in exchange.ad_servers:
            server.start()
    wait_until(lambda: client.ask({}).status == 200)
