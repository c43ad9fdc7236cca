"""Makes campaigns, edges and visits for sets whose expressions contain one another.

Edges are true of about half of all visits, campaigns of about a third; some campaigns name a rare
segment, page or city.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

TYPES = {
    "publisher.id": "string",
    "geo.country": "string",
    "geo.city": "string",
    "device.type": "string",
    "site.domain": "string",
    "site.cat": "string set",
    "user.segments": "string set",
    "user.age": "integer",
    "user.consent": "boolean",
    "time": "timestamp",
    "price.floor": "float",
}
COUNTRIES = [f"C{i}" for i in range(40)]
CITIES = [f"city{i}" for i in range(2000)]
DEVICES = ["phone", "desktop", "tablet", "ctv"]
CATEGORIES = [f"IAB{i}" for i in range(26)]
SEGMENTS = [f"seg{i}" for i in range(5000)]
DOMAINS = [f"site{i}.com" for i in range(3000)]
FIRST_MS = 1_760_000_000_000
DAY_MS = 86_400_000


def names(chosen: random.Random, values: list[str], most: int) -> str:
    return ", ".join(f"'{value}'" for value in chosen.sample(values, chosen.randint(1, most)))


def write_edge(chosen: random.Random) -> str:
    return chosen.choice(
        (
            f"site.cat none of ({names(chosen, CATEGORIES, 4)})",
            f"geo.country in ({names(chosen, COUNTRIES, 20)}) or device.type = 'desktop'",
            f"user.consent or geo.country not in ({names(chosen, COUNTRIES, 12)})",
            f"price.floor <= {chosen.randrange(20, 80) / 10} and device.type != 'ctv'",
            f"device.type in ({names(chosen, DEVICES, 3)})",
        )
    )


def write_campaign(chosen: random.Random) -> str:
    parts = [
        f"geo.country in ({names(chosen, COUNTRIES, 15)})",
        f"user.age between {chosen.randrange(18, 40)} and {chosen.randrange(45, 80)}",
        f"device.type in ({names(chosen, DEVICES, 3)})",
        f"site.cat none of ({names(chosen, CATEGORIES, 3)})",
    ]
    kept = chosen.sample(parts, chosen.randint(1, 3))
    if chosen.random() < 0.7:
        kept.append(
            chosen.choice(
                (
                    f"user.segments one of ({names(chosen, SEGMENTS, 4)})",
                    f"site.domain in ({names(chosen, DOMAINS, 6)})",
                    f"geo.city in ({names(chosen, CITIES, 5)})",
                )
            )
        )
    start = FIRST_MS + chosen.randrange(60) * DAY_MS
    return f"time >= {write_day(start)} and time < {write_day(start + 30 * DAY_MS)} and " + (
        " and ".join(kept)
    )


def write_day(moment_ms: int) -> str:
    return f"'{datetime.fromtimestamp(moment_ms / 1000, UTC):%Y-%m-%d}T00:00:00Z'"


def draw_visit(chosen: random.Random, publishers: int) -> dict[str, Any]:
    return {
        "publisher.id": f"p{chosen.randrange(publishers)}",
        "geo.country": chosen.choice(COUNTRIES),
        "geo.city": chosen.choice(CITIES),
        "device.type": chosen.choice(DEVICES),
        "site.domain": chosen.choice(DOMAINS),
        "site.cat": chosen.sample(CATEGORIES, 2),
        "user.segments": chosen.sample(SEGMENTS, chosen.randrange(12)),
        "user.age": chosen.randrange(18, 80),
        "user.consent": chosen.random() < 0.6,
        "time": FIRST_MS + chosen.randrange(60) * DAY_MS,
        "price.floor": chosen.randrange(0, 100) / 10,
    }
