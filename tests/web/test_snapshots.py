"""The page of builds: progress that asks for itself, failures and left-out bookings explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Booking, Campaign, Party
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.models import Quarantined, SnapshotBuild
from tests.market.places import found
from tests.people import hire
from tests.reading.sampled import eligible, nights
from tests.reports.samples import draw_visits, write_sample
from tests.snapshots.steps import build as make_snapshot
from tests.snapshots.story import Story, run_campaign, tell
from tests.web.conftest import LogIn

__all__ = ["nights"]

pytestmark = pytest.mark.django_db
MOVES = ("Make live", "Let changes in", "Roll back to it")


@pytest.fixture
def reader(dave: User, log_in: LogIn) -> Client:
    return log_in(dave)


def test_a_running_build_is_asked_for_often(reader: Client) -> None:
    SnapshotBuild.objects.create(status="building", phase="indexing", rows_done=120, rows_total=240)
    html = reader.get("/snapshots/progress/").content.decode()
    assert 'hx-trigger="every 700ms"' in html
    assert '<progress id="build-bar" max="100" value="42"' in html
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
        status="live",
        snapshot_id="a" * 32,
        skipped=[left_out, gone],
        skipped_count=140,
        skipped_reasons=[
            {"reason": "No active path.", "bookings": 139},
            {"reason": "Never mind.", "bookings": 1},
        ],
    )
    html = reader.get(f"/snapshots/{build.pk}/").content.decode()
    assert "Summer at Daily Herald" in html
    assert "No active path." in html
    assert "no longer there" in html
    assert "the first 2 of 140" in html
    assert "139" in html


@pytest.fixture
def story(transactional_db: None, settings: Settings, tmp_path: Path) -> Story:
    settings.SNAPSHOT_DIR = tmp_path
    return tell()


def moves(client: Client, *builds: SnapshotBuild) -> list[str]:
    """Gives what each build's row and page offer to do with it: the same, and one thing at most."""
    listed = client.get("/snapshots/").content.decode()
    found = []
    for build in builds:
        own = client.get(f"/snapshots/{build.pk}/").content.decode()
        offered = [name for name in MOVES if f"{name}<span" in own]
        assert len(offered) <= 1
        found.append(offered[0] if offered else "")
        row = listed.partition(f">Build {build.pk}</a>")[2].partition("</tr>")[0]
        assert [name for name in MOVES if f"{name}<span" in row] == offered
    return found


def test_an_operator_goes_back_and_forth_and_compares(story: Story, log_in: LogIn) -> None:
    client = log_in(hire("bob", Role.GRAPH_OPERATOR, story.soda.organisation))
    first = make_snapshot()
    added = run_campaign(story.soda, "Winter", "true")
    Booking.objects.create(campaign=added, publisher=story.herald)
    Campaign.objects.filter(pk=story.summer.pk).update(expression="user.age > 20")
    second = make_snapshot()

    page = client.get(f"/snapshots/compare/?before={first.pk}&after={second.pk}").content.decode()
    assert page.index("Added") < page.index("Winter") < page.index("Changed")
    assert page.index("Changed") < page.index("Summer")
    assert client.get("/snapshots/compare/?before=x").status_code == 404

    assert moves(client, first, second) == ["Roll back to it", ""]
    client.post(f"/snapshots/{first.pk}/roll-back/")
    page = client.get("/snapshots/").content.decode()
    assert moves(client, first, second) == ["Let changes in", "Make live"]
    assert f"answered from build {first.pk} as it was built" in page
    assert "3 changes saved since are held back" in page
    client.post(f"/snapshots/{second.pk}/activate/")
    page = client.get("/snapshots/").content.decode()
    assert "Rolled back" not in page
    assert f"Build {second.pk} is live, with everything" in page


