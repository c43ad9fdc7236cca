"""Makes the embedded Postgres, which has a private socket only, reachable by TCP on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def forwarded(unix_socket: Path) -> Iterator[int]:
    """Gives the port; each connection to it is one to the socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=_accept, args=[listener, unix_socket], daemon=True)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listener: socket.socket, unix_socket: Path) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:  # shut down
            return
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(unix_socket))
        for source, target in [(caller, server), (server, caller)]:
            threading.Thread(target=_pump, args=[source, target], daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
