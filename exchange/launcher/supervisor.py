"""Runs the whole exchange on this machine: starts its programs, watches them, and ends them all.

It is the parent of every program, has one thread, and is stopped by a signal. A program that dies
is started again after a pause that grows; one that keeps dying ends the run.
"""

import os
import secrets
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from exchange.launcher.java import find_java_home
from exchange.launcher.processes import (
    BEHIND_AD_SERVERS,
    RUN_MARK,
    ProcessId,
    Program,
    Running,
    end_processes,
    end_with_starter,
    marked_processes,
    start,
)
from exchange.launcher.servers import Servers, plan_servers
from exchange.launcher.state import RunRecord, RunState, clean_up_after

CHECKOUT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
MAX_LOG_BYTES = 10_000_000
MAX_QUICK_DEATHS = 5
LIVED_LONG_SECONDS = 60.0
# Starts Celery without its banner, which is no JSON line.
CELERY = ("celery", "--quiet", "-A", "exchange.celery")


@dataclass(frozen=True, slots=True)
class Worker:
    """Who takes which queues (exchange/queues.py), and how many tasks at once."""

    name: str
    queues: tuple[str, ...]
    processes: int
    log_level: str = "INFO"

    def argv(self) -> list[str]:
        options = ["--queues", ",".join(self.queues), "--concurrency", str(self.processes)]
        options += ["--hostname", f"{self.name}@%h", "--loglevel", self.log_level]
        options += ["--without-gossip", "--without-mingle"]  # nobody listens
        return [*CELERY, "worker", *options]


# One build and one report at a time leave the third process to sweeps; a check of all bookings
# leaves the second to those that changed.
WORKERS = (
    Worker("worker", queues=("builds", "sweeps", "reports"), processes=3),
    Worker("changes", queues=("changes",), processes=1, log_level="WARNING"),
    Worker("checks", queues=("checks",), processes=2),
)


class LauncherError(Exception):
    """Says why the run cannot go on, to the person who started it."""


