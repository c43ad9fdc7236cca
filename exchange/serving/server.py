"""Runs one process that answers ad servers: a loop, a listening socket, and a graceful end."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import uvloop

from exchange.serving.http.connection import HttpConnection
from exchange.serving.http.crowd import Crowd, Limits
from exchange.serving.http.reader import Routes

BACKLOG = 1024
# Time for clients to learn, with their next answer, that their open connection ends.
GRACE_SECONDS = 1.0
# Time to accept clients whose connection the system has made and nobody has looked at yet.
LAST_ACCEPT_SECONDS = 0.05
MOST_GRACE_SECONDS = 5.0
# Threads of our own (the one that follows the snapshot directory, those that read files) give the
# interpreter back after so long when the loop wants it.
SWITCH_SECONDS = 0.0005
DOWNLOAD_THREADS = 2


def listen(host: str, port: int, *, is_shared: bool = True) -> socket.socket:
    """Binds a socket. Every process has one of its own on the same port, and the system shares new
    connections out among those that live. One that is not shared finds out whether the port is
    free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(is_shared))
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def run(routes: Routes, listener: socket.socket, lifeline: int, limits: Limits) -> None:
    """Serves until SIGTERM or SIGINT, or until the other end of `lifeline` is closed."""
    sys.setswitchinterval(SWITCH_SECONDS)
    # A full garbage collection over what the libraries keep alive would hold up every request.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(routes, listener, lifeline, limits))


async def serve(routes: Routes, listener: socket.socket, lifeline: int, limits: Limits) -> None:
    loop = asyncio.get_running_loop()
    is_over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_over.set)
    loop.add_reader(lifeline, is_over.set)
    crowd = Crowd(limits)
    with ThreadPoolExecutor(DOWNLOAD_THREADS, "downloads") as executor:
        server = await loop.create_server(
            lambda: HttpConnection(routes, crowd, executor), sock=listener, backlog=BACKLOG
        )
        watch = loop.create_task(crowd.keep_watch())
        await is_over.wait()
        loop.remove_reader(lifeline)
        await asyncio.sleep(LAST_ACCEPT_SECONDS)
        server.close()
        await say_goodbye(crowd)
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


async def say_goodbye(crowd: Crowd) -> None:
    """Makes every answer its connection's last; closes those that ask for nothing after a while."""
    crowd.is_ending = True
    loop = asyncio.get_running_loop()
    began = loop.time()
    while len(crowd) and loop.time() < began + MOST_GRACE_SECONDS:
        await asyncio.sleep(0.02)
        if loop.time() > began + GRACE_SECONDS:
            crowd.close_idle()
    crowd.end_all()
    await asyncio.sleep(0)  # for the connections to be told
