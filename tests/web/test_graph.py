"""The graph's pages: who sees how much of it, what is drawn, and what the drawer tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import REDACTED
from exchange.reading import graph
from exchange.reading.around import FAR, NEAR
from exchange.reading.graph import load_trunk, seen_edges
from exchange.reading.matrix import GROUPS_SHOWN, choose_groups
from tests.market.places import found
from tests.people import hire
from tests.reports.nights import nights, write_night
from tests.trading import Exchange, exchange

__all__ = ["exchange", "nights"]

LogIn = Callable[[User], Client]


def boxes(text: str) -> list[str]:
    return re.findall(r'class="node[^"]*"[^>]*aria-label="([^"]+)"', text)


def lines(text: str) -> list[str]:
    return re.findall(r'data-edge="(\d+)"', text)


@pytest.mark.usefixtures("edges")
def test_draws_trunk_edges_and_folds_advertisers(
    log_in: LogIn, dave: User, edges: tuple[Edge, Edge]
) -> None:
    text = log_in(dave).get("/graph/").content.decode()
    assert boxes(text) == ["Daily Herald", "Northgate, sells to 1 advertiser"]
    assert lines(text) == [str(edges[0].pk)]
    assert "not counted yet" in text
    for edge in edges:
        assert f'id="edge-{edge.pk}"' in text  # the table has both


def test_an_empty_exchange_says_so(log_in: LogIn, dave: User) -> None:
    text = log_in(dave).get("/graph/").content.decode()
    assert "Nothing to draw yet" in text
    assert '<svg class="graph"' not in text


@pytest.mark.usefixtures("edges")
def test_a_seller_of_both_kinds_gets_a_box_for_its_advertisers(
    log_in: LogIn, dave: User, herald: Party, soda: Party
) -> None:
    Edge.objects.create(seller=herald, buyer=soda)
    text = log_in(dave).get("/graph/").content.decode()
    assert "1 advertiser, that Daily Herald sells to" in boxes(text)


@pytest.mark.usefixtures("edges")
def test_a_cycle_is_one_red_arc(
    log_in: LogIn, dave: User, operator: Organisation, northgate: Party
) -> None:
    others = [found(Party.Kind.INTERMEDIARY, name, operator) for name in ("Eastgate", "Westgate")]
    circle = [northgate, *others, northgate]
    for seller, buyer in pairwise(circle):
        Edge.objects.create(seller=seller, buyer=buyer)
    text = log_in(dave).get("/graph/").content.decode()
    assert text.count("arc back") == 1
    assert "cycle of 3" in text


@pytest.mark.usefixtures("edges")
def test_a_switched_off_edge_is_not_drawn(
    log_in: LogIn, dave: User, edges: tuple[Edge, Edge]
) -> None:
    client = log_in(dave)
    client.get("/graph/")
    Edge.objects.filter(pk=edges[0].pk).update(is_active=False)
    text = client.get("/graph/").content.decode()
    assert lines(text) == []


@pytest.mark.django_db(transaction=True)
def test_the_trunk_is_read_once_for_each_version(
    dave: User, edges: tuple[Edge, Edge], northgate: Party
) -> None:
    first = load_trunk(dave, seen_edges(dave))
    with CaptureQueriesContext(connection) as queries:
        assert load_trunk(dave, seen_edges(dave)) is first
    assert len(queries) == 1
    Party.objects.filter(pk=northgate.pk).update(name="Southgate")
    changed = load_trunk(dave, seen_edges(dave))
    assert changed is not None
    assert changed.nodes[northgate.pk].name == "Southgate"


@pytest.mark.usefixtures("edges")
def test_too_many_boxes_land_on_a_search(
    log_in: LogIn, dave: User, monkeypatch: pytest.MonkeyPatch, northgate: Party
) -> None:
    monkeypatch.setattr(graph, "MOST_BOXES", 1)
    client = log_in(dave)
    text = client.get("/graph/").content.decode()
    assert "too many to draw at once" in text
    assert '<svg class="graph"' not in text
    assert "Groups as a matrix" in text
    found_page = client.get("/graph/?q=north").content.decode()
    assert reverse("graph-party", args=[northgate.pk]) in found_page
    assert "Nobody is called" in client.get("/graph/?q=zzz").content.decode()


@pytest.mark.usefixtures("edges")
def test_a_party_stands_between_two_hops(
    log_in: LogIn, dave: User, northgate: Party, herald: Party, soda: Party
) -> None:
    client = log_in(dave)
    middle = client.get(reverse("graph-party", args=[northgate.pk])).content.decode()
    assert boxes(middle) == ["Daily Herald", "Northgate", "1 advertiser, that Northgate sells to"]
    last = client.get(reverse("graph-party", args=[soda.pk])).content.decode()
    assert boxes(last) == ["Daily Herald", "Northgate", "Solberg Soda"]
    first = client.get(reverse("graph-party", args=[herald.pk])).content.decode()
    assert "Two hops behind" in first
    assert "Two hops before" not in first


@pytest.mark.usefixtures("crowd", "edges")
def test_what_is_left_out_around_a_party_is_counted_and_in_the_table(
    log_in: LogIn, dave: User, herald: Party
) -> None:
    client = log_in(dave)
    text = client.get(reverse("graph-party", args=[herald.pk])).content.decode()
    assert f"{61 - NEAR} more" in text
    assert len(lines(text)) == NEAR <= FAR
    assert text.count('<tr id="edge-') == 50
    following = re.search(r'rel="next" href="([^"]+)"', text)
    assert following is not None
    rest = client.get(reverse("graph-party", args=[herald.pk]) + following[1].replace("&amp;", "&"))
    assert rest.content.decode().count('<tr id="edge-') == 11


def test_a_party_without_edges_stands_alone(log_in: LogIn, dave: User, herald: Party) -> None:
    text = log_in(dave).get(reverse("graph-party", args=[herald.pk])).content.decode()
    assert boxes(text) == ["Daily Herald"]


def test_people_who_trade_see_their_edges_and_the_paths_of_their_bookings(
    exchange: Exchange,
) -> None:
    """Shows that the Herald's booking leads over all three; Rival has neither edge nor booking."""
    edges = [exchange.first_edge.pk, exchange.middle_edge.pk, exchange.last_edge.pk]
    seen = {
        name: sorted(seen_edges(house.admin).values_list("pk", flat=True))
        for name, house in (
            ("herald", exchange.herald),
            ("southgate", exchange.southgate),
            ("soda", exchange.soda),
            ("rival", exchange.rival),
        )
    }
    assert seen == {"herald": edges, "southgate": edges[1:], "soda": edges, "rival": []}


