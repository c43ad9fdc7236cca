"""Writes campaign expressions as programs do: large and odd, but never meaningless.

Each kind stands for a tool that exports targeting: a store locator, a catchment map, a postal list,
a model, an experiment platform, a block list, a decision tree, a privacy compiler.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from exchange.demo.chance import Weighted, weigh
from exchange.demo.pieces import DEVICE_CONDITIONS, FORMATS, SAFETY_CONDITIONS, Pieces
from exchange.demo.syntax import any_of, either, numbers, text, texts
from exchange.demo.vocabulary import (
    BLOCKED_DOMAINS,
    DATA_PROVIDERS,
    INTERESTS,
    SEGMENTS,
    Sector,
)
from exchange.demo.world import BY_CODE, CITIES, REGIONS, ZIPS_PER_CITY, City, zip_code

Machine = Callable[[Sector, str, Pieces, random.Random], str]

FIRST_ZIPS = 12


def write_by_machine(sector: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    return MACHINES.draw(rng)(sector, region, pieces, rng)


def _cities(region: str) -> list[City]:
    return [city for code in REGIONS[region] for city in BY_CODE[code].cities]


def store_locator(_: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Draws a circle around each shop; a visit without a position may still name the city."""
    cities = _cities(region)
    shops = [rng.choice(cities) for _ in range(rng.randint(8, 40))]
    circles = [
        f"geo.location within {rng.randint(2, 12)} km of"
        f" ({shop.lat + rng.gauss(0, 0.06):.4f}, {shop.lon + rng.gauss(0, 0.08):.4f})"
        for shop in shops
    ]
    named = either("geo.city", [shop.name for shop in shops])
    nearby = f"({any_of(circles)} or (geo.location is missing and {named}))"
    return f"{pieces.safety.draw(rng)} and {nearby}"


