"""Keeps a server waiting by slow clients: `python -m bench.slow_clients PORT KIND COUNT [--key K]`.

    head      send a request's head, a byte a second, and never finish it
    body      send the head, then the body a byte a second
    silent    send the head, then nothing
    reader    ask three times for all campaigns, and read nothing

A client that is disconnected comes back after a while. The program says `ready` once all are
connected, and ends with its standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import suppress

import uvloop

PATH = "/api/v1/eligibility"
BACK_SECONDS = 2.0


def head(key: str, length: int) -> bytes:
    lines = [f"POST {PATH} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}"]
    lines += [f"Authorization: Api-Key {key}"] if key else []
    return "\r\n".join([*lines, "", ""]).encode()


class SlowClient:
    def __init__(self, options: argparse.Namespace, number: int) -> None:
        self._options = options
        # Clients come as one program on one machine, or as many machines.
        self._address = f"127.0.{number // 250}.{2 + number % 250}" if options.spread else None

    async def stay(self, connected: asyncio.Semaphore) -> None:
        while True:
            with suppress(OSError):
                await self._connect_once(connected)
            await asyncio.sleep(BACK_SECONDS)

    async def _connect_once(self, connected: asyncio.Semaphore) -> None:
        source = (self._address, 0) if self._address else None
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._options.port, local_addr=source
        )
        try:
            connected.release()
            await getattr(self, f"_be_{self._options.kind}")(reader, writer)
        finally:
            writer.transport.abort()

    async def _be_head(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._trickle(head(self._options.key, 100)[:-4] + b"\r\nX: " + b"x" * 200, writer)

    async def _be_body(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head(self._options.key, 200))
        await self._trickle(b" " * 199, writer)

    async def _be_silent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head(self._options.key, 100))
        await reader.read()

    async def _be_reader(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        body = b'{"publisher": "%b", "visit": {}}' % self._options.publisher.encode()
        writer.write((head(self._options.key, len(body)) + body) * 3)
        await asyncio.sleep(60)

    async def _trickle(self, sent: bytes, writer: asyncio.StreamWriter) -> None:
        for place in range(len(sent)):
            writer.write(sent[place : place + 1])
            await writer.drain()
            await asyncio.sleep(1)


async def run(options: argparse.Namespace) -> None:
    connected = asyncio.Semaphore(0)
    clients = [SlowClient(options, number) for number in range(options.count)]
    tasks = [asyncio.create_task(client.stay(connected)) for client in clients]
    for _ in tasks:
        await connected.acquire()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("kind", choices=["head", "body", "silent", "reader"])
    parser.add_argument("count", type=int)
    parser.add_argument("--key", default="")
    parser.add_argument("--publisher", default="")
    parser.add_argument("--spread", action="store_true", help="from many addresses of loopback")
    uvloop.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
