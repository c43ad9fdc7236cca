"""What is found about a booking, for every policy."""

from __future__ import annotations

import pytest

from exchange.findings.checking import Checker, Found, Kind
from exchange.market.models import Booking, Edge, Party
from exchange.market.querysets import BookingQuerySet

pytestmark = pytest.mark.django_db


def check(booking: Booking) -> list[Found]:
    fresh: BookingQuerySet = Booking.objects.with_parties()
    return list(Checker().check(fresh.get(pk=booking.pk)))


def set_policy(booking: Booking, policy: str, **fields: object) -> None:
    Booking.objects.filter(pk=booking.pk).update(policy=policy, **fields)


@pytest.mark.parametrize("policy", ["cheapest", "any"])
def test_nothing_is_wrong_with_a_booking_that_has_a_path(booking: Booking, policy: str) -> None:
    set_policy(booking, policy)
    assert check(booking) == []


@pytest.mark.parametrize("policy", ["cheapest", "any"])
def test_an_edge_that_is_switched_off_breaks_the_path(
    booking: Booking, edges: tuple[Edge, Edge], policy: str
) -> None:
    set_policy(booking, policy)
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    assert check(booking) == [Found(Kind.BROKEN_PATH, (edges[1].pk,))]


def test_parties_that_nothing_connects_have_no_path(
    booking: Booking, edges: tuple[Edge, Edge], northgate: Party
) -> None:
    set_policy(booking, "any", hop_limit=1)
    assert check(booking) == [Found(Kind.NO_PATH)]


def test_a_pinned_path_names_its_inactive_edge(booking: Booking, edges: tuple[Edge, Edge]) -> None:
    set_policy(booking, "pinned", pinned_edges=[edge.pk for edge in edges])
    assert check(booking) == []
    Edge.objects.filter(pk=edges[0].pk).update(is_active=False)
    assert check(booking) == [Found(Kind.BROKEN_PATH, (edges[0].pk,))]


@pytest.mark.parametrize("policy", ["cheapest", "any"])
def test_a_contradiction_names_the_edge_and_the_two_conditions(
    booking: Booking, edges: tuple[Edge, Edge], policy: str
) -> None:
    set_policy(booking, policy)
    Edge.objects.filter(pk=edges[1].pk).update(
        expression="geo.country in ('DEU', 'FRA') and user.age >= 18"
    )
    [found] = check(booking)
    assert found.kind is Kind.CONTRADICTION
    assert found.edge_ids == (edges[1].pk,)
    assert found.conditions == (
        (None, "geo.country = 'USA'"),
        (edges[1].pk, "geo.country in ('DEU', 'FRA')"),
    )


def test_any_path_is_no_contradiction_while_one_way_is_left(
    booking: Booking, edges: tuple[Edge, Edge], herald: Party, soda: Party
) -> None:
    set_policy(booking, "any")
    Edge.objects.filter(pk=edges[1].pk).update(expression="geo.country = 'DEU'")
    Edge.objects.create(seller=herald, buyer=soda)
    assert check(booking) == []


def test_a_cycle_is_told_to_bookings_that_may_go_round(
    booking: Booking, edges: tuple[Edge, Edge], northgate: Party
) -> None:
    south = Party.objects.create(
        kind="intermediary", name="South", seller_id="south", organisation=northgate.organisation
    )
    there = Edge.objects.create(seller=northgate, buyer=south)
    back = Edge.objects.create(seller=south, buyer=northgate)
    assert check(booking) == []
    set_policy(booking, "any")
    assert check(booking) == [
        Found(Kind.CYCLE, (there.pk, back.pk), (northgate.pk, south.pk)),
    ]
