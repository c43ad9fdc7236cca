"""Draws a visit of the night's sample at a campaign's publishers, for people to try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exchange.market.models import Booking
from exchange.reading.sample_rules import SampleRules
from exchange.reports.sample_counting import counter_of
from exchange.reports.sample_table import open_sample
from exchange.reports.sample_visits import SampledVisit, draw_visit
from targeting import Catalog, Expression


@dataclass(frozen=True, slots=True)
class Drawn:
    """A visit of the sample, if it has one, and what there is to say about it."""

    visit: SampledVisit | None
    note: str = ""


def draw_passing(
    expression: Expression,
    bookings: Sequence[Booking],
    names: Iterable[str],
    catalog: Catalog,
    number: int,
) -> Drawn | None:
    """Draws a visit at the bookings' publishers, or anywhere without any; one that the expression
    is true of, if there is one. None: no night was counted yet."""
    sample = open_sample()
    if sample is None:
        return None
    counter = counter_of(sample)
    rules = SampleRules(counter)
    there = np.full(len(sample), not bookings)
    for booking in bookings:
        there[rules.at(booking.publisher)] = True
    wanted = there & counter.of(expression)
    is_wanted = bool(wanted.any())
    drawn = draw_visit(sample, wanted if is_wanted else there, names, catalog, number)
    return Drawn(drawn, tell_drawn(drawn, is_wanted=is_wanted)) if drawn else Drawn(None)


def tell_drawn(drawn: SampledVisit, *, is_wanted: bool) -> str:
    said = "Drawn from the night's sample, among visits that the targeting wants."
    if not is_wanted:
        said = "Drawn from the night's sample; the targeting wants no visit of it there."
    if not drawn.masked:
        return said
    return f"{said} Left out, as it is about persons: {', '.join(drawn.masked)}."
