"""Draws one day of the demo's visits: who looked at which page, where and when.

Things hang together as they do in life: the publisher decides countries, surface and pages; the
person decides device, language, network and consent; the clock follows the person's own day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from exchange.demo.chance import seed_of
from exchange.demo.devices import PLACEMENTS
from exchange.demo.inventory import Inventory, build_inventory
from exchange.demo.population import (
    Bools,
    Floats,
    Ints,
    Population,
    build_population,
)
from exchange.demo.publishers import PUBLISHERS, Surface
from exchange.demo.world import CITIES, COUNTRIES

SURFACES = tuple(Surface)
DAY_MINUTES = 24 * 60
REST_OF_WORLD = 0.06
UTC_OFFSETS = np.array([city.utc_offset_minutes for city in CITIES])


@dataclass(frozen=True, slots=True)
class VisitSource:
    """Everything that stays the same from day to day."""

    seed: int
    visits_per_day: int
    population: Population
    inventory: Inventory


@dataclass(frozen=True, slots=True)
class Draw:
    """Who looked at what, where and when: row numbers into the fixed tables, one entry a visit."""

    rng: np.random.Generator
    publisher: Ints
    person: Ints
    page: Ints
    surface: Ints
    placement: Ints
    device: Ints
    milliseconds: Ints

    @property
    def size(self) -> int:
        return int(self.publisher.size)

    def known(self, share: float) -> Bools:
        """Draws a mask of the visits that carry an attribute with this fill rate."""
        return self.rng.random(self.size) < share


def open_source(seed: int, visits_per_day: int) -> VisitSource:
    people = max(2_000, 3 * visits_per_day)
    return VisitSource(seed, visits_per_day, build_population(seed, people), build_inventory(seed))


def draw_day(source: VisitSource, day: date) -> Draw:
    rng = np.random.default_rng(seed_of(source.seed, "visits", day.isoformat()))
    size = _count_visits(source.visits_per_day, day)
    publisher = _draw_publishers(rng, day, size)
    country = _pick_by_row(rng, _country_mix(), publisher)
    person = _draw_people(rng, source.population, country)
    surface = _pick_by_row(rng, _surface_mix(), publisher)
    draw = Draw(
        rng=rng,
        publisher=publisher,
        person=person,
        page=_draw_pages(rng, source.inventory, publisher),
        surface=surface,
        placement=_pick_by_row(rng, _placement_mix(), surface),
        device=_draw_devices(rng, source.population, person, surface),
        milliseconds=_draw_times(rng, source.population, day, publisher, person),
    )
    return _in_order_of_time(draw)


def _count_visits(per_day: int, day: date) -> int:
    """Counts a day's visits: Mondays are busiest, weekends quieter; a week's mean is `per_day`."""
    factors = (1.04, 1.03, 1.02, 1.01, 0.99, 0.95, 0.96)
    return max(1, round(per_day * factors[day.weekday()]))


def _draw_publishers(rng: np.random.Generator, day: date, size: int) -> Ints:
    is_weekend = day.weekday() >= 5
    weights = np.array([p.weight * (p.weekend if is_weekend else 1.0) for p in PUBLISHERS])
    return rng.choice(len(PUBLISHERS), size=size, p=weights / weights.sum())


def _country_mix() -> Floats:
    return np.array(
        [[c.weight * p.markets.get(c.code, REST_OF_WORLD) for c in COUNTRIES] for p in PUBLISHERS]
    )


def _surface_mix() -> Floats:
    return np.array([[p.surfaces.get(s, 0) for s in SURFACES] for p in PUBLISHERS], dtype=float)


def _placement_mix() -> Floats:
    return np.array(
        [[p.weight * (p.surface is s) for p in PLACEMENTS] for s in SURFACES], dtype=float
    )


def _pick_by_row(rng: np.random.Generator, mix: Floats, row: Ints) -> Ints:
    """Draws, for each entry of `row`, a column of that row of `mix`, by weight."""
    sums = np.cumsum(mix / mix.sum(axis=1, keepdims=True), axis=1)
    column = (sums[row] < rng.random((row.size, 1))).sum(axis=1)
    picked: Ints = np.minimum(column, mix.shape[1] - 1)
    return picked


def _draw_people(rng: np.random.Generator, population: Population, country: Ints) -> Ints:
    """Draws people by a power law: few people make most visits of a country."""
    first = population.first_of_country
    count = first[country + 1] - first[country]
    return first[country] + (rng.random(country.size) ** 3.2 * count).astype(np.int64)


def _draw_pages(rng: np.random.Generator, inventory: Inventory, publisher: Ints) -> Ints:
    first = inventory.first_of_publisher
    count = first[publisher + 1] - first[publisher]
    return first[publisher] + (rng.random(publisher.size) ** 2 * count).astype(np.int64)


def _draw_devices(
    rng: np.random.Generator, people: Population, person: Ints, surface: Ints
) -> Ints:
    chance = rng.random(person.size)
    on_web = np.where(
        chance < 0.52,
        people.phone[person],
        np.where(chance < 0.6, people.tablet[person], people.pc[person]),
    )
    in_app = np.where(chance < 0.86, people.phone[person], people.tablet[person])
    return np.select(
        [surface == SURFACES.index(Surface.WEB), surface == SURFACES.index(Surface.APP)],
        [on_web, in_app],
        default=people.tv[person],
    )


def _hour_mix() -> Floats:
    """Weighs hours: a quiet night, an even day, and the publisher's peaks with their shoulders."""
    mix = np.tile(np.array([0.25] * 6 + [1.0] * 17 + [0.6]), (len(PUBLISHERS), 1))
    for row, publisher in enumerate(PUBLISHERS):
        for hour in publisher.peak_hours:
            mix[row, hour] += 1.6
            mix[row, (hour + 1) % 24] += 0.7
    return mix


def _draw_times(
    rng: np.random.Generator, people: Population, day: date, publisher: Ints, person: Ints
) -> Ints:
    """Draws times: the person's local hour follows the curve, the instant is in the UTC day."""
    offset: Ints = UTC_OFFSETS[people.city[person]]
    minute: Ints = _pick_by_row(rng, _hour_mix(), publisher) * 60 - offset
    within_hour = rng.integers(0, 3_600_000, publisher.size)
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    return midnight + (minute % DAY_MINUTES * 60_000 + within_hour) % (DAY_MINUTES * 60_000)


def _in_order_of_time(draw: Draw) -> Draw:
    order = np.argsort(draw.milliseconds, kind="stable")
    return Draw(
        rng=draw.rng,
        publisher=draw.publisher[order],
        person=draw.person[order],
        page=draw.page[order],
        surface=draw.surface[order],
        placement=draw.placement[order],
        device=draw.device[order],
        milliseconds=draw.milliseconds[order],
    )
