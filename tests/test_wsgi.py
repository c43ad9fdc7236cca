"""One server process: eligibility before Django, and on when everything behind it is away."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from exchange.launcher.valkey import find_free_port
from exchange.serving.directory import SnapshotDirectory
from tests.serving.asking import Client
from tests.serving.conftest import start_server, wait_until_alive
from tests.serving.published import publish, publish_keys


@pytest.fixture(scope="module")
def lonely_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server of two workers whose database and broker do not exist."""
    directory = SnapshotDirectory(tmp_path_factory.mktemp("snapshots"))
    publish_keys(directory)
    publish(directory, {1: "geo.country = 'USA'"})
    nowhere = f"127.0.0.1:{find_free_port()}"
    server = start_server(
        directory,
        workers=2,
        DATABASE_URL=f"postgres://nobody@{nowhere}/none",
        REDIS_URL=f"redis://{nowhere}/0",
    )
    try:
        wait_until_alive(server)
        client = Client(server.port)
        yield client
        client.close()
    finally:
        server.running.stop()


def test_eligibility_needs_neither_database_nor_broker(lonely_client: Client) -> None:
    assert lonely_client.ask({"geo.country": "USA"}).booking_ids() == [1]


def test_degraded_but_ready_without_database_and_broker(lonely_client: Client) -> None:
    assert lonely_client.send(None, method="GET", path="/healthz").status == 200
    reply = lonely_client.send(None, method="GET", path="/readyz")
    assert reply.status == 200
    document = reply.document()
    assert document.pop("snapshot_age_seconds") >= 0
    assert document == {
        "status": "degraded",
        "parts": {
            "database": "unreachable",
            "broker": "unreachable",
            "worker": "unreachable",
            "snapshot": "ok",
        },
    }


def test_pages_say_that_the_database_is_away(lonely_client: Client) -> None:
    reply = lonely_client.send(None, method="GET", path="/login/")
    assert reply.status == 503
    assert reply.headers["retry-after"]
    assert "The database does not answer" in reply.body.decode()


def test_metrics_add_up_over_the_workers(lonely_client: Client) -> None:
    """Connections land on either worker; the numbers must not depend on which one is asked."""
    before = samples(lonely_client)
    port = lonely_client.port
    for _ in range(20):
        client = Client(port)
        client.ask({"geo.country": "USA"})
        client.ask({}, key=None)
        client.close()
    requests = 'treeline_eligibility_requests_total{code="%d",endpoint="eligibility"}'
    # A worker brings its numbers along twice a second.
    until = time.monotonic() + 60
    while (after := samples(lonely_client)).get(requests % 200, 0) < before.get(
        requests % 200, 0
    ) + 20:
        assert time.monotonic() < until
        time.sleep(0.1)
    for code in (200, 401):
        assert after[requests % code] - before.get(requests % code, 0) == 20
    for name in ("treeline_matches_total", "treeline_match_seconds_count"):
        assert after[name] - before.get(name, 0) == 20
    assert after["treeline_snapshot_swaps_total"] == 2
    assert 0 <= after["treeline_snapshot_age_seconds"] < 600


def samples(client: Client) -> dict[str, float]:
    reply = client.send(None, method="GET", path="/metrics")
    assert reply.status == 200
    lines = [line for line in reply.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_metrics_are_hidden_behind_a_proxy(lonely_client: Client) -> None:
    headers = {"X-Forwarded-For": "203.0.113.7"}
    assert lonely_client.send(None, method="GET", path="/metrics", headers=headers).status == 404
