"""Takes mail by SMTP on this machine, as much of it as Django speaks, and keeps it."""

from __future__ import annotations

import email
import email.policy
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from queue import Queue

from tests.listening import listening


class PostOffice:
    """`mail` comes in the order in which it was sent."""

    def __init__(self) -> None:
        self.mail: Queue[EmailMessage] = Queue()
        office = self

        class Clerk(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 ready\r\n")
                while line := self.rfile.readline():
                    command = line.split()[0].upper() if line.split() else b""
                    if command == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        office.keep(self._read_message())
                    self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 ok\r\n")

            def _read_message(self) -> bytes:
                lines = []
                while (line := self.rfile.readline()) != b".\r\n":
                    lines.append(line)
                return b"".join(lines)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Clerk)
        self.server.daemon_threads = True

    @property
    def port(self) -> int:
        port: int = self.server.server_address[1]
        return port

    def keep(self, content: bytes) -> None:
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self.mail.put(message)

    @contextmanager
    def open(self) -> Iterator[PostOffice]:
        with listening(self.server):
            yield self
