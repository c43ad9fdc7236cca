"""The compiled way and the general way give the same answers, to the byte, or the first gives back.

Everything that the endpoint documents must be answered in the compiled call; everything that it
refuses must be given back, so that the general way finds the words.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace as replace_field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exchange.market.seed import seeded_catalog
from exchange.serving import answers
from exchange.serving.bid_sources import FORMS
from exchange.serving.bookings import BookingRow, write_bookings
from exchange.serving.deltas import Delta, DeltaEntry
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KeyEntry,
    SnapshotDirectory,
    hash_key,
    write_catalog,
)
from exchange.serving.eligibility import EligibilityService, too_much_to_say
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.http.messages import Request
from exchange.serving.live import LiveSnapshot
from exchange.serving.openrtb import DERIVED
from exchange.serving.problems import ProblemError
from exchange.serving.requests import count_visits
from matcher_ext import ATree, visits
from matcher_ext.match import path_key
from matcher_ext.requests import json_requests, json_visits
from matcher_ext.serving import Counts, Desk
from tests.serving.bid_requests import BID_REQUEST, bid_request
from tests.serving.calling import write
from tests.serving.published import BOTH_KEY, HERALD_KEY, LATER, SCOPES, row
from tests.targeting.test_tcf import write as write_consent

CATALOG = seeded_catalog()
TYPES = {each["name"]: each["type"] for each in CATALOG.to_json()["attributes"]}
HERALD, TRIBUNE, ADNET, GLOBEX, INITECH = 1, 2, 3, 4, 5
AGE = re.compile(rb'"snapshot_age_seconds":[\d.]+')
bounded = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def any_row(booking_id: int, party: int, bid_cpm: float) -> BookingRow:
    named = row(booking_id, net_cpm=round(bid_cpm * 0.7, 4))
    return replace(named, reach=path_key(party, 4), bid_cpm=bid_cpm, campaign='Say "any"')


def make_snapshot(directory: SnapshotDirectory) -> None:
    """Makes bookings on any path, whose order depends on the visit, among others that have their
    own; an entry for each attribute, so that what is read of a visit shows in its answer."""
    index = ATree(CATALOG)
    rules = ("geo.country = 'FRA' or user.age > 30", "device.type != 'ctv'", "true", "true", "true")
    for number, rule in enumerate(rules, 1):
        index.define(f"edge.{number}", rule)
    index.set_routes(
        {
            HERALD: "Herald",
            TRIBUNE: "Tribune",
            ADNET: "Adnet",
            GLOBEX: "Globex",
            INITECH: "Initech",
        },
        [
            (1, HERALD, ADNET, 9_137),
            (2, ADNET, GLOBEX, 8_755),
            (3, HERALD, GLOBEX, 5_005),
            (4, ADNET, INITECH, 9_999),
            (5, TRIBUNE, ADNET, 10_000),
        ],
        {
            HERALD: "herald",
            TRIBUNE: "tribune",
            ADNET: 'ad"net',
            GLOBEX: "glöbex",
            INITECH: "initech",
        },
        [HERALD, TRIBUNE],
    )
    rows = []
    for booking_id, party, bid in ((1, GLOBEX, 10.0), (2, INITECH, 3.3333), (3, GLOBEX, 0.0004)):
        index.insert(booking_id, f"@{index.define_reach(party, 4)}")
        rows.append(any_row(booking_id, party, bid))
    for booking_id, name in enumerate(TYPES, 10):
        index.insert(booking_id, f"{name} is present")
        rows.append(row(booking_id, net_cpm=booking_id % 7 / 4))
    with directory.stage() as staged:
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, rows)
        write_catalog(staged, CATALOG.to_json())
        snapshot_id = directory.adopt(staged)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))


def make_delta() -> Delta:
    """Makes a delta in which some bookings changed, ended and came; one of them takes any path. One
    edge has closed."""
    entries = (
        DeltaEntry(any_row(4, GLOBEX, 20.0), "@reach.4.4 and geo.country is present"),
        DeltaEntry(row(12, net_cpm=4.5), "true"),
        DeltaEntry(row(500, net_cpm=1.0), "user.age >= 18"),
    )
    return Delta(
        log_id="x",
        number=1,
        position="",
        read_at=datetime.now(UTC),
        definitions={"edge.3": "geo.country = 'FRA'"},
        entries=entries,
        dead=(11, 13),
        deferred=0,
    )


class BothWays:
    """One state, asked either way."""

    def __init__(self, service: EligibilityService) -> None:
        self.service = service
        self.endpoint = EligibilityEndpoint(service, 1e9)
        self.general = EligibilityEndpoint(service, 1e9)
        for key in (HERALD_KEY, BOTH_KEY):
            service.admit(f"Api-Key {key}")
            self.endpoint._buckets.take(hash_key(key))

    @property
    def live(self) -> LiveSnapshot:
        return self.service.require_live()

    def is_compiled(self, body: bytes, key: str = HERALD_KEY) -> bool:
        """Tells whether the compiled way answered; if so, the general way must say the same."""
        header = f"Api-Key {key}"
        desk = self.endpoint._desk
        found = desk.answer(self.live.answers, self.service.passes, header, body)
        expected = self.answer_in_general(header, body)
        assert found is None or AGE.sub(b"", found) == AGE.sub(b"", expected)
        return found is not None

    def answer_in_general(self, header: str, body: bytes) -> bytes:
        try:
            return write(self.general._answer_any(header, body, time.perf_counter())).body
        except ProblemError as problem:
            return problem.body()

    def is_compiled_batch(self, requests: list[Any]) -> bool:
        request = Request(self.endpoint.batch)
        request.authorization, request.body = (
            f"Api-Key {HERALD_KEY}",
            encode({"requests": requests}),
        )
        caller = self.service.admit(request.authorization)
        expected = write(self.general.batch._answer_any(caller, request.body)).body
        found = write(self.endpoint.batch.answer(request)).body
        assert AGE.sub(b"", found) == AGE.sub(b"", expected)
        live = self.live
        batch = self.endpoint.batch._desk.open_batch(
            live.answers, caller, request.body, most=1000, most_bytes=256 * 1024
        )
        return batch is not None and batch.go_on(60) is None


@pytest.fixture(scope="module", params=["as built", "with changes", "recovered"])
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> BothWays:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("ways"))
    make_snapshot(directory)
    directory.write_keys(
        {
            hash_key(HERALD_KEY): KeyEntry(("herald",), LATER, SCOPES),
            hash_key(BOTH_KEY): KeyEntry(("herald", "tribune"), LATER, SCOPES),
        }
    )
    service = EligibilityService(directory.root)
    live = service.require_live()
    if request.param != "as built":
        live = live.apply([make_delta()])
    if request.param == "recovered":
        live = replace_field(live, stopped_after=1)
    service._following.live = live
    return BothWays(service)


def encode(document: object, **options: Any) -> bytes:
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, **options).encode()
    except ValueError:
        assume(condition=False)
        raise


numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from(
        [0, 1, 7, -1, 18.0, 2**31, 2**63 - 1, -(2**63), 2**63, 2**64, 0.5, 1e300, -0.0, 1e-7, 52.51]
    )
)
texts = st.text(max_size=6) | st.sampled_from(
    [
        "USA",
        "FRA",
        "phone",
        "São Tomé",
        'a"b',
        "\\",
        "10.1.2.3",
        "::1",
        "2026-01-01T00:00:00Z",
        "\x00",
    ]
)
scalars = st.none() | st.booleans() | numbers | texts
positions = st.fixed_dictionaries({"lat": numbers, "lon": numbers}) | st.tuples(
    st.floats(-90, 90), st.floats(-180, 180)
)
values = (
    scalars
    | positions
    | st.lists(scalars, max_size=4)
    | st.lists(texts, max_size=6)
    | st.lists(st.integers(0, 3), max_size=4)
    | st.dictionaries(texts, scalars, max_size=2)
)
NAMES = st.sampled_from([*TYPES, "visit_id", "shoe.size", "geo.", ""])
flat_visits = st.dictionaries(NAMES | texts, values, max_size=12)
nested_visits = st.recursive(
    values,
    lambda inner: st.dictionaries(
        st.sampled_from(["geo", "user", "device", "country", "age", "location", "x"]) | texts,
        inner,
        max_size=4,
    ),
    max_leaves=12,
).filter(lambda each: isinstance(each, dict))
options = st.fixed_dictionaries(
    {},
    optional={
        "publisher": st.sampled_from(["herald", "tribune", None, 5, "h\u00e9rald"]),
        "limit": st.sampled_from([1, 2, 5, 10_000, 0, 10_001, None, 1.0, "1"]),
        "campaigns": st.lists(st.integers(-1, 130).map(lambda n: n * 10), max_size=8) | st.none(),
        "order": st.sampled_from(["net_cpm", "id", "price", None]),
        "paths": st.sampled_from(["cheapest", "none", "all"]),
        "other": st.just(1),
    },
)


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


def paths_of(node: object) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        for key in node:
            yield (key,)
            yield from ((key, *rest) for rest in paths_of(node[key]))
    elif isinstance(node, list):
        for place in range(len(node)):
            yield (place,)
            yield from ((place, *rest) for rest in paths_of(node[place]))


bid_values = (
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(
        st.sampled_from(["id", "name", "ext", "w", "h", "segtax"]), scalars, max_size=3
    )
    | st.sampled_from(
        [
            "en_GB",
            "de-AT",
            "uk",
            "US",
            " usa ",
            "Microsoft Edge",
            "Not.A/Brand",
            "COtybn4PA_zT4KjACBENAPCIAEBAAECAAIAAAAAAAAAA",
            "COtybn4PA_zT4KjACBENAPCIAEBAAECAAIAAAAAAAAAA=",
            "CQAAAAAAAAAAAAAAAAENAAAAAAAAAAAAAAAAAAAAAAAAAA.YAAAAAAAAAA",
            "a,b , ,c",
            "Mozilla/5.0 Chrome/120 Edg/120",
            {"segtax": 4, "name": "x"},
            [{"w": 300, "h": 250}, {"w": 1.0, "h": 2}],
            [{"asi": None, "sid": 4}, 5, None],
            1985,
            6000,
        ]
    )
)


@st.composite
def bid_requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draws the usual one with a few values exchanged, moved into `ext`, or gone."""
    request = bid_request()
    for _ in range(draw(st.integers(0, 4))):
        *above, last = draw(st.sampled_from(sorted(paths_of(request), key=str)))
        node: Any = request
        for step in above:
            node = node[step]
        kind = draw(st.sampled_from(["change", "change", "remove", "move", "add"]))
        if kind == "change":
            node[last] = deepcopy(draw(bid_values))
        elif kind == "remove":
            del node[last]
        elif isinstance(node, dict):
            if kind == "move" and isinstance(node.setdefault("ext", {}), dict):
                node["ext"][last] = node.pop(last) if last != "ext" else 1
            else:
                node[draw(st.sampled_from(["ext", "segment", "data", "accuracy", "kwarray"]))] = (
                    deepcopy(draw(bid_values))
                )
    return request


