"""A whole exchange is started, killed, started again and ended, as a person would do it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from exchange.launcher.processes import ProcessId, marked_processes
from exchange.launcher.state import RunRecord, RunState
from exchange.launcher.valkey import find_free_port
from exchange.launcher.welcome import Welcome
from tests.waiting import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
SMALL_DEMO = ["--campaigns", "60", "--visits", "200"]
START_SECONDS = 240


class Launched:
    """A launcher as `make run` starts it, and what it says."""

    def __init__(self, var: Path, *options: str, **environment: str) -> None:
        self.var = var
        command = [sys.executable, "-m", "exchange.launcher", "run", *SMALL_DEMO, *options]
        self.process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env=own_environment(var) | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""

    def read_until(self, text: str) -> str:
        assert self.process.stdout
        while text not in self.said:
            line = self.process.stdout.readline()
            assert line, f"ended without saying {text!r}:\n{self.said}"
            self.said += line
        return self.said

    def state(self) -> RunState:
        state = RunRecord(self.var).read_live()
        assert state
        return state

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        assert self.process.stdout
        self.said += self.process.stdout.read()
        return self.process.wait(60)


def own_environment(var: Path) -> dict[str, str]:
    """Gives an environment without the servers of the tests: the launcher shall start its own."""
    ours = {**os.environ, "TREELINE_VAR": str(var), "PYTHONUNBUFFERED": "1"}
    return {
        name: value for name, value in ours.items() if name not in {"DATABASE_URL", "REDIS_URL"}
    }


def launcher(var: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "exchange.launcher", *arguments],
        cwd=CHECKOUT,
        env=own_environment(var),
        capture_output=True,
        text=True,
        check=False,
    )


def eventually_gone(state: RunState, *, seconds: float = 60) -> bool:
    give_up = time.monotonic() + seconds
    while left := alive(state):
        if time.monotonic() > give_up:
            raise AssertionError(f"still there: {left}")
        time.sleep(0.1)
    return True


def alive(state: RunState) -> set[ProcessId]:
    recorded = {each for each in [*state.servers, *state.programs] if each.is_alive()}
    return recorded | set(marked_processes(state.mark))


@contextmanager
def launch(var: Path) -> Iterator[Launched]:
    started = Launched(var, "--port", str(find_free_port()))
    try:
        started.read_until("Ctrl-C ends everything")
        yield started
    finally:
        if started.process.poll() is None:
            started.end(signal.SIGTERM)


@pytest.mark.timeout(3 * START_SECONDS)
def test_three_runs_of_one_exchange(tmp_path: Path) -> None:
    """Shows that what one run leaves, the next one finds."""
    with launch(tmp_path) as launched:
        first_start_prints_logins_and_a_request_that_works(launched)
    with launch(tmp_path) as launched:
        second_start_keeps_the_data_and_a_kill_leaves_nothing(launched)
    with launch(tmp_path) as launched:
        third_start_cleans_up_and_a_dead_program_is_started_again(launched)


def first_start_prints_logins_and_a_request_that_works(launched: Launched) -> None:
    port = launched.state().port
    assert f"http://127.0.0.1:{port}/" in launched.said
    for name in ["viewer", "manager", "operator", "analyst", "admin"]:
        assert re.search(rf"^    {name} ", launched.said, re.MULTILINE)
    welcome = Welcome.read(launched.var)
    assert welcome.curl in launched.said
    with urllib.request.urlopen(welcome.request(), timeout=60) as response:  # noqa: S310
        assert json.load(response)["count"] >= 1

    check = launcher(launched.var, "check")
    assert check.returncode == 0
    assert json.loads(check.stdout)["snapshot_id"]

    second = launcher(launched.var, "run", "--port", str(find_free_port()))
    assert second.returncode == 1
    assert second.stderr == (
        f"Treeline already runs on http://127.0.0.1:{port}/; end it with make stop\n"
    )

    state = launched.state()
    assert (len(state.servers), len(state.programs)) == (2, 6)
    assert launched.end(signal.SIGINT) == 0
    assert eventually_gone(state, seconds=0)
    assert not Path(state.run_folder).exists()


def second_start_keeps_the_data_and_a_kill_leaves_nothing(launched: Launched) -> None:
    assert "The demo is already loaded" in launched.said
    assert "building the first snapshot" not in launched.said
    state = launched.state()
    launched.end(signal.SIGKILL)
    assert eventually_gone(state)
    assert Path(state.run_folder).exists(), "the next start has something to clean up"


def third_start_cleans_up_and_a_dead_program_is_started_again(launched: Launched) -> None:
    assert "cleaned up after a run that did not end well" in launched.said
    _serving, web, worker, _changes, _checks, _beat = launched.state().programs
    web.send(signal.SIGKILL)
    launched.read_until("starting web again")
    assert "web ended by itself (status -9); the end of" in launched.said
    wait_until(lambda: web not in launched.state().programs)
    state = launched.state()
    assert worker in state.programs
    assert launcher(launched.var, "stop").stdout == "ended\n"
    assert eventually_gone(state, seconds=0)


def test_a_taken_port_is_one_line_and_starts_nothing(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = launcher(tmp_path, "run", "--port", str(port))
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.startswith(f"port {port} is taken by another program")
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "postgres").exists()


@pytest.mark.timeout(START_SECONDS)
def test_check_uses_the_servers_that_the_environment_names(
    services: dict[str, str], tmp_path: Path
) -> None:
    check = subprocess.run(
        [sys.executable, "-m", "exchange.launcher", "check", *SMALL_DEMO],
        cwd=CHECKOUT,
        env={**services, "TREELINE_VAR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "on the servers that the environment names" in check.stderr
    assert json.loads(check.stdout)["count"] >= 1
    assert not (tmp_path / "postgres").exists()
    assert not (tmp_path / "valkey").exists()


def test_ends_in_the_middle_of_its_start(tmp_path: Path) -> None:
    launched = Launched(tmp_path, "--port", str(find_free_port()))
    launched.read_until("migrating the database")
    state = launched.state()
    assert launched.end(signal.SIGTERM) == 0
    assert eventually_gone(state, seconds=0)
    assert not Path(state.run_folder).exists()


@pytest.mark.timeout(START_SECONDS)
def test_killed_while_it_makes_its_database_it_leaves_nothing(tmp_path: Path) -> None:
    launched = Launched(tmp_path, "--port", str(find_free_port()))
    launched.read_until("starting Postgres and Valkey")
    state = launched.state()
    while not stand_in(Path(state.run_folder)):
        assert launched.process.poll() is None, launched.said
    launched.end(signal.SIGKILL)
    assert eventually_gone(state)
    assert not stand_in(Path(state.run_folder))
    shutil.rmtree(state.run_folder)


def stand_in(folder: Path) -> list[str]:
    """Lists the processes whose working directory it is."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [link.parent.name] if link.readlink() == folder else []
    return found


def test_stop_without_a_run_says_so(tmp_path: Path) -> None:
    done = launcher(tmp_path, "stop")
    assert (done.returncode, done.stdout) == (0, "Treeline does not run here\n")
