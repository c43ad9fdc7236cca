"""Loads the eligibility endpoint, beside "hello" on the same connections and on other servers.

The demo is the product that `make run` starts; 100,000 and 1,000,000 bookings (`--all`, `--sizes`)
are snapshot directories (`bench.demo_exchange`) behind `python -m exchange.serving`. A third of the
bookings is under each policy. Requests are whole visits of a day's log, bid requests made of them,
batches of them (`bench.questions`), and the curl line that the launcher prints. Hello gets the same
requests and answers as many bytes as eligibility does on the average of the kind. All take turns
over loopback, so that what else the machine does hits all, and run in one process; key check,
metrics and sampled answers are on. `wrk` sends the requests where it is installed, else a client of
our own. After each exchange come the same requests in process (`bench.in_process`). What disturbs
ad servers is in `bench.faults`.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from bench import in_process
from bench.demo_exchange import (
    BOOKINGS_1M,
    BOOKINGS_100K,
    KEY,
    ExchangeSize,
    draw_questions,
    open_exchange,
)
from bench.product import running_product
from bench.questions import VISITS, Kind, make_kinds, read_log
from bench.sender import Load, send
from exchange.launcher.valkey import find_free_port

QUESTIONS = 3_500
LOGGED_VISITS = 4_000  # a day on the average; the quietest day has 3,800
CONNECTIONS = 16
BATCH_CONNECTIONS = 2  # batches are answered side by side: with many, none would end in a turn
ROUNDS = 3
SCRIPT = Path(__file__).with_name("load_eligibility.lua")
ELIGIBILITY = "eligibility"
# At the default rate, batches would be refused long before the server is busy; the bucket is still
# asked.
SETTINGS = {"TREELINE_ELIGIBILITY_RATE": "100000000"}
SERVING = ["python", "-m", "exchange.serving"]
# The commands that start servers; PORT stands for the port.
HELLO = {"hello": ["python", "-m", "bench.hello", "PORT"]}
GRANIAN = ["granian", "--no-ws", "--port", "PORT", "--interface"]
OTHERS = {
    "granian WSGI, 1 thread": [*GRANIAN, "wsgi", "--blocking-threads", "1", "bench.hello:wsgi"],
    "granian WSGI, 3 threads": [*GRANIAN, "wsgi", "--blocking-threads", "3", "bench.hello:wsgi"],
    "granian ASGI": [*GRANIAN, "asgi", "bench.hello:asgi"],
    "uvicorn": ["uvicorn", "--no-access-log", "--port", "PORT", "bench.hello:asgi"],
}
DEMO = "demo"
LARGE = {"100k": BOOKINGS_100K, "1m": BOOKINGS_1M}
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


class Sender:
    """Sends the requests of a kind to one server, each turn from where the last one ended."""

    def __init__(self, server: Server, path: str, key: str, bodies: Path, count: int) -> None:
        self._server, self._path, self._key, self._bodies = server, path, key, bodies
        self._connections = count
        self.sent = 0

    def take_turn(self, seconds: float) -> Turn:
        before = self._server.cpu_seconds()
        load = self._by_wrk(seconds) if shutil.which("wrk") else self._by_ourselves(seconds)
        self.sent += load.requests
        cpu_us = (self._server.cpu_seconds() - before) / max(load.requests, 1) * 1e6
        return Turn(load, cpu_us)

    def _by_ourselves(self, seconds: float) -> Load:
        port = self._server.port
        return send(port, self._path, self._key, self._bodies, self._connections, seconds)

    def _by_wrk(self, seconds: float) -> Load:
        command = ["wrk", "-t1", f"-c{self._connections}", f"-d{seconds:.0f}s", "--latency"]
        command += ["--timeout", "20s", "-s", str(SCRIPT)]
        command += [f"http://127.0.0.1:{self._server.port}{self._path}"]
        environment = {"BODIES": str(self._bodies), "KEY": self._key, "FROM": str(self.sent)}
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
        return read_report(done.stdout)


def read_report(report: str) -> Load:
    """Reads what wrk reports."""
    if failed := re.search(r"(Non-2xx.*|Socket errors.*)", report):
        raise SystemExit(f"requests failed: {failed[0]}")
    requests = re.search(r"(\d+) requests in", report)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", report)
    assert requests is not None
    assert rate is not None
    return Load(int(requests[1]), float(rate[1]), quantile(report, 50), quantile(report, 99))


def quantile(report: str, percent: int) -> float:
    """Reads a quantile of wrk's table, in milliseconds."""
    found = re.search(rf"\b{percent}%\s+([\d.]+)(us|ms|s)", report)
    assert found is not None
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is measured: a server, and where its snapshots are."""

    name: str
    server: Server
    root: Path
    key: str
    kinds: list[Kind]


def measure_demo(seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="treeline-load-") as folder:
        var = Path(folder)
        var.chmod(0o755)
        with running_product(var, visits=LOGGED_VISITS, settings=SETTINGS) as product:
            kinds = make_kinds(read_log(var / "visits")[:QUESTIONS], product.curl)
            server = Server(product.serving_port, product.serving_pid)
            exchange = Exchange(DEMO, server, var / "snapshots", product.key, kinds)
            measure(exchange, seconds, HELLO | OTHERS)


def measure_large(size: ExchangeSize, seconds: float, cache: Path) -> None:
    """Measures a large exchange, behind a server that starts as the launcher starts it."""
    root = open_exchange(size, cache).root
    kinds = make_kinds(draw_questions(size, count=QUESTIONS))
    with tempfile.TemporaryDirectory() as var:
        environment = {"TREELINE_SNAPSHOT_DIR": str(root), "TREELINE_VAR": var, **SETTINGS}
        with serve(SERVING, environment) as server:
            measure(Exchange(size.name, server, root, KEY, kinds), seconds, HELLO)


def measure(exchange: Exchange, seconds: float, beside: dict[str, list[str]]) -> None:
    print(
        f"\n| {exchange.name}: requests | server | requests/s | share of hello | p50 ms | p99 ms"
        " | processor us a request | different | bytes asked / answered |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {name: stack.enter_context(serve(each, {})) for name, each in beside.items()}
        for kind in exchange.kinds:
            rivals = {
                name: each for name, each in servers.items() if name in HELLO or kind.name == VISITS
            }
            measure_kind(exchange, kind, rivals, scratch, seconds)
    in_process.measure(exchange.name, exchange.root, exchange.key, exchange.kinds)


def measure_kind(
    exchange: Exchange, kind: Kind, hellos: dict[str, Server], scratch: Path, seconds: float
) -> None:
    length = ask_all(exchange, kind)
    bodies = scratch / "bodies"
    kind.save(bodies)
    count = CONNECTIONS if kind.visits_each == 1 else BATCH_CONNECTIONS
    senders = {
        name: Sender(server, f"/{length}", exchange.key, bodies, count)
        for name, server in hellos.items()
    }
    senders[ELIGIBILITY] = Sender(exchange.server, kind.path, exchange.key, bodies, count)
    for sender in senders.values():
        sender.take_turn(1)
    turns: dict[str, list[Turn]] = {name: [] for name in senders}
    for _ in range(ROUNDS):
        for name, sender in senders.items():
            turns[name].append(sender.take_turn(seconds))
    sizes = f"{mean(map(len, kind.bodies)):,.0f} / {length:,}"
    for name, sender in senders.items():
        different = min(sender.sent, len(kind.bodies))
        row = describe(turns[name], turns["hello"])
        print(f"| {kind.name} | {name} | {row} | {different:,} | {sizes} |", flush=True)


def ask_all(exchange: Exchange, kind: Kind) -> int:
    """Asks each request once, none of which may be refused; returns an answer's average bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", exchange.server.port, timeout=60)
    headers = {"Content-Type": "application/json", "Authorization": f"Api-Key {exchange.key}"}
    lengths = []
    for body in kind.bodies:
        connection.request("POST", kind.path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(f"a request was refused: {answer[:300]!r}")
        lengths.append(len(answer))
    connection.close()
    return round(mean(lengths))


def describe(turns: Sequence[Turn], hello: Sequence[Turn]) -> str:
    """Writes the cells of a row; shares are of the hello on our own connections, turn by turn."""
    share = median(mine.load.rate / his.load.rate for mine, his in zip(turns, hello, strict=True))
    cells = [
        f"{median(turn.load.rate for turn in turns):,.0f}",
        f"{share:.3f}" if share < 0.1 else f"{share:.2f}",
        f"{median(turn.load.p50_ms for turn in turns):.2f}",
        f"{median(turn.load.p99_ms for turn in turns):.2f}",
        f"{median(turn.cpu_us for turn in turns):,.0f}",
    ]
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = [DEMO, *LARGE]
    parser.add_argument("--all", action="store_true", help="also 100,000 and 1,000,000 bookings")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn")
    parser.add_argument("--sizes", nargs="*", choices=sizes, default=[DEMO])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "treeline-load")
    chosen = parser.parse_args()
    print("# The eligibility endpoint under load\n")
    print("Whole visits of a day's log at all publishers, as logged (46 attributes on the average,")
    print("names that the catalogue does not know, malformed values), bid requests made of them")
    print("(one to four imps), batches of them; limit 20. A third of the bookings is under each")
    print(f"policy. {CONNECTIONS} connections ({BATCH_CONNECTIONS} for batches), one process each,")
    print(f"{ROUNDS} turns of {chosen.seconds:.0f} s, medians. `hello` runs on the connections")
    print("that eligibility runs on, with the same requests and answers as long; the others under")
    print("other servers.")
    for name in sizes if chosen.all else chosen.sizes:
        if name == DEMO:
            measure_demo(chosen.seconds)
        else:
            measure_large(LARGE[name], chosen.seconds, chosen.cache)


if __name__ == "__main__":
    main()
