"""Asks the ad servers' endpoint at a steady rate while everything that can go wrong beside it does.

The product is the one that `make run` starts, with its demo exchange (a third of the bookings under
each policy); the requests are whole visits of the demo's own log at all publishers, thousands of
different ones (`bench.questions`), sent at fixed moments (`bench.open_loop`), so that waiting
counts. Every fault has its turns beside undisturbed ones of the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median

import psycopg2

from bench.open_loop import Outcome
from bench.product import ROOT, Product, running_product
from bench.questions import make_kinds, read_log
from exchange.launcher.welcome import DEMO_PASSWORD

RATE = 2_000
SLOW = 1_000
VISITS = 3_000
BODIES = "bodies"
LIST_VALUES = 1_000_000
DOWNLOADS = 20


def ask(product: Product, seconds: float) -> Outcome:
    command = [sys.executable, "-m", "bench.open_loop", str(product.serving_port), product.key]
    command += [str(product.var / BODIES), str(RATE), str(seconds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return Outcome(**json.loads(done.stdout))


def write_bodies(product: Product) -> None:
    make_kinds(read_log(product.var / "visits"))[0].save(product.var / BODIES)


@contextmanager
def slow_clients(product: Product, kind: str, *, has_key: bool, spread: bool) -> Iterator[None]:
    command = [sys.executable, "-m", "bench.slow_clients", str(product.serving_port), kind]
    command += [str(SLOW), "--publisher", product.publisher]
    command += ["--key", product.key] if has_key else []
    command += ["--spread"] if spread else []
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as clients:
        assert clients.stdout is not None
        assert clients.stdin is not None
        assert clients.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            clients.stdin.close()


class Person:
    """A campaign manager with a browser, as far as asking for pages goes."""

    def __init__(self, product: Product, name: str) -> None:
        self._root = f"http://127.0.0.1:{product.pages_port}"
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        token = self._token(self.get("/login/"))
        self.post("/login/", username=name, password=DEMO_PASSWORD, csrfmiddlewaretoken=token)

    def get(self, path: str) -> str:
        with self._opener.open(self._root + path, timeout=120) as response:
            return str(response.read().decode())

    def post(self, path: str, **fields: str) -> None:
        body = urllib.parse.urlencode(fields).encode()
        with self._opener.open(self._root + path, body, timeout=120) as response:
            response.read()

    def read_slowly(self, path: str, seconds: float) -> None:
        """Downloads a kilobyte at a time."""
        with self._opener.open(self._root + path, timeout=120) as response:
            until = time.monotonic() + seconds
            while time.monotonic() < until and response.read(1024):
                time.sleep(0.05)

    @staticmethod
    def _token(page: str) -> str:
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert found is not None
        return found[1]


@contextmanager
def busy_people(work: Callable[[], object], count: int) -> Iterator[None]:
    """Lets so many people do the work at the same time, and does not ask what comes of it."""

    def do() -> None:
        with suppress(OSError):
            work()

    with ThreadPoolExecutor(count) as pool:
        for _ in range(count):
            pool.submit(do)
        time.sleep(0.5)
        yield


@contextmanager
def hung(server: str, product: Product) -> Iterator[None]:
    """Stops a server by SIGSTOP: it accepts connections and says nothing."""
    (running,) = (each for each in product.servers.running if each.program.name == server)
    os.killpg(running.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(running.process.pid, signal.SIGCONT)


@contextmanager
def redis_hung(product: Product) -> Iterator[None]:
    """Hangs Redis while people look for campaigns."""
    person = Person(product, "operator")
    with hung("valkey", product), busy_people(lambda: person.get("/campaigns/"), 6):
        yield


@contextmanager
def postgres_locked(product: Product) -> Iterator[None]:
    """Locks a table while people look at pages that need it."""
    person = Person(product, "operator")
    connection = psycopg2.connect(product.environment["DATABASE_URL"])
    try:
        connection.cursor().execute("LOCK TABLE market_campaign IN ACCESS EXCLUSIVE MODE")
        with busy_people(lambda: person.get("/campaigns/"), 8):
            yield
            connection.rollback()
    finally:
        connection.close()


@contextmanager
def postgres_hung(product: Product) -> Iterator[None]:
    person = Person(product, "operator")
    with hung("postgres", product), busy_people(lambda: person.get("/campaigns/"), 8):
        yield


@contextmanager
def downloads(product: Product, path: str, seconds: float) -> Iterator[None]:
    """Lets people download a list of a million values slowly."""
    person = Person(product, "operator")
    with busy_people(lambda: person.read_slowly(path, seconds), DOWNLOADS):
        yield


@contextmanager
def killed(product: Product) -> Iterator[None]:
    """Kills a process that answers, by SIGKILL, in the middle of the turn; the slowest request says
    how long it takes until it is back."""
    parent = product.serving_pid

    def kill() -> None:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)

    timer = threading.Timer(1.0, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def make_list(product: Product) -> str:
    """Makes a large list; returns the address from which its values are downloaded."""
    code = f"""