def test_a_drawer_tells_others_no_rule_and_no_fee(log_in: LogIn, exchange: Exchange) -> None:
    address = reverse("graph-edge-drawer", args=[exchange.middle_edge.pk])
    told = log_in(exchange.herald.admin).get(address).content.decode()
    assert REDACTED in told
    assert "5.00" not in told
    assert "On the path of" not in told
    own = log_in(exchange.northgate.admin).get(address).content.decode()
    assert "geo.country" in own
    assert "5.00 %" in own
    assert "1 active booking" in own


def test_a_drawer_offers_to_edit_only_to_those_who_may(log_in: LogIn, exchange: Exchange) -> None:
    address = reverse("graph-edge-drawer", args=[exchange.first_edge.pk])
    edit = reverse("edge-edit", args=[exchange.first_edge.pk])
    assert edit in log_in(exchange.herald.people[Role.GRAPH_OPERATOR]).get(address).content.decode()
    assert edit not in log_in(exchange.herald.people[Role.VIEWER]).get(address).content.decode()
    assert edit not in log_in(exchange.northgate.admin).get(address).content.decode()


def test_a_drawer_of_a_party_names_its_neighbours(log_in: LogIn, exchange: Exchange) -> None:
    address = reverse("graph-party-drawer", args=[exchange.northgate.party.pk])
    told = log_in(exchange.soda.admin).get(address).content.decode()
    assert "Buys from 1" in told
    assert "Herald" in told
    assert "Southgate" in told
    # Its page is its own people's.
    page = reverse("party-detail", args=[exchange.northgate.party.pk])
    assert f'href="{page}"' not in told


def test_a_draft_of_another_shows_no_path(exchange: Exchange) -> None:
    """Shows that nobody hears of a booking before its campaign leaves the drawer."""
    Campaign.objects.filter(pk=exchange.campaign.pk).update(status="draft")
    seen = seen_edges(exchange.herald.admin).values_list("pk", flat=True)
    assert list(seen) == [exchange.first_edge.pk]


def test_what_passes_is_drawn_for_the_exchange_alone(
    log_in: LogIn, exchange: Exchange, nights: Path
) -> None:
    """Draws it for them only, because it is counted over everybody's visits."""
    edge = exchange.first_edge
    write_night(nights, date(2026, 11, 17), [("edge", str(edge.pk), 150, 800, 50)])
    seen = log_in(exchange.operators[Role.VIEWER]).get("/graph/").content.decode()
    assert 'class="edge p0"' in seen
    assert "Tuesday 17 November" in seen
    assert "15 %" in seen
    own = log_in(exchange.herald.admin)
    drawer = reverse("graph-edge-drawer", args=[edge.pk])
    for address in ("/graph/", "/graph/groups/", drawer):
        told = own.get(address).content.decode()
        assert "edge p0" not in told
        assert "15 %" not in told


@pytest.mark.usefixtures("edges")
def test_groups_are_owners(log_in: LogIn, dave: User, operator: Organisation) -> None:
    text = log_in(dave).get("/graph/groups/").content.decode()
    assert f"{operator.name} to {operator.name}: 1 edge, visits not counted yet" in text
    assert "not counted yet" in text


def test_groups_that_trade_with_each_other_are_shown() -> None:
    """Makes 40 sellers with a buyer each of their own, and a few who all meet."""
    lonely = {(seller, 1_000 + seller): 3 for seller in range(1, 41)}
    meeting = {(seller, buyer): 2 for seller in range(50, 56) for buyer in range(60, 66)}
    sellers, buyers = choose_groups(lonely | meeting)
    assert set(range(50, 56)) <= set(sellers)
    assert set(range(60, 66)) <= set(buyers)
    assert len(sellers) == GROUPS_SHOWN


def test_the_graph_costs_the_same_whatever_is_in_it(
    log_in: LogIn, operator: Organisation, dave: User, herald: Party, soda: Party
) -> None:
    solberg = Organisation.objects.create(name="Solberg")
    Party.objects.filter(pk=soda.pk).update(organisation=solberg)
    sally = hire("sally", Role.VIEWER, solberg)
    for person in (dave, sally):
        connect(operator, herald, soda, f"{person.username} first")
        before = count_queries(log_in(person), "/graph/")
        for number in range(8):
            connect(operator, herald, soda, f"{person.username} {number}")
        assert count_queries(log_in(person), "/graph/") == before


def connect(operator: Organisation, herald: Party, soda: Party, name: str) -> None:
    middle = found(Party.Kind.INTERMEDIARY, f"Middle {name}", operator)
    Edge.objects.create(seller=herald, buyer=middle)
    Edge.objects.create(seller=middle, buyer=soda)
    summer = Campaign.objects.create(advertiser=soda, name=name, expression="true", status="live")
    Booking.objects.create(campaign=summer, publisher=herald)


def count_queries(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)
