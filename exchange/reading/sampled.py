"""Draws a visit of the night's sample at a campaign's publishers, for people to try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exchange.market.models import Booking
from exchange.reports.sample_counting import Rows, counter_of
from exchange.reports.sample_table import Sample, open_sample
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
    is true of, if there is one. Gives None if no night was counted yet."""
    sample = open_sample()
    if sample is None:
        return None
    there = find_there(sample, bookings)
    wanted = there & counter_of(sample).of(expression)
    is_wanted = bool(wanted.any())
    drawn = draw_visit(sample, wanted if is_wanted else there, names, catalog, number)
    return Drawn(drawn, tell_drawn(drawn, is_wanted=is_wanted)) if drawn else Drawn(None)


def find_there(sample: Sample, bookings: Sequence[Booking]) -> Rows:
    """Finds all visits at the bookings' publishers, also those that lack what every visit must
    carry: people may try them. Without bookings, all visits are found."""
    if not bookings:
        return np.ones(len(sample), dtype=bool)
    sellers = {booking.publisher.seller_id for booking in bookings}
    places = [n for n, seller_id in enumerate(sample.publisher_ids) if seller_id in sellers]
    return np.isin(sample.publishers, places)


def tell_drawn(drawn: SampledVisit, *, is_wanted: bool) -> str:
    said = "Drawn from the night's sample, among visits that the targeting wants."
    if not is_wanted:
        said = "Drawn from the night's sample; the targeting wants no visit of it there."
    if not drawn.masked:
        return said
    return f"{said} Left out, as it is about persons: {', '.join(drawn.masked)}."
