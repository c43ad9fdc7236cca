"""Turns an OpenRTB 2.6 bid request into visits, one per impression, in the catalogue's names.

Where an attribute comes from is its `openrtb` path in the catalogue; what the value becomes is
decided by its type, or by `DERIVED` for what OpenRTB says in numbers or in several places. A value
that cannot be read is left out, which is what "missing" means; the index warns of wrong types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeGuard

from targeting.openrtb.countries import name_country
from targeting.openrtb.tcf import Consent, read_consent

MAX_IMPS = 100
# Attributes that OpenRTB 2.6 discourages: accepted, with a warning.
DEPRECATED = frozenset({"user.age", "user.gender"})
FLOOR_NOT_COMPARED = ("floor_not_in_usd", "imp.floor")
FURTHEST_METRES = 5_000
Objects = Mapping[str, Any]
Note = tuple[str, str]  # a code, and the attribute that it is about

ENUMERATIONS: dict[str, dict[int | str, str]] = {
    "content.audience": {1: "all", 2: "over_12", 3: "mature"},
    "content.context": dict(
        enumerate(("video", "game", "music", "application", "text", "other", "unknown"), 1)
    ),
    "imp.position": dict(
        enumerate(
            (
                "unknown",
                "above_fold",
                "locked",
                "below_fold",
                "header",
                "footer",
                "sidebar",
                "fullscreen",
            )
        )
    ),
    "imp.video_placement": dict(
        enumerate(("instream", "accompanying", "interstitial", "standalone"), 1)
    ),
    "imp.playback": dict(
        enumerate(
            (
                "load_sound_on",
                "load_sound_off",
                "click",
                "hover",
                "view_sound_on",
                "view_sound_off",
                "continuous",
            ),
            1,
        )
    ),
    "device.type": dict(
        enumerate(("mobile", "pc", "ctv", "phone", "tablet", "connected", "set_top_box", "ooh"), 1)
    ),
    "device.connection_type": dict(
        enumerate(("ethernet", "wifi", "cellular", "2g", "3g", "4g", "5g"), 1)
    ),
    "user.gender": {"F": "female", "M": "male", "O": "other"},
}
BRANDS = {
    "google chrome": "chrome",
    "microsoft edge": "edge",
    "samsung internet": "samsung_internet",
}
# The first that a user agent contains counts, so browsers that also name others come first.
AGENTS = (
    ("Edg", "edge"),
    ("OPR/", "opera"),
    ("SamsungBrowser/", "samsung_internet"),
    ("Firefox/", "firefox"),
    ("FxiOS/", "firefox"),
    ("Chrome/", "chrome"),
    ("CriOS/", "chrome"),
    ("Safari/", "safari"),
)


class BidRequestError(ValueError):
    """What was sent is no bid request that can be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """An attribute, and the paths that OpenRTB may carry it under, the best first."""

    name: str
    type: str
    paths: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Impression:
    """One impression as a visit. `notes` tell the sender how its request was read."""

    imp_id: str
    visit: dict[str, object]
    notes: tuple[Note, ...]


def read_sources(catalogue: Mapping[str, Any]) -> tuple[Source, ...]:
    """Reads the sources from the catalogue's JSON form."""
    return tuple(
        Source(
            row["name"],
            row["type"],
            tuple(tuple(path.strip().split(".")) for path in row["openrtb"].split(",")),
        )
        for row in catalogue["attributes"]
        if row.get("openrtb")
    )


def read_impressions(request: Objects, sources: tuple[Source, ...]) -> list[Impression]:
    return list(stream_impressions(request, sources))


def stream_impressions(request: Objects, sources: tuple[Source, ...]) -> Iterator[Impression]:
    """Reads each impression when it is asked for; refuses an invalid request with the first."""
    imps = request.get("imp")
    if not isinstance(imps, list) or not imps or not all(isinstance(imp, dict) for imp in imps):
        raise BidRequestError("A bid request needs `imp`: a list of at least one object.")
    if len(imps) > MAX_IMPS:
        raise BidRequestError(f"A bid request may have {MAX_IMPS} imps, not more.")
    of_request = [source for source in sources if not is_of_imp(source)]
    of_imp = [source for source in sources if is_of_imp(source)]
    shared = dict(read_all(request, of_request))
    deprecated = [("deprecated_attribute", name) for name in sorted(DEPRECATED & shared.keys())]
    for number, imp in enumerate(imps, 1):
        yield Impression(
            str(imp.get("id", number)),
            {**shared, **dict(read_all({**request, "imp": imp}, of_imp))},
            (*deprecated, *([] if is_floor_in_dollars(imp) else [FLOOR_NOT_COMPARED])),
        )


