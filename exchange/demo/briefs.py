"""Writes campaign expressions as a person does: a place, and a few of the shared pieces."""

from __future__ import annotations

import random
from collections.abc import Sequence

from exchange.demo.chance import Weighted
from exchange.demo.pieces import (
    TV_CONDITION,
    Pieces,
    make_audience,
    make_floor,
    make_place,
    make_sizes,
)
from exchange.demo.publishers import Publisher, Surface
from exchange.demo.syntax import all_of
from exchange.demo.vocabulary import Sector

LOOKS_AT_CONTEXTS = 4


def write_brief(
    sector: Sector,
    region: str,
    publishers: Sequence[Publisher],
    pieces: Pieces,
    rng: random.Random,
) -> str:
    """Writes an expression. Each condition comes with its own chance; the place nearly always."""
    parts = []
    if rng.random() < 0.94:
        parts.append(make_place(region, rng))
    if rng.random() < 0.42:
        parts.append(_choose_device(publishers, pieces, rng))
    if rng.random() < 0.36:
        parts.append(_choose_context(pieces.contexts[sector.name], publishers, rng))
    for chance, pool in (
        (0.46, pieces.audiences[sector.name]),
        (0.5, pieces.safety),
        (0.25, pieces.formats),
        (0.16, pieces.dayparts),
        (0.22, pieces.privacy),
        (0.08, pieces.blocks),
    ):
        if rng.random() < chance:
            parts.append(pool.draw(rng))
    parts += _extras(sector, rng)
    return all_of(dict.fromkeys(parts)) or "true"


def _choose_device(publishers: Sequence[Publisher], pieces: Pieces, rng: random.Random) -> str:
    """Chooses a device; nobody plans television with a publisher that has none."""
    share = sum(Surface.TV in publisher.surfaces for publisher in publishers) / len(publishers)
    return TV_CONDITION if rng.random() < 0.6 * share else pieces.devices.draw(rng)


def _choose_context(
    pool: Weighted[str], publishers: Sequence[Publisher], rng: random.Random
) -> str:
    """Prefers what the booked publishers write about; a careless planner takes any."""
    offered = {category for publisher in publishers for category in publisher.all_categories}
    for _ in range(LOOKS_AT_CONTEXTS):
        context = pool.draw(rng)
        if any(f"'{category}'" in context for category in offered):
            break
    return context


def _extras(sector: Sector, rng: random.Random) -> list[str]:
    """Draws what makes a campaign unlike the others, and what no other one shares."""
    extras = []
    if rng.random() < 0.15:
        extras.append(make_floor(rng))
    if rng.random() < 0.05:
        extras.append(make_sizes(rng))
    if rng.random() < 0.06:
        extras.append(make_audience(sector, rng))
    if rng.random() < 0.03:
        low = rng.randint(16, 45)
        extras.append(
            f"(user.age between {low} and {low + rng.randint(10, 30)} or user.age is missing)"
        )
    if rng.random() < 0.02:
        extras.append(f"imp.deals one of ('deal-{rng.randint(1001, 1012)}')")
    if rng.random() < 0.02:
        extras.append(
            f"(not user.id ends with '{rng.choice('0123456789abcdef')}' or user.id is missing)"
        )
    return extras
