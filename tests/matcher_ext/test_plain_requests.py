"""Plain requests mean what the general decoder makes of them, or are left to it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from matcher_ext import ATree
from matcher_ext.plain_requests import NotPlainError, Stamps, read_plain_request
from targeting import Catalog

TYPES = {
    "flag": "boolean",
    "age": "integer",
    "floor": "float",
    "time": "timestamp",
    "country": "string",
    "place.id": "string",
    "segments": "string set",
    "sizes": "integer set",
    "ip": "ip",
    "position": "geo",
}
CATALOG = Catalog.of(**TYPES)
EXPRESSIONS = [
    "flag",
    "not flag",
    "age = 7",
    "age > 0",
    "age <= 0",
    "floor <= 0.5",
    "floor > 0.5",
    "time > '2020-01-01T00:00:00Z'",
    "country = 'USA'",
    "country = 'São Tomé'",
    "country != 'USA'",
    "place.id = 'herald'",
    "segments one of ('a', 'b')",
    "count(segments) = 0",
    "sizes one of (1, 2)",
    "count(sizes) > 0",
    "ip in network ('10.0.0.0/8')",
    *(f"{name} is present" for name in TYPES),
]
STAMPS = Stamps(("time",), "place.id")
NOON = 1_763_294_400_000


def make_snapshot() -> Any:
    index = ATree(CATALOG)
    for number, text in enumerate(EXPRESSIONS):
        index.insert(number, text)
    return index.freeze()


SNAPSHOT = make_snapshot()
GENERAL = msgspec.json.Decoder(dict[str, Any])


def found_in(visit: Any) -> tuple[list[int], tuple[str, ...]]:
    ids, malformed = SNAPSHOT.match_with_warnings(visit)
    return sorted(ids.tolist()), tuple(sorted(malformed))


def agree(body: bytes) -> bool:
    """Whether it was plain; if so, the general decoder must say the same."""
    plain = read_plain_request(body)
    if plain is None:
        return False
    publisher, limit, visit = plain
    visit.stamp(STAMPS, "herald", NOON)
    try:
        found = found_in(visit)
    except NotPlainError:
        return False
    document = GENERAL.decode(body)
    assert document.keys() <= {"publisher", "visit", "limit"}
    assert (publisher, limit) == (document.get("publisher"), document.get("limit"))
    assert document["visit"].keys() <= TYPES.keys()
    assert found == found_in({**document["visit"], "time": NOON, "place.id": "herald"})
    return True


numbers = st.integers() | st.floats() | st.sampled_from([0, 7, -1, 2**63, 2**64, 0.5, 1e300, -0.0])
texts = st.text(max_size=5) | st.sampled_from(
    ["USA", "São Tomé", 'a"b', "10.1.2.3", "2026-01-01T00:00:00Z", "\x00", "herald"]
)
scalars = st.none() | st.booleans() | numbers | texts
values = (
    scalars
    | st.lists(scalars, max_size=4)
    | st.lists(texts, max_size=4)
    | st.lists(st.integers(0, 3), max_size=4)
    | st.fixed_dictionaries({"lat": numbers, "lon": numbers})
    | st.dictionaries(texts, scalars, max_size=2)
)
visits = st.dictionaries(st.sampled_from([*TYPES, "shoe"]) | texts, values, max_size=6)
requests = st.fixed_dictionaries(
    {"visit": visits},
    optional={"publisher": scalars, "limit": scalars, "order": st.just("id")},
)


@settings(max_examples=600, deadline=None)
@given(requests, st.sampled_from([None, 1]), st.booleans())
def test_requests_of_every_kind_mean_the_same(
    request: dict[str, Any], indent: int | None, is_ascii: bool
) -> None:
    agree(json.dumps(request, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "replace"))


@settings(max_examples=600, deadline=None)
@given(requests, st.integers(0, 10_000), st.binary(max_size=2), st.integers(0, 2))
@example({"visit": {"age": 1}}, 9, b'"age":2,', 0)
def test_damaged_bytes_are_never_read_as_something_else(
    request: dict[str, Any], at: int, inserted: bytes, removed: int
) -> None:
    body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
    at %= len(body)
    agree(body[:at] + inserted + body[at + removed :])


@pytest.mark.parametrize(
    "visit",
    [
        "{}",
        ' {"age" : 7 , "flag":true, "country":null} ',
        '{"floor":0.25,"country":"São Tomé","segments":["a","b"],"sizes":[1,2]}',
        '{"segments":[],"ip":"10.1.2.3","time":"2026-01-01T00:00:00Z"}',
        '{"age":"old","place.id":"elsewhere","time":5}',
        '{"age":-12,"floor":1e2}',
    ],
)
def test_what_ad_servers_send_is_plain(visit: str) -> None:
    assert agree(f'{{"limit":20,"visit":{visit},"publisher":"herald"}}'.encode())


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"visit":{}}x',
        '{"visit":{},}',
        '{"visit":{"age":1,}}',
        '{"visit":{"age":1,"age":2}}',
        '{"visit":{"age":"old","age":2}}',
        '{"visit":{},"visit":{}}',
        '{"visit":{"shoe":1}}',
        '{"visit":{"country":"US\\u0041"}}',
        '{"visit":{"country":"\\"}","age":1}}',
        '{"visit":{"age":01}}',
        '{"visit":{"age":-0}}',
        '{"visit":{"age":1.}}',
        '{"visit":{"age":1e}}',
        '{"visit":{"floor":1e999}}',
        '{"visit":{"age":9223372036854775808}}',
        '{"visit":{"position":{"lat":1,"lon":2}}}',
        '{"visit":{"segments":["a",1]}}',
        '{"visit":{"segments":["a",]}}',
        '{"visit":{"age":[1]}}',
        '{"visit":{"flag":tru}}',
        '{"visit":{"time":[1]}}',
        '{"visit":{},"limit":null}',
        '{"visit":{},"limit":1.0}',
        '{"visit":{},"order":"id"}',
        '{"visit":null}',
        '{"visit":{"country":"' + "\x01" + '"}}',
    ],
)
def test_everything_else_is_left_to_the_general_decoder(body: str) -> None:
    assert not agree(body.encode())


def test_text_that_is_no_unicode_is_left_to_the_general_decoder() -> None:
    assert not agree(b'{"visit":{"country":"\xff\xfe"}}')
    assert read_plain_request(b'{"publisher":"\xff","visit":{}}') is None
