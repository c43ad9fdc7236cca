"""The page of builds: progress that asks for itself, failures and left-out bookings explained."""

from __future__ import annotations

import pytest
from django.test import Client

from exchange.accounts.models import User
from exchange.market.models import Booking
from exchange.snapshots.models import SnapshotBuild
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(dave: User, log_in: LogIn) -> Client:
    return log_in(dave)


def test_a_running_build_is_asked_for_often(reader: Client) -> None:
    SnapshotBuild.objects.create(status="building", phase="indexing", rows_done=120, rows_total=240)
    html = reader.get("/snapshots/progress/").content.decode()
    assert 'hx-trigger="every 700ms"' in html
    assert '<progress id="build-bar" max="100" value="52"' in html
    assert "Building the index" in html
    assert "120 of 240 rows" in html


def test_a_finished_build_is_asked_for_seldom(reader: Client) -> None:
    SnapshotBuild.objects.create(status="live", snapshot_id="a" * 32, booking_count=7)
    html = reader.get("/snapshots/progress/").content.decode()
    assert 'hx-trigger="every 4s"' in html
    assert 'value="100"' in html


def test_tells_the_list_when_a_build_has_ended(reader: Client) -> None:
    build = SnapshotBuild.objects.create(status="building", phase="reading")
    state = f"{build.pk}-building"
    assert "HX-Trigger" not in reader.get(f"/snapshots/progress/?seen={state}")
    SnapshotBuild.objects.filter(pk=build.pk).update(status="live", snapshot_id="a" * 32)
    answer = reader.get(f"/snapshots/progress/?seen={state}")
    assert answer["HX-Trigger"] == "builds-changed"


def test_shows_the_running_build_before_a_waiting_one(reader: Client) -> None:
    running = SnapshotBuild.objects.create(status="building", phase="reading")
    SnapshotBuild.objects.create(status="queued")
    assert f"Build {running.pk} is running" in reader.get("/snapshots/progress/").content.decode()


def test_a_failed_build_says_why(reader: Client) -> None:
    build = SnapshotBuild.objects.create(status="failed", error="No room left on the disk.")
    assert "No room left on the disk." in reader.get("/snapshots/").content.decode()
    assert "No room left on the disk." in reader.get(f"/snapshots/{build.pk}/").content.decode()


def test_names_the_bookings_that_were_left_out(reader: Client, booking: Booking) -> None:
    gone = {"booking_id": booking.pk + 1, "campaign_id": 1, "reason": "Never mind."}
    left_out = {"booking_id": booking.pk, "campaign_id": 1, "reason": "No active path."}
    build = SnapshotBuild.objects.create(
        status="live", snapshot_id="a" * 32, skipped=[left_out, gone], skipped_count=140
    )
    html = reader.get(f"/snapshots/{build.pk}/").content.decode()
    assert "Summer at Daily Herald" in html
    assert "No active path." in html
    assert "no longer there" in html
    assert "the first 2 of 140" in html
