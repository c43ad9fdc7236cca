"""Turns a day's draw into the visit log's Arrow table: one column per attribute, null = missing.

Attributes are known as often as real ones are; a few rows are malformed on purpose (`malformed`).
"""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exchange.demo.devices import DEVICES, PLACEMENTS
from exchange.demo.malformed import spoil
from exchange.demo.population import (
    NO,
    UNKNOWN,
    YES,
    Bools,
    Ints,
)
from exchange.demo.publishers import PUBLISHERS, Surface
from exchange.demo.visits import SURFACES, UTC_OFFSETS, Draw, VisitSource, draw_day
from exchange.demo.vocabulary import DEALS, REFERRERS
from exchange.demo.world import CITIES, COUNTRIES, METROS, ZIPS_PER_CITY, zip_code
from exchange.market.seed import read_attributes
from targeting.visit_log import ARROW_TYPES

Columns = dict[str, pa.Array]

TEXTS = pa.list_(pa.string())
INTEGERS = pa.list_(pa.int64())
INSTANT = ARROW_TYPES["timestamp"]
TCF_PURPOSES: tuple[list[int], ...] = ([], [1], [1, 2, 7], [1, 2, 7, 9, 10], [1, 2, 3, 4, 7, 9, 10])
TCF_VENDORS: tuple[list[int], ...] = ([], [52], [52, 76, 755], [10, 52, 76, 91, 128, 755])
US_PRIVACY = ("1YNN", "1YYN", "1---")
GENDERS = ("female", "male", "other")


def visit_schema() -> pa.Schema:
    """Makes the log's columns, in the catalogue's order."""
    attributes = [(row["name"], ARROW_TYPES[row["type"]]) for row in read_attributes()]
    return pa.schema([("visit_id", pa.string()), *attributes])


def make_day(source: VisitSource, day: date) -> pa.Table:
    draw = draw_day(source, day)
    columns: Columns = {
        **_clock_columns(draw, day),
        **_page_columns(draw, source),
        **_placement_columns(draw),
        **_device_columns(draw, source),
        **_geo_columns(draw, source),
        **_person_columns(draw, source),
        **_privacy_columns(draw, source),
        **_chain_columns(draw),
    }
    schema = visit_schema()
    arrays = [columns.get(field.name, pa.nulls(draw.size)).cast(field.type) for field in schema]
    return spoil(pa.table(arrays, schema=schema), draw.rng)


def _look_up(
    values: list[object], type_: pa.DataType, rows: Ints, known: Bools | None = None
) -> pa.Array:
    return _take(pa.array(values, type_), rows, known)


def _take(column: pa.Array, rows: Ints, known: Bools | None = None) -> pa.Array:
    """Takes `column[rows]`, null where the visit does not know it."""
    mask = None if known is None else ~known
    return column.take(pa.array(rows, mask=mask))


def _numbers(values: Ints, known: Bools | None = None) -> pa.Array:
    return pa.array(values, mask=None if known is None else ~known)


def _clock_columns(draw: Draw, day: date) -> Columns:
    suffixes = draw.rng.integers(0, 2**32, draw.size).tolist()
    ids = [f"{day:%Y%m%d}-{number:06d}-{suffix:08x}" for number, suffix in enumerate(suffixes)]
    instants = pa.array(draw.milliseconds).cast(INSTANT)
    return {"visit_id": pa.array(ids), "time": instants, "local_time": instants}


