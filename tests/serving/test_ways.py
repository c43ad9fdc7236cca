"""The compiled way and the general way give the same answers, to the byte, or the first gives back.

Everything that the endpoint documents must be answered in the compiled call; everything that it
refuses must be given back, so that the general way finds the words.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exchange.serving import answers
from exchange.serving.bid_sources import FORMS
from exchange.serving.openrtb import DERIVED
from matcher_ext import visits
from matcher_ext.requests import json_requests, json_visits
from tests.serving.bid_requests import BID_REQUEST
from tests.serving.both_ways import BothWays, bounded, encode, ways
from tests.serving.drawn_requests import bid_requests, flat_visits, nested_visits, options
from tests.serving.published import BOTH_KEY, HERALD_KEY
from tests.targeting.test_tcf import write as write_consent

__all__ = ["ways"]


@bounded
@given(flat_visits | nested_visits, options, st.sampled_from([HERALD_KEY, BOTH_KEY]), st.booleans())
def test_visits_of_every_shape(
    ways: BothWays, visit: dict[str, Any], asked: dict[str, Any], key: str, is_ascii: bool
) -> None:
    body = encode({"visit": visit, **asked})
    if is_ascii:
        body = json.dumps(json.loads(body)).encode()
    ways.is_compiled(body, key)


def test_names_with_a_character_that_needs_an_escape_at_any_place(ways: BothWays) -> None:
    """Tries names that are written into warnings, and looked at eight bytes at a time."""
    for length in range(1, 20):
        names = ["~" * place + sign + "~" * (length - place - 1)
                 for place in range(length) for sign in '"\\\n\x1f\x20!#[]\x7f\x80é']  # fmt: skip
        for start in range(0, len(names), 40):
            visit = dict.fromkeys(names[start : start + 40], 1)
            assert ways.is_compiled(encode({"visit": visit}))


@bounded
@given(
    flat_visits | nested_visits, st.integers(0, 10_000), st.binary(max_size=2), st.integers(0, 2)
)
@example({"user.age": 1}, 10, b'"user.age":2,', 0)
def test_damaged_bytes_are_never_read_as_something_else(
    ways: BothWays, visit: dict[str, Any], at: int, inserted: bytes, removed: int
) -> None:
    body = encode({"visit": visit})
    at %= len(body)
    ways.is_compiled(body[:at] + inserted + body[at + removed :])


DOCUMENTED = [
    '{"visit":{}}',
    ' {"visit" : {"user.age" : 7 , "regs.gdpr":true, "geo.country":null} } ',
    '{"limit":20,"visit":{"geo.country":"USA"},"publisher":"herald"}',
    '{"visit":{"geo.location":{"lat":52.5,"lon":13}}}',
    '{"visit":{"geo.location":[52.5,-13.25e0]}}',
    '{"visit":{"geo.location":{"lat":152.5,"lon":13}}}',
    '{"visit":{"geo":{"country":"FRA","location":{"lat":1,"lon":2,"x":[1]}},"user":{"age":31}}}',
    '{"visit":{"geo.city":"S\\u00e3o Tom\\u00E9 \\ud83d\\ude00 \\"x\\" \\/\\b\\f\\n\\r\\t\\\\"}}',
    '{"visit":{"geo.c\\u006funtry":"USA"}}',
    '{"visit":{"shoe":1,"hat":{"size":[1,{"a":2}]},"none":null,"a\\"b":1}}',
    '{"visit":{"user.age":"old","user.segments":["a",1],"geo.country":[1],"device.ip":"x"}}',
    '{"visit":{"user.age":18.0,"imp.floor":1e2,"imp.sizes":[],"user.segments":["b","a","b"]}}',
    '{"visit":{"publisher.id":"elsewhere","time":{"a":1},"local_time":[1],"publisher":{"id":1}}}',
    '{"visit":{"geo.country":"FRA"},"order":"id"}',
    '{"visit":{"geo.country":"FRA"},"paths":"none","limit":2}',
    '{"visit":{"geo.country":"FRA"},"campaigns":[10,20,40,120],"order":"net_cpm","paths":"cheapest"}',
    '{"visit":{"geo.country":"FRA"},"campaigns":[]}',
    '{"visit":{},"limit":null,"campaigns":null,"publisher":null,"bid_request":null}',
    '{"visit":{"user.segments":[' + ",".join(f'"s{n}"' for n in range(3_000)) + "]}}",
    json.dumps({"visit": {f"name.{n}": n for n in range(500)}}),
    json.dumps({"bid_request": BID_REQUEST, "limit": 3}),
    json.dumps({"bid_request": {"imp": [{}]}}),
    '{"bid_request":{"imp":[{"banner":{"pos":-0},"video":{"startdelay":-0}}]}}',
    json.dumps({"visit": {f"name.{n}": {} for n in range(500)}}),
    json.dumps({"bid_request": {"imp": [{}], "ext": {"n": "n" * 200_000}}}),
    *(
        json.dumps({"bid_request": {"imp": [{}], "user": {"consent": text}}})
        for text in (
            write_consent(purposes={1, 3, 4}, vendors=f"{10_001:016b}0" + "1" * 10_001),
            write_consent(purposes={1, 3, 4}, vendors=f"{10_001:016b}0" + "1" * 10_000 + "0"),
        )
    ),
]


@pytest.mark.parametrize("body", DOCUMENTED)
def test_what_is_documented_is_answered_in_the_compiled_call(ways: BothWays, body: str) -> None:
    assert ways.is_compiled(body.encode())
    assert ways.is_compiled_batch([json.loads(body)])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"visit":{}}x',
        '{"visit":{},}',
        '{"visit":{"user.age":1,}}',
        '{"visit":{"user.age":1,"user.age":2}}',
        '{"visit":{"user.age":1,"user":{"age":2}}}',
        '{"visit":{"user.age":null,"user":{"age":2}}}',
        '{"visit":{"geo":{"country":"FRA"},"geo":1}}',
        '{"visit":{"geo":1,"geo":{"country":"FRA"}}}',
        '{"visit":{"geo":{"country":"FRA"},"geo":{"city":"Paris"}}}',
        '{"visit":{"x":{"a":{"b":1},"a":{"c":1}}}}',
        '{"visit":{"x":{},"y":1,"\\u0078":1}}',
        json.dumps({"visit": {f"name.{n}": {} for n in range(501)}}),
        '{"visit":{},"visit":{}}',
        '{"visit":{},"bid_request":{"imp":[{}]}}',
        '{"visit":{"user.age":01}}',
        '{"visit":{"user.age":1.}}',
        '{"visit":{"user.age":1e}}',
        '{"visit":{"x":1e999}}',
        '{"visit":{"user.age":9223372036854775808}}',
        '{"visit":{"user.segments":["a",]}}',
        '{"visit":{"regs.gdpr":tru}}',
        '{"visit":{"geo.country":"\\ud800"}}',
        '{"visit":{"geo.country":"\\x"}}',
        '{"visit":{"geo.country":"\\u12"}}',
        '{"visit":{"geo.country":"' + "\x01" + '"}}',
        '{"visit":{},"limit":0}',
        '{"visit":{},"limit":1.0}',
        '{"visit":{},"order":null}',
        '{"visit":{},"campaigns":[0]}',
        '{"visit":null}',
        '{"visit":{},"publisher":"tribune"}',
        '{"visit":' + '{"a":' * 9 + "1" + "}" * 10,
        '{"visit":{"a":' + "[" * 70 + "]" * 70 + "}}",
        json.dumps({"visit": {f"name.{n}": n for n in range(501)}}),
        json.dumps({"visit": {"n" * 201: 1}}),
        json.dumps({"visit": {"user.segments": ["a"] * 10_001}}),
        json.dumps({"visit": {"x": ["a"] * 10_001}}),
        json.dumps({"bid_request": {"imp": [{}] * 25, "ext": {"n": "n" * 6_000}}}),
        '{"bid_request":{"imp":[]}}',
        '{"bid_request":{"imp":[1]}}',
        '{"bid_request":{}}',
    ],
)
def test_what_is_refused_or_said_twice_is_given_back(ways: BothWays, body: str) -> None:
    assert not ways.is_compiled(body.encode())


def test_text_that_is_no_unicode_is_given_back(ways: BothWays) -> None:
    assert not ways.is_compiled(b'{"visit":{"geo.country":"\xff\xfe"}}')
    assert not ways.is_compiled(b'{"publisher":"\xff","visit":{}}')
    assert ways.is_compiled('{"visit":{"geo.country":"é\u2028😀"}}'.encode())


@settings(bounded, max_examples=400)
@given(bid_requests(), options)
def test_bid_requests_of_every_shape(
    ways: BothWays, request: dict[str, Any], asked: dict[str, Any]
) -> None:
    ways.is_compiled(encode({"bid_request": request, **asked}))


def test_both_ways_have_the_same_bounds_and_know_the_same_attributes() -> None:
    assert json_visits.LIMITS == (
        visits.MAX_ATTRIBUTES,
        visits.MAX_DEPTH,
        visits.MAX_NAME_LENGTH,
        visits.MAX_LIST_LENGTH,
    )
    assert json_requests.LIMITS == (answers.MAX_LIMIT, answers.MAX_CAMPAIGNS)
    assert FORMS.keys() == DERIVED.keys()
