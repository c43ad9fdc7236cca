"""Lists: search, filters in the address, pages, and a fixed number of queries."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.snapshots.models import SnapshotBuild
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db

# Session and person, then what the list itself needs, whatever the number of its rows.
QUERIES = {
    "/parties/": 4,
    "/edges/": 8,
    "/campaigns/": 10,  # three of them for sentences, sparklines and views
    "/bookings/": 13,  # five of them read the graph, which nobody else sees yet
    "/snapshots/": 12,
}


@pytest.fixture
def reader(dave: User, log_in: LogIn) -> Client:
    return log_in(dave)


@pytest.mark.usefixtures("booking")
@pytest.mark.parametrize("address", QUERIES)
def test_a_list_of_one_costs_what_a_full_one_costs(
    address: str,
    reader: Client,
    request: pytest.FixtureRequest,
    django_assert_num_queries: DjangoAssertNumQueries,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    SnapshotBuild.objects.create(status="live", snapshot_id="a" * 32)
    with django_assert_num_queries(QUERIES[address]):
        reader.get(address)
    request.getfixturevalue("crowd")
    SnapshotBuild.objects.bulk_create(SnapshotBuild(status="failed") for _ in range(60))
    # Where many names could be chosen, none are read for a menu.
    with django_assert_max_num_queries(QUERIES[address]):
        reader.get(address)


@pytest.mark.usefixtures("crowd", "edges")
@pytest.mark.parametrize(
    ("address", "shown", "hidden"),
    [
        ("/parties/?q=herald", "Daily Herald", "Middle 001"),
        ("/parties/?kind=advertiser", "Solberg Soda", "Northgate"),
        ("/edges/?q=northgate", "Daily Herald → Northgate", "Middle 001 →"),
        ("/edges/?q=finance", "Daily Herald → Northgate", "Northgate → Solberg Soda"),
        ("/campaigns/?q=crowd+007", "Crowd 007", "Crowd 008"),
        ("/campaigns/?status=serving", "Crowd 059", "Nothing matches"),
        ("/campaigns/?status=paused", "Nothing matches", "Crowd 059"),
        ("/bookings/?q=crowd+007", "Crowd 007", "Crowd 008"),
        ("/bookings/?active=no", "Nothing matches", "Crowd 059"),
    ],
)
def test_filters_in_the_address_narrow_the_list(
    address: str, shown: str, hidden: str, reader: Client
) -> None:
    table = reader.get(address).content.decode().partition('id="list"')[2]
    assert shown in table
    assert hidden not in table


@pytest.mark.usefixtures("crowd")
def test_the_next_page_keeps_the_filters(reader: Client) -> None:
    html = reader.get("/campaigns/?status=serving&q=crowd").content.decode()
    address = html.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "status=serving" in address
    assert "q=crowd" in address
    second = reader.get(f"/campaigns/{address}").content.decode()
    assert "Crowd 009" in second
    assert "Crowd 010" not in second.partition('id="list"')[2]
    assert 'rel="prev"' in second
    assert 'rel="next"' not in second


@pytest.mark.usefixtures("crowd")
def test_a_filter_that_makes_no_sense_is_not_applied(reader: Client) -> None:
    assert "Crowd 059" in reader.get("/campaigns/?status=nonsense").content.decode()
    assert "Crowd 059" in reader.get("/campaigns/?advertiser=999999").content.decode()
    assert "Crowd 059" in reader.get("/campaigns/?advertiser=x").content.decode()


def test_a_broken_cursor_is_not_found(reader: Client) -> None:
    assert reader.get("/campaigns/?after=%00%ff").status_code == 404


def test_text_is_never_taken_for_markup(reader: Client, soda: Party) -> None:
    Campaign.objects.create(advertiser=soda, name="<b>Bold</b>", expression="true")
    html = reader.get("/campaigns/").content.decode()
    assert "&lt;b&gt;Bold&lt;/b&gt;" in html
    assert "<b>Bold" not in html


def test_a_booking_without_a_path_is_seen_in_the_list(
    reader: Client, booking: Booking, edges: tuple[Edge, Edge]
) -> None:
    assert "2 hops" in reader.get("/bookings/").content.decode()
    Edge.objects.filter(pk=edges[0].pk).update(is_active=False)
    assert "No path" in reader.get("/bookings/").content.decode()
    html = reader.get(f"/campaigns/{booking.campaign_id}/bookings/").content.decode()
    assert "No chain of active edges leads from Daily Herald" in html


def test_a_partys_counts_are_those_of_the_lists_they_lead_to(
    exchange: Exchange, log_in: LogIn
) -> None:
    """Shows that a publisher does not learn of drafts: neither by the list nor by a number."""
    Campaign.objects.filter(pk=exchange.campaign.pk).update(status="draft")
    herald, soda = exchange.herald.party.pk, exchange.soda.party.pk
    told = {
        (exchange.herald.admin, "bookings", f"publisher={herald}", herald): 0,
        (exchange.operators[Role.VIEWER], "bookings", f"publisher={herald}", herald): 1,
        (exchange.soda.admin, "campaigns", f"advertiser={soda}", soda): 1,
    }
    for (person, kind, query, party), count in told.items():
        client = log_in(person)
        page = client.get(f"/parties/{party}/").content.decode()
        assert f'<a href="/{kind}/?{query}">{count}</a>' in page
        listed = client.get(f"/{kind}/?{query}").context["listing"].page.total
        assert listed == count
