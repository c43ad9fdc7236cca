"""A server that speaks S3 and its driver, for the long tests of the snapshot store.

Nothing else needs their forty packages, so they are installed when such a test runs, into a folder
of its own: the environment that the other tests run in stays as its lock says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from exchange.launcher.bootstrap import CHECKOUT, installer
from exchange.launcher.valkey import find_free_port
from tests.waiting import PATIENCE_SECONDS, wait_until

LOCK = CHECKOUT / "requirements-object-store.lock"


@contextmanager
def running_bucket(packages: Path) -> Iterator[str]:
    """Gives the bucket's address; drivers in this process and in those that it starts find the
    server."""
    install(packages)
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(packages)])
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(packages)])
        )
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "treeline")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: is_up(server, address))
            import fsspec

            fsspec.filesystem("s3").mkdir("treeline")
            yield "s3://treeline"
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)


def install(packages: Path) -> None:
    command = [*installer(), "--target", str(packages), "--require-hashes", "-r", str(LOCK)]
    subprocess.run(command, check=True)


def is_up(server: subprocess.Popen[bytes], address: str) -> bool:
    assert server.poll() is None, "the server for the object store ended"
    try:
        urlopen(f"{address}/moto-api/", timeout=2).close()  # noqa: S310  (our own server)
    except OSError:
        return False
    return True
