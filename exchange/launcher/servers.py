"""Provides Postgres and Redis for one run: those that the environment names, else embedded ones."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from exchange.launcher.postgres import PostgresPlace, start_postgres
from exchange.launcher.processes import Running
from exchange.launcher.runfolder import RunFolder
from exchange.launcher.valkey import ValkeyPlace, start_valkey


@dataclass(slots=True)
class Servers:
    """The two servers. Addresses are known at once; they answer after `start`. One thread."""

    postgres: PostgresPlace | None
    valkey: ValkeyPlace | None
    run_folder: RunFolder | None
    running: list[Running] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Says what other programs need to reach the embedded servers."""
        addresses = {}
        if self.postgres:
            addresses["DATABASE_URL"] = self.postgres.url()
        if self.valkey:
            addresses["REDIS_URL"] = self.valkey.url
        return addresses

    def start(self, environment: dict[str, str]) -> None:
        if self.postgres:
            self.running.append(start_postgres(self.postgres, environment))
        if self.valkey:
            self.running.append(start_valkey(self.valkey, environment))

    def stop(self) -> None:
        while self.running:
            self.running.pop().stop()
        if self.run_folder:
            self.run_folder.remove()


def plan_servers(*, var: Path, is_durable: bool = True) -> Servers:
    """Plans the servers, and starts nothing yet. `DATABASE_URL` and `REDIS_URL` in our environment
    name servers that are not ours.
    """
    needs_postgres = not os.environ.get("DATABASE_URL")
    needs_valkey = not os.environ.get("REDIS_URL")
    if not needs_postgres and not needs_valkey:
        return Servers(None, None, None)
    run_folder = RunFolder.create()
    logs = var / "log"
    postgres = PostgresPlace(var / "postgres", run_folder, logs / "postgres.log", is_durable)
    valkey = ValkeyPlace.choose(
        folder=var / "valkey", run_folder=run_folder, log=logs / "valkey.log"
    )
    return Servers(
        postgres if needs_postgres else None, valkey if needs_valkey else None, run_folder
    )


@contextmanager
def running_servers(*, var: Path, is_durable: bool = True) -> Iterator[dict[str, str]]:
    """Runs servers for as long as the block runs; gives their addresses."""
    servers = plan_servers(var=var, is_durable=is_durable)
    try:
        servers.start(dict(os.environ))
        yield servers.environment()
    finally:
        servers.stop()
