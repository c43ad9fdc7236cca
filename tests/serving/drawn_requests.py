"""Draws what ad servers may send: visits, options and bid requests, usual, odd and wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from tests.serving.bid_requests import bid_request
from tests.serving.both_ways import TYPES

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