def _page_columns(draw: Draw, source: VisitSource) -> Columns:
    on_web = draw.surface == SURFACES.index(Surface.WEB)
    by_publisher = draw.publisher
    fill = {
        "site.section_cat": on_web & draw.known(0.7),
        "site.page_cat": on_web & draw.known(0.85),
        "site.keywords": on_web & draw.known(0.6),
        "site.page": on_web & draw.known(0.97),
        "content.cat": draw.known(0.75),
    }
    pages = {
        name: _take(column, draw.page, fill.get(name))
        for name, column in source.inventory.columns.items()
    }
    domains = [f"www.{p.domain}" for p in PUBLISHERS]
    versions = draw.rng.integers(0, 5, draw.size)
    return {
        **pages,
        "publisher.id": _look_up([p.seller_id for p in PUBLISHERS], pa.string(), by_publisher),
        "publisher.domain": _look_up(
            [p.domain for p in PUBLISHERS], pa.string(), by_publisher, draw.known(0.9)
        ),
        "site.domain": _look_up([*domains], pa.string(), by_publisher, on_web),
        "site.cat": _look_up(
            [p.categories for p in PUBLISHERS], TEXTS, by_publisher, on_web & draw.known(0.95)
        ),
        "site.ref": _look_up(
            [*REFERRERS], pa.string(), _skewed(draw, len(REFERRERS)), on_web & draw.known(0.55)
        ),
        "app.bundle": _look_up([p.bundle for p in PUBLISHERS], pa.string(), by_publisher, ~on_web),
        "app.version": _look_up(
            ["5.2.0", "5.1.3", "5.1.0", "4.9.2", "3.0.1"],
            pa.string(),
            versions,
            ~on_web & draw.known(0.8),
        ),
        "app.cat": _look_up(
            [p.categories for p in PUBLISHERS], TEXTS, by_publisher, ~on_web & draw.known(0.93)
        ),
        "content.language": _content_languages(draw, source),
        **_programme_columns(draw),
    }


def _programme_columns(draw: Draw) -> Columns:
    """Draws network and channel, which are only known on television."""
    on_tv = draw.surface == SURFACES.index(Surface.TV)
    channels = draw.rng.integers(0, 4, draw.size)
    networks = [f"{p.name} Network" for p in PUBLISHERS]
    return {
        "content.network_name": _look_up(
            [*networks], pa.string(), draw.publisher, on_tv & draw.known(0.8)
        ),
        "content.channel_name": _look_up(
            ["One", "Two", "Cinema", "Sport"], pa.string(), channels, on_tv & draw.known(0.6)
        ),
    }


def _content_languages(draw: Draw, source: VisitSource) -> pa.Array:
    """Takes the publisher's own language, or the person's where the publisher has none."""
    own = _look_up([p.language for p in PUBLISHERS], pa.string(), draw.publisher)
    return pc.if_else(pa.array(draw.known(0.8)), pc.coalesce(own, _languages(draw, source)), None)


def _languages(draw: Draw, source: VisitSource) -> pa.Array:
    people = source.population
    texts = [language for country in COUNTRIES for language in country.languages]
    firsts = np.cumsum([0] + [len(country.languages) for country in COUNTRIES])
    return _look_up(
        [*texts], pa.string(), firsts[people.country[draw.person]] + people.language[draw.person]
    )


def _skewed(draw: Draw, count: int) -> Ints:
    return (draw.rng.random(draw.size) ** 2.2 * count).astype(np.int64)


