"""Bid requests become visits in the catalogue's names, one per impression."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.market.seed import seeded_catalog
from exchange.serving.openrtb import DERIVED, ENUMERATIONS, read_impressions, read_sources
from exchange.serving.problems import ProblemError
from tests.serving.bid_requests import bid_request

CATALOG = seeded_catalog()
SOURCES = read_sources(CATALOG.to_json())


def read(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [imp.visit for imp in read_impressions(request, SOURCES)]


def test_one_visit_per_impression_with_the_requests_attributes_in_each() -> None:
    imps = read_impressions(bid_request(), SOURCES)
    assert [imp.imp_id for imp in imps] == ["top", "clip"]
    assert all(imp.visit["geo.country"] == "USA" for imp in imps)
    assert [imp.visit.get("imp.placement_id") for imp in imps] == ["herald/top", None]


def test_banner_is_read_into_the_catalogues_names() -> None:
    banner, _ = read(bid_request())
    assert banner == {
        "publisher.id": "somebody-else",
        "publisher.domain": "herald.example",
        "site.domain": "news.herald.example",
        "site.page": "https://news.herald.example/a",
        "site.keywords": ["snow", "skiing"],
        "site.cat": ["IAB12"],
        "site.page_cat": ["IAB12-3"],
        "content.language": "en",
        "content.context": "text",
        "content.livestream": False,
        "content.segments": ["verity:6:483"],
        "imp.channel": "web",
        "imp.placement_id": "herald/top",
        "imp.media_types": ["banner"],
        "imp.sizes": ["728x90", "970x250"],
        "imp.position": "header",
        "imp.interstitial": False,
        "imp.rewarded": False,
        "imp.floor": 0.9,
        "imp.deals": ["spring-deal"],
        "device.type": "phone",
        "device.os": "ios",
        "device.os_version": "18.1",
        "device.browser": "safari",
        "device.make": "Apple",
        "device.language": "en",
        "device.connection_type": "wifi",
        "device.ip": "203.0.113.9",
        "device.limit_tracking": False,
        "geo.country": "USA",
        "geo.region": "CA",
        "geo.location": {"lat": 37.7, "lon": -122.4},
        "geo.utc_offset": -480,
        "user.id": "u-1",
        "user.segments": ["loom:parents", "loom:gamers"],
        "user.age": datetime.now(UTC).year - 1990,
        "user.gender": "female",
        "user.consent": False,
        "user.tcf_purposes": [2, 10],
        "user.tcf_vendors": [],
        "regs.gdpr": True,
        "regs.coppa": False,
        "regs.gpp_sections": [2, 6],
        "source.schain_sellers": ["ssp.example/12", "adx.example/7"],
        "source.schain_complete": True,
        "source.schain_length": 2,
    }


def test_video_is_read_into_words_and_a_floor_in_euros_is_unknown() -> None:
    _, video = read(bid_request())
    found = {name: value for name, value in video.items() if name.startswith("imp.")}
    assert found == {
        "imp.channel": "web",
        "imp.media_types": ["video"],
        "imp.position": "above_fold",
        "imp.interstitial": True,
        "imp.rewarded": False,
        "imp.video_placement": "instream",
        "imp.video_start": "pre_roll",
        "imp.min_duration": 5,
        "imp.max_duration": 30,
        "imp.skippable": True,
        "imp.playback": ["load_sound_on", "view_sound_on"],
    }


def change(part: str, **values: object) -> dict[str, Any]:
    request = bid_request()
    request[part] = {**request[part], **values}
    return request


SAFARI = [{"brand": "Not A;Brand"}, {"brand": "Chromium"}, {"brand": "Google Chrome"}]


@pytest.mark.parametrize(
    ("request_", "name", "expected"),
    [
        (change("device", sua={"browsers": SAFARI}), "device.browser", "chrome"),
        (change("device", ua="Mozilla Chrome/1 Safari/2 Edg/3"), "device.browser", "edge"),
        (change("device", ua=7), "device.browser", None),
        (change("device", os=None, sua={"platform": {"brand": "Windows"}}), "device.os", "windows"),
        (change("device", language=None, langb="pt-BR"), "device.language", "pt"),
        (change("device", ip=None, ipv6="2001:db8::1"), "device.ip", "2001:db8::1"),
        (change("device", devicetype=99), "device.type", None),
        (change("device", devicetype=True), "device.type", None),
        (change("device", geo={"lat": 1, "lon": 2, "accuracy": 90_000}), "geo.location", None),
        (change("device", geo={"lat": 1}), "geo.location", None),
        (change("device", geo=[]), "geo.location", None),
        (change("device", geo={"country": "us"}), "geo.country", "USA"),
        (change("device", geo={"country": "DE"}), "geo.country", "DEU"),
        (change("device", geo={"country": "fra"}), "geo.country", "FRA"),
        (change("device", geo={"country": "Utopia"}), "geo.country", "Utopia"),
        (change("device", geo={"country": 7}), "geo.country", 7),
        (change("user", yob=3000), "user.age", None),
        (change("user", consent="nonsense"), "user.consent", None),
        (change("user", data="nonsense"), "user.segments", None),
        (change("user", data=[{"segment": [{"id": 5}]}]), "user.segments", [":5"]),
        (change("site", kwarray=["a, b", "c"], keywords=None), "site.keywords", ["a, b", "c"]),
        (
            change("source", schain=None, ext={"schain": {"complete": 0}}),
            "source.schain_complete",
            False,
        ),
    ],
)
def test_odd_and_older_forms_are_read_or_left_out(
    request_: dict[str, Any], name: str, expected: object
) -> None:
    assert read(request_)[0].get(name) == expected


@pytest.mark.parametrize(
    ("floor", "expected", "is_warned"),
    [
        ({}, 0.0, False),
        ({"bidfloor": 1.5}, 1.5, False),
        ({"bidfloor": 1.5, "bidfloorcur": "USD"}, 1.5, False),
        ({"bidfloor": 1.5, "bidfloorcur": "EUR"}, None, True),
        ({"bidfloor": 1.5, "bidfloorcur": ["USD"]}, None, True),
        ({"bidfloor": 0, "bidfloorcur": "EUR"}, 0, False),
        ({"bidfloorcur": "EUR"}, 0.0, False),
    ],
)
def test_floor_that_cannot_be_compared_is_unknown_and_said(
    floor: dict[str, Any], expected: object, is_warned: bool
) -> None:
    (imp,) = read_impressions({"imp": [{"id": "1", **floor}]}, SOURCES)
    assert imp.visit.get("imp.floor") == expected
    assert (("floor_not_in_usd", "imp.floor") in imp.notes) is is_warned


@pytest.mark.parametrize("imp", [None, [], {}, "imp", [1], [{"id": "1"}] * 101])
def test_request_without_impressions_is_refused(imp: object) -> None:
    with pytest.raises(ProblemError) as refused:
        read({**bid_request(), "imp": imp})
    assert refused.value.code == "invalid_bid_request"


def test_words_are_those_of_the_catalogue() -> None:
    for name, words in ENUMERATIONS.items():
        assert set(words.values()) <= set(CATALOG[name].domain or ()), name
    assert set(DERIVED) <= {attribute.name for attribute in CATALOG}


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_anything_in_any_place_is_read_or_left_out(data: st.DataObject) -> None:
    """Replaces one value somewhere in the request, and never fails on it."""
    request = json.loads(json.dumps(bid_request()))
    node: Any = request
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(ODD)
            break
        node = node[key]
    try:
        visits = read(request)
    except ProblemError as problem:
        assert problem.code == "invalid_bid_request"  # noqa: PT017
        return
    assert all(set(visit) <= {attribute.name for attribute in CATALOG} for visit in visits)
