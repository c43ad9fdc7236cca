"""The eligibility endpoint under load, beside a "hello" application on the same web server.

Both get the same requests (a visit of 20 attributes, limit 20, key check and metrics on) from
16 connections over loopback, in turns, so that what else the machine does hits both; both read the
body and run under the settings of `make run`, unless `--threads` says otherwise. `wrk` sends the
requests where it is installed, else a client of our own. `--all` adds 100,000 and 1,000,000
bookings, `--sizes` chooses.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.demo_exchange import (
    BOOKINGS_1M,
    BOOKINGS_100K,
    DEMO,
    KEY,
    ExchangeSize,
    Question,
    draw_questions,
    open_exchange,
)
from bench.sender import Load, send
from exchange.launcher.supervisor import WEB_THREADS
from exchange.launcher.valkey import find_free_port
from exchange.serving.answers import Options
from exchange.serving.eligibility import EligibilityService

ATTRIBUTES = 20
LIMIT = 20
QUESTIONS = 500
CONNECTIONS = 16
ROUNDS = 3
SCRIPT = Path(__file__).with_name("load_eligibility.lua")
PATH = "/api/v1/eligibility"
APPLICATIONS = (
    "bench.hello:application",
    "bench.hello:long_application",
    "exchange.wsgi:application",
)
SIZES = {"demo": DEMO, "100k": BOOKINGS_100K, "1m": BOOKINGS_1M}
TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """A web server with one worker process."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_SECONDS


@dataclass(frozen=True, slots=True)
class Turn:
    """One server under load for a few seconds."""

    load: Load
    cpu_us: float


@contextmanager
def serve(application: str, threads: int, environment: dict[str, str]) -> Iterator[Server]:
    port = find_free_port()
    granian = str(Path(sys.executable).with_name("granian"))
    options = ["--interface", "wsgi", "--no-ws", "--blocking-threads", str(threads)]
    command = [granian, *options, "--port", str(port), application]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, **environment}, **quiet) as main:  # type: ignore[call-overload]
        try:
            wait_until_up(port, main)
            children = Path(f"/proc/{main.pid}/task/{main.pid}/children").read_text().split()
            yield Server(port, int(children[-1]))
        finally:
            main.terminate()


def wait_until_up(port: int, main: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and main.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the web server did not start")


def take_turn(server: Server, bodies: Path, seconds: float) -> Turn:
    before = server.cpu_seconds()
    if shutil.which("wrk"):
        load = send_by_wrk(server.port, bodies, seconds)
    else:
        load = send(server.port, PATH, KEY, bodies, CONNECTIONS, seconds)
    return Turn(load, (server.cpu_seconds() - before) / max(load.requests, 1) * 1e6)


def send_by_wrk(port: int, bodies: Path, seconds: float) -> Load:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", "--latency"]
    command += ["-s", str(SCRIPT), f"http://127.0.0.1:{port}{PATH}"]
    environment = {**os.environ, "BODIES": str(bodies), "KEY": KEY}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    if failed := re.search(r"(Non-2xx.*|Socket errors.*)", done.stdout):
        raise SystemExit(f"requests failed: {failed[0]}")
    requests = re.search(r"(\d+) requests in", done.stdout)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert requests is not None
    assert rate is not None
    return Load(
        int(requests[1]), float(rate[1]), quantile(done.stdout, 50), quantile(done.stdout, 99)
    )


def quantile(report: str, percent: int) -> float:
    """In milliseconds, of wrk's table."""
    found = re.search(rf"\b{percent}%\s+([\d.]+)(us|ms|s)", report)
    assert found is not None
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def write_bodies(questions: list[Question], path: Path) -> None:
    with path.open("w") as file:
        for question in questions:
            request = {"publisher": question.publisher, "visit": question.visit, "limit": LIMIT}
            file.write(json.dumps(request, separators=(",", ":")) + "\n")


def time_matches(root: Path, questions: list[Question]) -> tuple[float, float]:
    """Microseconds in the index, one request at a time: median and 99th of a hundred."""
    service, limited = EligibilityService(root), Options(limit=LIMIT)
    for question in questions:
        service.answer(question.publisher, question.visit)
    taken = [
        service.answer(question.publisher, question.visit, limited).parts[0].match_seconds
        for _ in range(4)
        for question in questions
    ]
    taken.sort()
    return taken[len(taken) // 2] * 1e6, taken[len(taken) * 99 // 100] * 1e6


def measure(size: ExchangeSize, threads: int, seconds: float, cache: Path) -> str:
    directory = open_exchange(size, cache)
    questions = draw_questions(size, count=QUESTIONS, attributes=ATTRIBUTES)
    match_us = time_matches(directory.root, questions)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bodies = scratch / "bodies"
        write_bodies(questions, bodies)
        environment = {
            "TREELINE_SNAPSHOT_DIR": str(directory.root),
            "PROMETHEUS_MULTIPROC_DIR": str(scratch),
        }
        servers = [
            stack.enter_context(serve(application, threads, environment))
            for application in APPLICATIONS
        ]
        for server in servers:
            take_turn(server, bodies, 1)
        turns = [[take_turn(server, bodies, seconds) for server in servers] for _ in range(ROUNDS)]
    return describe(size, threads, turns, match_us)


def describe(
    size: ExchangeSize, threads: int, turns: list[list[Turn]], match_us: tuple[float, float]
) -> str:
    hello, long, asked = zip(*turns, strict=True)
    shares = [
        median(mine.load.rate / theirs.load.rate for theirs, mine in zip(those, asked, strict=True))
        for those in (hello, long)
    ]
    cells = [
        size.name,
        str(threads),
        *(f"{median(turn.load.rate for turn in those):,.0f}" for those in (hello, long, asked)),
        " / ".join(f"{share:.2f}" for share in shares),
        f"{median(turn.load.p50_ms for turn in asked):.2f}",
        f"{median(turn.load.p99_ms for turn in asked):.2f}",
        " / ".join(f"{median(turn.cpu_us for turn in those):.0f}" for those in (hello, asked)),
        f"{match_us[0]:.0f} / {match_us[1]:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also 100,000 and 1,000,000 bookings")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn")
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=["demo"])
    parser.add_argument("--threads", type=int, nargs="*", default=[WEB_THREADS])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "treeline-load")
    chosen = parser.parse_args()
    print("# The eligibility endpoint under load\n")
    print(f"{CONNECTIONS} connections, one worker process, {ROUNDS} turns each, medians.\n")
    print(
        "| exchange | threads | hello req/s | hello of 3.5 kB req/s | eligibility req/s "
        "| share of hello / of the long one | p50 ms | p99 ms "
        "| processor us a request, hello / eligibility | match us, p50 / p99 |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in SIZES if chosen.all else chosen.sizes:
        for threads in chosen.threads:
            print(measure(SIZES[name], threads, chosen.seconds, chosen.cache), flush=True)


if __name__ == "__main__":
    main()
