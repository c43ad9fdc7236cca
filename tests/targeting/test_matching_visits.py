"""A visit that makes several expressions true is found where there is one, and is one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as for_any

from targeting import Catalog, parse
from targeting.matching_visits import find_matching_visit
from tests.targeting.strategies import CATALOG, texts

MONDAY_MS = 1_762_732_800_000  # 2025-11-10, midnight UTC
MARKET = Catalog.from_json(
    {
        "attributes": [
            {"name": "publisher.id", "type": "string", "required": True},
            {"name": "time", "type": "timestamp", "required": True},
            {"name": "local_time", "type": "timestamp local"},
            {"name": "geo.utc_offset", "type": "integer"},
            {"name": "geo.city", "type": "string"},
            {"name": "geo.location", "type": "geo"},
            {"name": "device.type", "type": "string", "domain": ["phone", "tablet", "ctv"]},
            {"name": "device.ip", "type": "ip"},
            {"name": "user.segments", "type": "string set"},
            {"name": "user.age", "type": "integer"},
        ]
    }
)


def find(*texts: str, **likely: list[Any]) -> dict[str, Any] | None:
    return find_matching_visit(
        [parse(text, MARKET, lists={"towns": ["Bonn"]}) for text in texts],
        given={"publisher.id": "herald"},
        likely={name.replace("__", "."): values for name, values in likely.items()},
        from_ms=MONDAY_MS,
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["true"],
        ["device.type = 'phone' and geo.city in $towns", "device.type != 'ctv'"],
        ["geo.city = 'Oslo' or geo.location within 25 km of (52.52, 13.405)", "geo.city != 'Oslo'"],
        ["local_time during 'Sat 22:00-23:00'", "geo.utc_offset between 400 and 410"],
        ["user.segments all of ('a', 'b') and user.segments none of ('c')"],
        ["device.ip in network ('10.0.0.0/8')", "user.age between 18 and 20"],
        ["not (geo.city = 'Berlin')", "publisher.id = 'herald'"],
        ["user.age is missing and not (device.type = 'ctv' xor geo.city is present)"],
    ],
)
def test_finds_a_visit_that_the_evaluator_agrees_with(texts: list[str]) -> None:
    visit = find_matching_visit(
        [parse(text, MARKET, lists={"towns": ["Bonn"]}) for text in texts],
        given={"publisher.id": "herald"},
        likely={},
        from_ms=MONDAY_MS,
    )
    assert visit is not None
    assert visit["publisher.id"] == "herald"
    for text in texts:
        assert parse(text, MARKET, lists={"towns": ["Bonn"]}).evaluate(visit) is True


def test_finds_nothing_where_expressions_exclude_each_other() -> None:
    assert find("device.type = 'ctv'", "device.type != 'ctv'") is None
    assert find("publisher.id = 'gazette'") is None


def test_takes_likely_values_first_and_a_moment_of_the_week_to_come() -> None:
    visit = find(
        "geo.city != 'Bonn' and user.segments none of ('cars')", geo__city=["Bonn", "Graz"]
    )
    assert visit is not None
    assert visit["geo.city"] == "Graz"
    moment = find_matching_visit(
        [parse("time during 'Wed 17:00-18:00'", MARKET)],
        given={"publisher.id": "herald"},
        likely={},
        from_ms=MONDAY_MS,
    )
    assert moment is not None
    assert moment["time"] == MONDAY_MS + (2 * 24 + 17) * 3_600_000


@for_any(texts(max_leaves=6))
def test_whatever_it_finds_matches(text: str) -> None:
    expression = parse(text, CATALOG)
    visit = find_matching_visit([expression], given={}, likely={}, from_ms=MONDAY_MS)
    assert visit is None or expression.evaluate(visit) is True
