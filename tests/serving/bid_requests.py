"""A bid request as exchanges send them, in its parts."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

IMPS: list[dict[str, Any]] = [
    {
        "id": "top",
        "tagid": "herald/top",
        "banner": {"format": [{"w": 728, "h": 90}, {"w": 970, "h": 250}], "pos": 4},
        "bidfloor": 0.9,
        "pmp": {"deals": [{"id": "spring-deal"}]},
    },
    {
        "id": "clip",
        "video": {
            "minduration": 5,
            "maxduration": 30,
            "startdelay": 0,
            "plcmt": 1,
            "skip": 1,
            "playbackmethod": [1, 5],
            "pos": 1,
        },
        "bidfloor": 2.0,
        "bidfloorcur": "EUR",
        "instl": 1,
    },
]
SITE: dict[str, Any] = {
    "domain": "news.herald.example",
    "page": "https://news.herald.example/a?user=17",
    "cat": ["IAB12"],
    "pagecat": ["IAB12-3"],
    "keywords": "snow, skiing",
    "publisher": {"id": "somebody-else", "domain": "herald.example"},
    "content": {
        "language": "en-GB",
        "context": 5,
        "livestream": 0,
        "data": [{"name": "verity", "ext": {"segtax": 6}, "segment": [{"id": "483"}]}],
    },
}
DEVICE: dict[str, Any] = {
    "devicetype": 4,
    "os": "iOS",
    "osv": "18.1",
    "ua": "Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 Version/18.1 Safari/604.1",
    "make": "Apple",
    "language": "en",
    "connectiontype": 2,
    "ip": "203.0.113.9",
    "lmt": 0,
    "geo": {
        "country": "USA",
        "region": "CA",
        "lat": 37.7,
        "lon": -122.4,
        "utcoffset": -480,
    },
}
USER: dict[str, Any] = {
    "id": "u-1",
    "yob": 1990,
    "gender": "F",
    "data": [{"name": "loom", "segment": [{"id": "parents"}, {"id": "gamers"}]}],
    "ext": {"consent": "COtybn4PA_zT4KjACBENAPCIAEBAAECAAIAAAAAAAAAA"},
}
REGS: dict[str, Any] = {"coppa": 0, "ext": {"gdpr": 1}, "gpp_sid": [2, 6]}
SOURCE: dict[str, Any] = {
    "schain": {
        "complete": 1,
        "nodes": [{"asi": "ssp.example", "sid": "12"}, {"asi": "adx.example", "sid": "7"}],
    }
}
BID_REQUEST: dict[str, Any] = {
    "id": "80ce30c53c16e6ede735f123ef6e32361bfc7b22",
    "imp": IMPS,
    "site": SITE,
    "device": DEVICE,
    "user": USER,
    "regs": REGS,
    "source": SOURCE,
}


def bid_request() -> dict[str, Any]:
    """Makes a request of one's own, to change."""
    return deepcopy(BID_REQUEST)
