"""The path that a page shows for a booking."""

from __future__ import annotations

from decimal import Decimal

import pytest

from exchange.accounts.models import User
from exchange.market.impact import EdgeUse, impact_of_edge
from exchange.market.models import Booking, Edge, Party
from exchange.web.paths import find_paths

pytestmark = pytest.mark.django_db


def test_names_every_hop_with_its_edge(
    booking: Booking, dave: User, edges: tuple[Edge, Edge]
) -> None:
    [path] = find_paths([booking], dave)
    assert [hop.edge for hop in path.hops] == list(edges)
    assert [hop.buyer.name for hop in path.hops] == ["Northgate", "Solberg Soda"]
    assert not path.reason


def test_multiplies_the_fees(booking: Booking, dave: User) -> None:
    booking.campaign.bid_cpm = Decimal("2.00")
    [path] = find_paths([booking], dave)
    assert path.fee_percent == Decimal("28.00")
    assert path.net_cpm == Decimal("1.44")


def test_says_why_there_is_no_path(booking: Booking, dave: User, edges: tuple[Edge, Edge]) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    [path] = find_paths([booking], dave)
    assert path.hops == ()
    assert "from Daily Herald to Solberg Soda" in path.reason


def test_counts_the_bookings_that_an_edge_carries(
    booking: Booking, edges: tuple[Edge, Edge], herald: Party, soda: Party
) -> None:
    assert impact_of_edge(edges[0]) == EdgeUse(booking_count=1, pair_count=1)
    shortcut = Edge.objects.create(seller=herald, buyer=soda)
    assert impact_of_edge(edges[0]) == EdgeUse(booking_count=0, pair_count=0)
    assert impact_of_edge(shortcut) == EdgeUse(booking_count=1, pair_count=1)
    Booking.objects.filter(pk=booking.pk).update(is_active=False)
    assert impact_of_edge(shortcut).booking_count == 0
