"""The people's process: slow clients and long downloads cost sockets, not threads."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client as Browser

from exchange.accounts.models import User
from exchange.market.models import ValueList
from exchange.market.services import save_value_list
from exchange.pages import DEFAULT_THREADS
from exchange.serving.endpoint import BATCH_PATH, PATH
from matcher_ext.serving import PREFIX
from tests.conftest import TreelineServer
from tests.people import alice, operator

__all__ = ["alice", "operator"]

CROWD = 4 * DEFAULT_THREADS
VALUES = 200_000


def connect(server: TreelineServer) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def cookie_of(person: User) -> str:
    browser = Browser()
    browser.force_login(person)
    return f"sessionid={browser.cookies['sessionid'].value}"


def read_page(server: TreelineServer, path: str, cookie: str = "") -> bytes:
    request = urllib.request.Request(server.url + path, headers={"Cookie": cookie})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        return bytes(response.read())


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
        b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nusername=",
    ],
    ids=["head", "body"],
)
def test_unfinished_requests_stop_nobody(treeline_server: TreelineServer, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(CROWD):
            stack.enter_context(closing(connect(treeline_server))).sendall(sent)
        for _ in range(3):
            assert b"password" in read_page(treeline_server, "/login/")


def test_downloads_that_nobody_reads_stop_nobody(
    treeline_server: TreelineServer, alice: User
) -> None:
    made = ValueList(organisation=alice.organisation, name="large")
    values = [f"value-{number:015}" for number in range(VALUES)]
    made = save_value_list(value_list=made, by=alice, values=values)
    cookie = cookie_of(alice)
    asked = f"GET /lists/{made.pk}/values.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}"
    with ExitStack() as stack:
        readers = []
        for _ in range(DEFAULT_THREADS + 4):
            reader = stack.enter_context(closing(connect(treeline_server)))
            reader.sendall(asked.encode() + b"\r\nConnection: close\r\n\r\n")
            readers.append(reader)
        for _ in range(3):
            assert b"large" in read_page(treeline_server, "/lists/", cookie)
        taken = readers[-1].makefile("rb").read()
    assert taken.count(b"value-") == VALUES


@pytest.mark.parametrize("path", [PATH, BATCH_PATH, f"{PREFIX}live"])
def test_ad_servers_are_told_where_to_ask(client: Browser, path: str) -> None:
    response = client.post(path, {}, content_type="application/json")
    assert response.status_code == 421
    assert settings.SERVING_URL in response.json()["detail"]


def test_a_bad_address_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "exchange.pages"],
        env={**os.environ, "TREELINE_PAGES_ADDRESS": "nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("TREELINE_PAGES_ADDRESS must be a host and a port")
