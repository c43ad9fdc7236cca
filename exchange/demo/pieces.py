"""Makes pools of conditions that many campaigns share: audiences, contexts, safety, dayparts,
formats.

Real targeting is made of a few hundred such blocks, copied again and again; drawing them from pools
(the first ones most often) gives an index the same sharing that it finds in life.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from exchange.demo.chance import Weighted, stream, zipf
from exchange.demo.syntax import any_of, either, or_missing, text, texts
from exchange.demo.vocabulary import (
    BANNER_SIZES,
    BLOCKED_DOMAINS,
    DATA_PROVIDERS,
    INTERESTS,
    SECTORS,
    SENSITIVE_TOPICS,
    Sector,
)
from exchange.demo.world import BY_CODE, REGIONS

AUDIENCES_PER_SECTOR = 40
CONTEXTS_PER_SECTOR = 16

DEVICE_CONDITIONS = (
    "device.type in ('phone', 'tablet')",
    "device.type = 'phone'",
    "device.type not in ('ctv', 'set_top_box')",
    "device.os = 'ios'",
    "device.os = 'android'",
    "device.type in ('pc', 'tablet')",
    "device.os in ('android', 'ios')",
    "device.type = 'pc'",
    "(device.os = 'ios' and device.os_version not like '16.*')",
    "device.make in ('Apple', 'Samsung')",
    "device.browser in ('chrome', 'edge', 'safari')",
    "(device.type = 'pc' or device.connection_type in ('wifi', '5g'))",
    "(device.make != 'Xiaomi' or device.make is missing)",
    "device.model starts with 'iPhone 1'",
)
TV_CONDITION = "device.type in ('ctv', 'set_top_box')"
SAFETY_CONDITIONS = (
    "(content.risk in ('low', 'medium') or content.risk is missing)",
    "(content.risk != 'floor' or content.risk is missing)",
    "content.risk = 'low'",
    "(content.sensitive_topics is empty or content.sensitive_topics is missing)",
    "(content.audience != 'mature' or content.audience is missing)",
    "(content.rating not in ('TV-MA', 'R') or content.rating is missing)",
)
DAYPARTS = (
    "local_time during 'Mon-Fri 06:00-22:00'",
    "local_time during 'Mon-Sun 17:00-24:00'",
    "local_time during 'Mon-Sun 07:00-23:00'",
    "local_time during 'Fri 16:00-24:00, Sat-Sun 08:00-24:00'",
    "local_time during 'Mon-Fri 06:00-10:00, Mon-Fri 16:00-20:00'",
    "local_time during 'Sat-Sun 00:00-24:00'",
    "local_time during 'Thu-Sat 18:00-02:00'",
    "local_time not during 'Mon-Sun 00:00-06:00'",
    "(local_time during 'Mon-Sun 11:00-14:00' or local_time during 'Mon-Sun 17:00-21:00')",
    "time during 'Mon-Fri 05:00-21:00'",
)
FORMATS = (
    "imp.media_types one of ('banner')",
    "imp.media_types one of ('banner', 'native')",
    "imp.media_types one of ('video')",
    "imp.sizes one of ('300x250', '320x50', '728x90')",
    "imp.sizes one of ('300x250')",
    "(imp.media_types one of ('video') and imp.max_duration >= 20)",
    "(imp.position in ('above_fold', 'header', 'fullscreen') or imp.position is missing)",
    "(imp.rewarded = false or imp.rewarded is missing)",
    "imp.media_types only of ('banner', 'native')",
    "(imp.skippable or imp.video_placement != 'instream' or imp.video_placement is missing)",
)
PRIVACY = (
    "(not regs.gdpr or user.consent)",
    "(regs.gdpr = false or user.tcf_purposes all of (1, 2))",
    "(user.consent or user.consent is missing)",
    "(device.limit_tracking = false or device.limit_tracking is missing)",
    "(regs.us_privacy not like '??Y?' or regs.us_privacy is missing)",
)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pools. Audiences and contexts are per sector, the others for everyone."""

    audiences: dict[str, Weighted[str]]
    contexts: dict[str, Weighted[str]]
    devices: Weighted[str]
    safety: Weighted[str]
    dayparts: Weighted[str]
    formats: Weighted[str]
    privacy: Weighted[str]
    blocks: Weighted[str]


