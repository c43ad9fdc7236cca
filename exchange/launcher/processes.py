"""Starts programs that do not outlive us, recognises them later, and ends them with descendants.

A program runs in its own session, carries the run's mark in its environment, and is told by the
kernel when its starter dies. What does not heed that, the guard ends (guard.py). Nothing here ever
ends a process by its name.
"""

import ctypes
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

RUN_MARK = "TREELINE_RUN"
PR_SET_PDEATHSIG = 1
STDERR = 2
# Niceness of all but the ad servers' processes: on a busy machine those come first.
BEHIND_AD_SERVERS = 5
CHECKOUT = Path(__file__).resolve().parents[2]
_libc = ctypes.CDLL(None, use_errno=True)
_own_mark = secrets.token_hex(16)
_guard: "Guard | None" = None


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the operating system that a server runs as."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process, told apart from a later one with the same pid by its start and the boot."""

    pid: int
    start_ticks: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Identifies a process; None if there is no such one, or only its zombie."""
        stat = _read_stat(pid)
        if stat is None or stat[0] == "Z":
            return None
        return cls(pid, int(stat[19]), _boot_id())

    def is_alive(self) -> bool:
        return ProcessId.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True, slots=True)
class Program:
    """What to start and how to end it politely."""

    name: str
    argv: list[str]
    environment: Mapping[str, str]
    log: Path
    folder: Path
    account: Account | None = None
    stdin: bytes = b""
    inherited_fds: tuple[int, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGTERM
    patience_seconds: float = 5.0
    shows_output: bool = False
    niceness: int = 0  # by how much it lets others go first

    @property
    def mark(self) -> str:
        """Returns the mark of the program's run, or else of the process that starts it."""
        return self.environment.get(RUN_MARK, _own_mark)


@dataclass(slots=True)
class Running:
    """A started program. Its starter must stay alive and is the one to stop it."""

    program: Program
    process: subprocess.Popen[bytes]
    identity: ProcessId
    started_at: float = field(default_factory=time.monotonic)

    @property
    def mark(self) -> str:
        return self.program.mark

    def exit_status(self) -> int | None:
        return self.process.poll()

    def request_stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(self.program.stop_signal)

    def stop(self) -> None:
        """Stops the program politely first, then its whole session by force."""
        self.request_stop()
        try:
            self.process.wait(self.program.patience_seconds)
        except subprocess.TimeoutExpired:
            end_processes(lambda: session_members(self.identity.pid), patience_seconds=2)
            self.process.wait()
        end_processes(self._orphans, patience_seconds=2)

    def _orphans(self) -> Iterator[ProcessId]:
        """Finds descendants that outlived the leader; the mark proves that they are ours."""
        return (p for p in session_members(self.identity.pid) if has_mark(p, self.mark))

    def last_lines(self, count: int = 15) -> str:
        try:
            lines = self.program.log.read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-count:])


def start(program: Program) -> Running:
    program.log.parent.mkdir(parents=True, exist_ok=True)
    starter = os.getpid()
    guard = _find_guard().ear()
    words = f" {program.patience_seconds} {program.mark}\n".encode()

    def bind_to_starter() -> None:
        """Binds the child before the program runs: somebody knows of it at every moment."""
        os.nice(program.niceness)
        # Our own handler would take the signal and lose it: a new program has none.
        signal.signal(program.death_signal, signal.SIG_DFL)
        end_with_starter(program.death_signal)
        os.write(guard, b"%d" % os.getpid() + words)
        if os.getppid() != starter:
            os._exit(1)

    account = program.account
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            program.argv,
            cwd=program.folder,
            env={**program.environment, RUN_MARK: program.mark},
            stdin=subprocess.PIPE if program.stdin else subprocess.DEVNULL,
            stdout=STDERR if program.shows_output else log,
            stderr=log,
            start_new_session=True,
            pass_fds=program.inherited_fds,
            preexec_fn=bind_to_starter,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    if process.stdin:
        process.stdin.write(program.stdin)
        process.stdin.close()
    # A program that failed at once is a zombie until we ask for its status: any identity will do.
    identity = ProcessId.of(process.pid) or ProcessId(process.pid, 0, "")
    return Running(program, process, identity)


def end_with_starter(number: signal.Signals) -> None:
    """Asks the kernel for a signal when the process that started us dies, however it dies."""
    _libc.prctl(PR_SET_PDEATHSIG, int(number))


@dataclass(frozen=True, slots=True)
class Guard:
    """Ends what we start if we cannot: one for all programs of this process, and of its forks.

    It is in a session and has a mark of its own, so that nothing that ends them ends it as well.
    """

    process: subprocess.Popen[bytes]
    identity: ProcessId | None

    @classmethod
    def start(cls) -> Self:
        process = subprocess.Popen(
            [sys.executable, "-m", "exchange.launcher.guard"],
            cwd=CHECKOUT,
            env={name: value for name, value in os.environ.items() if name != RUN_MARK},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return cls(process, ProcessId.of(process.pid))

    def is_alive(self) -> bool:
        return self.identity is not None and self.identity.is_alive()

    def ear(self) -> int:
        """Returns where the guard hears of new programs; it acts when nobody holds that open any
        more."""
        assert self.process.stdin  # noqa: S101  (a pipe)
        return self.process.stdin.fileno()


def _find_guard() -> Guard:
    """Finds the guard; the first program brings it along."""
    global _guard
    if _guard is None or not _guard.is_alive():
        _guard = Guard.start()
    return _guard


def end_processes(
    find: Callable[[], Iterator[ProcessId]],
    *,
    patience_seconds: float,
    polite: signal.Signals = signal.SIGTERM,
) -> int:
    """Ends what `find` finds, again and again: a dying process may still start others."""
    seen: set[ProcessId] = set()
    give_up = time.monotonic() + patience_seconds
    while left := list(find()):
        force = time.monotonic() > give_up
        for process in left:
            if force or process not in seen:
                process.send(signal.SIGKILL if force else polite)
            seen.add(process)
        time.sleep(0.05)
    return len(seen)


def session_members(session: int) -> Iterator[ProcessId]:
    return (process for process, stat in _all_processes() if int(stat[3]) == session)


def marked_processes(mark: str, *, outside: Collection[int] = ()) -> Iterator[ProcessId]:
    """Finds the processes with the mark of a run, but those of some sessions; never ourselves."""
    for process, stat in _all_processes():
        if process.pid != os.getpid() and int(stat[3]) not in outside and has_mark(process, mark):
            yield process


def has_mark(process: ProcessId, mark: str) -> bool:
    try:
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{RUN_MARK}={mark}".encode() in environment.split(b"\0")


def _all_processes() -> Iterator[tuple[ProcessId, list[str]]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            stat = _read_stat(int(entry.name))
            if stat is not None and stat[0] != "Z":
                yield ProcessId(int(entry.name), int(stat[19]), _boot_id()), stat


def _read_stat(pid: int) -> list[str] | None:
    """Reads the fields of /proc/PID/stat after the name (which may hold blanks): state, parent,
    group, session ..
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
