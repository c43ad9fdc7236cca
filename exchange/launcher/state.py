"""Keeps on disk what is known of a run: who holds `var`, what it started, how to clean up after it.

One run at a time holds the lock, which the kernel gives back when its holder dies. The state file
then still tells the next run what may be left over.
"""

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from exchange.launcher.processes import ProcessId, end_processes, marked_processes
from exchange.launcher.runfolder import PREFIX


class AlreadyRunningError(Exception):
    """Says that another launcher holds this `var`."""


@dataclass(frozen=True, slots=True)
class RunState:
    """One run. `mark` is random and in the environment of every process of the run."""

    mark: str
    launcher: ProcessId
    port: int
    run_folder: str
    is_ready: bool = False
    servers: tuple[ProcessId, ...] = ()
    programs: tuple[ProcessId, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields = json.loads(text)
        launcher = ProcessId(**fields.pop("launcher"))
        servers = tuple(ProcessId(**server) for server in fields.pop("servers"))
        programs = tuple(ProcessId(**program) for program in fields.pop("programs"))
        return cls(launcher=launcher, servers=servers, programs=programs, **fields)


class RunRecord:
    """The files in `var/run`. Reading is free; writing is for the holder of the lock."""

    def __init__(self, var: Path) -> None:
        self.folder = var / "run"
        self.state_file = self.folder / "state.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock; at the end there is nothing left to tell the next run."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyRunningError from None
            try:
                yield
            finally:
                self.state_file.unlink(missing_ok=True)
        finally:
            os.close(lock)

    def write(self, state: RunState) -> None:
        aside = self.state_file.with_suffix(".new")
        aside.touch(mode=0o600)
        aside.write_text(state.to_json())
        aside.replace(self.state_file)

    def read(self) -> RunState | None:
        """Reads the state; None if nothing was recorded, or half of it when the machine stopped."""
        try:
            return RunState.from_json(self.state_file.read_text())
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def read_live(self) -> RunState | None:
        """Reads the run that is going on now, if any."""
        state = self.read()
        return state if state and state.launcher.is_alive() else None


def clean_up_after(state: RunState) -> int:
    """Ends what is left of a dead run and removes its folder; returns how many it ended."""
    ended = end_processes(lambda: _left_programs(state), patience_seconds=3)
    # Servers last, when their clients are gone. SIGINT lets both kinds end without loss.
    ended += end_processes(lambda: _left_servers(state), patience_seconds=20, polite=signal.SIGINT)
    folder = Path(state.run_folder)
    if state.run_folder and folder.name.startswith(PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
    return ended


def _left_programs(state: RunState) -> Iterator[ProcessId]:
    yield from (program for program in state.programs if program.is_alive())
    # Processes of a server carry the mark too, but it ends them itself.
    yield from marked_processes(state.mark, outside={server.pid for server in state.servers})


def _left_servers(state: RunState) -> Iterator[ProcessId]:
    return (server for server in state.servers if server.is_alive())
