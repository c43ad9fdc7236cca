"""Makes believable names of advertisers, intermediaries and campaigns, each used once."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter

from exchange.demo.vocabulary import BRAND_ROOTS, INTERMEDIARIES, SECTORS, Sector

CAMPAIGN_NAME_LENGTH = 160
DASH = " \u2013 "


def slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def name_brands(count: int, rng: random.Random) -> list[tuple[str, Sector]]:
    """Lists brands: a root meets a sector at most once per round; later rounds are numbered."""
    pool = [
        (f"{root} {suffix}", sector)
        for sector in SECTORS
        for suffix in sector.suffixes
        for root in BRAND_ROOTS
    ]
    weights = [sector.weight / len(sector.suffixes) for _, sector in pool]
    # Efraimidis and Spirakis: sorting by r ** (1 / weight) draws without replacement by weight.
    keys = [rng.random() ** (1 / weight) for weight in weights]
    order = sorted(range(len(pool)), key=keys.__getitem__, reverse=True)
    brands = []
    for number in range(count):
        name, sector = pool[order[number % len(pool)]]
        turn = number // len(pool)
        brands.append((name if turn == 0 else f"{name} {turn + 1}", sector))
    return brands


def name_intermediaries(kind: str, count: int) -> list[str]:
    known = INTERMEDIARIES[kind]
    return [
        known[number]
        if number < len(known)
        else f"{known[number % len(known)]} {number // len(known) + 1}"
        for number in range(count)
    ]


class CampaignNames:
    """Gives each (brand, product, place) its name; a repeated one becomes the next wave."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def next_for(self, brand: str, product: str, place: str) -> str:
        name = DASH.join((brand, product, place))[: CAMPAIGN_NAME_LENGTH - 20]
        self._used[name] += 1
        wave = self._used[name]
        return name if wave == 1 else f"{name}{DASH}wave {wave}"