class StopRequested(BaseException):
    """Says that a signal asked us to end. No `except Exception` may swallow it."""


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What to run: where its files are, on which ports people and ad servers are answered, and with
    which options of `prepare`."""

    var: Path
    port: int
    serving_port: int
    prepare_options: tuple[str, ...] = ()


class Supervisor:
    """One run, from lock to last process. Use as `with Supervisor.running(order) as run`."""

    def __init__(self, order: RunOrder, record: RunRecord) -> None:
        self.order = order
        self.record = record
        self.started_at = time.monotonic()
        self.children: list[Running] = []
        self.deaths: dict[str, int] = {}
        mark = secrets.token_hex(16)
        self.servers: Servers = plan_servers(var=order.var)
        self.environment = self._make_environment(mark)
        launcher = ProcessId.of(os.getpid())
        assert launcher  # noqa: S101  (we do run)
        folder = self.servers.run_folder
        self.state = RunState(mark, launcher, order.port, str(folder.path) if folder else "")

    @classmethod
    @contextmanager
    def running(cls, order: RunOrder) -> Iterator["Supervisor"]:
        """Starts everything, which is up inside the block and gone after it, however it ends."""
        record = RunRecord(order.var)
        with stopped_by_signals(), record.held():
            _clean_up(record)
            check_port_is_free(order.port)
            check_port_is_free(order.serving_port)
            supervisor = cls(order, record)
            try:
                supervisor.start_all()
                yield supervisor
            finally:
                supervisor.stop_all()

    def say(self, text: str) -> None:
        tell(f"[{time.monotonic() - self.started_at:5.1f} s] {text}")

    def start_all(self) -> None:
        self._record()
        self.say(f"starting {self._server_names()}")
        self.servers.start(self.environment)
        self.children += self.servers.running
        self._record()
        self._prepare()
        for program in [self._serving(), self._web(), *self._workers(), self._beat()]:
            self._start(program)
        self._wait_until_ready()
        self._record(is_ready=True)

    def watch(self) -> None:
        """Watches until a signal ends it, or a program that will not stay alive."""
        while True:
            time.sleep(0.5)
            for child in list(self.children):
                if child.exit_status() is not None:
                    self._start_again(child)

    def stop_all(self) -> None:
        """Stops askers before servers, so that nobody's last words are a lost connection."""
        servers = self.servers.running
        askers = [child for child in self.children if child not in servers]
        for child in askers:
            child.request_stop()
        for child in askers:
            child.stop()
        # Ends whatever left its session: Spark's processes, say.
        end_processes(self._strays, patience_seconds=2)
        self.servers.stop()
        self.children.clear()

    def _strays(self) -> Iterator[ProcessId]:
        servers = {server.identity.pid for server in self.servers.running}
        return marked_processes(self.state.mark, outside=servers)

    def _server_names(self) -> str:
        own = [bool(self.servers.postgres), bool(self.servers.valkey)]
        names = [name for name, is_own in zip(["Postgres", "Valkey"], own, strict=True) if is_own]
        return " and ".join(names) if names else "on the servers that the environment names"

    def _make_environment(self, mark: str) -> dict[str, str]:
        return {
            **os.environ,
            **self.servers.environment(),
            RUN_MARK: mark,
            "TREELINE_VAR": str(self.order.var),
            "TREELINE_SECRET_KEY": os.environ.get("TREELINE_SECRET_KEY")
            or keep_secret(self.order.var / "secret-key"),
            "JAVA_HOME": str(find_java_home()),
            "PYTHONUNBUFFERED": "1",
            "TREELINE_PAGES_ADDRESS": f"{HOST}:{self.order.port}",
            "TREELINE_SERVING_ADDRESS": f"{HOST}:{self.order.serving_port}",
        }

    def _program(
        self,
        name: str,
        *argv: str,
        shows_output: bool = False,
        niceness: int = BEHIND_AD_SERVERS,
    ) -> Program:
        log = self.order.var / "log" / f"{name}.log"
        rotate(log)
        return Program(
            name=name,
            argv=[str(Path(sys.executable).with_name(argv[0])), *argv[1:]],
            environment=self.environment,
            log=log,
            folder=CHECKOUT,
            shows_output=shows_output,
            niceness=niceness,
        )

    def _prepare(self) -> None:
        """Prepares in a process of its own: Django is slow to load, and this process only
        watches."""
        arguments = ["-m", "exchange.launcher.prepare", "--port", str(self.order.serving_port)]
        program = self._program(
            "prepare", "python", *arguments, *self.order.prepare_options, shows_output=True
        )
        child = start(program)
        self.children.append(child)
        if child.process.wait() != 0:
            raise LauncherError(f"preparing failed:\n{child.last_lines(30)}")
        self.children.remove(child)

    def _serving(self) -> Program:
        return self._program("serving", "python", "-m", "exchange.serving", niceness=0)

    def _web(self) -> Program:
        return self._program("web", "python", "-m", "exchange.pages")

    def _workers(self) -> Iterator[Program]:
        for worker in WORKERS:
            yield self._program(worker.name, *worker.argv())

    def _beat(self) -> Program:
        folder = self.order.var / "beat"
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--schedule", str(folder / "schedule"), "--pidfile", "", "--loglevel", "INFO"]
        return self._program("beat", *CELERY, "beat", *options)

    def _start(self, program: Program) -> None:
        self.say(f"starting {program.name}")
        self.children.append(start(program))
        self._record()

    def _start_again(self, child: Running) -> None:
        name = child.program.name
        lived = time.monotonic() - child.started_at
        deaths = 1 if lived > LIVED_LONG_SECONDS else self.deaths.get(name, 0) + 1
        self.deaths[name] = deaths
        status, log = child.exit_status(), child.program.log
        self.say(f"{name} ended by itself (status {status}); the end of {log}:")
        tell(child.last_lines())
        if deaths >= MAX_QUICK_DEATHS:
            raise LauncherError(f"{name} ended {deaths} times in a row: giving up")
        child.stop()
        time.sleep(2 ** (deaths - 1))
        self.say(f"starting {name} again")
        again = start(child.program)
        self.children[self.children.index(child)] = again
        if child in self.servers.running:
            self.servers.running[self.servers.running.index(child)] = again
        self._record()

    def _wait_until_ready(self, *, seconds: float = 120) -> None:
        self.say("waiting until everything is ready")
        give_up = time.monotonic() + seconds
        while not (answer := self._ask_readiness()).is_ready:
            for child in self.children:
                if child.exit_status() is not None:
                    raise LauncherError(
                        f"{child.program.name} does not start; the end of {child.program.log}:\n"
                        f"{child.last_lines(30)}"
                    )
            if time.monotonic() > give_up:
                raise LauncherError(f"not ready after {seconds:.0f} s: {answer.text}")
            time.sleep(0.1)

    def _ask_readiness(self) -> "Readiness":
        """Asks those who answer ad servers, then those who answer people."""
        serving = ask_readiness(self.order.serving_port)
        return ask_readiness(self.order.port) if serving.is_ready else serving

    def _record(self, *, is_ready: bool = False) -> None:
        servers = self.servers.running
        self.state = replace(
            self.state,
            is_ready=is_ready or self.state.is_ready,
            servers=tuple(server.identity for server in servers),
            programs=tuple(each.identity for each in self.children if each not in servers),
        )
        self.record.write(self.state)


@dataclass(frozen=True, slots=True)
class Readiness:
    is_ready: bool
    text: str


def ask_readiness(port: int) -> Readiness:
    try:
        url = f"http://{HOST}:{port}/readyz"
        with urllib.request.urlopen(url, timeout=5) as response:
            return Readiness(response.status == 200, "")
    except urllib.error.HTTPError as problem:
        return Readiness(False, problem.read().decode(errors="replace"))
    except OSError as problem:
        return Readiness(False, str(problem))


def check_port_is_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:
            raise LauncherError(f"port {port} is not allowed: try make run PORT=8000") from None
        except (OSError, OverflowError):
            raise LauncherError(
                f"port {port} is taken by another program: end that one, or choose other ports, "
                f"for example make run PORT={port + 10}"
            ) from None


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raises StopRequested at the first SIGINT, SIGTERM or SIGHUP; later ones change nothing."""

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise StopRequested(signal.Signals(number).name)

    signals = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        signals.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in signals}
    if os.environ.get("MAKELEVEL"):
        end_with_starter(signal.SIGTERM)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def keep_secret(file: Path) -> str:
    """Reads a random text, made at the first call, that stays the same as long as the file does."""
    if not file.exists():
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(48))
    return file.read_text()


def rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))


def _clean_up(record: RunRecord) -> None:
    if (left := record.read()) is not None:
        ended = clean_up_after(left)
        tell(f"cleaned up after a run that did not end well ({ended} processes)")


def tell(text: str) -> None:
    """Writes to stderr: stdout is for results, which scripts read."""
    print(text, file=sys.stderr, flush=True)
