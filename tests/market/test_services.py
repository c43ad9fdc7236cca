"""Saving: who may, what is checked, and when a new snapshot is asked for."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from exchange.accounts.models import User
from exchange.celery import app
from exchange.market.history import revisions_of
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services import (
    StaleSaveError,
    check_expression,
    save_booking,
    save_campaign,
    save_edge,
    save_party,
)
from exchange.snapshots.models import Change
from targeting import ExpressionError
from tests.conftest import environment_of_the_tests


@pytest.fixture
def edge(herald: Party, northgate: Party) -> Edge:
    return Edge.objects.create(seller=herald, buyer=northgate)


@pytest.fixture
def booking(campaign: Campaign, herald: Party) -> Booking:
    return Booking.objects.create(campaign=campaign, publisher=herald)


@pytest.fixture
def saves(
    herald: Party, edge: Edge, campaign: Campaign, booking: Booking
) -> dict[str, Callable[[User], object]]:
    return {
        "party": lambda by: save_party(party=herald, by=by),
        "edge": lambda by: save_edge(edge=edge, by=by),
        "campaign": lambda by: save_campaign(campaign=campaign, by=by),
        "booking": lambda by: save_booking(booking=booking, by=by),
    }


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("alice", {"campaign", "booking"}),
        ("bob", {"party", "edge"}),
        ("carol", set()),
        ("dave", set()),
        ("erin", {"party", "edge", "campaign", "booking"}),
    ],
)
def test_each_person_saves_what_their_role_allows(
    name: str,
    allowed: set[str],
    saves: dict[str, Callable[[User], object]],
    request: pytest.FixtureRequest,
) -> None:
    by = request.getfixturevalue(name)
    for kind, save in saves.items():
        if kind in allowed:
            save(by)
        else:
            with pytest.raises(PermissionDenied):
                save(by)


def test_a_refused_save_changes_nothing(dave: User, campaign: Campaign) -> None:
    campaign.name = "Taken over"
    with pytest.raises(PermissionDenied):
        save_campaign(campaign=campaign, by=dave)
    assert Campaign.objects.get(pk=campaign.pk).name == "Summer"


def test_bob_founds_a_party_and_sells_to_it(bob: User, herald: Party) -> None:
    gate = Party(
        kind="intermediary",
        name="Westgate",
        seller_id="westgate",
        organisation=herald.organisation,
    )
    save_party(party=gate, by=bob)
    edge = Edge(seller=herald, buyer=gate, expression="not (site.cat one of ('IAB13'))")
    assert save_edge(edge=edge, by=bob).pk
    assert Edge.objects.get().expression == "not (site.cat one of ('IAB13'))"


def test_alice_books_a_campaign(alice: User, soda: Party, herald: Party) -> None:
    text = "geo.country in ('USA', 'CAN')\n  and device.type = 'ctv'  # living room"
    campaign = save_campaign(
        campaign=Campaign(advertiser=soda, name="Winter", expression=text), by=alice
    )
    save_booking(booking=Booking(campaign=campaign, publisher=herald), by=alice)
    assert Booking.objects.get().campaign.expression == text


def test_checks_of_the_model_come_before_the_database(alice: User, herald: Party) -> None:
    campaign = Campaign(advertiser=herald, name="", expression="true")
    with pytest.raises(ValidationError) as caught:
        save_campaign(campaign=campaign, by=alice)
    assert set(caught.value.message_dict) == {"advertiser", "name"}


def test_a_wrong_expression_is_refused_with_its_position(alice: User, campaign: Campaign) -> None:
    campaign.expression = "device.type = 'ctv'\nand geo.contry = 'USA'"
    with pytest.raises(ExpressionError) as caught:
        save_campaign(campaign=campaign, by=alice)
    (error,) = caught.value.errors
    assert (error.line, error.column, error.length) == (2, 5, len("geo.contry"))
    assert "geo.country" in str(error.suggestion)
    assert Campaign.objects.get(pk=campaign.pk).expression == "geo.country = 'USA'"


def test_a_wrong_expression_of_an_edge_is_refused(bob: User, edge: Edge) -> None:
    edge.expression = "device.type ="
    with pytest.raises(ExpressionError):
        save_edge(edge=edge, by=bob)
    assert Edge.objects.get(pk=edge.pk).expression == "true"


@pytest.mark.django_db
def test_an_empty_expression_is_not_for_everyone() -> None:
    with pytest.raises(ExpressionError):
        check_expression(text="  ")
    assert check_expression(text="true").text == "true"


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["true and @edge.17", "geo.city in $cities"])
def test_names_that_nobody_defined_are_refused_where_they_stand(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        check_expression(text=text)
    (error,) = caught.value.errors
    assert text[error.column - 1 :] in {"@edge.17", "$cities"}


@pytest.mark.django_db
def test_a_value_outside_a_closed_domain_is_refused() -> None:
    with pytest.raises(ExpressionError) as caught:
        check_expression(text="device.type = 'telephone'")
    assert caught.value.errors[0].column == len("device.type = ") + 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "local_time during 'Mon-Fri 08:00-18:00'",
        "time >= '2026-11-16T00:00:00Z'",
        "geo.location within 5 km of (48.85, 2.35)",
        "device.ip in network ('10.0.0.0/8')",
        "regs.gdpr and user.consent and user.tcf_purposes all of (1, 3, 4)",
        "site.domain under ('example.com') or app.bundle like 'com.example.*'",
        "imp.sizes one of ('300x250') and imp.floor < 2.5 and count(imp.deals) = 0",
    ],
)
def test_the_seeded_catalogue_takes_what_people_ask_for(text: str) -> None:
    assert check_expression(text=text).attributes


def test_a_save_is_announced_to_those_who_bring_it_to_the_servers(
    bob: User, edge: Edge, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with app.connection_for_read() as broker:
        queue = broker.SimpleQueue("changes")
        queue.clear()
        with django_capture_on_commit_callbacks(execute=True):
            save_edge(edge=edge, by=bob)
        message = queue.get(timeout=60)
        message.ack()
    assert message.headers["task"] == "snapshots.write_changes"


def wait_until_somebody_waits_for_a_lock() -> None:
    give_up = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < give_up:
            # Not pg_stat_activity: within a transaction it shows what it showed first.
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone() != (0,):
                return
            time.sleep(0.01)
    pytest.fail("nobody waits for a lock")


def save_and_disconnect(edge: Edge, by: User) -> None:
    try:
        save_edge(edge=edge, by=by)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_save_that_waited_for_another_is_refused_with_both_versions(
    bob: User, erin: User, edge: Edge
) -> None:
    """Lets Bob change the rule of an edge while Erin, who read it before, changes its fee. Hers
    waits for Bob's and is then told what there is now: nobody's change is lost unseen."""
    bobs, erins = Edge.objects.get(), Edge.objects.get()
    bobs.expression, erins.fee_percent = "geo.country = 'FRA'", Decimal(9)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            save_edge(edge=bobs, by=bob)
            waiting = pool.submit(save_and_disconnect, erins, erin)
            wait_until_somebody_waits_for_a_lock()
        with pytest.raises(StaleSaveError) as caught:
            waiting.result(timeout=120)
    theirs, yours = caught.value.theirs, caught.value.yours
    assert isinstance(theirs, Edge)
    assert isinstance(yours, Edge)
    assert (theirs.expression, theirs.updated_by, theirs.version) == (bobs.expression, bob, 2)
    assert (yours.fee_percent, caught.value.expected_version) == (Decimal(9), 1)
    assert Edge.objects.get().fee_percent == 0
    erins.expression = theirs.expression
    save_edge(edge=erins, by=erin, expected_version=theirs.version)
    assert [
        (revision.number, revision.by, revision.expression) for revision in revisions_of(edge)
    ] == [(3, erin, bobs.expression), (2, bob, bobs.expression), (1, None, "true")]


WRITERS, SAVES_EACH, STATEMENTS = 4, 5, 5


def save_until_it_is_saved(number: int, people: list[User], all_have_read: Barrier) -> int:
    """Raises the fee by one, from what is there; how often somebody else was faster."""
    refusals = 0
    try:
        for turn in range(SAVES_EACH):
            edge = Edge.objects.get()
            if turn == 0:
                all_have_read.wait(timeout=60)
            while True:
                edge.fee_percent += 1
                try:
                    save_edge(edge=edge, by=people[number % 2])
                    break
                except StaleSaveError:
                    refusals += 1
                    edge = Edge.objects.get()
    finally:
        connection.close()
    return refusals


def change_by_hand() -> None:
    try:
        for _ in range(STATEMENTS):
            with connection.cursor() as cursor:
                cursor.execute("UPDATE market_edge SET fee_percent = fee_percent + 1")
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_many_editors_and_sql_by_hand_at_once_lose_nothing(
    bob: User, erin: User, edge: Edge
) -> None:
    """Adds one to the same fee with every change: a lost one would be missing from the sum, and
    each is a revision of its own, under the name of who made it."""
    all_have_read = Barrier(WRITERS)
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        saving = [
            pool.submit(save_until_it_is_saved, number, [bob, erin], all_have_read)
            for number in range(WRITERS)
        ]
        by_hand = pool.submit(change_by_hand)
        assert sum(each.result(timeout=240) for each in saving) >= WRITERS - 1
        by_hand.result(timeout=240)
    changes = WRITERS * SAVES_EACH + STATEMENTS
    edge.refresh_from_db()
    assert (edge.fee_percent, edge.version) == (Decimal(changes), 1 + changes)
    kept = revisions_of(edge)
    assert [revision.number for revision in kept] == list(range(1 + changes, 0, -1))
    assert [revision.event.fee_percent for revision in kept] == list(range(changes, -1, -1))
    names = Counter(str(revision.by) for revision in kept[:-1])
    assert names == {"bob": changes // 2 - 2, "erin": changes // 2 - 2, "None": STATEMENTS}


DOWN = """
import django
django.setup()
from exchange.accounts.models import User
from exchange.market.models import Edge
from exchange.market.services import save_edge
edge = Edge.objects.get()
edge.fee_percent = 7
save_edge(edge=edge, by=User.objects.get(username="bob"))
print("saved")
"""


@pytest.mark.django_db(transaction=True)
def test_a_change_is_saved_and_noted_while_the_broker_is_down(bob: User, edge: Edge) -> None:
    """Runs in a process of its own, because this one keeps its connections to the broker that is
    up."""
    environment = {
        **environment_of_the_tests(),
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "DJANGO_SETTINGS_MODULE": "exchange.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", DOWN],
        env=environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stdout == "saved\n"
    assert "Connection refused" in done.stderr
    assert Change.objects.filter(kind="edge", object_id=edge.pk).count() > 1
