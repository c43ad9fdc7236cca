"""Lets a small server of a test listen, in a thread of its own."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def listening(server: socketserver.BaseServer) -> Iterator[None]:
    """Lets the server answer within the block, and closes it afterwards."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
