"""Predicates that are found by clues, against the plain evaluator: nothing may be left out."""

from __future__ import annotations

import ipaddress
from math import asin, atan2, cos, degrees, radians, sin
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, Snapshot
from tests.matcher_ext.expressions import CATALOG, judge, listed, negations, quoted

LETTERS = "abé.*?/"
SHORT = st.text(LETTERS, min_size=1, max_size=12)
LONG = st.integers(60, 70).map(lambda length: "x" * length + "é")
HOSTS = st.lists(st.sampled_from(("a", "b", "com", "co")), min_size=1, max_size=4).map(".".join)
MEMBERS = ("a", "b", "c", "é", "")
POINTS = st.tuples(
    st.one_of(st.floats(-90, 90), st.sampled_from((90.0, -90.0, 0.0))),
    st.one_of(st.floats(-180, 180), st.sampled_from((180.0, -180.0, 0.0))),
)


def write_point(point: tuple[float, float]) -> str:
    return f"({point[0]:.6f}, {point[1]:.6f})"


def inwards(degrees: float, size: float, limit: float) -> float:
    return max(degrees - size, -limit) if degrees > 0 else min(degrees + size, limit)


def write_network(number: int, length: int) -> str:
    mask = ~((1 << (128 - length)) - 1)
    return f"{ipaddress.IPv6Address(number & mask)}/{length}"


TEXTS = st.one_of(
    st.builds(
        lambda n, o, v: f"country {n}{o} {quoted(v)}",
        negations(),
        st.sampled_from(("starts with", "ends with", "contains", "like")),
        st.one_of(SHORT, LONG),
    ),
    st.builds(
        lambda n, hosts: f"country {n}under {listed(hosts)}",
        negations(),
        st.lists(HOSTS, min_size=1, max_size=3),
    ),
)
SETS = st.one_of(
    st.builds(
        lambda n, o, v: f"segments {n}{o} {listed(v)}",
        negations(),
        st.sampled_from(("all of", "only of")),
        st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4),
    ),
    st.builds(
        lambda n, c: f"not count(segments) {n} {c}", st.sampled_from("=<>"), st.integers(0, 4)
    ),
)
NUMBERS = st.builds(
    lambda n, o, v: f"numbers {n}{o} {listed(v)}",
    negations(),
    st.sampled_from(("all of", "only of")),
    st.lists(st.integers(-2, 2), min_size=1, max_size=4),
)
NETWORKS = st.builds(
    lambda n, number, length: f"address {n}in network ('{write_network(number, length)}')",
    negations(),
    st.integers(0, 2**128 - 1),
    st.integers(0, 128),
)
CIRCLES = st.builds(
    lambda n, km, point: f"place {n}within {km:.3f} km of {write_point(point)}",
    negations(),
    st.one_of(st.floats(0.01, 20000), st.sampled_from((0.01, 1.0, 100.0, 10000.0, 20015.0))),
    POINTS,
)
SQUARES = st.builds(
    lambda n, point, size: (
        f"place {n}inside polygon ({write_point(point)}, "
        f"{write_point((inwards(point[0], size, 90), point[1]))}, "
        f"{write_point((point[0], inwards(point[1], size, 180)))})"
    ),
    negations(),
    POINTS,
    st.floats(0.001, 170),
)
SCHEDULES = st.builds(
    lambda a, n, day, start, length: (
        f"{a} {n}during '{day} {start // 60:02}:{start % 60:02}-"
        f"{(start + length) // 60 % 24:02}:{(start + length) % 60:02}'"
    ),
    st.sampled_from(("time", "seen")),
    negations(),
    st.sampled_from(("Mon", "Sun", "Mon-Fri", "Sat-Mon", "Mon-Sun")),
    st.integers(0, 1439),
    st.integers(1, 1439),
)


def freeze(texts: list[str]) -> Snapshot:
    index = ATree(CATALOG)
    index.insert_many(range(len(texts)), texts)
    return index.freeze()


def check(texts: list[str], visit: dict[str, Any]) -> None:
    assert freeze(texts).match(visit) == judge(dict(enumerate(texts)), {}, visit)


