"""Slow, silent and greedy clients of a real process, and ordinary ones of other makers."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest
import urllib3

from exchange.serving.directory import SnapshotDirectory
from exchange.serving.endpoint import BATCH_PATH, PATH
from exchange.serving.http.crowd import Limits
from matcher_ext.serving import PREFIX
from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer, running_server
from tests.serving.published import HERALD_KEY, SNAPSHOT_KEY, publish, publish_keys
from tests.waiting import PATIENCE_SECONDS, wait_until

KEY = f"Api-Key {HERALD_KEY}"
HEADERS = {"Authorization": KEY, "Content-Type": "application/json"}
BODY = b'{"visit": {"geo.country": "USA"}}'
LIMITS = Limits()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EligibilityServer]:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("snapshots"))
    publish_keys(directory)
    everyone = dict.fromkeys(range(2, 3_000), "publisher.id = 'herald'")
    publish(directory, {1: "publisher.id = 'herald' and geo.country = 'USA'", **everyone})
    with running_server(directory) as server:
        yield server


def connect(server: EligibilityServer, address: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(
        ("127.0.0.1", server.port), timeout=PATIENCE_SECONDS, source_address=(address, 0)
    )
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def head(path: str = PATH, length: int = len(BODY), key: str = KEY) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: a", f"Content-Length: {length}"]
    lines += [f"Authorization: {key}"] if key else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_all(connection: socket.socket) -> bytes:
    """Reads until the other side closes."""
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def read_answer(connection: socket.socket) -> bytes:
    """Reads one answer, which has a length."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65_536)
    first, _, body = answer.partition(b"\r\n\r\n")
    length = int(first.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return first + b"\r\n\r\n" + body


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def ask_once(server: EligibilityServer) -> int:
    client = Client(server.port)
    try:
        return client.ask({"geo.country": "USA"}, limit=1).document()["count"]  # type: ignore[no-any-return]
    finally:
        client.close()


def test_byte_by_byte_is_answered(server: EligibilityServer) -> None:
    with closing(connect(server)) as connection:
        for byte in head() + BODY:
            connection.sendall(bytes([byte]))
        assert status_of(connection.recv(65_536)) == 200


def test_who_does_not_finish_is_told_so_in_time(server: EligibilityServer) -> None:
    """Shows it also for who sends a byte now and then; who sends nothing may keep the connection
    for longer."""
    unfinished = [
        b"POST /api",
        head()[:-4],
        head(length=10_000) + b"{",
        head(path=BATCH_PATH, length=1_000_000) + b"{" * 1_000,
    ]
    with ExitStack() as stack:
        silent = stack.enter_context(closing(connect(server)))
        slow = [stack.enter_context(closing(connect(server))) for _ in unfinished]
        for connection, sent in zip(slow, unfinished, strict=True):
            connection.settimeout(0.1)
            connection.sendall(sent)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while slow:
            assert time.monotonic() < give_up
            for connection in list(slow):
                try:
                    assert status_of(connection.recv(65_536)) == 408
                    slow.remove(connection)
                except TimeoutError:
                    connection.sendall(b"x")
        silent.sendall(head() + BODY)
        assert status_of(read_answer(silent)) == 200


def test_key_is_asked_for_before_the_body(server: EligibilityServer) -> None:
    for key, status in [("", 401), ("Api-Key tl_unknown", 401), (f"Api-Key {SNAPSHOT_KEY}", 403)]:
        with closing(connect(server)) as connection:
            connection.sendall(head(key=key))
            assert status_of(read_answer(connection)) == status
            connection.sendall(BODY + head() + BODY)
            assert status_of(read_answer(connection)) == 200


def test_lengths_over_the_limit_are_refused_before_the_body(server: EligibilityServer) -> None:
    with closing(connect(server)) as connection:
        connection.sendall(head(length=300_000))
        assert status_of(read_all(connection)) == 413
    with closing(connect(server)) as connection:
        connection.sendall(head(path=BATCH_PATH, length=300_000))
        connection.settimeout(1)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def test_a_head_over_the_limit_is_refused(server: EligibilityServer) -> None:
    with closing(connect(server)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000)
        assert status_of(read_all(connection)) == 431


def test_continue_is_said_to_who_may_send(server: EligibilityServer) -> None:
    expecting = head().replace(b"Host: a", b"Host: a\r\nExpect: 100-continue")
    with closing(connect(server)) as connection:
        connection.sendall(expecting)
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert status_of(connection.recv(65_536)) == 200
    with closing(connect(server)) as connection:
        connection.sendall(expecting.replace(KEY.encode(), b"Api-Key none"))
        assert status_of(read_all(connection)) == 401


def test_http_1_0_is_answered_and_closed_unless_it_asks_otherwise(
    server: EligibilityServer,
) -> None:
    old = head().replace(b"HTTP/1.1", b"HTTP/1.0")
    with closing(connect(server)) as connection:
        connection.sendall(old + BODY)
        answer = read_all(connection)
        assert status_of(answer) == 200
        assert b"\r\nConnection: close\r\n" in answer
    with closing(connect(server)) as connection:
        for _ in range(2):
            connection.sendall(old.replace(b"Host: a", b"Connection: keep-alive") + BODY)
            assert b"\r\nConnection: keep-alive\r\n" in read_answer(connection)


def test_pipelined_requests_are_answered_in_their_order(server: EligibilityServer) -> None:
    batch = json.dumps({"requests": [{"visit": {}, "limit": 1}] * 500}).encode()
    asked = [
        head() + BODY,
        head(path=BATCH_PATH, length=len(batch)) + batch,
        head(path="/nowhere") + BODY,
        head().replace(b"Host: a", b"Host: a\r\nConnection: close") + BODY,
    ]
    with closing(connect(server)) as connection:
        connection.sendall(b"".join(asked))
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.index(b'"answers"') < answer.index(b"HTTP/1.1 404") < answer.rindex(b'"count"')


def test_who_sends_no_more_still_gets_the_answers(server: EligibilityServer) -> None:
    batch = json.dumps({"requests": [{"visit": {}, "limit": 1}] * 500}).encode()
    with closing(connect(server)) as connection:
        connection.sendall(head() + BODY + head(path=BATCH_PATH, length=len(batch)) + batch)
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection).count(b"HTTP/1.1 200 OK") == 2


