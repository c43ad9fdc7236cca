"""Every page for every role: it opens, it shows only what the role may do, it keeps the policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import chain

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.reports.models import ReportRun
from exchange.snapshots.models import SnapshotBuild
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db

PEOPLE = ["alice", "bob", "carol", "dave", "erin"]
READABLE = [
    "/",
    "/parties/",
    "/parties/{party}/",
    "/edges/",
    "/edges/{edge}/",
    "/campaigns/",
    "/campaigns/{campaign}/",
    "/bookings/",
    "/bookings/{booking}/",
    "/visits/",
    "/snapshots/",
    "/snapshots/{build}/",
    "/reports/",
    "/reports/eligible-visits/",
    "/reports/runs/",
    "/reports/overlap/",
    "/reports/sold/",
    "/reports/why-figures-differ/",
    "/reports/reach/",
]
FORMS = {
    "party": ["/parties/new/", "/parties/{party}/edit/"],
    "edge": ["/edges/new/", "/edges/{edge}/edit/"],
    "campaign": ["/campaigns/new/", "/campaigns/{campaign}/edit/"],
    "booking": ["/bookings/new/", "/bookings/{booking}/edit/"],
}
EDITORS = {
    "party": {"bob", "erin"},
    "edge": {"bob", "erin"},
    "campaign": {"alice", "erin"},
    "booking": {"alice", "erin"},
}
BUILDERS = {"alice", "bob", "erin"}


@pytest.fixture
def places(
    herald: Party, edges: tuple[Edge, Edge], campaign: Campaign, booking: Booking
) -> dict[str, int]:
    build = SnapshotBuild.objects.create(
        status="failed",
        error="No room left on the disk.",
        skipped=[{"booking_id": booking.pk, "campaign_id": campaign.pk, "reason": "No path."}],
        skipped_count=1,
    )
    ReportRun.objects.create(first_day="2026-11-01", last_day="2026-11-02", status="done")
    return {
        "party": herald.pk,
        "edge": edges[0].pk,
        "campaign": campaign.pk,
        "booking": booking.pk,
        "build": build.pk,
    }


@pytest.fixture(params=PEOPLE)
def person(request: pytest.FixtureRequest) -> User:
    found: User = request.getfixturevalue(request.param)
    return found


class InlineFinder(HTMLParser):
    """Finds what the policy forbids: script and style in the page itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.is_script_open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style" or (tag == "script" and not given.get("src")):
            self.found.append(f"<{tag}>")
        self.is_script_open = tag == "script"
        for name, value in given.items():
            is_code = name.startswith(("on", "hx-on")) or name == "style"
            if is_code or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"<{tag} {name}={value!r}>")

    def handle_data(self, data: str) -> None:
        if self.is_script_open and data.strip():
            self.found.append(f"<script> with text {data[:40]!r}")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002, the parser calls it so
        self.is_script_open = False


def find_inline(html: str) -> list[str]:
    finder = InlineFinder()
    finder.feed(html)
    return finder.found


def test_the_finder_finds_inline_script_and_style() -> None:
    page = (
        '<script>a()</script><p style="x" onclick="y"><a href="javascript:z">z</a><style></style>'
    )
    assert len(find_inline(page)) == 6
    assert find_inline('<script src="/a.js"></script><p class="x">text</p>') == []


def test_everyone_reads_every_page(person: User, places: dict[str, int], log_in: LogIn) -> None:
    client = log_in(person)
    for address in READABLE:
        answer = client.get(address.format(**places))
        html = answer.content.decode()
        assert answer.status_code == 200, address
        assert find_inline(html) == [], address
        assert "script-src 'self'" in answer["Content-Security-Policy"], address
        assert person.get_role_display() in html, address


def test_only_editors_get_forms_and_the_buttons_to_them(
    person: User, places: dict[str, int], log_in: LogIn
) -> None:
    client = log_in(person)
    for kind, addresses in FORMS.items():
        is_editor = person.username in EDITORS[kind]
        for address in (each.format(**places) for each in addresses):
            answer = client.get(address)
            assert answer.status_code == (200 if is_editor else 403), address
            assert find_inline(answer.content.decode()) == [], address
            page_before = address.removesuffix("new/").removesuffix("edit/")
            has_button = f'href="{address}"' in client.get(page_before).content.decode()
            assert has_button == is_editor, address


