"""Bounds what of a request's body the people's process takes in, decided by its head alone.

Waitress keeps a body, on disk if it is large, before anybody sees the request. Only people who are
logged in and save a list may send a large one; everything else is refused while nothing of it is
kept. It is still read, and thrown away: a browser that cannot finish sending shows no answer.
"""

from __future__ import annotations

import copy
import re
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.template.defaultfilters import filesizeformat
from django.views.defaults import bad_request
from waitress.parser import HTTPRequestParser
from waitress.utilities import Error, RequestEntityTooLarge

MAX_BODY_BYTES = 3 * 1024 * 1024  # a little above what Django takes of a form
MAX_LIST_BYTES = 66 * 1024 * 1024  # a list of a million values, and its form
MAX_READ_BYTES = 1024**3  # of what is refused; beyond that the connection is closed
LISTS = re.compile(r"/lists/(new|\d+)/((edit|compare|change)/)?")


class TooLargeError(RequestEntityTooLarge):  # type: ignore[misc]
    """Refuses a body with a page, not with a word of Waitress."""

    def __init__(self, most: int) -> None:
        super().__init__(f"at most {most} bytes")
        self.most = most

    def to_response(self, _ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        headers = [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")]
        headers.append(("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY))
        return f"{status.value} {status.phrase}", headers, write_page(self.most).encode()


class BoundedParser(HTTPRequestParser):  # type: ignore[misc]
    """One request, read by the main thread as it arrives."""

    adj: Any
    completed: bool
    error: Error | None
    expect_continue: bool
    content_length: int
    _unread = 0  # of a body that is refused

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        self.adj = copy.copy(self.adj)
        self.adj.max_request_body_size = most_bytes(self.path, self.headers)

    def received(self, data: bytes) -> int:
        if self._unread:
            return self._throw_away(data)
        consumed: int = super().received(data)
        if isinstance(self.error, RequestEntityTooLarge) and self.completed:
            self.error = TooLargeError(self.adj.max_request_body_size)
            waits = self.expect_continue
            self.expect_continue = False  # nobody shall be asked to go on
            if not waits and 0 < self.content_length <= MAX_READ_BYTES:
                self.completed, self._unread = False, self.content_length
        return consumed

    def _throw_away(self, data: bytes) -> int:
        consumed = min(len(data), self._unread)
        self._unread -= consumed
        self.completed = not self._unread
        return consumed


class OnlyOfPeople(FileUploadHandler):
    """The first of Django's handlers: it throws files of whoever is not logged in away as they are
    read. Forms are read before the session is asked for."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self.request is None or not self.request.user.is_authenticated:
            raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:  # noqa: ARG002, Django's
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leaves the file to the handlers after it."""


def most_bytes(path: str, headers: dict[str, Any]) -> int:
    """Finds how large a body may be. Here a session must only be claimed: whether it is a real one
    is found out later."""
    is_of_list = LISTS.fullmatch(path) is not None
    has_session = f"{settings.SESSION_COOKIE_NAME}=" in headers.get("COOKIE", "")
    return MAX_LIST_BYTES if is_of_list and has_session else MAX_BODY_BYTES


def write_page(most: int) -> str:
    page: str = loader.get_template("413.html").render({"most": filesizeformat(most)})
    return page


def show_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Says that a form whose fields are too large is too large, not bad."""
    if isinstance(exception, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return HttpResponse(write_page(most), status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return bad_request(request, exception)