from exchange.accounts.models import User
from exchange.market import services
from exchange.market.models import ValueList
user = User.objects.get(username='admin')
values = [f'value-{{n:015}}' for n in range({LIST_VALUES})]
made = ValueList(organisation=user.organisation, name='large', type='string')
print(services.save_value_list(value_list=made, by=user, values=values).pk)
"""
    command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=product.environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return f"/lists/{done.stdout.split()[-1]}/values.txt"


Fault = Callable[[], AbstractContextManager[None]]


def list_faults(product: Product, seconds: float) -> dict[str, Fault]:
    faults: dict[str, Fault] = {}
    for kind in ("head", "body", "silent", "reader"):
        for has_key in (False, True):
            for spread in (False, True):
                words = f"{SLOW:,} slow: {kind}, {'with' if has_key else 'without'} key, "
                words += "many addresses" if spread else "one address"
                faults[words] = partial(slow_clients, product, kind, has_key=has_key, spread=spread)
    faults["kill -9 of the process that answers"] = partial(killed, product)
    path = make_list(product)
    faults["Redis hung, people at work"] = partial(redis_hung, product)
    faults["Postgres hung, 8 page views"] = partial(postgres_hung, product)
    faults["a table of Postgres locked, 8 page views"] = partial(postgres_locked, product)
    words = f"{DOWNLOADS} slow downloads of a list of {LIST_VALUES:,} values"
    faults[words] = partial(downloads, product, path, seconds)
    return faults


def measure(product: Product, fault: Fault, seconds: float) -> Outcome:
    with fault():
        return ask(product, seconds)


def describe(name: str, outcomes: list[Outcome], undisturbed: list[Outcome]) -> str:
    p99 = median(each.p99_ms for each in outcomes)
    calm = median(each.p99_ms for each in undisturbed)
    cells = [
        name,
        f"{sum(each.answered for each in outcomes):,}",
        str(sum(each.failed for each in outcomes)),
        f"{median(each.p50_ms for each in outcomes):.2f}",
        f"{p99:.2f}",
        f"{p99 / calm:.2f}",
        f"{max(each.slowest_ms for each in outcomes):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each turn")
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="treeline-faults-") as folder:
        Path(folder).chmod(0o755)
        with running_product(Path(folder), visits=VISITS) as product:
            write_bodies(product)
            report(product, chosen)


def report(product: Product, chosen: argparse.Namespace) -> None:
    print("# Ad servers while other things go wrong\n")
    print(f"{RATE:,} requests/s at fixed moments, {chosen.turns} turns of {chosen.seconds:.0f} s")
    print("each, medians; one process; whole visits of the demo's log at all its publishers, about")
    print(f"{VISITS:,} different ones in turn; a third of the bookings under each policy.\n")
    print("| beside | answered | failed | p50 ms | p99 ms | p99, times undisturbed | slowest ms |")
    print("|---|---|---|---|---|---|---|", flush=True)
    ask(product, 2)
    calm: list[Outcome] = []
    for name, fault in list_faults(product, chosen.seconds).items():
        if chosen.only in name:
            mine, own = [], []
            for _ in range(chosen.turns):
                mine.append(ask(product, chosen.seconds))
                own.append(measure(product, fault, chosen.seconds))
            calm += mine
            print(describe(name, own, mine), flush=True)
    print(describe("nothing: undisturbed", calm, calm), flush=True)


if __name__ == "__main__":
    main()
