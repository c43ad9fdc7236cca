"""The ad servers' process: what it needs, what operators ask it, and how it ends and comes back."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from exchange.launcher.processes import ProcessId, start
from exchange.launcher.valkey import find_free_port
from exchange.serving.directory import SnapshotDirectory
from tests.serving.asking import Client
from tests.serving.conftest import (
    EligibilityServer,
    running_server,
    start_server,
    wait_until_alive,
)
from tests.serving.published import publish, publish_keys
from tests.waiting import PATIENCE_SECONDS, wait_until


@contextmanager
def running_pair(folder: Path) -> Iterator[EligibilityServer]:
    """Runs two processes whose database and broker do not exist."""
    directory = SnapshotDirectory(folder)
    publish_keys(directory)
    publish(directory, {1: "geo.country = 'USA'"})
    nowhere = f"127.0.0.1:{find_free_port()}"
    environment = {
        "DATABASE_URL": f"postgres://nobody@{nowhere}/none",
        "REDIS_URL": f"redis://{nowhere}/0",
    }
    with running_server(directory, processes=2, environment=environment) as server:
        yield server


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EligibilityServer]:
    with running_pair(tmp_path_factory.mktemp("snapshots")) as server:
        yield server


@pytest.fixture
def pair_client(pair: EligibilityServer) -> Iterator[Client]:
    client = Client(pair.port)
    yield client
    client.close()


def children_of(server: EligibilityServer) -> list[int]:
    pid = server.running.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_eligibility_needs_neither_database_nor_broker(pair_client: Client) -> None:
    assert pair_client.ask({"geo.country": "USA"}).booking_ids() == [1]


def test_ready_without_database_and_broker(pair_client: Client) -> None:
    for method in ("GET", "HEAD"):
        assert pair_client.send(None, method=method, path="/healthz").status == 200
    reply = pair_client.send(None, method="GET", path="/readyz")
    assert reply.status == 200
    document = reply.document()
    assert document.pop("snapshot_age_seconds") >= 0
    assert document == {"status": "ready", "parts": {"snapshot": "ok"}}


def test_loads_neither_django_nor_a_client_of_database_or_broker() -> None:
    """Shows that the server does not wait for what it does not import."""
    look = "import sys, exchange.serving.application, exchange.serving.server; "
    look += "print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert {"matcher_ext", "uvloop"} <= packages
    assert not packages & {"django", "rest_framework", "celery", "redis", "psycopg2"}


def test_metrics_add_up_over_the_processes(tmp_path: Path) -> None:
    """Connections land on either process; the numbers must not depend on which one is asked."""
    requests = 'treeline_eligibility_requests_total{code="%d",endpoint="eligibility"}'
    expected = {
        requests % 200: 20,
        requests % 401: 20,
        "treeline_matches_total": 20,
        "treeline_match_seconds_count": 20,
        "treeline_snapshot_swaps_total": 2,
    }
    with running_pair(tmp_path) as pair:
        for _ in range(20):
            with closing(Client(pair.port)) as client:
                client.ask({"geo.country": "USA"})
                client.ask({}, key=None)
        with closing(Client(pair.port)) as client:
            # A process brings its numbers along four times a second.
            wait_until(
                lambda: expected.items() <= samples(client).items(), why=lambda: samples(client)
            )
            assert 0 <= samples(client)["treeline_snapshot_age_seconds"] < 600


def samples(client: Client) -> dict[str, float]:
    reply = client.send(None, method="GET", path="/metrics")
    assert reply.status == 200
    lines = [line for line in reply.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_metrics_are_hidden_behind_a_proxy(pair_client: Client) -> None:
    headers = {"X-Forwarded-For": "203.0.113.7"}
    assert pair_client.send(None, method="GET", path="/metrics", headers=headers).status == 404


def test_a_killed_process_is_replaced_and_new_connections_notice_nothing(
    pair: EligibilityServer,
) -> None:
    for _ in range(3):
        before = children_of(pair)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)

        def is_replaced(killed: int = before[0]) -> bool:
            with closing(Client(pair.port)) as client:
                assert client.ask({"geo.country": "USA"}).booking_ids() == [1]
            now = children_of(pair)
            return len(now) == 2 and killed not in now

        wait_until(is_replaced, why=lambda: pair.running.last_lines(40), look_every=0)


@pytest.fixture
def single(tmp_path: Path) -> Iterator[EligibilityServer]:
    directory = SnapshotDirectory(tmp_path / "snapshots")
    publish_keys(directory)
    publish(directory, {1: "true"})
    with running_server(directory) as server:
        yield server


def test_ends_with_its_parent_however_that_goes(single: EligibilityServer) -> None:
    (child,) = map(ProcessId.of, children_of(single))
    assert child is not None
    single.running.process.kill()
    wait_until(lambda: not child.is_alive())


def test_graceful_end_answers_what_was_asked_and_says_that_it_is_the_last(
    single: EligibilityServer,
) -> None:
    kept = Client(single.port)
    assert "connection" not in kept.ask({}).headers
    single.running.request_stop()
    while (reply := kept.ask({})).headers.get("connection") != "close":
        assert reply.status == 200
    assert reply.booking_ids() == [1]
    kept.close()
    assert single.running.process.wait(PATIENCE_SECONDS) == 0


def test_a_port_that_is_taken_is_said_so(single: EligibilityServer) -> None:
    done = run_with(TREELINE_SERVING_ADDRESS=f"127.0.0.1:{single.port}")
    assert done.returncode == 1
    assert done.stderr == f"cannot listen on 127.0.0.1:{single.port}: Address already in use\n"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"TREELINE_SERVING_ADDRESS": "8001"}, "must be a host and a port like 127.0.0.1:8001"),
        ({"TREELINE_SERVING_PROCESSES": "many"}, "must be a whole number"),
        (
            {"TREELINE_ANSWER_LOG_SALT": "short"},
            "TREELINE_ANSWER_LOG_SALT must be a random text",
        ),
    ],
)
def test_a_bad_setting_is_named(settings: dict[str, str], words: str) -> None:
    done = run_with(**settings)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def run_with(**settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exchange.serving"]
    environment = {**os.environ, **settings}
    return subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


BROKEN = """
import os, sys, time
import exchange.serving.application as application
from exchange.serving.__main__ import main
make, marks = application.make_application, os.environ["MARKS"]

