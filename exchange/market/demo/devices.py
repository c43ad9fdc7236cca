"""Devices and ad placements of the demo, as flat tables that visits refer to by row."""

from __future__ import annotations

from dataclasses import dataclass

from exchange.market.demo.publishers import Surface


@dataclass(frozen=True, slots=True)
class Device:
    """`browser` is only known on the web."""

    type: str
    os: str
    os_version: str
    make: str | None
    model: str | None
    browser: str | None
    weight: int


IPHONES: tuple[Device, ...] = (
    Device("phone", "ios", "18.1", "Apple", "iPhone 16", "safari", 5),
    Device("phone", "ios", "18.1", "Apple", "iPhone 15", "safari", 6),
    Device("phone", "ios", "17.6", "Apple", "iPhone 14", "safari", 4),
    Device("phone", "ios", "17.6", "Apple", "iPhone 13", "chrome", 2),
    Device("phone", "ios", "16.7", "Apple", "iPhone X", "safari", 1),
)
ANDROIDS: tuple[Device, ...] = (
    Device("phone", "android", "15", "Google", "Pixel 9", "chrome", 2),
    Device("phone", "android", "14", "Samsung", "Galaxy S24", "chrome", 5),
    Device("phone", "android", "14", "Samsung", "Galaxy A55", "samsung_internet", 4),
    Device("phone", "android", "13", "Xiaomi", "Redmi Note 13", "chrome", 5),
    Device("phone", "android", "13", "Motorola", "moto g84", "chrome", 2),
    Device("phone", "android", "12", "OnePlus", "Nord 2", "firefox", 1),
    Device("mobile", "android", "11", None, None, "chrome", 1),
)
TABLETS: tuple[Device, ...] = (
    Device("tablet", "ios", "17.6", "Apple", "iPad", "safari", 6),
    Device("tablet", "android", "14", "Samsung", "Galaxy Tab S9", "chrome", 3),
    Device("tablet", "android", "12", "Lenovo", "Tab M10", "chrome", 1),
)
PCS: tuple[Device, ...] = (
    Device("pc", "windows", "11", None, None, "chrome", 10),
    Device("pc", "windows", "11", None, None, "edge", 6),
    Device("pc", "windows", "10", None, None, "firefox", 3),
    Device("pc", "macos", "15.1", "Apple", None, "safari", 4),
    Device("pc", "macos", "14.7", "Apple", None, "chrome", 3),
    Device("pc", "linux", "6.8", None, None, "firefox", 1),
)
TVS: tuple[Device, ...] = (
    Device("ctv", "tizen", "7.0", "Samsung", "QE55Q60", None, 6),
    Device("ctv", "webos", "23", "LG", "OLED55C3", None, 5),
    Device("ctv", "roku", "13", "Roku", "Ultra", None, 4),
    Device("ctv", "fireos", "8", "Amazon", "Fire TV 4K", None, 5),
    Device("ctv", "tvos", "18", "Apple", "Apple TV 4K", None, 2),
    Device("set_top_box", "android", "12", "Sagemcom", "UHD88", None, 2),
)
DEVICES: tuple[Device, ...] = IPHONES + ANDROIDS + TABLETS + PCS + TVS

# Share of iPhones among phones, where it is far from the world's three in ten.
IPHONE_SHARE: dict[str, float] = {
    "USA": 0.57, "CAN": 0.58, "GBR": 0.5, "JPN": 0.66, "AUS": 0.58, "CHE": 0.57, "DNK": 0.65, "NOR": 0.64,
    "SWE": 0.57, "IND": 0.05, "BRA": 0.18, "ARG": 0.1, "MEX": 0.22, "TUR": 0.18, "ZAF": 0.15, "POL": 0.2,
}  # fmt: skip


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


PLACEMENTS: tuple[Placement, ...] = (
    Placement("top", Surface.WEB, 5, ("banner",), ("728x90", "970x250", "320x50"), "header", 0.9),
    Placement("side", Surface.WEB, 4, ("banner",), ("300x250", "300x600", "160x600"), "sidebar", 0.7),
    Placement("article", Surface.WEB, 6, ("banner", "native"), ("300x250", "320x50"), "above_fold", 1.1),
    Placement("end", Surface.WEB, 3, ("banner", "native"), ("300x250", "970x250"), "below_fold", 0.4),
    Placement("feed", Surface.WEB, 3, ("native",), (), "unknown", 0.8),
    Placement(
        "outstream", Surface.WEB, 2, ("video", "banner"), ("300x250",), "below_fold", 3.0,
        video_placement="accompanying", video_start="pre_roll", max_duration=30, is_skippable=True,
        playback=("view_sound_off",),
    ),
    Placement(
        "player", Surface.WEB, 2, ("video",), (), "above_fold", 6.5, video_placement="instream",
        video_start="pre_roll", max_duration=20, is_skippable=True, playback=("click", "load_sound_on"),
    ),
    Placement("bottom", Surface.APP, 8, ("banner",), ("320x50",), "footer", 0.5),
    Placement("card", Surface.APP, 5, ("native", "banner"), ("300x250",), "above_fold", 1.0),
    Placement(
        "between", Surface.APP, 3, ("banner", "video"), ("320x480",), "fullscreen", 2.5, is_interstitial=True,
        video_placement="interstitial", video_start="mid_roll", max_duration=30, is_skippable=True,
        playback=("load_sound_off",),
    ),
    Placement(
        "reward", Surface.APP, 3, ("video",), (), "fullscreen", 5.0, is_interstitial=True, is_rewarded=True,
        video_placement="standalone", video_start="mid_roll", max_duration=30, is_skippable=False,
        playback=("load_sound_on",),
    ),
    Placement(
        "preroll", Surface.TV, 5, ("video",), (), "fullscreen", 9.0, video_placement="instream",
        video_start="pre_roll", max_duration=30, is_skippable=False, playback=("load_sound_on", "continuous"),
    ),
    Placement(
        "midroll", Surface.TV, 6, ("video",), (), "fullscreen", 8.0, video_placement="instream",
        video_start="mid_roll", max_duration=60, is_skippable=False, playback=("load_sound_on", "continuous"),
    ),
    Placement("pause", Surface.TV, 1, ("banner",), ("970x250",), "fullscreen", 4.0),
)  # fmt: skip