def is_of_imp(source: Source) -> bool:
    return any(path[0] == "imp" for path in source.paths)


def read_all(request: Objects, sources: list[Source]) -> Iterator[tuple[str, object]]:
    for source in sources:
        derive = DERIVED.get(source.name)
        value = derive(request) if derive else read_plain(request, source)
        if value is not None:
            yield source.name, value


def read_plain(request: Objects, source: Source) -> object:
    numbers = ENUMERATIONS.get(source.name)
    for path in source.paths:
        found = list(walk(request, path))
        if numbers:
            found = [numbers[value] for value in found if is_key(value) and value in numbers]
        if path[-1] == "keywords":
            found = [part for value in found for part in split(value)]
        if found:
            return convert(found, source.type)
    return None


def is_key(value: object) -> TypeGuard[int | str]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def walk(node: object, path: tuple[str, ...]) -> Iterator[object]:
    """Yields the values at the end of a path, through lists. Looks into `ext` too: senders may
    still put there what OpenRTB 2.6 moved out of it."""
    if isinstance(node, list):
        for each in node:
            if not isinstance(each, list):
                yield from walk(each, path)
    elif not path:
        if node is not None:
            yield node
    elif isinstance(node, dict):
        below = node.get(path[0])
        if below is None and isinstance(node.get("ext"), dict):
            below = node["ext"].get(path[0])
        if below is not None:
            yield from walk(below, path[1:])


def convert(found: list[Any], type_: str) -> object:
    """Makes the form that the index reads; leaves a wrong type for the index to warn of."""
    if type_.endswith(" set"):
        return found
    value = found[0]
    if type_ == "boolean" and value in (0, 1):
        return bool(value)
    return value


def split(value: object) -> list[object]:
    """Splits keywords, which may come as one text with commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value]


def first(request: Objects, *paths: str) -> Any:
    for path in paths:
        for value in walk(request, tuple(path.split("."))):
            return value
    return None


def part_of(request: Objects, name: str) -> Objects:
    part = request.get(name)
    return part if isinstance(part, dict) else {}


def derive_channel(request: Objects) -> object:
    kinds = {"site": "web", "app": "app", "dooh": "dooh"}
    return next((said for name, said in kinds.items() if name in request), None)


def derive_media_types(request: Objects) -> object:
    imp = part_of(request, "imp")
    return [kind for kind in ("banner", "video", "audio", "native") if kind in imp] or None


def derive_sizes(request: Objects) -> object:
    banner = part_of(part_of(request, "imp"), "banner")
    formats = banner.get("format") if isinstance(banner.get("format"), list) else []
    sizes = [
        f"{each['w']}x{each['h']}"
        for each in [*(formats or []), banner]
        if isinstance(each, dict) and type(each.get("w")) is type(each.get("h")) is int
    ]
    return list(dict.fromkeys(sizes)) or None


def derive_floor(request: Objects) -> object:
    """Returns the floor in US dollars; of another currency it is not known, because we keep no
    rates."""
    imp = part_of(request, "imp")
    return imp.get("bidfloor", 0.0) if is_floor_in_dollars(imp) else None


def is_floor_in_dollars(imp: Objects) -> bool:
    """Takes a floor without a currency for dollars; no floor at all is the same in every
    currency."""
    return imp.get("bidfloorcur") in (None, "USD", "usd") or not imp.get("bidfloor")


def derive_country(request: Objects) -> object:
    country = first(request, "device.geo.country", "user.geo.country")
    return name_country(country) if isinstance(country, str) else country


def derive_video_start(request: Objects) -> object:
    delay = first(request, "imp.video.startdelay")
    if type(delay) is not int or delay < -2:
        return None
    return {0: "pre_roll", -2: "post_roll"}.get(delay, "mid_roll")


def derive_flag(path: str) -> Callable[[Objects], object]:
    """Derives a flag, which is off when it is not sent: OpenRTB's default is 0."""
    return lambda request: (
        flag if (flag := first(request, path)) not in (None, 0, 1) else bool(flag)
    )


