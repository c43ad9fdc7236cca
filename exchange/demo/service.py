"""Loads the whole demo, once: what is already there stays as it is, what is missing is added."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection, transaction

from exchange.demo import access
from exchange.demo.loading import Market, is_market_loaded, load_market
from exchange.demo.visit_log import VisitLog, write_missing_days
from exchange.market.bulk import Report

LOCK = 0x7E11_DE30


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call had to do; nothing of it when the demo was complete."""

    loaded_market: bool
    made_key: bool
    days_written: int

    @property
    def did_nothing(self) -> bool:
        return not (self.loaded_market or self.made_key or self.days_written)


def load_demo(*, market: Market, log: VisitLog, report: Report) -> Outcome:
    """Loads what is missing. Safe to kill and to call again, also in two processes at once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        loaded, made_key = _load_database(market, report)
        return Outcome(loaded, made_key, write_missing_days(log, report))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


@transaction.atomic
def _load_database(market: Market, report: Report) -> tuple[bool, bool]:
    is_new = not is_market_loaded()
    if is_new:
        load_market(market=market, report=report)
        access.create_logins()
    is_keyless = access.read_key() is None
    if is_keyless:
        access.create_key()
    return is_new, is_keyless