def make_or_die(configuration):
    if {condition}:
        os._exit(3)
    return make(configuration)

application.make_application = make_or_die
sys.exit(main())
"""


def start_broken(directory: SnapshotDirectory, condition: str) -> EligibilityServer:
    """Starts two processes; those of which the condition is true die before they answer."""
    environment = {"MARKS": str(directory.root)}
    server = start_server(directory, processes=2, environment=environment)
    server.running.stop()
    program = replace(
        server.running.program,
        argv=[sys.executable, "-c", BROKEN.format(condition=condition)],
    )
    return EligibilityServer(server.port, directory, start(program))


@pytest.fixture
def published(tmp_path: Path) -> SnapshotDirectory:
    directory = SnapshotDirectory(tmp_path / "snapshots")
    publish_keys(directory)
    publish(directory, {1: "true"})
    return directory


def test_connections_of_a_process_that_never_answers_go_to_the_others(
    published: SnapshotDirectory,
) -> None:
    """Lets the first one to be started die, and everyone after it who comes first."""
    condition = "not os.path.exists(marks + '/one') and open(marks + '/one', 'w')"
    server = start_broken(published, condition)
    try:
        wait_until_alive(server)
        wait_until(lambda: len(children_of(server)) == 2)
        for _ in range(40):
            client = Client(server.port)
            assert client.ask({}).booking_ids() == [1]
            client.close()
    finally:
        server.running.stop()


def test_ends_when_it_is_told_to_also_while_its_processes_die(
    published: SnapshotDirectory,
) -> None:
    server = start_broken(published, "True")
    try:
        wait_until(lambda: server.running.last_lines(100).count("ended by itself") >= 4)
        server.running.request_stop()
        assert server.running.process.wait(PATIENCE_SECONDS) == 0
    finally:
        server.running.stop()


def test_the_end_of_a_process_that_is_not_its_own_means_nothing(
    published: SnapshotDirectory,
) -> None:
    """Ends a child that a shell left, which became this program: like an orphan in a container."""
    server = start_server(published)
    server.running.stop()
    command = f"sleep 0.2 & exec {sys.executable} -m exchange.serving"
    program = replace(server.running.program, argv=["/bin/sh", "-c", command])
    server = EligibilityServer(server.port, published, start(program))
    try:
        wait_until_alive(server)
        time.sleep(0.5)
        client = Client(server.port)
        assert client.ask({}).booking_ids() == [1]
        client.close()
        assert server.running.exit_status() is None
    finally:
        server.running.stop()


def test_while_it_ends_new_connections_are_refused_and_not_left_alone(
    single: EligibilityServer,
) -> None:
    """Shows it though somebody has not finished a request."""
    with socket.create_connection(("127.0.0.1", single.port)) as unfinished:
        unfinished.sendall(b"POST /api/v1/elig")
        single.running.request_stop()
        answered = refused = 0
        while single.running.exit_status() is None:
            client = Client(single.port)
            try:
                assert client.ask({}).booking_ids() == [1]
                answered += 1
            except (ConnectionRefusedError, ConnectionResetError):
                refused += 1  # at once, in either way
            finally:
                client.close()
        assert refused


def test_what_was_kept_is_written_when_it_ends(published: SnapshotDirectory) -> None:
    answers = published.root / "answers"
    environment = {"TREELINE_ANSWER_LOG_EVERY": "1", "TREELINE_ANSWER_LOG_DIR": str(answers)}
    with (
        running_server(published, environment=environment) as server,
        closing(Client(server.port)) as client,
    ):
        assert client.ask({}).status == 200
    assert list(answers.glob("dt=*/*.parquet"))
