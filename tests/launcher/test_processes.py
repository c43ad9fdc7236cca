"""Programs end with their starter, are recognised again, and take their descendants with them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from exchange.launcher.processes import (
    RUN_MARK,
    ProcessId,
    Program,
    end_processes,
    marked_processes,
    session_members,
    start,
)

MARK = f"mark-of-these-tests-{os.getpid()}"  # another checkout may run them now as well
# A parent whose child left its session and whose both ignore a polite request.
STUBBORN_FAMILY = """
trap '' TERM
setsid sh -c "trap '' TERM; while :; do sleep 0.1; done" &
while :; do sleep 0.1; done
"""
# One that has a child leave its session only when its starter is long gone.
LATE_FAMILY = """
trap '' TERM
sleep 1
setsid sh -c "trap '' TERM; while :; do sleep 0.1; done" &
while :; do sleep 0.1; done
"""
STARTER = f"""
import os, signal, sys, time
from pathlib import Path
from exchange.launcher.processes import Program, start
signal.signal(signal.SIGTERM, lambda *_: None)  # as the launcher, which has a handler of its own
environment = {{**os.environ, "{RUN_MARK}": "{MARK}"}}
log, *argv = sys.argv[1:]
program = Program("tried", argv, environment, Path(log), Path("/"), patience_seconds=2)
print("starting", flush=True)
print(start(program).identity.pid, flush=True)
time.sleep(300)
"""


def program(tmp_path: Path, *argv: str, patience_seconds: float = 5) -> Program:
    environment = {**os.environ, RUN_MARK: MARK}
    return Program(
        "tried",
        list(argv),
        environment,
        tmp_path / "log",
        tmp_path,
        patience_seconds=patience_seconds,
    )


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert end_processes(lambda: marked_processes(MARK), patience_seconds=0) == 0


def eventually(claim: Callable[[], bool], *, seconds: float = 60) -> bool:
    give_up = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def starter_of(tmp_path: Path, *argv: str) -> Iterator[IO[str]]:
    """Starts another process that starts a program; gives what it says, and kills it at the end."""
    command = [sys.executable, "-c", STARTER, str(tmp_path / "log"), *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        assert starter.stdout.readline() == "starting\n"
        try:
            yield starter.stdout
        finally:
            children = children_of(starter.pid)
            starter.kill()
    assert eventually(lambda: not any(child.is_alive() for child in children))
    assert eventually(lambda: not list(marked_processes(MARK)))


def children_of(pid: int) -> list[ProcessId]:
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for each in pids if (child := ProcessId.of(int(each)))]


def test_a_program_dies_with_a_starter_that_is_killed(tmp_path: Path) -> None:
    with starter_of(tmp_path, "sleep", "300") as said:
        child = ProcessId.of(int(said.readline()))
        assert child
    assert not child.is_alive()


def test_a_killed_starter_leaves_nothing_of_a_family_that_ignores_requests(tmp_path: Path) -> None:
    """Ignores requests as a web server does while its worker is starting: the worker's handlers do
    nothing yet."""
    with starter_of(tmp_path, "sh", "-c", STUBBORN_FAMILY):
        assert eventually(lambda: len(list(marked_processes(MARK))) >= 3)


def test_a_killed_starter_leaves_nothing_of_a_leader_that_is_gone(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 300 & exit 0"
    with starter_of(tmp_path, "sh", "-c", script):
        assert eventually(lambda: len(list(marked_processes(MARK))) == 1)


def test_a_killed_starter_leaves_nothing_that_a_family_starts_later(tmp_path: Path) -> None:
    with starter_of(tmp_path, "sh", "-c", LATE_FAMILY) as said:
        assert said.readline()


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.parametrize("milliseconds", range(0, 30, 2))
def test_a_starter_killed_at_any_moment_of_a_start_leaves_nothing(
    tmp_path: Path, milliseconds: int
) -> None:
    with starter_of(tmp_path, "sh", "-c", STUBBORN_FAMILY):
        time.sleep(milliseconds / 1000)


def test_stop_ends_a_family_that_ignores_requests(tmp_path: Path) -> None:
    running = start(program(tmp_path, "sh", "-c", STUBBORN_FAMILY, patience_seconds=0.2))
    assert eventually(lambda: len(list(marked_processes(MARK))) >= 3)
    running.stop()
    assert not list(session_members(running.identity.pid))
    # The one in a session of its own is found by the mark alone.
    assert end_processes(lambda: marked_processes(MARK), patience_seconds=0.2) >= 1


def test_stop_is_polite_first(tmp_path: Path) -> None:
    script = "trap 'echo polite; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    running = start(program(tmp_path, "sh", "-c", script))
    assert eventually(lambda: "ready" in running.last_lines())
    running.stop()
    assert running.last_lines().splitlines() == ["ready", "polite"]
    assert running.exit_status() == 0


def test_stop_ends_what_the_leader_left_behind(tmp_path: Path) -> None:
    running = start(program(tmp_path, "sh", "-c", "sleep 300 & exit 3"))
    assert eventually(lambda: running.exit_status() == 3)
    assert list(marked_processes(MARK))
    running.stop()


def test_another_process_with_the_same_pid_is_not_taken_for_ours() -> None:
    ours = ProcessId.of(os.getpid())
    assert ours
    assert ours.is_alive()
    for other in [
        ProcessId(ours.pid, ours.start_ticks - 1, ours.boot),
        ProcessId(ours.pid, ours.start_ticks, "another boot"),
    ]:
        assert not other.is_alive()
        other.send(signal.SIGKILL)  # or this test would not end well


def test_a_zombie_is_not_alive(tmp_path: Path) -> None:
    running = start(program(tmp_path, "true"))
    assert eventually(lambda: not running.identity.is_alive())
    assert running.exit_status() == 0


def test_settings_for_stdin_arrive_and_output_is_logged(tmp_path: Path) -> None:
    given = Program("cat", ["cat"], {}, tmp_path / "log", tmp_path, stdin=b"one\ntwo\n")
    running = start(given)
    running.process.wait(60)
    assert running.last_lines(1) == "two"