def build_pieces(seed: int) -> Pieces:
    rng = stream(seed, "pieces")
    return Pieces(
        audiences={s.name: zipf(_audiences(s, rng)) for s in SECTORS},
        contexts={s.name: zipf(_contexts(s, rng)) for s in SECTORS},
        devices=zipf(DEVICE_CONDITIONS, 0.6),
        safety=zipf([*SAFETY_CONDITIONS, *(_topic_block(rng) for _ in range(8))]),
        dayparts=zipf(DAYPARTS, 0.5),
        formats=zipf(FORMATS, 0.6),
        privacy=zipf(PRIVACY),
        blocks=zipf([_domain_block(rng) for _ in range(30)]),
    )


def _audiences(sector: Sector, rng: random.Random) -> list[str]:
    return [make_audience(sector, rng) for _ in range(AUDIENCES_PER_SECTOR)]


def make_audience(sector: Sector, rng: random.Random) -> str:
    """Asks for people with the sector's interests, from one data provider or several."""
    interests = rng.sample(sector.interests, rng.randint(2, 4))
    if rng.random() < 0.3:
        interests.append(rng.choice(INTERESTS[:16]))
    providers = DATA_PROVIDERS if rng.random() < 0.75 else rng.sample(DATA_PROVIDERS, 2)
    wanted = sorted({f"{provider}:{interest}" for provider in providers for interest in interests})
    condition = f"user.segments one of {texts(wanted)}"
    chance = rng.random()
    if chance < 0.15:
        unwanted = f"{rng.choice(DATA_PROVIDERS)}:{rng.choice(INTERESTS[8:])}"
        return f"({condition} and user.segments none of {texts([unwanted])})"
    if chance < 0.3:
        return or_missing("user.segments", condition)
    return condition


def _contexts(sector: Sector, rng: random.Random) -> list[str]:
    return [_make_context(sector, rng) for _ in range(CONTEXTS_PER_SECTOR)]


def _make_context(sector: Sector, rng: random.Random) -> str:
    """Writes what stands beside the sector's content; a page and a programme say it in different
    attributes."""
    categories = sorted(
        {*rng.sample(sector.categories, rng.randint(2, 3)), rng.choice(("IAB12", "IAB1", "IAB17"))}
    )
    chance = rng.random()
    if chance < 0.35:
        return f"(site.page_cat one of {texts(categories)} or app.cat one of {texts(categories)})"
    if chance < 0.65:
        return f"content.cat one of {texts(categories)}"
    if chance < 0.8:
        return f"(site.cat one of {texts(categories)} or content.cat one of {texts(categories)})"
    return f"content.cat none of {texts(['IAB11', 'IAB9-7'])}"


def _topic_block(rng: random.Random) -> str:
    topics = sorted(rng.sample(SENSITIVE_TOPICS, rng.randint(3, 6)))
    return or_missing(
        "content.sensitive_topics", f"content.sensitive_topics none of {texts(topics)}"
    )


def _domain_block(rng: random.Random) -> str:
    domains = sorted(rng.sample(BLOCKED_DOMAINS, rng.randint(4, 25)))
    return or_missing("site.domain", f"site.domain not under {texts(domains)}")


def make_place(region: str, rng: random.Random) -> str:
    """Asks mostly for whole countries; sometimes for cities, circles around them, metro areas."""
    codes = REGIONS[region]
    whole = either("geo.country", codes)
    chance = rng.random()
    if chance < 0.78:
        return whole
    cities = [city for code in codes for city in BY_CODE[code].cities]
    chosen = rng.sample(cities, min(len(cities), rng.randint(2, 6)))
    if chance < 0.86:
        return f"{whole} and {either('geo.city', [city.name for city in chosen])}"
    if chance < 0.92:
        circles = [
            f"geo.location within {rng.choice((15, 25, 40))} km of ({city.lat:.3f}, {city.lon:.3f})"
            for city in chosen
        ]
        return any_of(circles)
    if chance < 0.96:
        left_out = text(rng.choice(cities).name)
        return f"{whole} and (geo.city != {left_out} or geo.city is missing)"
    if region == "USA":
        return "geo.country = 'USA' and geo.metro in ('501', '803', '602', '506', '528')"
    return f"({whole} or geo.country is missing)"


def make_floor(rng: random.Random) -> str:
    return f"imp.floor <= {rng.choice(('1.5', '2', '3', '5', '10'))}"


def make_sizes(rng: random.Random) -> str:
    return f"imp.sizes one of {texts(sorted(rng.sample(BANNER_SIZES, rng.randint(2, 4))))}"