def catchment_map(_: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Draws polygons around cities, some with a hole that is left out."""
    areas = [
        _polygon(rng.choice(_cities(region)), rng.uniform(0.12, 0.4), rng)
        for _ in range(rng.randint(1, 4))
    ]
    hole = rng.choice(_cities(region))
    return (
        f"geo.location is present and {any_of(areas)}"
        f" and geo.location not within {rng.randint(1, 3)} km of ({hole.lat}, {hole.lon})"
        f" and {pieces.devices.draw(rng)}"
    )


def _polygon(city: City, radius: float, rng: random.Random) -> str:
    corners = rng.randint(5, 14)
    points = []
    for corner in range(corners):
        angle = 2 * math.pi * corner / corners
        reach = radius * rng.uniform(0.6, 1.2)
        points.append(
            f"({city.lat + reach * math.sin(angle):.4f}, {city.lon + reach * math.cos(angle):.4f})"
        )
    return f"geo.location inside polygon ({', '.join(points)})"


def postal_list(sector: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Lists hundreds of postal codes, and asks for the audience where the code is unknown."""
    rows = [number for number, city in enumerate(CITIES) if city in set(_cities(region))]
    codes = {
        zip_code(rng.choice(rows), rng.randrange(ZIPS_PER_CITY))
        for _ in range(rng.randint(60, 400))
    }
    codes |= {zip_code(row, number) for row in rows[:2] for number in range(FIRST_ZIPS)}
    place = either("geo.country", REGIONS[region])
    audience = pieces.audiences[sector.name].draw(rng)
    return f"{place} and ({either('geo.zip', codes)} or (geo.zip is missing and {audience}))"


def lookalike_model(_: Sector, region: str, __: Pieces, rng: random.Random) -> str:
    """Writes the rules of a learned model: many small conjunctions, any of which will do."""
    rules = []
    for _turn in range(rng.randint(8, 30)):
        liked = sorted(rng.sample(SEGMENTS[:60], rng.randint(1, 3)))
        rule = [f"user.segments one of {texts(liked)}", rng.choice(DEVICE_CONDITIONS)]
        if rng.random() < 0.5:
            rule.append(f"user.segments none of {texts(sorted(rng.sample(SEGMENTS, 2)))}")
        if rng.random() < 0.3:
            rule.append(f"count(user.segments) {rng.choice(('>=', '<'))} {rng.randint(2, 9)}")
        rules.append("(" + " and ".join(rule) + ")")
    return f"{either('geo.country', REGIONS[region])} and {any_of(rules)}"


def experiment(sector: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Writes cells of a test: exactly one of two conditions, or both or neither, for some users."""
    first, second = pieces.devices.draw(rng), pieces.audiences[sector.name].draw(rng)
    cells = sorted(rng.sample("0123456789abcdef", rng.randint(6, 12)))
    split = any_of(f"user.id ends with {text(cell)}" for cell in cells)
    operator = rng.choice(("xor", "xor", "xnor"))
    place = either("geo.country", REGIONS[region])
    third = rng.choice(FORMATS)
    if rng.random() < 0.4:
        return f"{place} and {split} and ({first} {operator} {second} xor {third})"
    return f"{place} and {split} and ({first} {operator} {second})"


def block_list(_: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Takes everything but a long list of sites, bundles, addresses and referrers."""
    domains = sorted(rng.sample(BLOCKED_DOMAINS, rng.randint(40, 95)))
    bundles = sorted(
        f"com.{rng.choice(BLOCKED_DOMAINS).split('.')[0]}.app{n}"
        for n in range(rng.randint(10, 60))
    )
    networks = sorted(
        {f"{rng.randint(11, 200)}.{rng.randrange(256)}.0.0/16" for _ in range(rng.randint(5, 25))}
    )
    return (
        f"{either('geo.country', REGIONS[region])}"
        f" and (site.domain not under {texts(domains)} or site.domain is missing)"
        f" and (app.bundle not in {texts(bundles)} or app.bundle is missing)"
        f" and not (device.ip in network {texts(networks)})"
        f" and (site.ref not like '*viral*' and site.ref not like '*odds?*' or site.ref is missing)"
        f" and {pieces.formats.draw(rng)}"
    )


def decision_tree(_: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Writes a tree of questions as it is evaluated; leaves say yes more often than no."""
    return f"{either('geo.country', REGIONS[region])} and {_branch(pieces, rng, rng.randint(3, 5))}"


def _branch(pieces: Pieces, rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(
            (rng.choice(SAFETY_CONDITIONS), _interest(rng), pieces.dayparts.draw(rng))
        )
    question = rng.choice(
        (
            rng.choice(DEVICE_CONDITIONS),
            _interest(rng),
            "imp.channel = 'web'",
            "user.consent",
            "imp.floor < 1.2",
        )
    )
    yes, no = _branch(pieces, rng, depth - 1), _branch(pieces, rng, depth - 1)
    return f"({question} and {yes} or not {question} and {no})"


def _interest(rng: random.Random) -> str:
    interest = rng.choice(INTERESTS)
    return f"user.segments one of {texts(f'{provider}:{interest}' for provider in DATA_PROVIDERS)}"


def privacy_compiler(_: Sector, region: str, pieces: Pieces, rng: random.Random) -> str:
    """Spells out every legal regime, missing answers included."""
    purposes = sorted(rng.sample((1, 2, 3, 4, 7, 9, 10), rng.randint(2, 4)))
    vendors = sorted(rng.sample((10, 52, 76, 91, 128, 755), 2))
    return (
        f"{either('geo.country', REGIONS[region])} and ("
        f"(regs.gdpr and user.consent and user.tcf_purposes all of {numbers(purposes[:2])}"
        f" and (user.tcf_vendors one of {numbers(vendors)} or user.tcf_vendors is empty))"
        f" or (not regs.gdpr and (regs.us_privacy is missing or regs.us_privacy not like '??Y?')"
        f" and (regs.gpp_sections is missing or regs.gpp_sections only of (2, 6, 7, 8)))"
        f" or (regs.gdpr is missing and geo.country not in ('DEU', 'FRA')"
        f" and user.segments is missing))"
        f" and not regs.coppa and {pieces.formats.draw(rng)}"
    )


MACHINES: Weighted[Machine] = weigh(
    {
        store_locator: 10,
        catchment_map: 6,
        postal_list: 8,
        lookalike_model: 16,
        experiment: 18,
        block_list: 8,
        decision_tree: 16,
        privacy_compiler: 12,
    }
)
