"""Changes are noted by the database itself, and told apart by moments."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

from exchange.accounts.models import Organisation
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.snapshots.changes import count_changes, forget_changes, read_changes
from exchange.snapshots.market import one_moment
from exchange.snapshots.models import Change, ChangeKind
from tests.snapshots.story import Story, found


@pytest.fixture(autouse=True)
def _story(story: Story) -> None:
    """Tells the story: everything here is about what happens after it."""


def now() -> str:
    with one_moment() as position:
        return position


def noted(since: str) -> dict[ChangeKind, set[int]]:
    with one_moment():
        return dict(read_changes(since).ids)


def run(sql: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def test_raw_and_bulk_changes_are_noted(story: Story) -> None:
    start = now()
    run("UPDATE market_campaign SET name = 'By hand' WHERE id = %s", story.summer.pk)
    Booking.objects.update(is_active=False)
    operator = Organisation.objects.get()
    new = Party.objects.bulk_create(
        Party(kind="publisher", name=name, seller_id=name, organisation=operator)
        for name in ("a", "b")
    )
    assert noted(start) == {
        ChangeKind.CAMPAIGN: {story.summer.pk},
        ChangeKind.BOOKING: {story.at_herald.pk, story.at_tribune.pk},
        ChangeKind.PARTY: {party.pk for party in new},
    }


def test_what_changes_nothing_is_no_change(story: Story) -> None:
    start = now()
    story.summer.save()
    Campaign.objects.update(uses=["attribute:geo.country"])
    assert noted(start) == {}


def test_what_is_rolled_back_is_no_change(story: Story) -> None:
    start = now()
    with transaction.atomic():
        Campaign.objects.update(name="Never")
        transaction.set_rollback(True)
    assert noted(start) == {}


def test_each_change_is_in_one_difference_of_a_chain(story: Story) -> None:
    first = now()
    Campaign.objects.update(name="One")
    second = now()
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(fee_percent=3)
    assert noted(first).keys() == {ChangeKind.CAMPAIGN, ChangeKind.EDGE}
    assert noted(second).keys() == {ChangeKind.EDGE}
    assert count_changes(second) == 1


def test_the_former_edge_is_the_one_before_all_changes(story: Story) -> None:
    edge = Edge.objects.filter(pk=story.herald_to_northgate.pk)
    start = now()
    edge.update(fee_percent=3)
    edge.update(fee_percent=4)
    with one_moment():
        former = read_changes(start).former[ChangeKind.EDGE, story.herald_to_northgate.pk]
    assert former is not None
    assert former["fee_percent"] == 10.0


def test_very_many_rows_are_noted_as_one(story: Story) -> None:
    start = now()
    operator = Organisation.objects.get()
    run(
        "INSERT INTO market_party (kind, name, seller_id, domain, organisation_id, created_at,"
        " updated_at) SELECT 'publisher', 'p' || n, 'p' || n, '', %s, now(), now()"
        " FROM generate_series(1, 20001) AS n",
        operator.pk,
    )
    with one_moment():
        changes = read_changes(start)
    assert (changes.many, changes.ids) == ({ChangeKind.PARTY}, {})


def test_forgotten_changes_are_those_that_a_moment_has_seen(story: Story) -> None:
    Campaign.objects.update(name="Seen")
    position = now()
    Campaign.objects.update(name="Not seen")
    forget_changes(position)
    assert Change.objects.count() == 1
    assert noted(position).keys() == {ChangeKind.CAMPAIGN}


def test_new_operator_is_noted(story: Story) -> None:
    start = now()
    Organisation.objects.update(name="Renamed")
    assert noted(start) == {}
    found(Party.Kind.PUBLISHER, "Gazette", Organisation.objects.get())
    Organisation.objects.update(is_operator=False)
    assert noted(start).keys() == {ChangeKind.PARTY, ChangeKind.ORGANISATION}