def long_batch() -> bytes:
    """Takes a hundred steps or more."""
    batch = json.dumps({"requests": [{"visit": {}, "limit": 60}] * 1_000}).encode()
    return head(path=BATCH_PATH, length=len(batch)) + batch


def long_bid_request() -> bytes:
    imps = [{"id": str(number)} for number in range(100)]
    body = json.dumps({"bid_request": {"id": "1", "imp": imps}}).encode()
    return head(length=len(body)) + body


def count_given_up(server: EligibilityServer, endpoint: str) -> int:
    text = httpx.get(f"http://127.0.0.1:{server.port}/metrics", timeout=PATIENCE_SECONDS).text
    name = f'treeline_eligibility_requests_total{{code="499",endpoint="{endpoint}"}} '
    return int(float(text.partition(name)[2].split("\n")[0] or 0))


@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("endpoint", ["batch", "eligibility"])
def test_what_nobody_waits_for_is_not_computed(
    server: EligibilityServer, endpoint: str, is_reset: bool
) -> None:
    sent = long_batch() if endpoint == "batch" else long_bid_request()
    before = count_given_up(server, endpoint)
    for _ in range(5):
        with closing(connect(server)) as connection:
            if is_reset:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(sent)
    wait_until(lambda: count_given_up(server, endpoint) >= before + 5, why=lambda: "it went on")
    assert ask_once(server) == 2_999


def test_who_sends_no_more_still_gets_a_long_answer(server: EligibilityServer) -> None:
    """Asks whether the client is still there, in the form that every client reads over."""
    with closing(connect(server)) as connection:
        connection.sendall(long_batch())
        connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200
        assert len(json.loads(answer.read())["answers"]) == 1_000


def test_a_reader_that_takes_nothing_is_not_written_to_for_ever(
    server: EligibilityServer,
) -> None:
    """Asks for some hundred megabytes and reads none of them: the process stays small."""
    before = resident_megabytes(server)
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(closing(connect(server)))
            connection.settimeout(0.5)
            try:
                for _ in range(50):
                    connection.sendall((head() + BODY) * 20)
            except TimeoutError:
                pass  # the server has stopped reading, as it should
        assert ask_once(server) == 2_999
        assert resident_megabytes(server) - before < 200


