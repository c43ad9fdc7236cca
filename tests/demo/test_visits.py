"""The demo's visits: of the right types, hanging together, skewed, and spoilt only where meant."""

from __future__ import annotations

import ipaddress
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from exchange.demo.malformed import BAD_IPS, UNKNOWN_DEVICES
from exchange.demo.publishers import PUBLISHERS
from exchange.demo.visit_table import make_day, visit_schema
from exchange.demo.visits import open_source
from exchange.demo.world import BY_CODE
from exchange.market.seed import read_attributes

DAY = date(2026, 11, 13)
SATURDAY = date(2026, 11, 14)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return make_day(open_source(1, 6_000), DAY)


@pytest.fixture(scope="module")
def visits(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def shares(values: list[Any]) -> dict[Any, float]:
    counts = Counter(value for value in values if value is not None)
    return {value: count / counts.total() for value, count in counts.items()}


def test_a_day_is_the_same_however_often_and_after_whatever_it_is_made(table: pa.Table) -> None:
    source = open_source(1, 6_000)
    make_day(source, SATURDAY)
    again = make_day(source, DAY)
    # Malformed positions may hold NaN, which is not equal to itself.
    assert again.drop_columns("geo.location").equals(table.drop_columns("geo.location"))
    assert str(again["geo.location"].to_pylist()) == str(table["geo.location"].to_pylist())
    assert make_day(open_source(2, 6_000), DAY)["user.id"] != table["user.id"]


def test_there_is_one_column_per_attribute_of_the_catalogue(table: pa.Table) -> None:
    assert table.schema == visit_schema()
    assert table.column_names == ["visit_id", *(row["name"] for row in read_attributes())]


def test_every_attribute_is_carried_by_some_visits(table: pa.Table) -> None:
    empty = [name for name in table.column_names if table[name].null_count == table.num_rows]
    assert empty == []


def test_all_visits_lie_within_their_day(visits: list[dict[str, Any]]) -> None:
    start = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
    assert all(start <= visit["time"] < start + timedelta(days=1) for visit in visits)


def test_closed_domains_hold_only_their_values_but_for_the_spoilt_ones(table: pa.Table) -> None:
    for row in read_attributes():
        if not row.get("values"):
            continue
        column = table[row["name"]]
        if pa.types.is_list(column.type):
            column = pc.list_flatten(column)
        found = set(column.to_pylist()) - {None}
        strange = found - set(row["values"])
        assert strange <= (set(UNKNOWN_DEVICES) if row["name"] == "device.type" else set())


def test_a_few_visits_are_malformed_and_no_more(visits: list[dict[str, Any]]) -> None:
    places = [visit["geo.location"] for visit in visits if visit["geo.location"]]
    bad = {
        "place": sum(not (-90 <= p["lat"] <= 90 and -180 <= p["lon"] <= 180) for p in places),
        "ip": sum(visit["device.ip"] in BAD_IPS for visit in visits),
        "device": sum(visit["device.type"] in UNKNOWN_DEVICES for visit in visits),
        "publisher": sum(visit["publisher.id"] is None for visit in visits),
        "repeated": len(visits) - len({visit["visit_id"] for visit in visits}),
    }
    assert all(1 <= count <= 0.002 * len(visits) for count in bad.values()), bad


def test_the_other_addresses_are_addresses(visits: list[dict[str, Any]]) -> None:
    addresses = {visit["device.ip"] for visit in visits} - {None, *BAD_IPS}
    assert {ipaddress.ip_address(address).version for address in addresses} == {4, 6}


def test_language_clock_and_network_follow_the_country(visits: list[dict[str, Any]]) -> None:
    for visit in visits:
        if visit["geo.country"] is None:
            continue
        country = BY_CODE[visit["geo.country"]]
        assert visit["device.language"] in {None, *country.languages}
        assert visit["geo.utc_offset"] in {None, *(c.utc_offset_minutes for c in country.cities)}
        assert visit["geo.city"] in {None, *(c.name for c in country.cities)}
        assert visit["device.carrier"] in {None, *country.carriers}


def test_site_or_app_attributes_follow_the_channel(visits: list[dict[str, Any]]) -> None:
    for visit in visits:
        other = "app." if visit["imp.channel"] == "web" else "site."
        assert not [name for name in visit if name.startswith(other) and visit[name] is not None]


def test_devices_hang_together(visits: list[dict[str, Any]]) -> None:
    by_os = {"ios": {"phone", "tablet"}, "windows": {"pc"}, "tizen": {"ctv"}}
    for visit in visits:
        expected = by_os.get(visit["device.os"])
        if expected:
            assert visit["device.type"] in {*expected, None, *UNKNOWN_DEVICES}


def test_children_carry_no_user_and_are_marked(visits: list[dict[str, Any]]) -> None:
    children = [visit for visit in visits if visit["publisher.id"] == "little-comet"]
    assert children
    assert all(visit["regs.coppa"] and visit["user.segments"] is None for visit in children)


def test_people_countries_and_hours_are_skewed(visits: list[dict[str, Any]]) -> None:
    people = sorted(shares([visit["user.id"] for visit in visits]).values(), reverse=True)
    assert sum(people[: len(people) // 10]) > 0.3
    countries = shares([visit["geo.country"] for visit in visits])
    assert countries["USA"] > 0.15
    assert len(countries) == len(BY_CODE)
    local_hours = shares(
        [
            (visit["time"] + timedelta(minutes=visit["geo.utc_offset"])).hour
            for visit in visits
            if visit["geo.utc_offset"] is not None
        ]
    )
    assert local_hours[20] > 4 * local_hours[3]


def test_weekends_differ_from_weekdays() -> None:
    source = open_source(1, 6_000)
    friday = shares(make_day(source, DAY)["publisher.id"].to_pylist())
    saturday = shares(make_day(source, SATURDAY)["publisher.id"].to_pylist())
    assert saturday["touchline"] > 1.2 * friday["touchline"]
    assert saturday["ledger-coin"] < 0.7 * friday["ledger-coin"]


def test_a_tiny_log_still_works() -> None:
    table = make_day(open_source(1, 1), DAY)
    assert table.num_rows >= 1
    known = {publisher.seller_id for publisher in PUBLISHERS} | {None}
    assert set(table["publisher.id"].to_pylist()) <= known