def _placement_columns(draw: Draw) -> Columns:
    rows = draw.placement
    names = [f"{p.seller_id}/{slot.slug}" for p in PUBLISHERS for slot in PLACEMENTS]
    floors = np.array([slot.floor for slot in PLACEMENTS])[rows] * draw.rng.lognormal(
        0, 0.45, draw.size
    )
    channels = ["app" if s is not Surface.WEB else "web" for s in SURFACES]
    deals = [
        [DEALS[i]] if i % 3 else [DEALS[i], DEALS[(i * 7 + 3) % len(DEALS)]]
        for i in range(len(DEALS))
    ]
    has_video = np.array(["video" in slot.media_types for slot in PLACEMENTS])[rows]
    slots = PLACEMENTS
    return {
        "imp.channel": _look_up([*channels], pa.string(), draw.surface),
        "imp.placement_id": _look_up(
            [*names], pa.string(), draw.publisher * len(slots) + rows, draw.known(0.98)
        ),
        "imp.media_types": _look_up([s.media_types for s in slots], TEXTS, rows),
        "imp.sizes": _look_up([s.sizes for s in slots], TEXTS, rows, draw.known(0.97)),
        "imp.position": _look_up([s.position for s in slots], pa.string(), rows, draw.known(0.8)),
        "imp.interstitial": _look_up(
            [s.is_interstitial for s in slots], pa.bool_(), rows, draw.known(0.95)
        ),
        "imp.rewarded": _look_up(
            [s.is_rewarded for s in slots], pa.bool_(), rows, draw.known(0.95)
        ),
        "imp.floor": pa.array(floors.round(2), mask=~draw.known(0.9)),
        "imp.video_placement": _look_up(
            [s.video_placement for s in slots], pa.string(), rows, draw.known(0.9)
        ),
        "imp.video_start": _look_up(
            [s.video_start for s in slots], pa.string(), rows, draw.known(0.9)
        ),
        "imp.min_duration": _numbers(np.full(draw.size, 5), has_video & draw.known(0.85)),
        "imp.max_duration": _look_up(
            [s.max_duration for s in slots], pa.int64(), rows, draw.known(0.97)
        ),
        "imp.skippable": _look_up(
            [s.is_skippable for s in slots], pa.bool_(), rows, draw.known(0.7)
        ),
        "imp.playback": _look_up([s.playback for s in slots], TEXTS, rows, draw.known(0.8)),
        "imp.deals": _look_up([*deals], TEXTS, _skewed(draw, len(deals)), draw.known(0.14)),
    }


def _device_columns(draw: Draw, source: VisitSource) -> Columns:
    rows, people = draw.device, source.population
    on_web = draw.surface == SURFACES.index(Surface.WEB)
    on_mobile = np.array([d.type in {"phone", "mobile"} for d in DEVICES])[rows]
    carriers = [carrier for country in COUNTRIES for carrier in country.carriers]
    firsts = np.cumsum([0] + [len(country.carriers) for country in COUNTRIES])
    carrier = firsts[people.country[draw.person]] + people.carrier[draw.person]
    return {
        "device.type": _look_up([d.type for d in DEVICES], pa.string(), rows, draw.known(0.985)),
        "device.os": _look_up([d.os for d in DEVICES], pa.string(), rows, draw.known(0.97)),
        "device.os_version": _look_up(
            [d.os_version for d in DEVICES], pa.string(), rows, draw.known(0.85)
        ),
        "device.browser": _look_up(
            [d.browser for d in DEVICES], pa.string(), rows, on_web & draw.known(0.97)
        ),
        "device.make": _look_up([d.make for d in DEVICES], pa.string(), rows, draw.known(0.9)),
        "device.model": _look_up([d.model for d in DEVICES], pa.string(), rows, draw.known(0.85)),
        "device.language": pc.if_else(pa.array(draw.known(0.93)), _languages(draw, source), None),
        "device.carrier": _look_up([*carriers], pa.string(), carrier, on_mobile & draw.known(0.7)),
        "device.connection_type": _connections(draw, on_mobile),
        "device.ip": _take(people.ips, draw.person, draw.known(0.96)),
        "device.limit_tracking": pa.array(
            people.limits_tracking[draw.person], mask=~draw.known(0.7)
        ),
    }


def _connections(draw: Draw, on_mobile: Bools) -> pa.Array:
    kinds = ["wifi", "5g", "4g", "3g", "cellular", "ethernet"]
    mobile = draw.rng.choice(5, size=draw.size, p=(0.55, 0.2, 0.19, 0.02, 0.04))
    at_home = np.where(draw.rng.random(draw.size) < 0.7, 0, 5)
    return _look_up([*kinds], pa.string(), np.where(on_mobile, mobile, at_home), draw.known(0.75))