def test_what_someone_may_not_edit_cannot_be_posted(
    person: User, places: dict[str, int], log_in: LogIn
) -> None:
    client = log_in(person)
    for kind, addresses in FORMS.items():
        if person.username in EDITORS[kind]:
            continue
        for address in addresses:
            answer = client.post(address.format(**places), {"name": "Sneaked in"})
            assert answer.status_code == 403, address
    assert not Party.objects.filter(name="Sneaked in").exists()
    assert not Campaign.objects.filter(name="Sneaked in").exists()


def test_only_editors_change_a_status(person: User, places: dict[str, int], log_in: LogIn) -> None:
    address = f"/campaigns/{places['campaign']}/status/"
    answer = log_in(person).post(address, {"status": "paused"})
    is_editor = person.username in EDITORS["campaign"]
    assert answer.status_code == (302 if is_editor else 403)
    paused = Campaign.objects.get(pk=places["campaign"]).status == "paused"
    assert paused == is_editor


def test_only_builders_build(person: User, places: dict[str, int], log_in: LogIn) -> None:
    client = log_in(person)
    is_builder = person.username in BUILDERS
    assert ("Build now" in client.get("/snapshots/").content.decode()) == is_builder
    assert client.post("/snapshots/build/").status_code == (302 if is_builder else 403)
    assert SnapshotBuild.objects.filter(status="queued").exists() == is_builder


def test_strangers_are_led_to_the_login(places: dict[str, int], client: Client) -> None:
    for address in [*READABLE, *chain.from_iterable(FORMS.values())]:
        answer = client.get(address.format(**places))
        assert answer.status_code == 302, address
        assert answer["Location"].startswith("/login/?next="), address


def test_marks_where_one_is(dave: User, log_in: LogIn) -> None:
    html = log_in(dave).get("/edges/").content.decode()
    assert '<a href="/edges/" aria-current="page">' in html
    assert html.count('aria-current="page"') == 1


def test_an_address_that_does_not_exist_has_our_look(dave: User, log_in: LogIn) -> None:
    answer = log_in(dave).get("/nowhere/")
    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.content.decode()
    assert find_inline(answer.content.decode()) == []


def test_our_own_failure_has_our_look_without_a_request() -> None:
    html = render_to_string("500.html")
    assert "Something broke on our side" in html
    assert find_inline(html) == []


def test_a_refusal_says_why(dave: User, log_in: LogIn) -> None:
    assert "may not change edges" in log_in(dave).get("/edges/new/").content.decode()


def test_empty_lists_say_what_to_do_next(bob: User, log_in: LogIn) -> None:
    client = log_in(bob)
    assert "Add the first party" in client.get("/parties/").content.decode()
    assert "Add the first edge" in client.get("/edges/").content.decode()
    assert "No campaigns yet" in client.get("/campaigns/").content.decode()
    assert "No bookings yet" in client.get("/bookings/").content.decode()
    assert "No snapshot yet" in client.get("/snapshots/").content.decode()


def test_the_dashboard_links_every_number(
    dave: User, places: dict[str, int], log_in: LogIn
) -> None:
    html = log_in(dave).get("/").content.decode()
    for address in (
        "/campaigns/?status=serving",
        "/campaigns/?status=draft",
        "/bookings/?active=yes",
        "/parties/?kind=publisher",
        "/edges/?active=yes",
        f"/snapshots/{places['build']}/",
    ):
        assert f'href="{address}"' in html


@pytest.mark.usefixtures("crowd")
def test_the_dashboard_guesses_no_number_of_a_status(
    dave: User, log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, because several columns tell a status: Postgres takes them for independent, and is
    far off."""
    monkeypatch.setattr("exchange.reading.paging.COUNT_LIMIT", 20)
    ended = {
        "ends_at": timezone.now() - timedelta(days=1),
        "starts_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    Campaign.objects.filter(name__lt="Crowd 030").update(**ended)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE market_campaign")
    said = {status: number for status, _, number in log_in(dave).get("/").context["statuses"]}
    assert (said["serving"], said["ended"]) == ("more than 20", "more than 20")


def test_the_dashboard_shows_the_last_report(carol: User, log_in: LogIn) -> None:
    ReportRun.objects.create(
        first_day="2026-11-01", last_day="2026-11-02", status="done", visits_counted=12345
    )
    page = log_in(carol).get("/").content.decode()
    assert "2026-11-01 to 2026-11-02" in page
    assert "12,345" in page
