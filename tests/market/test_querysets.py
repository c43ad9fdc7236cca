"""Lists read in a fixed number of queries, find what people type, and page by key."""

from __future__ import annotations

from fractions import Fraction

import pytest
from django.db.models import Q
from pytest_django import DjangoAssertNumQueries

from exchange.accounts.models import Organisation
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.querysets import is_frequent
from exchange.routing import Link
from tests.market.places import found


@pytest.fixture
def gazette(operator: Organisation) -> Party:
    return found(Party.Kind.PUBLISHER, "Gazette", operator)


@pytest.fixture
def edges(herald: Party, northgate: Party, soda: Party) -> list[Edge]:
    return [
        Edge.objects.create(seller=herald, buyer=northgate),
        Edge.objects.create(seller=northgate, buyer=soda, expression="device.type = 'ctv'"),
        Edge.objects.create(seller=herald, buyer=soda, is_active=False),
    ]


@pytest.fixture
def campaigns(soda: Party) -> list[Campaign]:
    return [
        Campaign.objects.create(advertiser=soda, name=name, expression="true", status=status)
        for name, status in [("Summer", "live"), ("Winter", "draft"), ("Spring 100%", "paused")]
    ]


@pytest.fixture
def bookings(campaigns: list[Campaign], herald: Party, gazette: Party) -> list[Booking]:
    summer, winter, _ = campaigns
    return [
        Booking.objects.create(campaign=summer, publisher=herald),
        Booking.objects.create(campaign=summer, publisher=gazette, is_active=False),
        Booking.objects.create(campaign=winter, publisher=herald),
    ]


@pytest.mark.usefixtures("herald", "northgate", "soda", "gazette")
def test_parties_are_found_by_kind_in_order_of_their_names() -> None:
    assert [p.name for p in Party.objects.publishers()] == ["Daily Herald", "Gazette"]
    assert [p.name for p in Party.objects.sellers()] == ["Daily Herald", "Gazette", "Northgate"]
    assert [p.name for p in Party.objects.buyers()] == ["Northgate", "Solberg Soda"]
    assert [p.name for p in Party.objects.advertisers()] == ["Solberg Soda"]
    assert Party.objects.of_kind(Party.Kind.INTERMEDIARY).get().name == "Northgate"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("HERALD", ["Daily Herald"]),
        ("daily-herald", ["Daily Herald"]),
        ("  gate ", ["Northgate"]),
        ("herald.example", ["Daily Herald"]),
        ("", ["Daily Herald", "Northgate", "Solberg Soda"]),
        ("%", []),
        ("nothing", []),
    ],
)
@pytest.mark.usefixtures("northgate", "soda")
def test_parties_are_found_by_name_seller_id_and_domain(
    herald: Party, text: str, names: list[str]
) -> None:
    herald.domain = "herald.example"
    herald.save()
    assert [party.name for party in Party.objects.search(text)] == names


@pytest.mark.usefixtures("edges")
def test_edges_are_listed_with_their_parties_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        named = [str(edge) for edge in Edge.objects.active().with_parties()]
    assert named == ["Daily Herald → Northgate", "Northgate → Solberg Soda"]


def test_edges_become_links_with_exact_fees(edges: list[Edge]) -> None:
    Edge.objects.filter(pk=edges[0].pk).update(fee_percent="12.34")
    first, second = Edge.objects.active().as_links()
    assert first == Link(edges[0].pk, edges[0].seller_id, edges[0].buyer_id, Fraction(617, 5000))
    assert second.fee == 0


def test_edges_are_found_by_party_expression_and_id(edges: list[Edge]) -> None:
    first, second, third = edges
    assert list(Edge.objects.search("northgate")) == [first, second]
    assert list(Edge.objects.search("ctv")) == [second]
    assert list(Edge.objects.search(str(third.pk))) == [third]
    assert list(Edge.objects.search("9" * 5000)) == []


