"""A production exchange in a folder of its own: a real Postgres and Redis, and the processes that
docs/operating.md names, started with nothing but the environment it names."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings

from exchange.launcher.postgres import PostgresPlace, find_binaries, start_postgres
from exchange.launcher.processes import Program, Running, start
from exchange.launcher.runfolder import RunFolder
from exchange.launcher.supervisor import WORKERS
from exchange.launcher.valkey import ValkeyPlace, find_free_port, start_valkey

PATIENCE_SECONDS = 180.0
HOST = "exchange.example"


@dataclass(slots=True)
class Site:
    """One exchange. `environment` is all that its programs are told; nothing of the tests' own."""

    var: Path
    postgres: PostgresPlace
    environment: dict[str, str]
    pages_port: int
    serving_port: int
    running: list[Running] = field(default_factory=list)

    def manage(self, *arguments: str, stdin: str = "") -> str:
        """Gives what a command prints; it must end well."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env=self.environment,
            cwd=settings.BASE_DIR,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout.strip()

    def start_pages(self) -> None:
        self._start("pages", sys.executable, "-m", "exchange.pages")

    def start_serving(self) -> None:
        self._start("serving", sys.executable, "-m", "exchange.serving")

    def start_workers(self) -> None:
        for worker in WORKERS:
            command, *options = worker.argv()
            self._start(worker.name, str(Path(sys.executable).with_name(command)), *options)
        beat = ["-A", "exchange.celery", "beat", "--schedule", str(self.var / "beat")]
        celery = str(Path(sys.executable).with_name("celery"))
        self._start("beat", celery, *beat, "--pidfile", "")

    def _start(self, name: str, *argv: str) -> None:
        program = Program(
            name=name,
            argv=list(argv),
            environment=self.environment,
            log=self.var / "log" / f"{name}.log",
            folder=settings.BASE_DIR,
        )
        self.running.append(start(program))

    def stop(self, *names: str) -> None:
        """Stops all programs, or those of these names."""
        for running in reversed(self.running[:]):
            if not names or running.program.name in names:
                running.stop()
                self.running.remove(running)

    def wait_for(self, is_so: Callable[[], object]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if is_so():
                    return
            except OSError:
                pass  # nobody listens yet
            words = "\n".join(each.last_lines(15) for each in self.running)
            assert time.monotonic() < until, words
            time.sleep(0.2)

    def binary(self, name: str) -> str:
        return str(find_binaries(self.postgres.run_folder) / name)


class Person:
    """At the pages, through the proxy that ends TLS: with its headers, and with cookies."""

    def __init__(self, site: Site) -> None:
        self._port = site.pages_port
        self._cookies: dict[str, str] = {}

    def get(self, path: str) -> tuple[int, str]:
        return self._send("GET", path)

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        """Sends a form of that page, with the token that it came with."""
        status, page = self.get(path)
        assert status == 200, (path, status)
        return self.send_form(page, path, **fields)

    def send_form(self, page: str, path: str, **fields: str) -> tuple[int, str]:
        [token, *_] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        return self._send("POST", path, urlencode({"csrfmiddlewaretoken": token, **fields}))

    def _send(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        headers = {
            "Host": HOST,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "203.0.113.9",
            "Referer": f"https://{HOST}/",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items()),
        }
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        for line in reply.headers.get_all("Set-Cookie") or []:
            self._cookies |= {key: each.value for key, each in SimpleCookie(line).items()}
        text = unescape(reply.read().decode())
        connection.close()
        return reply.status, text


@contextmanager
def open_site(var: Path) -> Iterator[Site]:
    """Opens a site with servers and no tables yet."""
    run_folder = RunFolder.create()
    logs = var / "log"
    postgres = PostgresPlace(var / "postgres", run_folder, logs / "postgres.log", is_durable=False)
    valkey = ValkeyPlace.choose(
        folder=var / "valkey", run_folder=run_folder, log=logs / "valkey.log"
    )
    servers = []
    site = Site(var, postgres, {}, find_free_port(), find_free_port())
    try:
        servers.append(start_postgres(postgres, dict(os.environ)))
        servers.append(start_valkey(valkey, dict(os.environ)))
        site.environment = {
            "PATH": os.environ["PATH"],
            "TREELINE_MODE": "production",
            "TREELINE_SECRET_KEY": secrets.token_urlsafe(32),
            "TREELINE_ALLOWED_HOSTS": HOST,
            "TREELINE_BEHIND_PROXY": "yes",
            "TREELINE_VAR": str(var),
            "TREELINE_STATIC_ROOT": str(var / "static"),
            "TREELINE_PAGES_ADDRESS": f"127.0.0.1:{site.pages_port}",
            "TREELINE_SERVING_ADDRESS": f"127.0.0.1:{site.serving_port}",
            "DATABASE_URL": postgres.url(),
            "REDIS_URL": valkey.url,
        }
        yield site
    finally:
        site.stop()
        for server in reversed(servers):
            server.stop()
        run_folder.remove()
