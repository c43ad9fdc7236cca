"""The path that a page shows for a booking."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import connection

from exchange.accounts.models import User
from exchange.findings.services import check_booking
from exchange.market.impact import EdgeUse, impact_of_edge
from exchange.market.models import Booking, Edge, Party
from exchange.reading.explaining import explain_campaign
from exchange.reading.paths import find_paths
from exchange.snapshots.composing import Composer, Entry
from exchange.snapshots.market import read_bookings, read_campaigns, read_surroundings

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


@pytest.mark.parametrize("policy", ["cheapest", "any", "pinned"])
def test_most_hops_counts_for_pages_findings_explanations_and_the_build(
    booking: Booking, dave: User, edges: tuple[Edge, Edge], soda: Party, policy: str
) -> None:
    """Chooses between a direct way and the one over Northgate, which is cheaper and takes two
    hops."""
    pins = [edge.pk for edge in edges] if policy == "pinned" else []
    Booking.objects.filter(pk=booking.pk).update(policy=policy, pinned_edges=pins)

    def tell(hops: int) -> tuple[int, list[str], bool, int]:
        Booking.objects.filter(pk=booking.pk).update(hop_limit=hops)
        now = Booking.objects.with_parties().get(pk=booking.pk)
        [path] = find_paths([now], dave)
        found = [finding.kind for finding in check_booking(booking=now)]
        explanation = explain_campaign(
            campaign=now.campaign,
            publisher=now.publisher,
            visit={"geo.country": "USA", "site.cat": ["sports"]},
            viewer=dave,
        )
        built = compose()
        return len(path.hops), found, explanation.is_eligible, len(built)

    assert tell(2) == (2, [], True, 1)
    assert tell(1) == (0, ["no_path"], False, 0)
    direct = Edge.objects.create(seller=booking.publisher, buyer=soda, fee_percent="50")
    assert tell(2) == (2, [], True, 1)
    expected = (0, ["no_path"], False, 0) if policy == "pinned" else (1, [], True, 1)
    assert tell(1) == expected
    carried = EdgeUse(0, 0) if policy == "pinned" else EdgeUse(1, 1)
    assert (impact_of_edge(edges[0]), impact_of_edge(direct)) == (EdgeUse(0, 0), carried)


def compose() -> list[Entry]:
    """Gives what a build would make of the market as it is saved."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_snapshot()::text")
        (position,) = cursor.fetchone()
    market = read_surroundings(position)
    market.campaigns.update(read_campaigns())
    market.bookings.extend(read_bookings(market.campaigns, lambda _: None))
    return list(Composer(market).entries())
