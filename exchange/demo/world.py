"""Describes the world that demo visits come from: countries with their cities, languages and
networks.

Facts are simplified on purpose: standard time only, invented network allocations.
"""

from __future__ import annotations

from dataclasses import dataclass

from exchange.demo.wordlists import build, build_all, read_words


@dataclass(frozen=True, slots=True)
class City:
    """A city; `weight` is the share of the country's visits relative to its other cities."""

    name: str
    region: str
    lat: float
    lon: float
    utc_offset_minutes: int
    weight: int


@dataclass(frozen=True, slots=True)
class Country:
    """A country; `networks` are the first octets of its providers' invented v4 allocations."""

    code: str
    languages: tuple[str, ...]
    is_gdpr: bool
    weight: int
    networks: tuple[int, ...]
    carriers: tuple[str, ...]
    cities: tuple[City, ...]


_WORDS = read_words("world")

COUNTRIES: tuple[Country, ...] = tuple(
    build(Country, {**row, "cities": build_all(City, row["cities"])}) for row in _WORDS["countries"]
)
BY_CODE: dict[str, Country] = {country.code: country for country in COUNTRIES}
CITIES: tuple[City, ...] = tuple(city for country in COUNTRIES for city in country.cities)
METROS: dict[str, str] = _WORDS["metros"]
GDPR_CODES: tuple[str, ...] = tuple(sorted(c.code for c in COUNTRIES if c.is_gdpr))
REGIONS: dict[str, tuple[str, ...]] = {
    name: tuple(codes) for name, codes in _WORDS["regions"].items()
}

ZIPS_PER_CITY = 40


def zip_code(city: int, number: int) -> str:
    """Makes up a postal code; `city` is a place in `CITIES`."""
    return f"{10_000 + city * 211 + number:05d}"