def test_two_builds_are_compared_in_eligible_visits_of_the_sample(
    story: Story, log_in: LogIn, nights: Path
) -> None:
    """Compares Summer at the Herald and the Tribune, by the plain evaluator."""
    visits = draw_visits(300, publishers=("daily-herald", "evening-tribune"))
    write_sample(nights, visits)
    client = log_in(hire("bob", Role.GRAPH_OPERATOR, story.soda.organisation))
    first = make_snapshot()
    page = f"/snapshots/compare/?before={first.pk}&after={first.pk}"
    assert "as many visits as before" in client.get(page).content.decode()
    Campaign.objects.filter(pk=story.summer.pk).update(expression="user.age > 20")
    second = make_snapshot()

    def a_day(text: str) -> str:
        at_herald = eligible(visits, "daily-herald", text, "user.age >= 18")
        return f"{at_herald + eligible(visits, 'evening-tribune', text):,.0f}"

    page = client.get(f"/snapshots/compare/?before={first.pk}&after={second.pk}").content.decode()
    row = page.partition("Eligible visits")[2].partition("Summer")[2].partition("</tr>")[0]
    figures = re.findall(r'data-label="Build \d+">([^<]+)<', row)
    assert figures == [a_day("geo.country = 'USA'"), a_day("user.age > 20")]


def test_what_was_removed_cannot_be_made_live(story: Story, log_in: LogIn) -> None:
    client = log_in(hire("bob", Role.GRAPH_OPERATOR, story.soda.organisation))
    build = make_snapshot()
    SnapshotBuild.objects.create(status="replaced", snapshot_id="a" * 32, position="1:1:")
    gone = SnapshotBuild.objects.create(
        status="replaced", snapshot_id="b" * 32, position="1:1:", read_at=build.read_at
    )
    client.post(f"/snapshots/{gone.pk}/activate/")
    assert "was removed or is damaged" in client.get("/snapshots/").content.decode()
    build.refresh_from_db()
    assert build.status == "live"
    page = client.get(f"/snapshots/compare/?before={gone.pk}&after={build.pk}").content.decode()
    assert "These two cannot be compared" in page


def test_only_builders_choose_what_is_live(story: Story, log_in: LogIn) -> None:
    build = make_snapshot()
    client = log_in(hire("carol", Role.ANALYST, story.soda.organisation))
    for path in ("activate", "roll-back"):
        assert client.post(f"/snapshots/{build.pk}/{path}/").status_code == 403
    address = f"/snapshots/compare/?before={build.pk}&after={build.pk}"
    assert client.get(address).status_code == 403


def test_people_see_their_own_expressions_in_quarantine(story: Story, log_in: LogIn) -> None:
    make_snapshot()
    Campaign.objects.update(expression="shoe_size = 43")
    write_changes()
    page = log_in(hire("bob", Role.GRAPH_OPERATOR, story.soda.organisation)).get("/snapshots/")
    assert "shoe_size" in page.content.decode()
    assert "its last good form is served" in page.content.decode()
    others = Organisation.objects.create(name="Others")
    page = log_in(hire("eve", Role.ADMIN, others)).get("/snapshots/")
    assert "shoe_size" not in page.content.decode()


def test_quarantine_is_narrowed_to_the_own_before_it_is_cut_short(
    story: Story, log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others' expressions, however many and however early, do not push one's own out of sight."""
    monkeypatch.setattr("exchange.web.views.snapshots.MAX_QUARANTINED_SHOWN", 2)
    house = Organisation.objects.create(name="Own house")
    brand = found(Party.Kind.ADVERTISER, "Own brand", house)
    live = {"expression": "true", "status": "live"}
    foreign = [
        Campaign.objects.create(advertiser=story.soda, name=f"Foreign {n}", **live)
        for n in range(3)
    ]
    own = Campaign.objects.create(advertiser=brand, name="Own", **live)
    for campaign in [*foreign, own]:
        Quarantined.objects.create(
            kind="campaign", object_id=campaign.pk, reason=f"odd word in {campaign.name}"
        )
    page = log_in(hire("bob", Role.VIEWER, house)).get("/snapshots/")
    assert "odd word in Own" in page.content.decode()
    assert "Foreign" not in page.content.decode()
