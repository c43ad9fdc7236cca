"""Lists devices and ad placements of the demo, as flat tables that visits refer to by row."""

from __future__ import annotations

from dataclasses import dataclass

from exchange.demo.publishers import Surface
from exchange.demo.wordlists import build, build_all, read_words


@dataclass(frozen=True, slots=True)
class Device:
    """A device; `browser` is only known on the web."""

    type: str
    os: str
    os_version: str
    make: str | None
    model: str | None
    browser: str | None
    weight: int


@dataclass(frozen=True, slots=True)
class Placement:
    """One kind of ad slot. `floor` is its typical lowest price per thousand, in US dollars."""

    slug: str
    surface: Surface
    weight: int
    media_types: tuple[str, ...]
    sizes: tuple[str, ...]
    position: str
    floor: float
    is_interstitial: bool = False
    is_rewarded: bool = False
    video_placement: str | None = None
    video_start: str | None = None
    max_duration: int | None = None
    is_skippable: bool | None = None
    playback: tuple[str, ...] | None = None


_WORDS = read_words("devices")

IPHONES = build_all(Device, _WORDS["iphones"])
ANDROIDS = build_all(Device, _WORDS["androids"])
TABLETS = build_all(Device, _WORDS["tablets"])
PCS = build_all(Device, _WORDS["pcs"])
TVS = build_all(Device, _WORDS["tvs"])
DEVICES: tuple[Device, ...] = IPHONES + ANDROIDS + TABLETS + PCS + TVS
# Share of iPhones among phones, where it is far from the world's three in ten.
IPHONE_SHARE: dict[str, float] = _WORDS["iphone_share"]

PLACEMENTS: tuple[Placement, ...] = tuple(
    build(Placement, {**row, "surface": Surface(row["surface"])}) for row in _WORDS["placements"]
)
