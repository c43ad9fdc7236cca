"""The eligibility endpoint under load, beside "hello" on the same connections and on other servers.

All get the same requests (a visit of 20 attributes, limit 20, key check and metrics on) from 16
connections over loopback, in turns, so that what else the machine does hits all; all read the body
and run in one process. `wrk` sends the requests where it is installed, else a client of our own.
`--all` adds 100,000 and 1,000,000 bookings, `--sizes` chooses. What disturbs ad servers is in
`bench.faults`.
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
ELIGIBILITY = "eligibility"
# A command each; PORT stands for the port.
GRANIAN = ["granian", "--no-ws", "--port", "PORT", "--interface"]
SERVERS = {
    "hello": ["python", "-m", "bench.hello", "PORT"],
    "granian WSGI, 1 thread": [*GRANIAN, "wsgi", "--blocking-threads", "1", "bench.hello:wsgi"],
    "granian WSGI, 3 threads": [*GRANIAN, "wsgi", "--blocking-threads", "3", "bench.hello:wsgi"],
    "granian ASGI": [*GRANIAN, "asgi", "bench.hello:asgi"],
    "uvicorn": ["uvicorn", "--no-access-log", "--port", "PORT", "bench.hello:asgi"],
    ELIGIBILITY: ["python", "-m", "exchange.serving"],
}
SIZES = {"demo": DEMO, "100k": BOOKINGS_100K, "1m": BOOKINGS_1M}
TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """A server and its processes."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(read_cpu_seconds(pid) for pid in (str(self.pid), *children))


def read_cpu_seconds(pid: str) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_SECONDS


@dataclass(frozen=True, slots=True)
class Turn:
    """One server under load for a few seconds."""

    load: Load
    cpu_us: float


@contextmanager
def serve(command: list[str], environment: dict[str, str]) -> Iterator[Server]:
    port = find_free_port()
    program = str(Path(sys.executable).with_name(command[0]))
    arguments = [str(port) if each == "PORT" else each for each in command[1:]]
    environment = {
        **os.environ,
        **environment,
        "TREELINE_SERVING_ADDRESS": f"127.0.0.1:{port}",
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([program, *arguments], env=environment, **quiet) as main:  # type: ignore[call-overload]
        try:
            wait_until_up(port, main)
            yield Server(port, main.pid)
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


def measure(size: ExchangeSize, seconds: float, cache: Path) -> list[str]:
    directory = open_exchange(size, cache)
    questions = draw_questions(size, count=QUESTIONS, attributes=ATTRIBUTES)
    match_us = time_matches(directory.root, questions)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bodies = scratch / "bodies"
        write_bodies(questions, bodies)
        environment = {"TREELINE_SNAPSHOT_DIR": str(directory.root), "TREELINE_VAR": str(scratch)}
        servers = {
            name: stack.enter_context(serve(command, environment))
            for name, command in SERVERS.items()
        }
        for server in servers.values():
            take_turn(server, bodies, 1)
        turns: dict[str, list[Turn]] = {name: [] for name in servers}
        for _ in range(ROUNDS):
            for name, server in servers.items():
                turns[name].append(take_turn(server, bodies, seconds))
    return [describe(size, name, turns, match_us) for name in turns]


def describe(
    size: ExchangeSize, name: str, turns: dict[str, list[Turn]], match_us: tuple[float, float]
) -> str:
    """A row of the table; shares are of the hello on our own connections, turn by turn."""
    share = median(
        mine.load.rate / theirs.load.rate
        for mine, theirs in zip(turns[name], turns["hello"], strict=True)
    )
    cells = [
        size.name,
        name,
        f"{median(turn.load.rate for turn in turns[name]):,.0f}",
        f"{share:.2f}",
        f"{median(turn.load.p50_ms for turn in turns[name]):.2f}",
        f"{median(turn.load.p99_ms for turn in turns[name]):.2f}",
        f"{median(turn.cpu_us for turn in turns[name]):.0f}",
        f"{match_us[0]:.0f} / {match_us[1]:.0f}" if name == ELIGIBILITY else "",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also 100,000 and 1,000,000 bookings")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn")
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=["demo"])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "treeline-load")
    chosen = parser.parse_args()
    print("# The eligibility endpoint under load\n")
    print(f"{CONNECTIONS} connections, one process each, {ROUNDS} turns, medians. `hello` runs on")
    print("the connections that eligibility runs on; the other hellos under other servers.\n")
    print(
        "| exchange | server | requests/s | share of hello | p50 ms | p99 ms "
        "| processor us a request | match us, p50 / p99 |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in SIZES if chosen.all else chosen.sizes:
        print("\n".join(measure(SIZES[name], chosen.seconds, chosen.cache)), flush=True)


if __name__ == "__main__":
    main()
