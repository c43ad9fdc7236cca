"""The parts of the tests of nginx: nginx itself, with the template that the container gets, and
what stands behind it. All of them are real but the pages, which only note what reaches them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import settings

from exchange.launcher.processes import Program, Running, end_processes, session_members, start
from exchange.launcher.runfolder import RunFolder
from exchange.launcher.valkey import find_free_port
from exchange.serving.directory import SnapshotDirectory
from tests.listening import listening
from tests.serving.asking import Client
from tests.waiting import wait_until

TEMPLATE = settings.BASE_DIR / "docker" / "nginx.conf.template"
VARIABLE = re.compile(r"\$\{(TREELINE_NGINX_\w+)\}")
NO_NGINX = "nginx is not installed; on Debian: apt-get install nginx-light"
TRUSTED_PROXY = "127.0.0.9"


@dataclass(slots=True)
class AdServer:
    """The ad servers' process on a port that stays the same when it is started again."""

    directory: SnapshotDirectory
    port: int = field(default_factory=find_free_port)
    running: Running | None = None

    def start(self) -> None:
        program = Program(
            name=f"ad-server-{self.port}",
            argv=[sys.executable, "-m", "exchange.serving"],
            environment={
                **os.environ,
                "TREELINE_SNAPSHOT_DIR": str(self.directory.root),
                "TREELINE_SERVING_ADDRESS": f"127.0.0.1:{self.port}",
                "TREELINE_SERVING_PROCESSES": "1",
                "TREELINE_ANSWER_LOG_EVERY": "0",
            },
            log=self.directory.root / f"ad-server-{self.port}.log",
            folder=settings.BASE_DIR,
        )
        self.running = start(program)
        wait_until(self.is_ready, why=lambda: self.process.last_lines(40))

    @property
    def process(self) -> Running:
        assert self.running
        return self.running

    def is_ready(self) -> bool:
        assert self.process.exit_status() is None, self.process.last_lines(40)
        try:
            with closing(Client(self.port)) as client:
                return client.send(None, method="GET", path="/readyz").status == 200
        except OSError:
            return False

    def end(self, number: signal.Signals) -> None:
        """Ends the process with everything that it started; as a crash does, or as an orchestrator
        does."""
        if number is signal.SIGKILL:
            members = self.process.identity.pid
            end_processes(lambda: session_members(members), patience_seconds=0, polite=number)
        self.process.stop()


class Pages:
    """Answers everything with 200 and keeps what it was asked, with all headers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port: int = self._server.server_address[1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                names = {name.lower(): value for name, value in self.headers.items()}
                asked.append((self.path, names))
                self.send_response(200)
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"pages")

            def log_message(self, *_: object) -> None:
                """Tells nothing."""

        return Handler

    @contextmanager
    def answering(self) -> Iterator[Pages]:
        with listening(self._server):
            yield self


@contextmanager
def running_nginx(*, ad_servers: tuple[int, int], pages: int) -> Iterator[int]:
    """Runs nginx with the container's template, in a folder of its own; gives its port."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if not program:
        pytest.fail(NO_NGINX)
    folder = RunFolder.create()
    port = find_free_port()
    values = {
        "TREELINE_NGINX_LISTEN": f"127.0.0.1:{port}",
        "TREELINE_NGINX_AD_SERVER_1": f"127.0.0.1:{ad_servers[0]}",
        "TREELINE_NGINX_AD_SERVER_2": f"127.0.0.1:{ad_servers[1]}",
        "TREELINE_NGINX_PAGES": f"127.0.0.1:{pages}",
        "TREELINE_NGINX_RESOLVER": "127.0.0.1",
        "TREELINE_NGINX_TRUSTED_PROXY": TRUSTED_PROXY,
        "TREELINE_NGINX_VAR": str(folder.path),
    }
    file = folder.write_private("nginx.conf", fill_in(TEMPLATE.read_text(), values))
    options = ["-p", str(folder.path), "-c", str(file), "-e", "stderr", "-g", "daemon off;"]
    nginx = start(
        Program(
            name="nginx",
            argv=[program, *options],
            environment=os.environ,
            log=Path(folder.path, "nginx.log"),
            folder=folder.path,
        )
    )
    try:
        wait_until(lambda: answers(nginx, port), why=lambda: nginx.last_lines(20))
        yield port
    finally:
        nginx.stop()
        folder.remove()


def fill_in(template: str, values: dict[str, str]) -> str:
    """Fills in our names and no others, as the image's own start does with `envsubst`."""
    return VARIABLE.sub(lambda found: values[found[1]], template)


def answers(nginx: Running, port: int) -> bool:
    assert nginx.exit_status() is None, nginx.last_lines(20)
    try:
        with closing(Client(port)) as client:
            return client.send(None, method="GET", path="/healthz").status == 200
    except OSError:
        return False