def lists(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(texts, min_size=1, max_size=12)


@given(lists(TEXTS), st.one_of(SHORT, LONG, HOSTS, HOSTS.map(str.upper), st.just("")))
@settings(deadline=None)
def test_finds_texts_by_their_beginnings_ends_pieces_and_hosts(
    texts: list[str], value: str
) -> None:
    check(texts, {"country": value})
    check(texts, {})


@pytest.mark.parametrize("first", ["", "a.", "x", ".", "x."])
@pytest.mark.parametrize("length", [1, 251, 252, 253, 254, 255, 300, 5_000])
def test_of_a_text_that_is_too_long_for_a_host_the_end_counts(first: str, length: int) -> None:
    hosts = ["a.com", "com", "b.a.com", "y" * 260, "y" * 252]
    texts = [
        f"country {word}under {listed(some)}"
        for word in ("", "not ")
        for some in (hosts, hosts[:1])
    ]
    for last in (".a.com", ".A.COM.", "a.com", ".b", "y" * 260, "." + "y" * 260, "." + "y" * 252):
        check(texts, {"country": first + "a." * (length // 2) + "z" * (length % 2) + last})


@given(lists(SETS), st.lists(st.sampled_from(MEMBERS), max_size=5))
@settings(deadline=None)
def test_finds_sets_by_one_element_or_by_all(texts: list[str], elements: list[str]) -> None:
    check(texts, {"segments": elements})


@given(lists(NUMBERS), st.lists(st.integers(-3, 3), max_size=5))
@settings(deadline=None)
def test_finds_sets_of_integers(texts: list[str], elements: list[int]) -> None:
    check(texts, {"numbers": elements})


@given(st.data(), lists(NETWORKS))
@settings(deadline=None)
def test_finds_networks_of_any_length(data: st.DataObject, texts: list[str]) -> None:
    near = [ipaddress.ip_network(text.split("'")[1]) for text in texts]
    base = int(data.draw(st.sampled_from(near)).network_address)
    flipped = base ^ (1 << data.draw(st.integers(0, 127)))
    for number in (base, flipped):
        check(texts, {"address": str(ipaddress.IPv6Address(number))})


@given(lists(st.one_of(CIRCLES, SQUARES)), POINTS, POINTS)
@settings(deadline=None)
@example(["place within 200 km of (10.0, 179.9)"], (10.0, -179.9), (10.0, 180.0))
@example(["place within 300 km of (89.5, 10.0)"], (89.5, -170.0), (90.0, 0.0))
@example(["place within 9000 km of (0, 0)"], (80.0, 0.0), (0.0, 80.0))
def test_finds_places_round_the_globe(
    texts: list[str], first: tuple[float, float], second: tuple[float, float]
) -> None:
    for point in (first, second):
        check(texts, {"place": {"lat": point[0], "lon": point[1]}})


@pytest.mark.parametrize("bearing", range(0, 360, 15))
def test_finds_a_circle_from_just_inside_its_edge(bearing: int) -> None:
    for lat, lon, km in ((0.0, 0.0, 5.0), (60.0, 179.99, 50.0), (-80.0, -180.0, 900.0)):
        a, d, b = radians(lat), km * 0.9999 / 6371.0088, radians(bearing)
        there = asin(sin(a) * cos(d) + cos(a) * sin(d) * cos(b))
        aside = degrees(atan2(sin(b) * sin(d) * cos(a), cos(d) - sin(a) * sin(there)))
        point = {"lat": degrees(there), "lon": (lon + aside + 540) % 360 - 180}
        assert freeze([f"place within {km} km of ({lat}, {lon})"]).match({"place": point}) == [0]


@given(lists(SCHEDULES), st.integers(0, 20160), st.sampled_from((None, -90, 0, 840)))
@settings(deadline=None)
def test_finds_times_of_the_week(texts: list[str], minute: int, offset: int | None) -> None:
    moment = minute * 60_000
    check(texts, {"time": moment, "seen": moment, "geo.utc_offset": offset})


def test_an_expression_of_nothing_but_lazy_predicates_is_found_by_its_rarest() -> None:
    texts = [f"country contains 'word{i}' and segments all of ('s{i}', 'all')" for i in range(2000)]
    snapshot = freeze(texts)
    visit = {"country": "/word7/word1234/", "segments": ["all", "s7", "s1234", "s1999"]}
    assert snapshot.match(visit) == [7, 1234]
    assert snapshot.match({"country": "/word7/"}) == []
