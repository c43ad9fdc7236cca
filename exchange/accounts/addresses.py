"""Slows one address that tries many names: failed log-ins are counted per address, too.

Counted in Postgres, by minutes, beside what django-axes counts per name and address. A turn is
taken before the password is compared and given back if it was right: attempts at the same time are
all counted. What is refused is not counted, so an address is free again as soon as its failures are
a few minutes old. A browser that has logged in as somebody before may do so again at any time: an
office stays open to its people while somebody in it tries names.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.core import signing
from django.db import connection
from django.db.models import F, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from exchange.accounts.models import AddressFailures
from exchange.accounts.throttling import client_address

KNOWN_COOKIE = "known_as"
KNOWN_SECONDS = 180 * 24 * 3600
ONE_HOME = 64  # bits of an IPv6 address that one customer has; the rest is theirs to choose
TAKE = """
    INSERT INTO accounts_addressfailures (address, minute, failures) VALUES (%s, %s, 1)
    ON CONFLICT (address, minute) DO UPDATE
    SET failures = accounts_addressfailures.failures + 1
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """An attempt that counts as failed until it is given back."""

    address: str
    minute: datetime

    def give_back(self) -> None:
        rows = AddressFailures.objects.filter(address=self.address, minute=self.minute)
        rows.filter(failures__gt=0).update(failures=F("failures") - 1)


class SlowedError(Exception):
    """Says that too many attempts of this address have failed; `seconds` until it may try again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


def take_turn(request: HttpRequest, *, now: datetime | None = None) -> Turn | None:
    """Counts an attempt; None where nothing is counted: the browser is known under this name."""
    name = request.POST.get("username", "")
    address = home_of(client_address(request))
    if address is None or is_known(request, name):
        return None
    moment = now or timezone.now()
    turn = Turn(address, moment.replace(second=0, microsecond=0))
    window = timedelta(minutes=settings.ADDRESS_MINUTES)
    AddressFailures.objects.filter(minute__lte=moment - window).delete()
    with connection.cursor() as cursor:
        cursor.execute(TAKE, [turn.address, turn.minute])
    counted = AddressFailures.objects.filter(address=address, failures__gt=0).aggregate(
        failures=Sum("failures"), first=Min("minute")
    )
    if (counted["failures"] or 0) > settings.ADDRESS_ATTEMPTS:
        turn.give_back()
        left: timedelta = counted["first"] + window - moment
        raise SlowedError(max(int(left.total_seconds()) + 1, 1))
    return turn


def home_of(address: str | None) -> str | None:
    """Cuts an IPv6 address down to its network: who has one address has billions of them."""
    if address is None:
        return None
    try:
        read = ip_address(address)
    except ValueError:
        return address
    if isinstance(read, IPv6Address) and read.ipv4_mapped is None:
        return str(ip_network((read, ONE_HOME), strict=False))
    return address


def is_known(request: HttpRequest, name: str) -> bool:
    """Tells whether the browser has a cookie, signed by us, for this name. It opens nothing but the
    door to the password."""
    try:
        known = signing.loads(
            request.COOKIES.get(KNOWN_COOKIE, ""), salt=KNOWN_COOKIE, max_age=KNOWN_SECONDS
        )
    except signing.BadSignature:
        return False
    return bool(name) and known == name


def remember(response: HttpResponse, name: str) -> None:
    response.set_cookie(
        KNOWN_COOKIE,
        signing.dumps(name, salt=KNOWN_COOKIE),
        max_age=KNOWN_SECONDS,
        path="/login/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
