"""Outlives a process that starts programs, and ends what is left of them.

The kernel tells a program when its starter dies, but the program may not heed it: one that is just
starting has handlers that do nothing yet, or waits for a child of which that is true. The starter
holds the other end of our standard input; when it closes, however the starter ended, every program
has its patience left and is then ended by force, with all its descendants.
"""

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from exchange.launcher.processes import (
    ProcessId,
    end_processes,
    has_mark,
    marked_processes,
    session_members,
)

STRAY_PATIENCE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Watched:
    """A program: the leader of a session, whose descendants carry a mark."""

    pid: int
    leader: ProcessId | None
    patience_seconds: float
    mark: str

    @classmethod
    def read(cls, line: bytes) -> Self:
        pid, patience_seconds, mark = line.split()
        return cls(int(pid), ProcessId.of(int(pid)), float(patience_seconds), mark.decode())

    def members(self) -> Iterator[ProcessId]:
        """Finds the session's processes. A later one may have the same number: leader or mark prove
        that it is ours."""
        is_led = self.leader is not None and self.leader.is_alive()
        return (p for p in session_members(self.pid) if is_led or has_mark(p, self.mark))


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watched = [Watched.read(line) for line in sys.stdin.buffer]
    starter_died_at = time.monotonic()
    # A session that is ending may still send a child out of it: only a round that finds nobody
    # proves that nobody is left.
    while end_strays(watched) + end_sessions(watched, since=starter_died_at):
        pass


def end_strays(watched: Iterable[Watched]) -> int:
    """Ends whatever left its session, which the kernel told nothing, and counts it."""
    sessions = {program.pid for program in watched}
    return sum(
        end_processes(
            lambda mark=mark: marked_processes(mark, outside=sessions),  # type: ignore[misc]
            patience_seconds=STRAY_PATIENCE_SECONDS,
        )
        for mark in {program.mark for program in watched}
    )


def end_sessions(watched: Iterable[Watched], *, since: float) -> int:
    """Waits until every session is empty, ends those out of patience, and counts what it met."""
    met: set[ProcessId] = set()
    left = list(watched)
    while left:
        lived = time.monotonic() - since
        for program in list(left):
            members = list(program.members())
            met.update(members)
            if not members:
                left.remove(program)
            elif lived > program.patience_seconds:
                for member in members:
                    member.send(signal.SIGKILL)
        time.sleep(0.05)
    return len(met)


if __name__ == "__main__":
    main()
