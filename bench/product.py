"""Runs the product as `make run` does, with its demo exchange, for as long as a block runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg2

from exchange.launcher.servers import Servers, plan_servers
from exchange.launcher.state import RunRecord
from exchange.launcher.valkey import find_free_port
from exchange.launcher.welcome import Welcome

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Product:
    """A running exchange; `key` is the demo's, which may ask for all of its publishers, `curl` the
    body of the request that the launcher tells people to paste."""

    pages_port: int
    serving_port: int
    servers: Servers
    key: str
    curl: bytes
    var: Path
    environment: dict[str, str]

    @property
    def serving_pid(self) -> int:
        """Finds the parent of those that answer ad servers; the supervisor starts it first."""
        state = RunRecord(self.var).read_live()
        assert state is not None
        return state.programs[0].pid

    @property
    def publisher(self) -> str:
        """Reads the publisher of the curl line."""
        return str(json.loads(self.curl)["publisher"])


@contextmanager
def running_product(
    var: Path, *, visits: int, settings: Mapping[str, str] | None = None
) -> Iterator[Product]:
    """Runs the product with so many visits a day in its log. Its Postgres and Redis are ours to
    disturb."""
    servers = plan_servers(var=var, is_durable=False)
    servers.start(dict(os.environ))
    pages_port, serving_port = find_free_port(), find_free_port()
    environment = {**os.environ, **servers.environment(), **(settings or {})}
    environment["TREELINE_VAR"] = str(var)
    command = [sys.executable, "-m", "exchange.launcher", "run", "--port", str(pages_port)]
    command += ["--serving-port", str(serving_port), "--visits", str(visits)]
    launcher = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        wait_until_ready(var, launcher)
        wait_until_quiet(environment["DATABASE_URL"])
        curl = Welcome.read(var).curl
        key = re.findall(r"Api-Key (\S+?)'", curl)[0]
        body = shlex.split(curl)[-1].encode()
        yield Product(pages_port, serving_port, servers, key, body, var, environment)
    finally:
        launcher.terminate()
        launcher.wait(60)
        servers.stop()


def wait_until_ready(var: Path, launcher: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + START_SECONDS
    while not ((state := RunRecord(var).read_live()) and state.is_ready):
        if launcher.poll() is not None or time.monotonic() > give_up:
            raise SystemExit("the exchange did not start")
        time.sleep(0.2)


def wait_until_quiet(address: str) -> None:
    """Waits until the first report is counted, because Spark takes all processors until then."""
    with psycopg2.connect(address) as connection, connection.cursor() as cursor:
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up:
            cursor.execute("SELECT bool_and(status IN ('done', 'failed')) FROM reports_reportrun")
            if cursor.fetchone()[0]:
                return
            connection.rollback()
            time.sleep(0.5)
