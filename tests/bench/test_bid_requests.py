"""A bid request that was made of a visit is read back as that visit, by the server's own reader."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from bench.bid_requests import draw_bid_requests, make_bid_request, write_consent
from bench.questions import Question, ask_rows
from exchange.demo.publishers import PUBLISHERS
from exchange.demo.visit_table import make_day
from exchange.demo.visits import open_source
from exchange.market.seed import seeded_catalog
from exchange.serving.openrtb import Impression, read_impressions, read_sources
from targeting.openrtb.tcf import Consent, read_consent

SOURCES = read_sources(seeded_catalog().to_json())
Visit = dict[str, Any]
# What a request does not say is so, by OpenRTB.
DEFAULTS: Visit = {"imp.interstitial": False, "imp.rewarded": False, "imp.floor": 0.0}
IMP_ATTRIBUTES = {source.name for source in SOURCES if source.name.startswith("imp.")}


def has_no_place(_visit: Visit) -> bool:
    return True


def is_native_only(visit: Visit) -> bool:
    return bool(visit["imp.media_types"] == ["native"])


# What may be lost, and when.
LOST: dict[str, Callable[[Visit], bool]] = {
    **dict.fromkeys(
        ("visit_id", "time", "local_time", "content.risk", "content.sensitive_topics"), has_no_place
    ),
    # An empty list says nothing.
    "imp.sizes": lambda visit: visit["imp.sizes"] == [] or "banner" not in visit["imp.media_types"],
    "imp.playback": lambda visit: visit["imp.playback"] == [],
    "site.keywords": lambda visit: visit["site.keywords"] == [],
    "user.segments": lambda visit: visit["user.segments"] == [],
    "content.segments": lambda visit: visit["content.segments"] == [],
    "content.genres": lambda visit: visit["content.genres"] == [],
    "imp.position": is_native_only,
    # Only Europe's consent has a form of its own.
    "user.consent": lambda visit: "user.tcf_purposes" not in visit,
    # Malformed ones, for which there is no number.
    "device.type": lambda visit: visit["device.type"] in ("toaster", "7", "Phone "),
    "user.age": lambda visit: visit["user.age"] in (-1, 1900),
    "geo.location": lambda visit: None in visit["geo.location"].values(),
}


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    rows = make_day(open_source(1, 3_000), date(2026, 3, 2)).to_pylist()
    return ask_rows(rows, [publisher.seller_id for publisher in PUBLISHERS])


def read(request: dict[str, Any]) -> list[Impression]:
    return read_impressions(request, SOURCES)


def as_read(name: str, visit: Visit) -> object:
    if name == "user.consent":
        return {1, 3, 4} <= set(visit["user.tcf_purposes"])
    value = visit[name]
    return sorted(value) if isinstance(value, list) else value


def test_reading_gives_the_visit_back(questions: list[Question]) -> None:
    assert len(questions) >= 3_000
    for question in questions:
        visit = question.visit
        (imp,) = read(make_bid_request(visit))
        found = {k: sorted(v) if isinstance(v, list) else v for k, v in imp.visit.items()}
        for name in visit.keys() & found.keys():
            assert found[name] == as_read(name, visit), name
        added = found.keys() - visit.keys()
        assert {name: found[name] for name in added} == {name: DEFAULTS[name] for name in added}
        for name in visit.keys() - found.keys():
            assert name in LOST, name
            assert LOST[name](visit), name


def test_nearly_all_that_openrtb_has_a_place_for_is_carried(questions: list[Question]) -> None:
    """Looks for a visit that carries each name: one that is never read back would not be noticed
    above."""
    logged = {name for question in questions for name in question.visit}
    carried = {
        name for question in questions for name in read(make_bid_request(question.visit))[0].visit
    }
    assert logged - carried == {name for name, when in LOST.items() if when is has_no_place}


def test_further_imps_are_those_of_other_visits(questions: list[Question]) -> None:
    visits = [question.visit for question in questions]
    requests = list(draw_bid_requests(visits))
    assert len(requests) == len(visits)
    counts = {len(request["imp"]) for request in requests}
    assert counts == {1, 2, 3, 4}
    by_placement = {visit.get("imp.placement_id"): visit for visit in visits}
    request = next(each for each in requests if len(each["imp"]) == 4)
    first, *others = read(request)
    for other in others:
        assert other.visit["imp.media_types"]
        assert {k: v for k, v in other.visit.items() if k not in IMP_ATTRIBUTES} == {
            k: v for k, v in first.visit.items() if k not in IMP_ATTRIBUTES
        }
        placement = by_placement.get(other.visit.get("imp.placement_id"), {})
        assert placement.get("imp.channel") == first.visit["imp.channel"]


def test_a_malformed_value_is_sent_as_it_was_logged() -> None:
    visit = {"imp.media_types": ["banner"], "device.ip": "999.12.7.1", "device.type": "toaster"}
    device = make_bid_request(visit)["device"]
    assert (device["ip"], device["devicetype"]) == ("999.12.7.1", "toaster")


@pytest.mark.parametrize("vendors", [(), (52,), (10, 52, 76, 91, 128, 755)])
def test_a_consent_string_says_purposes_and_vendors(vendors: tuple[int, ...]) -> None:
    assert read_consent(write_consent([1, 2, 7], vendors)) == Consent((1, 2, 7), vendors)