def resident_megabytes(server: EligibilityServer) -> float:
    pid = server.running.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    status = Path(f"/proc/{children[0]}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_000


def test_a_batch_does_not_hold_up_others(server: EligibilityServer) -> None:
    """Shows that others are answered while forty visits with all their campaigns are; on a machine
    that does other things perhaps not while the first such batch is."""
    assert any(count_answers_during_a_batch(server) > 2 for _ in range(5))


def count_answers_during_a_batch(server: EligibilityServer) -> int:
    batch = json.dumps({"requests": [{"visit": {}}] * 40}).encode()
    done = threading.Event()
    answered = 0

    def ask_batch() -> None:
        with closing(connect(server)) as connection:
            closing_head = head(path=BATCH_PATH, length=len(batch))
            connection.sendall(
                closing_head.replace(b"Host: a", b"Host: a\r\nConnection: close") + batch
            )
            assert status_of(read_all(connection)) == 200
        done.set()

    with ThreadPoolExecutor() as pool:
        future = pool.submit(ask_batch)
        client = Client(server.port)
        while not done.is_set() and not future.done():
            client.ask({}, limit=1)
            answered += 1
        client.close()
        future.result()
    return answered


def test_silent_crowds_cost_others_nothing(server: EligibilityServer) -> None:
    """Sends more unfinished requests than are allowed: the oldest have to go, all others are
    answered."""
    unfinished = [b"POST /api", head()[:-2], head() + b"{", head(key="") + b"{"]
    count = LIMITS.most_late_per_address + 100
    for sent in unfinished:
        with ExitStack() as stack:
            crowd = [stack.enter_context(closing(connect(server))) for _ in range(count)]
            for connection in crowd:
                connection.sendall(sent)
            for _ in range(50):
                assert ask_once(server) == 2_999
            assert status_of(crowd[0].recv(65_536)) in (408, 401)
    for number in range(2, 10):
        with closing(connect(server, f"127.0.0.{number}")) as connection:
            connection.sendall(head() + BODY)
            assert status_of(connection.recv(65_536)) == 200


def test_downloads_come_in_chunks_or_until_the_end(server: EligibilityServer) -> None:
    headers = {"Authorization": f"Api-Key {SNAPSHOT_KEY}"}
    url = f"http://127.0.0.1:{server.port}{PREFIX}"
    live = httpx.get(url + "live", headers=headers, timeout=PATIENCE_SECONDS).json()["snapshot_id"]
    lines = httpx.get(f"{url}{live}/bookings.jsonl", headers=headers, timeout=PATIENCE_SECONDS)
    assert lines.headers["transfer-encoding"] == "chunked"
    assert len(lines.text.splitlines()) == 2_999
    asked = f"GET {PREFIX}{live}/bookings.jsonl HTTP/1.0\r\nAuthorization: Api-Key {SNAPSHOT_KEY}"
    with closing(connect(server)) as connection:
        connection.sendall(asked.encode() + b"\r\n\r\n")
        answer = read_all(connection)
    assert answer.partition(b"\r\n\r\n")[2] == lines.content
    assert b"chunked" not in answer.partition(b"\r\n\r\n")[0]


def test_httpx_asks(server: EligibilityServer) -> None:
    url = f"http://127.0.0.1:{server.port}"
    with httpx.Client(base_url=url, headers=HEADERS, timeout=PATIENCE_SECONDS) as client:
        for content in (BODY, iter([BODY[:10], BODY[10:]])):
            reply = client.post(PATH, content=content)
            assert (reply.status_code, reply.json()["count"]) == (200, 2_999)
        assert client.get(PATH).status_code == 405
        escaped = client.post(BATCH_PATH.replace(":", "%3A"), json={"requests": [{"visit": {}}]})
        assert escaped.status_code == 200


def test_urllib3_asks(server: EligibilityServer) -> None:
    with urllib3.HTTPConnectionPool("127.0.0.1", server.port, headers=HEADERS) as pool:
        for _ in range(3):
            reply = pool.request("POST", PATH, body=BODY)
            assert (reply.status, reply.json()["count"]) == (200, 2_999)
        chunked = pool.request("POST", PATH, body=iter([BODY]), chunked=True)
        assert chunked.status == 200
        assert pool.num_connections == 1


needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@needs_curl
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--http1.0"],
        ["-H", "Transfer-Encoding: chunked"],
        ["-H", "Expect: 100-continue"],
        ["-H", "Connection: close"],
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_curl_asks(server: EligibilityServer, options: list[str]) -> None:
    url = f"http://127.0.0.1:{server.port}{PATH}"
    command = ["curl", "-sS", "--max-time", "120", *options, "-H", f"Authorization: {KEY}"]
    done = subprocess.run(
        [*command, "--data-binary", "@-", url, url], input=BODY, capture_output=True, check=True
    )
    assert done.stdout.count(b'"count":2999') + done.stdout.count(b'"problem') >= 1
    assert b'"count":2999' in done.stdout


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_wrk_asks(server: EligibilityServer, tmp_path: Path) -> None:
    script = tmp_path / "ask.lua"
    script.write_text(
        f"wrk.method='POST'; wrk.body='{BODY.decode()}'; wrk.headers['Authorization']='{KEY}'"
    )
    url = f"http://127.0.0.1:{server.port}{PATH}"
    command = ["wrk", "-t1", "-c8", "-d1s", "-s", str(script), url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Non-2xx" not in done.stdout
    assert "Socket errors" not in done.stdout


def test_a_long_batch_is_not_told_afterwards_that_it_was_late(server: EligibilityServer) -> None:
    """Sends the head in two pieces, so that it was waited for."""
    batch = json.dumps({"requests": [{"visit": {}, "limit": 1}] * 500}).encode()
    sent = head(path=BATCH_PATH, length=len(batch)) + batch
    with closing(connect(server)) as connection:
        for _ in range(3):
            connection.sendall(sent[:50])
            time.sleep(0.05)
            connection.sendall(sent[50:])
            assert status_of(read_answer(connection)) == 200
        connection.settimeout(1)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def test_a_batch_of_too_many_imps_is_refused(server: EligibilityServer) -> None:
    imps = [{"id": str(number)} for number in range(100)]
    batch = {"requests": [{"bid_request": {"id": "1", "imp": imps}, "limit": 1}] * 20}
    body = json.dumps(batch).encode()
    with closing(connect(server)) as connection:
        connection.sendall(head(path=BATCH_PATH, length=len(body)) + body)
        answer = read_answer(connection)
    assert status_of(answer) == 422
    assert b"answer_too_large" in answer


def test_a_batch_with_too_long_an_answer_is_refused(server: EligibilityServer) -> None:
    body = json.dumps({"requests": [{"visit": {}}] * 300}).encode()
    with closing(connect(server)) as connection:
        connection.sendall(head(path=BATCH_PATH, length=len(body)) + body)
        assert status_of(read_answer(connection)) == 422


def test_pipelined_floods_leave_others_their_turn(server: EligibilityServer) -> None:
    """Asks as fast as a client can: others are answered between its requests."""
    flood = b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n" * 2_000
    is_over = threading.Event()

    def send_flood() -> None:
        with closing(connect(server)) as connection:
            while not is_over.is_set():
                connection.sendall(flood)
                answers = b""
                while answers.count(b"HTTP/1.1 404 ") < 2_000:
                    answers += connection.recv(65_536)

    with ThreadPoolExecutor() as pool:
        future = pool.submit(send_flood)
        try:
            for _ in range(50):
                assert ask_once(server) == 2_999
        finally:
            is_over.set()
        future.result()


def test_a_slow_reader_of_a_last_answer_gets_all_of_it(server: EligibilityServer) -> None:
    headers = f"GET {PREFIX}live HTTP/1.1\r\nHost: a\r\nAuthorization: Api-Key {SNAPSHOT_KEY}"
    with closing(connect(server)) as connection:
        connection.sendall(headers.encode() + b"\r\n\r\n")
        live = json.loads(read_answer(connection).partition(b"\r\n\r\n")[2])["snapshot_id"]
    asked = f"GET {PREFIX}{live}/bookings.jsonl HTTP/1.0\r\nAuthorization: Api-Key {SNAPSHOT_KEY}"
    with closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(asked.encode() + b"\r\n\r\n")
        time.sleep(LIMITS.parting_seconds + 2)
        assert read_all(connection).count(b"\n{") == 2_999


def test_a_file_that_shrinks_while_it_is_sent_breaks_the_connection(
    server: EligibilityServer,
) -> None:
    """Shows that nothing of a later answer stands in its place."""
    live = server.directory.read_manifest()
    assert live is not None
    path = server.directory.folder(live.snapshot_id) / "catalog.json"
    kept = path.read_bytes()
    path.write_bytes(kept + b" " * 30_000_000)
    try:
        asked = f"GET {PREFIX}{live.snapshot_id}/catalog.json HTTP/1.1\r\nHost: a\r\n"
        asked += f"Authorization: Api-Key {SNAPSHOT_KEY}\r\n\r\n"
        with closing(connect(server)) as connection:
            connection.sendall(asked.encode() + b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert status_of(connection.recv(1_024)) == 200
            time.sleep(0.5)
            os.truncate(path, 5_000_000)
            parts = []
            with suppress(ConnectionResetError):
                while part := connection.recv(1 << 20):
                    parts.append(part)
        assert b"alive" not in b"".join(parts)
    finally:
        path.write_bytes(kept)
