"""`python -m exchange.pages`: serves people their pages, the REST API and the admin.

Waitress reads a request whole before a thread sees it, and takes an answer off the thread before
the client has read it: slow clients, uploads and downloads cost a socket each, not a thread. What
does wait in a thread (the database, the broker) waits for seconds at most.
"""

from __future__ import annotations

import gc
import logging
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

from exchange.environment import SettingError, env_int
from exchange.serving.configuration import read_address

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

DEFAULT_ADDRESS = "127.0.0.1:8000"
DEFAULT_THREADS = 16
OPTIONS: dict[str, int | bool | str] = {
    "connection_limit": 2_000,
    "asyncore_use_poll": True,  # select() knows no more than 1,024 sockets
    "channel_timeout": 30,  # seconds without a byte
    "cleanup_interval": 5,
    "max_request_header_size": 64 * 1024,
    # An answer that is larger waits on disk for its reader, and no thread does.
    "outbuf_overflow": 1024 * 1024,
    "outbuf_high_watermark": 4 * 1024**3,
    "clear_untrusted_proxy_headers": False,  # Django decides whom it trusts
    "ident": "",
}


def main() -> int:
    try:
        host, port = read_address("TREELINE_PAGES_ADDRESS", DEFAULT_ADDRESS)
        threads = env_int("TREELINE_PAGES_THREADS", DEFAULT_THREADS)
    except SettingError as error:
        print(error, file=sys.stderr)
        return 2
    import waitress
    from waitress.channel import HTTPChannel

    signal.signal(signal.SIGTERM, stop)
    application = load_application()
    from exchange.site.uploads import BoundedParser

    HTTPChannel.parser_class = BoundedParser
    try:
        server = waitress.create_server(
            application, host=host, port=port, threads=threads, **OPTIONS
        )
    except OSError as error:
        print(f"cannot listen on {host}:{port}: {error.strerror}", file=sys.stderr)
        return 1
    server.run()
    return 0


def load_application() -> WSGIApplication:
    """Loads what the first request would wait for, and bounds what the later ones may."""
    import_module("exchange.wsgi")  # sets Django up, which the others need
    from exchange.site.health import watch
    from exchange.site.waits import limit_waits_of_pages
    from exchange.wsgi import application

    # Silenced: it tells of every request that waits for a thread.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    limit_waits_of_pages()
    watch.start()
    import_module("exchange.urls")
    # A full garbage collection over what Django and the libraries keep alive takes 30 to 60 ms.
    gc.collect()
    gc.freeze()
    return application


def stop(_number: int, _frame: FrameType | None) -> None:
    """Ends the process; Waitress finishes what its threads are at."""
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
