"""Large requests: refused by their head, with a page, and without a byte kept of them."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings

from exchange.accounts.models import User
from exchange.site.uploads import MAX_BODY_BYTES, MAX_LIST_BYTES, most_bytes
from tests.conftest import TreelineServer
from tests.people import alice, operator

__all__ = ["alice", "operator"]

MEGABYTE = 1024 * 1024


class Remembering(MemoryFileUploadHandler):
    """Stands where Django would keep a file."""

    seen: ClassVar[list[str]] = []

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.seen.append(str(self.file_name))


@pytest.mark.parametrize(
    ("path", "cookie", "most"),
    [
        ("/lists/new/", "sessionid=x", MAX_LIST_BYTES),
        ("/lists/7/edit/", "a=b; sessionid=x", MAX_LIST_BYTES),
        ("/lists/7/compare/", "sessionid=x", MAX_LIST_BYTES),
        ("/lists/new/compare/", "sessionid=x", MAX_LIST_BYTES),
        ("/lists/7/change/", "sessionid=x", MAX_LIST_BYTES),
        ("/lists/new/", "", MAX_BODY_BYTES),
        ("/lists/7/retire/", "sessionid=x", MAX_BODY_BYTES),
        ("/login/", "sessionid=x", MAX_BODY_BYTES),
        ("/api/v1/eligibility:explain", "", MAX_BODY_BYTES),
    ],
)
def test_only_people_who_save_a_list_send_much(path: str, cookie: str, most: int) -> None:
    assert most_bytes(path, {"COOKIE": cookie}) == most


def ask(server: TreelineServer, head: str) -> bytes:
    """Sends a head and not a byte of its body."""
    address = urlsplit(server.url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=60)) as caller:
        caller.sendall(head.replace("\n", "\r\n").encode())
        return caller.makefile("rb").read()


@pytest.mark.parametrize(
    ("path", "cookie", "megabytes"), [("/login/", "", 4), ("/lists/new/", "sessionid=x", 67)]
)
def test_is_refused_before_anything_of_it_is_sent(
    treeline_server: TreelineServer, path: str, cookie: str, megabytes: int
) -> None:
    answer = ask(
        treeline_server,
        f"POST {path} HTTP/1.1\nHost: 127.0.0.1\nCookie: {cookie}\n"
        f"Content-Length: {megabytes * MEGABYTE}\nExpect: 100-continue\n\n",
    )
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer
    assert b"This is too large" in answer


def test_a_body_that_is_sent_all_the_same_is_answered_and_its_end_is_found(
    treeline_server: TreelineServer,
) -> None:
    asked = urllib.request.Request(treeline_server.url + "/login/", data=b"x" * (20 * MEGABYTE))  # noqa: S310
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(asked, timeout=60)  # noqa: S310
    assert caught.value.code == 413
    assert "At most 3.0" in caught.value.read().decode()
    with urllib.request.urlopen(treeline_server.url + "/login/", timeout=60) as page:  # noqa: S310
        assert page.status == 200


def test_a_body_in_chunks_is_cut_off(treeline_server: TreelineServer) -> None:
    head = "POST /login/ HTTP/1.1\nHost: 127.0.0.1\nTransfer-Encoding: chunked\n\n"
    address = urlsplit(treeline_server.url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=60)) as caller:
        caller.sendall(head.replace("\n", "\r\n").encode())
        with pytest.raises((ConnectionError, TimeoutError)):
            send_chunks(caller)


def send_chunks(caller: socket.socket) -> None:
    chunk = f"{MEGABYTE:x}\r\n".encode() + b"x" * MEGABYTE + b"\r\n"
    for _ in range(400):
        caller.sendall(chunk)


@pytest.mark.django_db
def test_a_form_with_too_much_text_is_told_so(alice: User, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    client = Client()
    client.force_login(alice)
    answer = client.post("/lists/new/", {"name": "long", "text": "x" * 2000})
    assert answer.status_code == 413
    assert "This is too large" in answer.content.decode()


@pytest.mark.django_db
def test_a_strangers_file_is_not_kept(alice: User, settings: Settings, tmp_path: Path) -> None:
    """Refuses the file early: it would be on disk before anybody asks who sent it."""
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    settings.FILE_UPLOAD_HANDLERS = [
        "exchange.site.uploads.OnlyOfPeople",
        "tests.test_uploads.Remembering",
    ]
    Remembering.seen.clear()
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "a" * 32
    answer = client.post("/lists/new/", {"upload": SimpleUploadedFile("a.txt", b"x" * 100)})
    assert answer.status_code in {302, 403}
    assert Remembering.seen == []
    client = Client()
    client.force_login(alice)
    client.post("/lists/new/", {"upload": SimpleUploadedFile("a.txt", b"x" * 100)})
    assert Remembering.seen == ["a.txt"]


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_a_person_who_chose_too_large_a_file_sees_the_page(
    treeline_server: TreelineServer, chromium_page: Page, alice: User, tmp_path: Path
) -> None:
    large = tmp_path / "values.txt"
    with large.open("wb") as file:
        file.truncate(70 * MEGABYTE)
    client = Client()
    client.force_login(alice)
    session = client.cookies["sessionid"].value
    chromium_page.context.add_cookies(
        [{"name": "sessionid", "value": session, "url": treeline_server.url}]
    )
    chromium_page.goto(f"{treeline_server.url}/lists/new/")
    chromium_page.fill("[name=name]", "towns")
    chromium_page.set_input_files("[name=upload]", large)
    chromium_page.click("text=Save list")
    expect(chromium_page.locator("h1")).to_have_text("This is too large")
    expect(chromium_page.locator("body")).to_contain_text("At most 66.0")
