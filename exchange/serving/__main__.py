"""`python -m exchange.serving`: answers ad servers, in as many processes as it is told to.

    parent    holds the listening sockets, starts children, and starts one again as soon as it dies
    child     maps the snapshot directory and answers; ends when the parent does

Each child has a socket of its own on the same port, among which the system shares out connections.
Those that come while its child is dead wait for the next one, a moment later; where children die
before they have begun to answer, the socket is given up, and the other processes get them.

Neither loads Django, a database's client or a broker's: what is not there cannot be waited for.
"""

from __future__ import annotations

import logging
import os
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from exchange.environment import SettingError
from exchange.logs import JsonLogFormatter
from exchange.serving.configuration import Configuration, read_configuration
from exchange.serving.memory import keep_freed_memory

logger = logging.getLogger("exchange.serving")

ENDS = (signal.SIGTERM, signal.SIGINT)
SIGNALS = (signal.SIGCHLD, *ENDS)
# The pause after a child that died before it answered grows up to this, so that no core is burnt.
MOST_PAUSE_SECONDS = 2.0
PATIENCE_SECONDS = 8.0
PID = struct.Struct("i")
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def main() -> int:
    try:
        configuration = read_configuration()
    except SettingError as error:
        print(error, file=sys.stderr)
        return 2
    log_as_json(configuration.log_level)
    allow_many_connections()
    keep_freed_memory()
    with shared_metrics(configuration.processes):
        # Imported before the first fork, so that a restarted child has everything loaded.
        import exchange.serving.application
        import exchange.serving.server

        host, port = configuration.host, configuration.port
        try:
            exchange.serving.server.listen(host, port, is_shared=False).close()
        except OSError as error:
            print(f"cannot listen on {host}:{port}: {error.strerror}", file=sys.stderr)
            return 1
        return Parent(configuration).run()


@dataclass(frozen=True, slots=True)
class Child:
    """A process. Without a listener it makes its own, once it can answer."""

    pid: int
    listener: socket.socket | None


@dataclass(frozen=True, slots=True)
class Due:
    """A process that is to be started at that moment."""

    at: float
    listener: socket.socket | None


class Parent:
    """Has one thread, and waits for signals; they are blocked, so that none is missed."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._children: dict[int, Child] = {}
        self._due: list[Due] = []
        self._pause_seconds = 0.0
        # Every child reads its other end: when the parent is gone, however it went, they see it.
        self._lifeline, self._held = os.pipe()
        self._news, self._tell = os.pipe()
        os.set_blocking(self._news, False)
        self._answering: set[int] = set()

    def run(self) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for _ in range(self._configuration.processes):
            self._start(open_listener(self._configuration))
        while True:
            if self._wait() in ENDS:
                return self._end()
            for child, status in self._reap():
                self._plan_next(child, status)
            for due in [each for each in self._due if each.at <= time.monotonic()]:
                self._due.remove(due)
                self._start(due.listener)

    def _wait(self) -> int | None:
        """Waits for a signal, or until the next process is to be started."""
        if not self._due:
            return signal.sigwait(SIGNALS)
        first = min(due.at for due in self._due)
        came = signal.sigtimedwait(SIGNALS, max(first - time.monotonic(), 0))
        return None if came is None else came.si_signo

    def _start(self, listener: socket.socket | None) -> None:
        pid = os.fork()
        if pid == 0:
            # Closed here: what a child holds stays open when the parent closes it.
            os.close(self._held)
            os.close(self._news)
            for other in self._listeners():
                if other is not listener:
                    other.close()
            run_child(self._configuration, listener, self._lifeline, self._tell)
        self._children[pid] = Child(pid, listener)

    def _listeners(self) -> list[socket.socket]:
        held = [each.listener for each in self._children.values()]
        held += [each.listener for each in self._due]
        return [listener for listener in held if listener is not None]

    def _plan_next(self, child: Child, status: int) -> None:
        """Starts another at once after one that has answered; otherwise after a pause, with a
        socket of its own."""
        logger.error("Process %d ended by itself (status %d)", child.pid, status)
        now = time.monotonic()
        if self._has_answered(child):
            self._pause_seconds = 0.0
            self._due.append(Due(now, child.listener))
            return
        if child.listener is not None:
            child.listener.close()
        self._due.append(Due(now + self._pause_seconds, None))
        self._pause_seconds = min(max(self._pause_seconds * 2, 0.1), MOST_PAUSE_SECONDS)

    def _has_answered(self, child: Child) -> bool:
        with suppress(BlockingIOError):
            self._answering.update(pid for (pid,) in PID.iter_unpack(os.read(self._news, 4096)))
        was_answering = child.pid in self._answering
        self._answering.discard(child.pid)
        return was_answering

    def _reap(self) -> list[tuple[Child, int]]:
        """Returns our ended children. A program that became us may have left others, whose end
        means nothing."""
        found = []
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                child = self._children.pop(ended[0], None)
                if child is not None:
                    found.append((child, os.waitstatus_to_exitcode(ended[1])))
        return found

    def _end(self) -> int:
        """Refuses new connections from here on; ends children with a signal, then by force."""
        for listener in self._listeners():
            listener.close()
        for pid in self._children:
            os.kill(pid, signal.SIGTERM)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while self._children and time.monotonic() < give_up:
            signal.sigtimedwait((signal.SIGCHLD,), 0.1)
            self._reap()
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        return 0


def open_listener(configuration: Configuration) -> socket.socket:
    from exchange.serving.server import BACKLOG, listen

    listener = listen(configuration.host, configuration.port)
    listener.listen(BACKLOG)
    return listener


def run_child(
    configuration: Configuration, listener: socket.socket | None, lifeline: int, tell: int
) -> None:
    """Answers until it is told to end, and never returns: the stack above is the parent's."""
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        from exchange.serving.application import make_application
        from exchange.serving.http.crowd import Limits
        from exchange.serving.server import run

        application = make_application(configuration)
        os.write(tell, PID.pack(os.getpid()))
        limits = Limits.within(count_descriptors())
        run(application, listener or open_listener(configuration), lifeline, limits)
        application.finish()
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
    """Allows as many open files as the system lets us have."""
    most = count_descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def count_descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@contextmanager
def shared_metrics(processes: int) -> Iterator[None]:
    """Names the folder in which the processes' numbers add up, before the first of them is
    imported."""
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
