"""One run at a time, and the next one finds out what the last one left."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exchange.launcher.processes import RUN_MARK, ProcessId
from exchange.launcher.runfolder import RunFolder
from exchange.launcher.state import AlreadyRunningError, RunRecord, RunState, clean_up_after

DEAD = ProcessId(2**22 + 1, 1, "an earlier boot")


@pytest.fixture
def state() -> Iterator[RunState]:
    folder = RunFolder.create()
    yield RunState(
        "mark-of-a-dead-run", DEAD, 8000, str(folder.path), servers=(DEAD,), programs=(DEAD,)
    )
    folder.remove()


def start_sleeper(**environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "300"], env={**os.environ, **environment})


def identify(process: subprocess.Popen[bytes]) -> ProcessId:
    identity = ProcessId.of(process.pid)
    assert identity
    return identity


def test_a_second_run_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    first, second = RunRecord(tmp_path), RunRecord(tmp_path)
    with first.held(), pytest.raises(AlreadyRunningError), second.held():
        pytest.fail("two runs hold one var")
    with second.held():
        pass


def test_reads_back_what_it_wrote_for_itself_only(tmp_path: Path, state: RunState) -> None:
    record = RunRecord(tmp_path)
    with record.held():
        record.write(state)
        assert record.read() == state
        assert record.read_live() is None
        assert record.state_file.stat().st_mode & 0o077 == 0
        assert record.folder.stat().st_mode & 0o077 == 0
    assert record.read() is None


def test_half_a_state_file_is_no_state(tmp_path: Path, state: RunState) -> None:
    record = RunRecord(tmp_path)
    with record.held():
        record.state_file.write_text(state.to_json()[:40])
        assert record.read() is None


def test_cleans_up_what_the_dead_run_started_and_nothing_else(state: RunState) -> None:
    marked = start_sleeper(**{RUN_MARK: state.mark})
    recorded = start_sleeper()
    server = start_sleeper()
    stranger = start_sleeper(**{RUN_MARK: "mark-of-another-run"})
    state = replace(state, programs=(identify(recorded), DEAD), servers=(identify(server),))
    try:
        assert clean_up_after(state) == 3
        assert marked.wait(5) != 0
        assert recorded.wait(5) != 0
        assert server.wait(5) != 0
        assert stranger.poll() is None
        assert not Path(state.run_folder).exists()
    finally:
        for process in [marked, recorded, server, stranger]:
            process.kill()
            process.wait()


def test_a_pid_that_was_given_to_another_process_is_spared(state: RunState) -> None:
    innocent = start_sleeper()
    taken = replace(identify(innocent), start_ticks=1)
    try:
        assert clean_up_after(replace(state, programs=(taken,), servers=(taken,))) == 0
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_never_removes_a_folder_that_is_not_a_run_folder(tmp_path: Path, state: RunState) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    clean_up_after(replace(state, run_folder=str(precious)))
    assert precious.exists()