@pytest.mark.usefixtures("bookings")
def test_campaigns_are_listed_newest_first_with_their_bookings_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        rows = [
            (campaign.name, campaign.advertiser.name, campaign.booking_count)
            for campaign in Campaign.objects.with_advertiser().with_booking_count()
        ]
    assert rows == [
        ("Spring 100%", "Solberg Soda", 0),
        ("Winter", "Solberg Soda", 1),
        ("Summer", "Solberg Soda", 2),
    ]


def test_campaigns_are_found_by_name_advertiser_and_id(campaigns: list[Campaign]) -> None:
    summer, winter, spring = campaigns
    assert list(Campaign.objects.search("winTER")) == [winter]
    assert list(Campaign.objects.search("soda")) == [spring, winter, summer]
    assert list(Campaign.objects.search(str(summer.pk))) == [summer]
    assert list(Campaign.objects.search("100%")) == [spring]


def test_bookings_are_listed_with_everything_they_name_in_one_query(
    bookings: list[Booking], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        rows = [
            (str(booking), booking.campaign.advertiser.name)
            for booking in Booking.objects.with_parties()
        ]
    assert rows[-1] == ("Summer at Daily Herald", "Solberg Soda")
    assert len(rows) == len(bookings)


def test_bookings_are_found_by_campaign_advertiser_and_publisher(bookings: list[Booking]) -> None:
    summer_herald, summer_gazette, winter_herald = bookings
    assert list(Booking.objects.search("summer")) == [summer_gazette, summer_herald]
    assert list(Booking.objects.search("herald")) == [winter_herald, summer_herald]
    assert list(Booking.objects.search("soda")) == bookings[::-1]


# A name, what people type for it, and whether they mean it.
WORDS: list[tuple[str, str, bool]] = [
    ("Trail shoes \u2013 Nordics \u2013 wave 7", "trail", True),
    ("Trail shoes \u2013 Nordics \u2013 wave 7", "sho tra", True),
    ("Trail shoes \u2013 Nordics \u2013 wave 7", "TRAIL  wave-7", True),
    ("Trail shoes \u2013 Nordics \u2013 wave 7", "trail 8", False),
    ("Trail shoes \u2013 Nordics \u2013 wave 7", "hoes", False),
    ("Pre-roll (US)_2026", "roll us 2026", True),
    ("Pre-roll (US)_2026", "us_2026", True),
    ("Été à Zürich", "zür été", True),
    ("Été à Zürich", "rich", False),
    ("O'Neill's 4K-TV, 1e5 & 007", "neill 4k 007", True),
    ("O'Neill's 4K-TV, 1e5 & 007", "1e5", True),
    ("visit news.example/path?x=1", "example path 1", True),
    ("100% off", "100%", True),
    ("100% off", "%", False),
]


@pytest.mark.parametrize("is_walked", [True, False])
@pytest.mark.parametrize(("name", "text", "is_meant"), WORDS)
def test_the_index_of_words_and_the_walk_through_names_find_the_same(
    soda: Party,
    herald: Party,
    name: str,
    text: str,
    is_meant: bool,
    is_walked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exchange.market.querysets.is_frequent", lambda *_: is_walked)
    campaign = Campaign.objects.create(advertiser=soda, name=name, expression="true")
    booking = Booking.objects.create(campaign=campaign, publisher=herald)
    assert list(Campaign.objects.search(text)) == [campaign] * is_meant
    assert list(Booking.objects.search(text)) == [booking] * is_meant


def test_what_is_frequent_is_tried_on_the_newest_rows(
    soda: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.market.querysets.NEWEST_TRIED", 50)
    Campaign.objects.bulk_create(
        Campaign(advertiser=soda, name=f"{'Old' if n < 60 else 'New'} {n}", expression="true")
        for n in range(120)
    )
    rows = Campaign.objects.all()
    assert is_frequent(rows, Q(name__contains="New"))
    assert not is_frequent(rows, Q(name__contains="Old"))
    assert is_frequent(rows.filter(name__contains="Old 1"), Q(name="none")), "few rows to look at"