@settings(bounded, max_examples=400)
@given(bid_requests(), options)
def test_bid_requests_of_every_shape(
    ways: BothWays, request: dict[str, Any], asked: dict[str, Any]
) -> None:
    ways.is_compiled(encode({"bid_request": request, **asked}))


@bounded
@given(
    st.lists(
        st.fixed_dictionaries({"visit": flat_visits}) | bid_requests() | options | scalars,
        min_size=1,
        max_size=4,
    )
)
def test_batches_of_every_shape(ways: BothWays, requests: list[Any]) -> None:
    requests = [
        {"bid_request": each} if isinstance(each, dict) and "imp" in each else each
        for each in requests
    ]
    ways.is_compiled_batch(requests)


def test_a_request_that_is_given_back_leaves_nothing_in_its_batch(ways: BothWays) -> None:
    """Sends a last imp whose id only Python can write: those before it are answered, and then are
    not."""
    halves = {"bid_request": {"imp": [{"instl": "x"}, {}, {"id": True}]}}
    counts = Counts([1.0])
    desk = Desk(ways.endpoint._buckets.by_key, counts)
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    body = encode({"requests": [halves, {"visit": {}}]})
    batch = desk.open_batch(ways.live.answers, caller, body, 1, most=9, most_bytes=10_000)
    assert batch is not None
    assert batch.go_on(60) == encode(halves)
    assert batch.visits == 0
    batch.add(b"{}", 3)
    assert batch.go_on(60) is None
    assert batch.visits == 4
    desk.close_batch(batch, caller)
    requests, _, _, (visits, _), malformed, _ = counts.take()
    assert (requests, sum(visits), malformed) == (1, 1, {})
    assert [request for request, *_ in desk.take_kept()] == [b'{"visit": {}}']


