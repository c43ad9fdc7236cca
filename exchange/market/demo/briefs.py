"""Campaign expressions as a person writes them: a place, and a few of the shared pieces."""

from __future__ import annotations

import random

from exchange.market.demo.pieces import Pieces, make_audience, make_floor, make_place, make_sizes
from exchange.market.demo.syntax import all_of
from exchange.market.demo.vocabulary import Sector


def write_brief(sector: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Each condition is there with its own chance; the place nearly always."""
    parts = []
    if rng.random() < 0.94:
        parts.append(make_place(region, rng))
    for chance, pool in (
        (0.42, pieces.devices),
        (0.46, pieces.audiences[sector.name]),
        (0.36, pieces.contexts[sector.name]),
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


def _extras(sector: Sector, rng: random.Random) -> list[str]:
    """What makes a campaign unlike the others, and what no other one shares."""
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
