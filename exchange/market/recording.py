"""Hands who makes a change, and from where, to the triggers that write revisions.

Outside of `recording` a change is kept as well, as one made in SQL by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

import pghistory
from django.db import connection
from django.http import HttpRequest, HttpResponse

from exchange.accounts.models import User

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
API_PREFIX = "/api/"


class Source(StrEnum):
    """Where a change came from. `IMPORT` is any program that calls the services; `SQL` is what
    nobody declared."""

    WEB = "web"
    API = "api"
    IMPORT = "import"
    SQL = "sql"


_source: ContextVar[Source | None] = ContextVar("source_of_changes", default=None)


@contextmanager
def recording(*, by: User | None, source: Source | None = None) -> Iterator[None]:
    """Keeps changes in here under this person's name. The outermost source wins: a service that a
    page calls does not know that it is a page."""
    outer = _source.get()
    inner = outer or source or Source.IMPORT
    token = _source.set(inner)
    try:
        with pghistory.context(user=by.pk if by else None, source=inner.value):
            yield
    finally:
        _source.reset(token)
    if outer is None and connection.in_atomic_block:
        forget()


def forget() -> None:
    """Clears the settings, which Postgres would keep until the transaction ends: raw SQL later in
    the same one would pass as this person's."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('pghistory.context_id', '', true),"
            " set_config('pghistory.context_metadata', '', true)"
        )


class RecordingMiddleware:
    """Records every request that may change something as its person's, also in the admin."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method in SAFE_METHODS:
            return self.get_response(request)
        by = request.user if isinstance(request.user, User) else None
        source = Source.API if request.path.startswith(API_PREFIX) else Source.WEB
        with recording(by=by, source=source):
            return self.get_response(request)
