"""Makes contents up for the page of components: a rehearsal, and what why-not shows. Nothing of it
is saved or counted."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, cast

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Party
from exchange.reading.concerned import Concerned
from exchange.reading.rehearsal import Fate, Outcome, Rehearsal, by_loss
from exchange.reading.time_line import DAYS, Day, TimeLine
from exchange.reports.sample_table import Sample
from exchange.web.rehearsing import describe
from exchange.web.why.rows import BlockerRow, FunnelRow
from exchange.web.why.time_lines import draw_time_line

LAST_DAY = date(2026, 11, 15)
MOTORBAHN = Party(pk=1, name="Motorbahn", kind=Party.Kind.PUBLISHER)
# A campaign, its visits a day before and after, and what contradicts.
FATES = [
    ("Harbour lights", Outcome.STOPS, 1240.0, 0.0, "Crossbid → Cobalt DSP excludes every visit"),
    ("Winter boots", Outcome.HALVES, 880.0, 310.0, ""),
    ("Trail shoes", Outcome.LOSES, 640.0, 520.0, ""),
    ("Tents", Outcome.STAYS, 210.0, 210.0, ""),
    ("Wallbox", Outcome.HAD_NONE, 0.0, 0.0, ""),
]
# What was asked, and how many visits came, passed, and were refused.
STEPS = [
    ("Motorbahn → Crossbid", 1463, 1160, 139),
    ("Crossbid → Cobalt DSP", 1160, 24, 1120),
    ("from AUT, BEL, CHE or 14 more", 24, 0, 24),
]


class MadeUpSample:
    first_day, last_day, day_count = LAST_DAY - timedelta(days=6), LAST_DAY, 7

    def __len__(self) -> int:
        return 200_000


def make_rehearsal(person: User) -> dict[str, Any]:
    """Makes what the panel shows, as a form's rehearsal is described."""
    fates = [
        Fate(make_booking(number, name), outcome, before, after, reason)
        for number, (name, outcome, before, after, reason) in enumerate(FATES, 1)
    ]
    bookings = [fate.booking for fate in fates]
    found = Concerned(bookings, serving=len(bookings), idle=3)
    sample = cast("Sample", MadeUpSample())
    rehearsal = Rehearsal(sample, found, tuple(sorted(fates, key=by_loss)), 2410.0, 980.0)
    return describe(rehearsal, person)


def make_booking(number: int, name: str) -> Booking:
    campaign = Campaign(pk=number, name=name, advertiser_id=1)
    return Booking(pk=number, campaign=campaign, publisher=MOTORBAHN)


def make_why() -> dict[str, Any]:
    """Makes a funnel, blockers and a time line that falls on its last days."""
    days = [LAST_DAY - timedelta(days=back) for back in reversed(range(DAYS))]
    counted = [
        Day(day, 1400, 0 if number > DAYS - 3 else 300 + number * 37 % 90)
        for number, day in enumerate(days)
    ]
    line = TimeLine(counted, [], has_more=False)
    return {
        "steps": [
            FunnelRow(title, None, came, passed, false, came - passed - false, STEPS[0][1])
            for title, came, passed, false in STEPS
        ],
        "eligible": 0,
        "blockers": [
            BlockerRow("Only visits from USA or CAN", "Crossbid → Cobalt DSP", 280, 0, 280),
            BlockerRow("Only where content risk is low", "This campaign", 164, 132, 280),
        ],
        "line": line,
        "drawing": draw_time_line(line),
        "booking": make_booking(1, "Harbour lights"),
    }
