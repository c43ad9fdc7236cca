"""Starts the real Postgres and Redis of the tests: a pytest plugin, named in pyproject.toml.

Their addresses go into the environment before Django reads its settings; the servers start when the
first test needs them, so that tests of the engine alone do not. All files are in one temporary
folder.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from exchange.launcher.java import JavaMissingError, find_java_home
from exchange.launcher.servers import Servers, plan_servers

# The processes of a parallel run inherit the first one's environment, but not its servers.
PLANNED = "TREELINE_TEST_SERVERS"
for _name in os.environ.pop(PLANNED, "").split():
    del os.environ[_name]

_var = Path(tempfile.mkdtemp(prefix="treeline-test-"))
_servers: Servers = plan_servers(var=_var, is_durable=False)
os.environ["TREELINE_VAR"] = str(_var)
os.environ.update(_servers.environment())
os.environ[PLANNED] = " ".join(_servers.environment())
with suppress(JavaMissingError):  # the tests that need it say so
    os.environ["JAVA_HOME"] = str(find_java_home())


@pytest.fixture(scope="session")
def services() -> Iterator[dict[str, str]]:
    """Runs Postgres and Redis; gives the environment that lets another process use them."""
    _servers.start(dict(os.environ))
    yield dict(os.environ)
    _servers.stop()


@contextmanager
def hung(name: str) -> Iterator[None]:
    """Stops all processes of `postgres` or `valkey`, so that it is there and says nothing. Whoever
    is connected, this process too, waits for ever unless it has a time-out."""
    found = [server for server in _servers.running if server.program.name == name]
    if not found:
        pytest.skip(f"{name} is not ours to stop")
    stopped = [found[0].identity.pid, *children_of(found[0].identity.pid)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def children_of(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def pytest_unconfigure() -> None:
    _servers.stop()
    shutil.rmtree(_var, ignore_errors=True)
