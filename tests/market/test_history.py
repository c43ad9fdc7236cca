"""Everything that changed is in the history, whoever changed it and however; and the way back."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test import Client

from exchange.accounts.models import User
from exchange.market.history import Revision, difference, find_revision, revert, revisions_of
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    Revised,
    TestVisit,
    ValueList,
)
from exchange.market.recording import Source, recording
from exchange.market.services import (
    StaleSaveError,
    retire_campaign,
    save_attribute,
    save_audience,
    save_booking,
    save_campaign,
    save_edge,
    save_party,
    save_test_visit,
    save_value_list,
)


@pytest.fixture
def edge(herald: Party, northgate: Party) -> Edge:
    return Edge.objects.create(seller=herald, buyer=northgate)


def last_difference(obj: Revised) -> list[str]:
    after, before = revisions_of(obj)[:2]
    return difference(before, after)


def origins(obj: Revised) -> list[tuple[int, User | None, Source]]:
    return [(it.number, it.by, it.source) for it in revisions_of(obj)]


def test_a_change_is_kept_with_who_when_and_from_where(
    alice: User, erin: User, campaign: Campaign
) -> None:
    campaign.expression = "geo.country in ('USA', 'CAN') and device.type = 'ctv'"
    save_campaign(campaign=campaign, by=alice)
    campaign.bid_cpm = "2.50"
    with recording(by=erin, source=Source.API):
        save_campaign(campaign=campaign, by=erin)
    assert origins(campaign) == [
        (3, erin, Source.API),
        (2, alice, Source.IMPORT),
        (1, None, Source.SQL),
    ]
    newest, middle, oldest = revisions_of(campaign)
    assert difference(oldest, middle) == [
        "geo.country from 1 to 2 values: added CAN",
        "added device.type ctv",
    ]
    assert difference(middle, newest) == ["bid cpm from 1.00 to 2.50"]
    assert oldest.expression == "geo.country = 'USA'"
    assert oldest.at <= middle.at <= newest.at


@pytest.mark.django_db(transaction=True)
def test_a_page_records_that_it_was_the_web(bob: User, edge: Edge) -> None:
    client = Client()
    client.force_login(bob)
    answer = client.post(
        f"/edges/{edge.pk}/edit/",
        {
            "seller": edge.seller_id,
            "buyer": edge.buyer_id,
            "fee_percent": "12",
            "is_active": "on",
            "expression": "true",
            "version": edge.version,
        },
    )
    assert answer.status_code == 302, answer.content
    assert origins(edge)[0] == (2, bob, Source.WEB)
    assert last_difference(edge) == ["fee percent from 0.00 to 12.00"]


def test_bulk_changes_and_sql_by_hand_are_kept_too(bob: User, herald: Party) -> None:
    gates = [
        Party(
            kind="intermediary",
            name=f"Gate {n}",
            seller_id=f"g{n}",
            organisation_id=herald.organisation_id,
        )
        for n in range(20)
    ]
    Party.objects.bulk_create(gates)
    edges = Edge.objects.bulk_create([Edge(seller=herald, buyer=gate) for gate in gates])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE market_edge SET expression = 'regs.gdpr', fee_percent = 7")
    Edge.objects.filter(pk=edges[0].pk).update(is_active=False)
    assert [(it.number, it.expression) for it in revisions_of(edges[1])] == [
        (2, "regs.gdpr"),
        (1, "true"),
    ]
    assert last_difference(edges[0]) == ["switched off"]
    assert {source for _, _, source in origins(edges[0])} == {Source.SQL}
    assert Edge.objects.get(pk=edges[0].pk).version == 3


def test_sql_after_a_save_in_the_same_transaction_is_not_that_persons(
    bob: User, edge: Edge
) -> None:
    save_edge(edge=edge, by=bob)
    edge.is_disclosed = True
    save_edge(edge=edge, by=bob)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE market_edge SET fee_percent = 9")
    assert origins(edge) == [(3, None, Source.SQL), (2, bob, Source.IMPORT), (1, None, Source.SQL)]


def test_a_save_that_changes_nothing_is_no_revision(bob: User, edge: Edge) -> None:
    save_edge(edge=edge, by=bob)
    assert (edge.version, len(revisions_of(edge))) == (1, 1)


def test_a_save_after_sql_by_hand_is_stale(bob: User, edge: Edge) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE market_edge SET fee_percent = 9")
    edge.is_active = False
    with pytest.raises(StaleSaveError) as caught:
        save_edge(edge=edge, by=bob)
    assert (caught.value.theirs.version, caught.value.expected_version) == (2, 1)


@pytest.mark.parametrize(
    "table",
    ["party", "edge", "campaign", "booking", "audience", "valuelist", "attribute", "testvisit"],
)
@pytest.mark.django_db
def test_nothing_is_deleted_not_even_by_sql(table: str) -> None:
    with (
        pytest.raises(IntegrityError, match="retired, not deleted"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"DELETE FROM market_{table}")  # noqa: S608


def test_the_history_itself_cannot_be_changed(edge: Edge) -> None:
    for statement in ("DELETE FROM market_edgeevent", "UPDATE market_edgeevent SET version = 9"):
        with (
            pytest.raises(Exception, match=r"append_only|Cannot"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_going_back_is_a_new_revision(alice: User, campaign: Campaign) -> None:
    campaign.expression, campaign.labels = "device.type = 'ctv'", ["summer"]
    save_campaign(campaign=campaign, by=alice)
    revert(obj=campaign, to=1, by=alice)
    assert campaign.version == 3
    stored = Campaign.objects.get()
    assert (stored.expression, stored.labels) == ("geo.country = 'USA'", [])
    assert last_difference(campaign) == [
        "removed device.type ctv",
        "added geo.country USA",
        "labels: removed summer",
    ]
    assert difference(find_revision(campaign, 1), find_revision(campaign, 3)) == []


def test_a_stale_or_retired_thing_does_not_go_back(alice: User, campaign: Campaign) -> None:
    old = Campaign.objects.get()
    campaign.name = "Winter"
    save_campaign(campaign=campaign, by=alice)
    with pytest.raises(StaleSaveError):
        revert(obj=old, to=1, by=alice)
    with pytest.raises(ValidationError, match="no version 7"):
        revert(obj=campaign, to=7, by=alice)
    retire_campaign(campaign=campaign, by=alice)
    assert last_difference(campaign) == ["retired"]
    with pytest.raises(ValidationError, match="is retired"):
        revert(obj=Campaign.objects.get(), to=1, by=alice)


def test_a_list_goes_back_to_its_old_values(erin: User, herald: Party) -> None:
    cities = ValueList(organisation=herald.organisation, name="cities")
    save_value_list(value_list=cities, values=["Oslo", "Bergen"], by=erin)
    save_value_list(value_list=cities, values=["Oslo", "Paris", "Lyon"], by=erin)
    assert last_difference(cities) == ["added Lyon, Paris", "removed Bergen"]
    save_value_list(value_list=cities, values=["Rome"], by=erin)
    revert(obj=cities, to=1, by=erin)
    assert (cities.value_count, cities.current_number) == (2, 4)
    assert last_difference(cities) == ["added Bergen, Oslo", "removed Rome"]
    first, last = find_revision(cities, 1), find_revision(cities, 4)
    assert difference(first, last) == ["the same values again"]


def test_every_kind_of_thing_has_words_for_its_changes(
    erin: User, herald: Party, northgate: Party, soda: Party, edge: Edge, campaign: Campaign
) -> None:
    second = Edge.objects.create(seller=northgate, buyer=soda)
    booking = save_booking(booking=Booking(campaign=campaign, publisher=herald), by=erin)
    booking.policy, booking.pinned_edges = "pinned", [edge.pk, second.pk]
    save_booking(booking=booking, by=erin)
    assert last_difference(booking) == [
        "policy from cheapest to pinned",
        f"pinned edges: added {edge.pk}, {second.pk}",
    ]
    herald.domain = "herald.example"
    save_party(party=herald, by=erin)
    assert last_difference(herald) == ["domain from nothing to herald.example"]
    adults = Audience(organisation=soda.organisation, name="adults", expression="user.age > 17")
    save_audience(audience=adults, by=erin)
    adults.expression = "user.age > 20"
    save_audience(audience=adults, by=erin)
    assert last_difference(adults) == ["user.age > 17 became user.age > 20"]
    visit = TestVisit(campaign=campaign, name="At home", visit={"geo": {"country": "USA"}})
    save_test_visit(test_visit=visit, by=erin)
    visit.expects_eligible = False
    save_test_visit(test_visit=visit, by=erin)
    assert last_difference(visit) == ["expected not to be eligible"]
    loyalty = Attribute(name="custom.loyalty", type="string", values=["gold"])
    save_attribute(attribute=loyalty, by=erin)
    loyalty.values = ["gold", "silver"]
    save_attribute(attribute=loyalty, by=erin)
    assert last_difference(loyalty) == ["values: added silver"]
    campaign.advertiser = soda
    campaign.ends_at = None


def test_texts_that_no_longer_compile_are_still_told_apart(campaign: Campaign) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE market_campaign SET expression = 'geo.contry ='")
    assert last_difference(campaign) == ["expression rewritten"]


def test_long_histories_are_read_page_by_page(bob: User, edge: Edge) -> None:
    for fee in range(1, 8):
        edge.fee_percent = fee
        save_edge(edge=edge, by=bob)
    first = revisions_of(edge, limit=3)
    second = revisions_of(edge, limit=3, before=first[-1].number)
    assert [it.number for it in [*first, *second]] == [8, 7, 6, 5, 4, 3]
    assert all(isinstance(it, Revision) for it in first)
