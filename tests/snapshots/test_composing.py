"""Bookings as entries: the path's edges, the flight, the price; and why some are left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.routing import Link
from exchange.snapshots.composing import MAX_SKIPPED_KEPT, Composer, Entry
from exchange.snapshots.market import BookedPair, CampaignRow, Market, PartyRow
from matcher_ext.match import path_key
from targeting import Catalog

HERALD, NORTHGATE, SODA = 1, 2, 3
CATALOG = Catalog.of(
    **{"publisher.id": "string", "time": "timestamp", "geo.country": "string", "age": "integer"}
)


def campaign(expression: str, ends_at: datetime | None = None) -> CampaignRow:
    return CampaignRow(
        name="Summer",
        advertiser_id=SODA,
        expression=expression,
        starts_at=datetime(2026, 1, 1, tzinfo=UTC),
        ends_at=ends_at,
        bid_cpm=Decimal("5.00"),
    )


def market(
    *campaigns: CampaignRow, edge: str = "age >= 18", links: tuple[Link, ...] | None = None
) -> Market:
    """Books every campaign with the Herald, which sells to Northgate, which sells to Soda."""
    default = (
        Link(17, HERALD, NORTHGATE, Decimal("0.10")),
        Link(42, NORTHGATE, SODA, Decimal("0.20")),
    )
    return Market(
        read_at=datetime.now(UTC),
        catalog=CATALOG,
        parties={
            HERALD: PartyRow("Herald", "the 'herald'"),
            NORTHGATE: PartyRow("Northgate", "northgate"),
            SODA: PartyRow("Soda", "soda"),
        },
        links=list(default if links is None else links),
        edge_expressions={17: edge, 42: "true"},
        campaigns=dict(enumerate(campaigns, start=100)),
        bookings=[BookedPair(200 + i, 100 + i, HERALD) for i in range(len(campaigns))],
    )


def compose(given: Market) -> tuple[list[Entry], list[dict[str, object]]]:
    composer = Composer(given)
    return list(composer.entries()), composer.skipped.first


def test_entry_joins_publisher_flight_path_and_campaign() -> None:
    ends = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
    entries, skipped = compose(market(campaign("geo.country = 'USA' or age < 5", ends)))
    assert not skipped
    assert entries[0].text.replace("\n", "") == (
        "publisher.id = \"the 'herald'\" and @edge.17 and @edge.42"
        " and time >= '2026-01-01T00:00:00.000Z' and time < '2026-07-01T12:30:00.000Z'"
        " and (geo.country = 'USA' or age < 5)"
    )


def test_open_flight_has_no_end() -> None:
    entries, _ = compose(market(campaign("true")))
    assert "time <" not in entries[0].text


def test_row_names_path_and_what_the_fees_leave() -> None:
    entries, _ = compose(market(campaign("true")))
    row = entries[0].row
    assert row.path == ("the 'herald'", "northgate", "soda")
    assert row.net_cpm == 3.6
    assert (row.campaign, row.advertiser, row.publisher) == ("Summer", "Soda", "the 'herald'")


def test_campaign_that_no_longer_compiles_is_left_out_with_its_reason() -> None:
    entries, skipped = compose(market(campaign("geo.contry = 'USA'"), campaign("true")))
    assert [entry.row.booking_id for entry in entries] == [201]
    assert skipped[0]["booking_id"] == 200
    assert "The campaign's expression no longer compiles" in str(skipped[0]["reason"])
    assert "geo.contry" in str(skipped[0]["reason"])


def test_edge_that_no_longer_compiles_lets_nothing_by() -> None:
    """Shows that its bookings are there, so that mending it is one definition."""
    given = market(campaign("true"), edge="shoe = 43")
    entries, skipped = compose(given)
    assert (len(entries), skipped) == (1, [])
    assert dict(Composer(given).definitions())["edge.17"] == "false"


def test_booking_without_a_path_is_left_out() -> None:
    entries, skipped = compose(market(campaign("true"), links=()))
    assert not entries
    assert "No active path" in str(skipped[0]["reason"])


def test_reasons_kept_are_bounded_but_all_are_counted() -> None:
    composer = Composer(market(*[campaign("shoe = 43")] * (MAX_SKIPPED_KEPT + 5)))
    assert list(composer.entries()) == []
    assert composer.skipped.count == MAX_SKIPPED_KEPT + 5
    assert len(composer.skipped.first) == MAX_SKIPPED_KEPT


def test_counts_how_many_were_left_out_for_which_reason() -> None:
    given = market(*[campaign("true")] * 3)
    unbooked = [pair._replace(policy="pinned") for pair in given.bookings[1:]]
    composer = Composer(replace(given, links=[], bookings=[given.bookings[0], *unbooked]))
    assert list(composer.entries()) == []
    assert composer.skipped.most_frequent() == [
        {"reason": "Its pinned path does not hold: empty.", "bookings": 2},
        {
            "reason": "No active path leads from the publisher to the advertiser"
            " in at most 5 hops.",
            "bookings": 1,
        },
    ]


@pytest.mark.parametrize("text", ["age > 3 # and nothing else", "age > 3\n# a last line"])
def test_comment_at_the_end_does_not_swallow_the_rest(text: str) -> None:
    entries, skipped = compose(market(campaign(text)))
    assert not skipped
    assert entries[0].text.endswith("\n)")


def booked_on_any_path(given: Market, hop_limit: int = 5) -> Market:
    pairs = [pair._replace(policy="any", hop_limit=hop_limit) for pair in given.bookings]
    return replace(given, bookings=pairs)


def test_any_path_is_a_reach_instead_of_edges() -> None:
    entries, skipped = compose(booked_on_any_path(market(campaign("geo.country = 'USA'"))))
    assert not skipped
    assert entries[0].text.replace("\n", "") == (
        "publisher.id = \"the 'herald'\" and @reach.3.5"
        " and time >= '2026-01-01T00:00:00.000Z' and (geo.country = 'USA')"
    )
    assert (entries[0].edge_ids, entries[0].reach) == ((), (SODA, 5))
    assert (entries[0].row.reach, entries[0].row.bid_cpm) == (path_key(SODA, 5), 5.0)


@pytest.mark.parametrize("policy", ["any", "cheapest", "pinned"])
def test_a_path_that_needs_more_hops_than_allowed_is_left_out(policy: str) -> None:
    given = market(campaign("true"))
    pins = [17, 42] if policy == "pinned" else []
    pairs = [
        pair._replace(policy=policy, hop_limit=1, pinned_edges=pins) for pair in given.bookings
    ]
    entries, skipped = compose(replace(given, bookings=pairs))
    assert not entries
    if policy == "pinned":
        assert "too long" in str(skipped[0]["reason"])
        return
    assert "in at most 1 hop." in str(skipped[0]["reason"])


def test_an_edge_that_no_longer_compiles_is_no_way_for_any_path() -> None:
    given = booked_on_any_path(market(campaign("true"), edge="shoe = 43"))
    composer = Composer(given)
    assert len(list(composer.entries())) == 1
    assert [link[0] for link in composer.routes().links] == [17, 42]
    assert dict(composer.definitions())["edge.17"] == "false"


def test_every_advertiser_can_be_reached_within_the_usual_hops() -> None:
    """Shows that the next booking needs no new graph."""
    given = booked_on_any_path(market(campaign("true")), hop_limit=7)
    assert Composer(given).reaches() == {(SODA, 5), (SODA, 7)}
    routes = Composer(given).routes()
    assert routes.links == [(17, HERALD, NORTHGATE, 9_000), (42, NORTHGATE, SODA, 8_000)]
    assert routes.publishers == [HERALD]


@given(
    bid=st.decimals("0.01", "99999.99", places=2),
    fees=st.lists(st.decimals("0", "99.99", places=2), min_size=2, max_size=2),
)
def test_net_is_rounded_from_the_exact_product(bid: Decimal, fees: list[Decimal]) -> None:
    links = (Link(17, HERALD, NORTHGATE, fees[0] / 100), Link(42, NORTHGATE, SODA, fees[1] / 100))
    entries, _ = compose(market(campaign("true")._replace(bid_cpm=bid), links=links))
    exact = Fraction(bid) * (1 - Fraction(fees[0]) / 100) * (1 - Fraction(fees[1]) / 100)
    assert entries[0].row.net_cpm == round(exact.numerator / exact.denominator, 4)
