"""Bookings are checked again soon after an edge on their way changed, and only those."""

from __future__ import annotations

import pytest
from django.db import connection

from exchange.findings import changed
from exchange.findings.changed import check_changed
from exchange.findings.models import BookingFinding, CheckedUpTo
from exchange.findings.tasks import check_changed as check_changed_task
from exchange.market.models import Booking, Campaign, Edge, Party

pytestmark = pytest.mark.django_db(transaction=True)
Kind = BookingFinding.Kind


@pytest.fixture(autouse=True)
def looked_at(booking: Booking, edges: tuple[Edge, Edge]) -> None:
    """Everything up to here was looked at."""
    CheckedUpTo.objects.all().delete()
    assert check_changed() == 0


def found() -> list[str]:
    return list(BookingFinding.objects.order_by("pk").values_list("kind", flat=True))


@pytest.mark.parametrize("policy", ["cheapest", "any", "pinned"])
def test_a_closed_edge_is_found_and_an_opened_one_forgotten(
    booking: Booking, edges: tuple[Edge, Edge], policy: str
) -> None:
    pinned = [edge.pk for edge in edges] if policy == "pinned" else []
    Booking.objects.filter(pk=booking.pk).update(policy=policy, pinned_edges=pinned)
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    assert check_changed() == 1
    assert found() == [Kind.BROKEN_PATH]
    Edge.objects.filter(pk=edges[1].pk).update(is_active=True)
    assert check_changed_task() == 1
    assert found() == []


def test_nothing_is_checked_twice(edges: tuple[Edge, Edge]) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    assert check_changed() == 1
    assert check_changed() == 0


def test_many_edits_are_one_check(edges: tuple[Edge, Edge]) -> None:
    for country in ("DEU", "FRA", "ESP"):
        rule = f"geo.country = '{country}'"
        Edge.objects.filter(pk=edges[0].pk).update(expression=rule)
        Edge.objects.filter(pk=edges[1].pk).update(expression=rule)
    assert check_changed() == 1
    assert found() == [Kind.CONTRADICTION]


def test_an_edge_elsewhere_touches_nobody(northgate: Party, soda: Party) -> None:
    """South sells to Soda, but nothing leads from a publisher to South."""
    south = Party.objects.create(
        kind="intermediary", name="South", seller_id="south", organisation=northgate.organisation
    )
    Edge.objects.create(seller=south, buyer=soda)
    assert check_changed() == 0


def test_an_edge_that_got_another_buyer_touches_those_behind_the_former_one(
    edges: tuple[Edge, Edge], northgate: Party
) -> None:
    south = Party.objects.create(
        kind="intermediary", name="South", seller_id="south", organisation=northgate.organisation
    )
    Edge.objects.filter(pk=edges[1].pk).update(buyer=south)
    assert check_changed() == 1
    assert found() == [Kind.NO_PATH]


def test_a_changed_campaign_is_checked(booking: Booking, edges: tuple[Edge, Edge]) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(expression="geo.country = 'USA'")
    check_changed()
    Campaign.objects.filter(pk=booking.campaign_id).update(expression="geo.country = 'FRA'")
    assert check_changed() == 1
    assert found() == [Kind.CONTRADICTION]


def test_more_edges_than_are_told_apart_are_looked_at_as_one(
    edges: tuple[Edge, Edge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed, "EDGES_APART", 1)
    Edge.objects.update(is_active=False)
    assert check_changed() == 1


def test_what_is_too_much_waits_for_the_night(
    edges: tuple[Edge, Edge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed, "CHECKED_SOON", 0)
    Edge.objects.update(is_active=False)
    assert check_changed() == 0
    assert found() == []


def test_of_two_sweeps_at_once_one_checks(edges: tuple[Edge, Edge]) -> None:
    before = CheckedUpTo.objects.get()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_snapshot()::text")
        (position,) = cursor.fetchone()
    assert changed.move_on(before, position, is_changed=True)
    assert not changed.move_on(before, position + "0", is_changed=True)
