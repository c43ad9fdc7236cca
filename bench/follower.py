"""Measures what matching costs: in an ad server's process (`matcher_ext.following`), over HTTP.

It measures processor time and memory, which other work on the machine does not change much; a
core's requests a second follow from them. Both get the same whole visits of all publishers, one at
a time, with limit 20; `--sizes` chooses the exchanges.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from bench.demo_exchange import (
    BOOKINGS_1M,
    BOOKINGS_100K,
    DEMO,
    KEY,
    ExchangeSize,
    draw_questions,
    open_exchange,
)
from bench.load_eligibility import read_cpu_seconds
from bench.questions import LIMIT, Question
from exchange.launcher.valkey import find_free_port

SIZES = {"demo": DEMO, "100k": BOOKINGS_100K, "1m": BOOKINGS_1M}
QUESTIONS = 3_000
ROUNDS = 5
PATH = "/api/v1/eligibility"
# This program runs with the engine alone, as it would in an ad server.
FOLLOWER = """
import json, sys, time
from pathlib import Path
from matcher_ext.following import Follower
url, key, folder, rounds, limit = sys.argv[1:]
questions = json.load(sys.stdin)
ads = Follower(url, key, folder, timeout_seconds=300)
before = time.process_time()
ads.refresh()
fetched = time.process_time() - before
found = sum(len(ads.eligible(publisher, visit, int(limit))) for publisher, visit in questions)
began = time.process_time()
for _ in range(int(rounds)):
    for publisher, visit in questions:
        ads.eligible(publisher, visit, int(limit))
taken = time.process_time() - began
rollup = Path("/proc/self/smaps_rollup").read_text()
sizes = {line.split(":")[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
ads.stop()
print(json.dumps({
    "bookings": ads.status().bookings,
    "microseconds": 1e6 * taken / len(questions) / int(rounds),
    "fetched_seconds": fetched,
    "own_megabytes": sizes["Anonymous"] / 1024,
    "resident_megabytes": sizes["Rss"] / 1024,
}))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    bookings: int
    microseconds: float
    fetched_seconds: float
    own_megabytes: float
    resident_megabytes: float


def measure_follower(port: int, questions: list[Question], folder: Path) -> Cost:
    argv = [f"http://127.0.0.1:{port}", KEY, str(folder), str(ROUNDS), str(LIMIT)]
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWER, *argv],
        input=json.dumps([(each.publisher, each.visit) for each in questions]),
        capture_output=True,
        text=True,
        check=True,
    )
    return Cost(**json.loads(done.stdout))


def measure_endpoint(port: int, pid: int, questions: list[Question]) -> float:
    """Measures the microseconds of its process for a request."""
    connection = HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Api-Key {KEY}", "Content-Type": "application/json"}
    bodies = [
        json.dumps({"publisher": each.publisher, "visit": each.visit, "limit": LIMIT})
        for each in questions
    ]
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    before = 0.0
    for turn in range(ROUNDS + 1):
        if turn == 1:
            before = read_cpu_seconds(child)
        for body in bodies:
            connection.request("POST", PATH, body, headers)
            reply = connection.getresponse()
            reply.read()
            assert reply.status == 200
    taken = read_cpu_seconds(child) - before
    return 1e6 * taken / len(bodies) / ROUNDS


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, int]]:
    """Starts a server of this snapshot folder; gives its port and its process id."""
    port = find_free_port()
    environment = {
        "TREELINE_SNAPSHOT_DIR": str(folder),
        "TREELINE_SERVING_ADDRESS": f"127.0.0.1:{port}",
        "TREELINE_ANSWER_LOG_EVERY": "0",
    }
    command = [sys.executable, "-m", "exchange.serving"]
    with subprocess.Popen(command, env=os.environ | environment) as server:
        try:
            wait_until_it_answers(port)
            yield port, server.pid
        finally:
            server.terminate()


def wait_until_it_answers(port: int) -> None:
    for _ in range(600):
        connection = HTTPConnection("127.0.0.1", port)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    raise SystemExit("the ad servers' process does not answer")


def measure(size: ExchangeSize, cache: Path) -> None:
    directory = open_exchange(size, cache)
    questions = draw_questions(size, count=QUESTIONS)
    with tempfile.TemporaryDirectory() as folder, serving(directory.root) as (port, pid):
        at_endpoint = measure_endpoint(port, pid, questions)
        cost = measure_follower(port, questions, Path(folder))
        kept = sum(path.stat().st_size for path in Path(folder).rglob("*")) / 1e6
    print(
        f"| {cost.bookings:,} | {cost.microseconds:.0f} | {1e6 / cost.microseconds:,.0f} "
        f"| {cost.own_megabytes:.0f} | {cost.resident_megabytes:.0f} | {kept:.0f} "
        f"| {cost.fetched_seconds:.1f} | {at_endpoint:.0f} | {1e6 / at_endpoint:,.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", choices=[*SIZES], default=["demo", "100k"])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "treeline-load")
    arguments = parser.parse_args()
    print("# Matching in the ad server's own process, and at the endpoint\n")
    print(
        "| bookings | us a visit, embedded | visits/s of a core | own MB | resident MB | folder MB "
        "| fetch and open, s | us a request, endpoint | requests/s of a core |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.sizes:
        measure(SIZES[name], arguments.cache)


if __name__ == "__main__":
    main()