def derive_os(request: Objects) -> object:
    return lower(first(request, "device.os", "device.sua.platform.brand"))


def derive_browser(request: Objects) -> object:
    for brand in walk(request, ("device", "sua", "browsers", "brand")):
        name = lower(brand)
        if isinstance(name, str) and not name.startswith("not") and name != "chromium":
            return BRANDS.get(name, name)
    agent = first(request, "device.ua")
    if not isinstance(agent, str):
        return None
    return next((name for mark, name in AGENTS if mark in agent), None)


def derive_language(*paths: str) -> Callable[[Objects], object]:
    """Derives the language alone: `en` of `en-GB`."""

    def derive(request: Objects) -> object:
        language = lower(first(request, *paths))
        return language.replace("_", "-").partition("-")[0] if isinstance(language, str) else None

    return derive


def derive_address(path: str) -> Callable[[Objects], object]:
    def derive(request: Objects) -> object:
        address = first(request, path)
        return address.partition("?")[0] if isinstance(address, str) else address

    return derive


def derive_location(request: Objects) -> object:
    geo = part_of(part_of(request, "device"), "geo")
    if geo.get("lat") is None or geo.get("lon") is None:
        return None
    accuracy = geo.get("accuracy")
    if isinstance(accuracy, int | float) and accuracy > FURTHEST_METRES:
        return None
    return {"lat": geo["lat"], "lon": geo["lon"]}


def derive_age(request: Objects) -> object:
    born = first(request, "user.yob")
    year = datetime.now(UTC).year
    return year - born if type(born) is int and 1900 <= born <= year else None


def derive_segments(*paths: str) -> Callable[[Objects], object]:
    """Names segments 'provider:taxonomy:id', or 'provider:id' where the taxonomy is not said."""

    def derive(request: Objects) -> object:
        found = [each for path in paths for each in walk(request, tuple(path.split(".")))]
        segments = [name for each in found for name in name_segments(each)]
        return segments or None

    return derive


def name_segments(provider: object) -> Iterator[str]:
    if not isinstance(provider, dict):
        return
    taxonomy = first(provider, "segtax")
    prefix = [str(provider.get("name") or provider.get("id") or "")]
    prefix += [] if taxonomy is None else [str(taxonomy)]
    for segment_id in walk(provider, ("segment", "id")):
        yield ":".join([*prefix, str(segment_id)])


def consent_of(request: Objects) -> Consent | None:
    text = first(request, "user.consent")
    return read_consent(text) if isinstance(text, str) else None


def derive_consent(read: Callable[[Consent], object]) -> Callable[[Objects], object]:
    return lambda request: read(consent) if (consent := consent_of(request)) else None


def derive_sellers(request: Objects) -> object:
    nodes = [
        node for node in walk(request, ("source", "schain", "nodes")) if isinstance(node, dict)
    ]
    return [f"{node.get('asi', '')}/{node.get('sid', '')}" for node in nodes] or None


def derive_chain_length(request: Objects) -> object:
    return len(list(walk(request, ("source", "schain", "nodes")))) or None


def lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else None


DERIVED: dict[str, Callable[[Objects], object]] = {
    "site.page": derive_address("site.page"),
    "site.ref": derive_address("site.ref"),
    "content.language": derive_language("site.content.language", "app.content.language"),
    "content.segments": derive_segments("site.content.data", "app.content.data"),
    "imp.channel": derive_channel,
    "imp.media_types": derive_media_types,
    "imp.sizes": derive_sizes,
    "imp.floor": derive_floor,
    "imp.interstitial": derive_flag("imp.instl"),
    "imp.rewarded": derive_flag("imp.rwdd"),
    "imp.video_start": derive_video_start,
    "device.os": derive_os,
    "device.browser": derive_browser,
    "device.language": derive_language("device.language", "device.langb"),
    "geo.country": derive_country,
    "geo.location": derive_location,
    "user.segments": derive_segments("user.data"),
    "user.age": derive_age,
    "user.consent": derive_consent(lambda consent: consent.allows_personalised_ads),
    "user.tcf_purposes": derive_consent(lambda consent: list(consent.purposes)),
    "user.tcf_vendors": derive_consent(lambda consent: list(consent.vendors)),
    "source.schain_sellers": derive_sellers,
    "source.schain_length": derive_chain_length,
}
