"""`python -m exchange.serving`: answers ad servers, in as many processes as it is told to.

    parent    holds nothing, starts children, and starts one again as soon as it dies
    child     maps the snapshot directory and answers; ends when the parent does

Neither loads Django, a database's client or a broker's: what is not there cannot be waited for.
"""

from __future__ import annotations

import logging
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from exchange.environment import SettingError
from exchange.logs import JsonLogFormatter
from exchange.serving.configuration import Configuration, read_configuration

logger = logging.getLogger("exchange.serving")

SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
# One that dies young is given a pause that grows, so that a broken directory does not burn a core.
YOUNG_SECONDS = 5.0
MOST_PAUSE_SECONDS = 2.0
PATIENCE_SECONDS = 8.0
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def main() -> int:
    try:
        configuration = read_configuration()
    except SettingError as error:
        print(error, file=sys.stderr)
        return 2
    log_as_json(configuration.log_level)
    allow_many_connections()
    with shared_metrics(configuration.processes):
        # Before the first fork, so that a child that is started again has loaded everything.
        import exchange.serving.application
        import exchange.serving.server

        host, port = configuration.host, configuration.port
        try:
            exchange.serving.server.listen(host, port, is_shared=False).close()
        except OSError as error:
            print(f"cannot listen on {host}:{port}: {error.strerror}", file=sys.stderr)
            return 1
        return Parent(configuration).run()


@dataclass(slots=True)
class Child:
    pid: int
    started_at: float = field(default_factory=time.monotonic)


class Parent:
    """Has one thread, and waits for signals; they are blocked, so that none is missed."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._children: dict[int, Child] = {}
        self._pause_seconds = 0.0
        # Its other end is every child's: when the parent is gone, however it went, they see it.
        self._read_end, self._write_end = os.pipe()

    def run(self) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for _ in range(self._configuration.processes):
            self._start()
        while True:
            number = signal.sigwait(SIGNALS)
            if number != signal.SIGCHLD:
                return self._end()
            for child, status in self._reap():
                self._start_again(child, status)

    def _start(self) -> None:
        pid = os.fork()
        if pid == 0:
            os.close(self._write_end)
            run_child(self._configuration, self._read_end)
        self._children[pid] = Child(pid)

    def _start_again(self, child: Child, status: int) -> None:
        logger.error("Process %d ended by itself (status %d)", child.pid, status)
        is_young = time.monotonic() - child.started_at < YOUNG_SECONDS
        if is_young:
            time.sleep(self._pause_seconds)
            self._pause_seconds = min(max(self._pause_seconds * 2, 0.1), MOST_PAUSE_SECONDS)
        else:
            self._pause_seconds = 0.0
        self._start()

    def _reap(self) -> Iterator[tuple[Child, int]]:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            yield self._children.pop(pid), os.waitstatus_to_exitcode(status)

    def _end(self) -> int:
        for pid in self._children:
            os.kill(pid, signal.SIGTERM)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while self._children and time.monotonic() < give_up:
            signal.sigtimedwait((signal.SIGCHLD,), 0.1)
            for _ in self._reap():
                pass
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        return 0


def run_child(configuration: Configuration, lifeline: int) -> None:
    """Never returns: what lies above on the stack is the parent's."""
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        from exchange.serving.application import make_application
        from exchange.serving.http.crowd import Limits
        from exchange.serving.server import listen, run

        application = make_application(configuration)
        run(application, listen(configuration.host, configuration.port), lifeline, Limits())
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def log_as_json(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLogFormatter())
    logging.basicConfig(level=level, handlers=[handler])


def allow_many_connections() -> None:
    """As many open files as the system lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def shared_metrics(processes: int) -> Iterator[None]:
    """Where several processes' numbers add up; named before the first of them is imported."""
    if processes == 1 or os.environ.get(METRICS_FOLDER):
        yield
        return
    folder = tempfile.mkdtemp(prefix="treeline-metrics-")
    os.environ[METRICS_FOLDER] = folder
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