def _geo_columns(draw: Draw, source: VisitSource) -> Columns:
    people = source.population
    city = people.city[draw.person]
    has_place = draw.known(0.985)
    zips = [zip_code(c, number) for c in range(len(CITIES)) for number in range(ZIPS_PER_CITY)]
    metros = [METROS.get(c.name) for c in CITIES]
    in_app = draw.surface == SURFACES.index(Surface.APP)
    is_located = draw.rng.random(draw.size) < np.where(in_app, 0.62, 0.38)
    location = pa.StructArray.from_arrays(
        [pa.array(people.lat[draw.person]), pa.array(people.lon[draw.person])],
        names=["lat", "lon"],
        mask=pa.array(~is_located),
    )
    zip_row = city * ZIPS_PER_CITY + people.zip_number[draw.person]
    return {
        "geo.country": _look_up(
            [c.code for c in COUNTRIES], pa.string(), people.country[draw.person], has_place
        ),
        "geo.region": _look_up(
            [c.region for c in CITIES], pa.string(), city, has_place & draw.known(0.9)
        ),
        "geo.city": _look_up(
            [c.name for c in CITIES], pa.string(), city, has_place & draw.known(0.8)
        ),
        "geo.metro": _look_up([*metros], pa.string(), city, has_place & draw.known(0.85)),
        "geo.zip": _look_up([*zips], pa.string(), zip_row, has_place & draw.known(0.55)),
        "geo.location": location,
        "geo.utc_offset": _numbers(UTC_OFFSETS[city], has_place & draw.known(0.9)),
    }


def _person_columns(draw: Draw, source: VisitSource) -> Columns:
    people, person = source.population, draw.person
    for_adults = ~np.array([p.is_for_children for p in PUBLISHERS])[draw.publisher]
    return {
        "user.id": _take(people.ids, person, for_adults & draw.known(0.88)),
        "user.segments": _take(people.segments, person, for_adults),
        "user.age": _numbers(people.age[person], for_adults & draw.known(0.12)),
        "user.gender": _look_up(
            [*GENDERS], pa.string(), people.gender[person], for_adults & draw.known(0.14)
        ),
    }


def _privacy_columns(draw: Draw, source: VisitSource) -> Columns:
    people, person = source.population, draw.person
    country = people.country[person]
    is_gdpr = np.array([c.is_gdpr for c in COUNTRIES])[country]
    is_usa = np.array([c.code == "USA" for c in COUNTRIES])[country]
    consent = people.consent[person]
    has_answer = consent != UNKNOWN
    # The more people agreed to, the later the row; those who refused get the empty one.
    depth = np.where(consent == YES, 1 + person % 4, 0)
    for_children = np.array([p.is_for_children for p in PUBLISHERS])[draw.publisher]
    sections = np.where(is_gdpr, 0, 1 + person % 2)
    return {
        "user.consent": pa.array(consent != NO, mask=~has_answer),
        "user.tcf_purposes": _look_up([*TCF_PURPOSES], INTEGERS, depth, is_gdpr & has_answer),
        "user.tcf_vendors": _look_up(
            [*TCF_VENDORS], INTEGERS, np.minimum(depth, 3), is_gdpr & has_answer
        ),
        "regs.gdpr": pa.array(is_gdpr, mask=~draw.known(0.94)),
        "regs.coppa": pa.array(for_children, mask=~(for_children | draw.known(0.7))),
        "regs.us_privacy": _look_up(
            [*US_PRIVACY], pa.string(), _skewed(draw, 3), is_usa & draw.known(0.8)
        ),
        "regs.gpp_sections": _look_up(
            [[2], [7], [8]], INTEGERS, sections, (is_gdpr | is_usa) & draw.known(0.5)
        ),
    }


def _chain_columns(draw: Draw) -> Columns:
    """Draws supply chains: most visits come from the publisher, some through wrappers."""
    length = 1 + (draw.rng.random(draw.size) < 0.25) + (draw.rng.random(draw.size) < 0.08)
    known = draw.known(0.85)
    wrappers = ["wrapper.example/77", "bundle.example/4"]
    chains = [
        [f"{p.domain}/{p.seller_id}", *wrappers[:extra]] for p in PUBLISHERS for extra in range(3)
    ]
    return {
        "source.schain_sellers": _look_up([*chains], TEXTS, draw.publisher * 3 + length - 1, known),
        "source.schain_length": _numbers(length, known),
        "source.schain_complete": pa.array(draw.known(0.93), mask=~known),
    }