def test_a_batch_stops_behind_the_request_that_was_too_much(ways: BothWays) -> None:
    """Stops however fast it is: the same batch is not refused today and answered tomorrow."""
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    body = encode({"requests": [{"bid_request": {"imp": [{}] * 25}}] * 45})
    expected = too_much_to_say().body()
    request = Request(ways.endpoint.batch)
    request.authorization, request.body = f"Api-Key {HERALD_KEY}", body
    for answer in (
        ways.endpoint.batch.answer(request),
        ways.general.batch._answer_any(caller, body),
    ):
        with pytest.raises(ProblemError) as refused:
            write(answer)
        assert refused.value.body() == expected
    batch = ways.endpoint.batch._desk.open_batch(
        ways.live.answers, caller, body, most=1000, most_bytes=10_000
    )
    assert batch is not None
    assert batch.go_on(60, 1000) is None
    assert (batch.visits, batch.left) == (1025, 4)


def test_imps_beyond_what_a_request_may_have_are_not_asked_for(ways: BothWays) -> None:
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    requests = [{"bid_request": {"imp": [{}] * 5_000}}, {"visit": {}}]
    batch = ways.endpoint.batch._desk.open_batch(
        ways.live.answers, caller, encode({"requests": requests}), most=9, most_bytes=100_000
    )
    assert batch is not None
    assert batch.asked_visits == sum(count_visits(encode(each)) for each in requests) == 101


