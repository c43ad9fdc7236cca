"""Makes the people behind demo visits: where they live, what they own, what they agreed to.

One person is one row. Rows are sorted by country: one number draws a person of a country.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from exchange.demo.chance import seed_of
from exchange.demo.devices import (
    ANDROIDS,
    DEVICES,
    IPHONE_SHARE,
    IPHONES,
    PCS,
    TABLETS,
    TVS,
    Device,
)
from exchange.demo.vocabulary import SEGMENTS
from exchange.demo.world import CITIES, COUNTRIES, ZIPS_PER_CITY

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

UNKNOWN, NO, YES = -1, 0, 1


@dataclass(frozen=True, slots=True)
class Population:
    """Columns by person; `first_of_country[c]` to `first_of_country[c + 1]` live in country c."""

    first_of_country: Ints
    country: Ints
    city: Ints
    zip_number: Ints
    lat: Floats
    lon: Floats
    language: Ints
    carrier: Ints
    phone: Ints
    tablet: Ints
    pc: Ints
    tv: Ints
    age: Ints
    gender: Ints
    consent: Ints
    limits_tracking: Bools
    ids: pa.Array
    ips: pa.Array
    segments: pa.Array


def build_population(seed: int, size: int) -> Population:
    rng = np.random.default_rng(seed_of(seed, "population"))
    weights = np.array([country.weight for country in COUNTRIES], dtype=float)
    country = np.sort(rng.choice(len(COUNTRIES), size=size, p=weights / weights.sum()))
    # Nobody may draw from an empty country, however small the population is.
    country[: len(COUNTRIES)] = np.arange(len(COUNTRIES))
    country.sort()
    city = _draw_cities(rng, country)
    lat = np.array([c.lat for c in CITIES])[city] + rng.normal(0, 0.07, size)
    lon = np.array([c.lon for c in CITIES])[city] + rng.normal(0, 0.1, size)
    consent = _draw_consent(rng, country)
    return Population(
        first_of_country=np.searchsorted(country, np.arange(len(COUNTRIES) + 1)),
        country=country,
        city=city,
        zip_number=(rng.random(size) ** 2 * ZIPS_PER_CITY).astype(np.int64),
        lat=lat.round(5),
        lon=lon.round(5),
        language=_pick_within(rng, [len(c.languages) for c in COUNTRIES], country, skew=2.5),
        carrier=_pick_within(rng, [len(c.carriers) for c in COUNTRIES], country, skew=1.3),
        phone=_draw_phones(rng, country),
        tablet=_draw_devices(rng, TABLETS, size),
        pc=_draw_devices(rng, PCS, size),
        tv=_draw_devices(rng, TVS, size),
        age=np.clip(rng.gamma(6.5, 6.2, size) + 8, 13, 90).astype(np.int64),
        gender=rng.choice(3, size=size, p=(0.49, 0.49, 0.02)),
        consent=consent,
        limits_tracking=rng.random(size) < 0.22,
        ids=pa.array([f"{number:016x}" for number in rng.integers(0, 2**63, size).tolist()]),
        ips=_draw_ips(rng, country),
        segments=_draw_segments(rng, consent),
    )


def _pick_within(
    rng: np.random.Generator, counts: list[int], country: Ints, *, skew: float
) -> Ints:
    """Picks a number below the country's count; the first ones are more likely."""
    chance: Floats = rng.random(country.size) ** skew
    picked: Ints = (chance * np.array(counts)[country]).astype(np.int64)
    return picked


def _draw_cities(rng: np.random.Generator, country: Ints) -> Ints:
    city: Ints = np.empty(country.size, dtype=np.int64)
    first = 0
    for code, place in enumerate(COUNTRIES):
        here = country == code
        weights = np.array([c.weight for c in place.cities], dtype=float)
        city[here] = first + rng.choice(len(weights), size=here.sum(), p=weights / weights.sum())
        first += len(place.cities)
    return city


def _draw_devices(rng: np.random.Generator, among: tuple[Device, ...], size: int) -> Ints:
    weights = np.array([device.weight for device in among], dtype=float)
    return DEVICES.index(among[0]) + rng.choice(len(among), size=size, p=weights / weights.sum())


def _draw_phones(rng: np.random.Generator, country: Ints) -> Ints:
    shares = np.array([IPHONE_SHARE.get(c.code, 0.3) for c in COUNTRIES])
    has_iphone = rng.random(country.size) < shares[country]
    iphone = _draw_devices(rng, IPHONES, country.size)
    return np.where(has_iphone, iphone, _draw_devices(rng, ANDROIDS, country.size))


def _draw_consent(rng: np.random.Generator, country: Ints) -> Ints:
    """Draws consent: under the GDPR most people answer; elsewhere few are asked."""
    is_gdpr = np.array([c.is_gdpr for c in COUNTRIES])[country]
    asked = rng.choice((YES, NO, UNKNOWN), size=country.size, p=(0.74, 0.17, 0.09))
    hardly_asked = rng.choice((YES, NO, UNKNOWN), size=country.size, p=(0.42, 0.03, 0.55))
    return np.where(is_gdpr, asked, hardly_asked)


def _draw_ips(rng: np.random.Generator, country: Ints) -> pa.Array:
    networks = [c.networks for c in COUNTRIES]
    octets = rng.integers(0, 256, (country.size, 3)).tolist()
    choice = rng.integers(0, 60, country.size).tolist()
    is_v6 = (rng.random(country.size) < 0.14).tolist()
    return pa.array(
        [
            f"2a0{code % 10}:{code:x}:{a:x}{b:02x}::{pick:x}:{c:x}"
            if v6
            else f"{networks[code][pick % len(networks[code])]}.{a}.{b}.{c}"
            for code, (a, b, c), pick, v6 in zip(
                country.tolist(), octets, choice, is_v6, strict=True
            )
        ]
    )


def _draw_segments(rng: np.random.Generator, consent: Ints) -> pa.Array:
    """Draws segments; unknown (null, not empty) for who refused and for a fifth of the others."""
    size = consent.size
    is_known = (consent != NO) & (rng.random(size) > 0.2)
    counts = np.where(is_known, np.minimum(rng.poisson(5.0, size), 16), 0)
    person = np.repeat(np.arange(size), counts)
    segment = (rng.random(person.size) ** 1.7 * len(SEGMENTS)).astype(np.int64)
    # Sorted and without repetition: one number holds both the person and the segment.
    pairs = np.unique(person * len(SEGMENTS) + segment)
    offsets = np.searchsorted(pairs, np.arange(size + 1) * len(SEGMENTS)).astype(np.int32)
    texts = pa.array(SEGMENTS).take(pa.array(pairs % len(SEGMENTS)))
    return pa.ListArray.from_arrays(pa.array(offsets), texts, mask=pa.array(~is_known))
