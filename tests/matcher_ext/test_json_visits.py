"""Requests read from their bytes mean what a decoder and the reader of dicts make of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.serving.problems import ProblemError
from exchange.serving.visits import flatten
from matcher_ext import ATree
from matcher_ext.requests import BidReader, Stamps
from matcher_ext.requests.typed_visits import read_mapping, read_request
from targeting import Catalog

TYPES = {
    "flag": "boolean",
    "age": "integer",
    "floor": "float",
    "time": "timestamp",
    "seen": "timestamp",
    "country": "string",
    "place.id": "string",
    "segments": "string set",
    "sizes": "integer set",
    "ip": "ip",
    "position": "geo",
    "deep.er.value": "integer",
}
COMPILED = Catalog.of(**TYPES).compiled
STAMPS = Stamps(("time",), "place.id")
STAMPED = {"time", "place.id"}
READER = BidReader(COMPILED, [], {}, str, (), STAMPED)
NOON = 1_763_294_400_000


def expect(visit: dict[str, Any]) -> tuple[dict[str, Any], set[str], set[str]]:
    flat = flatten(visit, TYPES)
    known = {name: value for name, value in flat.items() if name not in STAMPED}
    return (*read_mapping(COMPILED, known), known.keys() - TYPES.keys())


def agree(body: bytes) -> bool:
    """Tells whether the body was read; if so, it must mean the same."""
    found = read_request(READER, STAMPS, body, NOON)
    if found is None:
        return False
    ((imp, *read, notes),) = found
    document = msgspec.json.decode(body)
    assert (imp, notes) == (None, ())
    assert repr(tuple(read)) == repr(expect(document["visit"])) or tuple(read) == expect(
        document["visit"]
    )
    return True


numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from(
        [
            0,
            7,
            -1,
            2**63 - 1,
            -(2**63),
            2**63,
            2**64,
            0.5,
            1e300,
            5e-324,
            1e22,
            123456.789,
            -0.0,
            18.0,
        ]
    )
)
texts = st.text(max_size=5) | st.sampled_from(
    ["USA", "São Tomé", 'a"b', "10.1.2.3", "2026-01-01T00:00:00Z", "\x00", "herald", "😀"]
)
scalars = st.none() | st.booleans() | numbers | texts
values = (
    scalars
    | st.lists(scalars, max_size=4)
    | st.lists(texts, max_size=40)
    | st.lists(st.integers(0, 3) | st.just(2.0), max_size=4)
    | st.fixed_dictionaries({"lat": numbers, "lon": numbers})
    | st.tuples(st.floats(-90, 90), st.floats(-180, 180))
    | st.dictionaries(texts, scalars, max_size=2)
)
names = st.sampled_from([*TYPES, "shoe", "deep", "er", "value", "place", "id"]) | texts
visits = st.recursive(
    st.dictionaries(names, values, max_size=6),
    lambda inner: st.dictionaries(names, inner | values, max_size=3),
    max_leaves=6,
)


@settings(max_examples=1000, deadline=None)
@given(visits, st.sampled_from([None, 1]), st.booleans())
def test_visits_of_every_kind_mean_the_same(
    visit: dict[str, Any], indent: int | None, is_ascii: bool
) -> None:
    request = {"visit": visit}
    body = json.dumps(request, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "replace")
    try:
        agree(body)
    except ProblemError as problem:
        pytest.fail(f"was read, but is refused: {problem.detail}")


@settings(max_examples=600, deadline=None)
@given(visits, st.integers(0, 10_000), st.binary(max_size=2), st.integers(0, 2))
def test_damaged_bytes_are_never_read_as_something_else(
    visit: dict[str, Any], at: int, inserted: bytes, removed: int
) -> None:
    body = json.dumps({"visit": visit}, ensure_ascii=False).encode("utf-8", "replace")
    at %= len(body)
    agree(body[:at] + inserted + body[at + removed :])


@settings(max_examples=1000, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-999, 999, places=4))
def test_numbers_are_read_to_the_last_bit(number: object) -> None:
    """Leaves out the sign of zero, which no expression can see."""
    found = read_request(READER, STAMPS, b'{"visit":{"floor":%s}}' % str(number).encode(), NOON)
    if found is not None:
        assert found[0][1]["floor"].hex() == (float(str(number)) + 0.0).hex()


@pytest.mark.parametrize("depth", [8, 9])
def test_objects_may_be_as_deep_as_the_general_reader_lets_them(depth: int) -> None:
    body = b'{"visit":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)
    assert agree(body) == (depth < 9)


@pytest.mark.parametrize("length", range(1, 26))
def test_names_and_values_are_compared_to_their_last_byte(length: int) -> None:
    """Sends a name twice: one that came before is compared with the next one, whatever its length
    is."""
    name, value = "n" * length, "v" * length
    catalog = Catalog.of(**{name: "string", "other": "integer"})
    reader = BidReader(catalog.compiled, [], {}, str, (), set())
    index = ATree(catalog)
    index.insert(1, f"{name} = '{value}'")
    snapshot = index.freeze()
    assert snapshot.match({name: value}) == [1]
    for place in range(length):
        changed = "n" * place + "x" + "n" * (length - place - 1)
        for each in (name, changed):
            body = json.dumps({"publisher": "a", "visit": {each: value}}).encode()
            found = read_request(reader, Stamps((), "place"), body, NOON)
            assert found is not None
            ((_, read, _, unknown, _),) = found
            assert (read, unknown) == (({}, {each}) if each == changed else ({name: value}, set()))
        assert snapshot.match({name: value[:place] + "x" + value[place + 1 :]}) == []