def test_both_ways_have_the_same_bounds_and_know_the_same_attributes() -> None:
    assert json_visits.LIMITS == (
        visits.MAX_ATTRIBUTES,
        visits.MAX_DEPTH,
        visits.MAX_NAME_LENGTH,
        visits.MAX_LIST_LENGTH,
    )
    assert json_requests.LIMITS == (answers.MAX_LIMIT, answers.MAX_CAMPAIGNS)
    assert FORMS.keys() == DERIVED.keys()


def test_a_batch_in_steps_says_what_it_says_at_once(ways: BothWays, tmp_path: Path) -> None:
    requests = [{"visit": {"user.age": n}, "limit": 3} for n in range(50)]
    requests[7] = {"visit": {"user.age": 1}, "limit": 0}
    assert not ways.is_compiled_batch(requests)
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    desk, body = ways.endpoint.batch._desk, encode({"requests": requests})
    texts_said = []
    for seconds in (0.0, 60.0):
        batch = desk.open_batch(
            ways.live.answers, caller, body, most=1000, most_bytes=10_000, seconds=seconds
        )
        assert batch is not None
        assert batch.is_read is (seconds > 0)
        while not batch.is_read:
            assert batch.read_on(seconds)
        assert batch.asked_visits == 50
        while batch.left:
            if batch.go_on(seconds) is not None:
                batch.add(b'{"problem":{}}', 0)
        texts_said.append(AGE.sub(b"", desk.close_batch(batch, caller)))
    assert texts_said[0] == texts_said[1]
    assert len(json.loads(texts_said[0].replace(b",,", b","))["answers"]) == 50


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"]",
        b"]}}",
        b",]}",
        b',{"visit":{}}}',
        b',{"visit":{"x":"\xff"}}]}',
        b',{"visit":{}}],"requests":[]}',
        b",1]}",
        b',{"visit":{}}' * 9 + b"]}",
        b',{"visit":{"x":[' + b"1," * 500 + b"1]}}]}",
    ],
)
def test_a_batch_that_is_broken_behind_what_was_read_is_given_back(
    ways: BothWays, end: bytes
) -> None:
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    batch = ways.endpoint.batch._desk.open_batch(
        ways.live.answers,
        caller,
        b'{"requests":[{"visit":{}}, {"visit":{"user.age":1}}' + end,
        most=9,
        most_bytes=500,
        seconds=0.0,
    )
    assert batch is not None
    is_whole = True
    while is_whole and not batch.is_read:
        is_whole = batch.read_on(0.0)
    assert not is_whole
