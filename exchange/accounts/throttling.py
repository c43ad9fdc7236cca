"""Answers django-axes: where a log-in attempt comes from, and what people see when locked out.
Failures of an address under any name are `accounts.addresses`.

Attempts are counted per name and address in Postgres: log-in needs the database anyway, so a Redis
that is down neither opens the door nor shuts it, and all web processes count together.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from http import HTTPStatus
from ipaddress import ip_address
from math import ceil

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone


def client_address(request: HttpRequest) -> str | None:
    """Finds where a request comes from. Behind our proxy it is the address that the proxy has added
    itself: whatever stands before it in the header was sent by the client and may be anything."""
    if settings.BEHIND_PROXY:
        forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        with suppress(ValueError):
            return str(ip_address(forwarded))
    address: str | None = request.META.get("REMOTE_ADDR") or None
    return address


def show_lock_out(
    request: HttpRequest, _response: HttpResponse, credentials: dict[str, str] | None
) -> HttpResponse:
    username = (credentials or {}).get("username", "")
    seconds = seconds_left(username, client_address(request), timezone.now())
    return refuse(request, seconds, username=username)


def show_slow_down(request: HttpRequest, seconds: float) -> HttpResponse:
    """Refuses an address, whatever the names that it tried."""
    return refuse(request, seconds)


def refuse(request: HttpRequest, seconds: float, **context: str) -> HttpResponse:
    known = {"minutes": ceil(seconds / 60), **context}
    response = render(request, "locked_out.html", known, status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(ceil(seconds))
    response["Cache-Control"] = "no-store"
    return response


def seconds_left(username: str, address: str | None, now: datetime) -> float:
    """Counts seconds until so many failures are forgotten that the next attempt is heard. They are
    counted per browser, and each count is forgotten by itself."""
    counts = AccessAttempt.objects.filter(username=username, ip_address=address)
    newest_first = list(
        counts.order_by("-attempt_time").values_list("attempt_time", "failures_since_start")
    )
    cool_off: timedelta = settings.AXES_COOLOFF_TIME
    failures = 0
    for attempt_time, count in newest_first:
        failures += count
        if failures >= settings.AXES_FAILURE_LIMIT:
            left: timedelta = attempt_time + cool_off - now
            return max(left.total_seconds(), 1.0)
    return cool_off.total_seconds()
