"""Bookings are checked again soon after an edge on their way changed, and only those."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from exchange.findings import changed, services
from exchange.findings.changed import check_changed
from exchange.findings.checking import Checker
from exchange.findings.models import BookingFinding, CheckedUpTo
from exchange.findings.services import check_bookings
from exchange.findings.tasks import check_all as check_all_task
from exchange.findings.tasks import check_changed as check_changed_task
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.conftest import environment_of_the_tests

pytestmark = pytest.mark.django_db(transaction=True)
Kind = BookingFinding.Kind


@pytest.fixture(autouse=True)
def looked_at(booking: Booking, edges: tuple[Edge, Edge]) -> None:
    """Notes that everything up to here was looked at."""
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
    """Makes South sell to Soda, while nothing leads from a publisher to South."""
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


def test_a_check_that_was_cut_off_is_made_again(
    edges: tuple[Edge, Edge], monkeypatch: pytest.MonkeyPatch
) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)

    def be_killed(**_: object) -> int:
        raise TimeoutError

    with monkeypatch.context() as cut_off:
        cut_off.setattr(changed, "check_some", be_killed)
        with pytest.raises(TimeoutError):
            check_changed()
    assert check_changed() == 1
    assert found() == [Kind.BROKEN_PATH]


def test_a_sweep_that_is_killed_leaves_its_check_to_the_next(edges: tuple[Edge, Edge]) -> None:
    """Ends a process of its own for good while it checks: the lock goes with it."""
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    sweep = start_held_sweep()
    try:
        assert check_changed() == 0  # one at a time
        assert found() == []
    finally:
        sweep.kill()
        sweep.wait()
    wait_until_free()
    assert check_changed() == 1
    assert found() == [Kind.BROKEN_PATH]


def test_of_two_sweeps_at_once_one_checks(
    edges: tuple[Edge, Edge], monkeypatch: pytest.MonkeyPatch
) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    is_checking, may_end = Event(), Event()

    def check_slowly(**some: Any) -> int:
        is_checking.set()
        assert may_end.wait(60)
        return services.check_some(**some)

    monkeypatch.setattr(changed, "check_some", check_slowly)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(sweep_elsewhere)
        try:
            assert is_checking.wait(60)
            assert check_changed() == 0
        finally:
            may_end.set()
        assert first.result(60) == 1
    assert found() == [Kind.BROKEN_PATH]


def test_what_changes_during_the_nights_check_is_checked_after_it(
    booking: Booking, edges: tuple[Edge, Edge], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads the graph once. A booking of the last part is repaired meanwhile, and found right by a
    sweep, before the night says of it what was true at its beginning."""
    Edge.objects.update(is_active=False)

    def check_slowly() -> int:
        read_at_the_beginning = Checker()
        Edge.objects.update(is_active=True)
        assert check_changed() == 1
        check_bookings(booking_ids=[booking.pk], checker=read_at_the_beginning)
        assert found() == [Kind.BROKEN_PATH]
        return 1

    monkeypatch.setattr(services, "check_all", check_slowly)
    check_all_task()
    assert found() == []


def sweep_elsewhere() -> int:
    try:
        return check_changed()
    finally:
        connection.close()


HELD_SWEEP = """
import django, sys, time
django.setup()
from exchange.findings import changed
def hold(**_):
    print("checking", flush=True)
    time.sleep(600)
changed.check_some = hold
changed.check_changed()
"""


def start_held_sweep() -> subprocess.Popen[str]:
    sweep = subprocess.Popen(
        [sys.executable, "-c", HELD_SWEEP],
        env=environment_of_the_tests() | {"DJANGO_SETTINGS_MODULE": "exchange.settings"},
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert sweep.stdout is not None
    assert sweep.stdout.readline() == "checking\n"
    return sweep


def wait_until_free() -> None:
    """Postgres notices a dead process when it next writes to it, or reads from it."""
    give_up = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < give_up:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s",
                [changed.SWEEP_LOCK],
            )
            if cursor.fetchone() == (0,):
                return
            time.sleep(0.05)
    pytest.fail("the lock outlives its process")
