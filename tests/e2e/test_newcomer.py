"""A newcomer's campaign from the first click to the ad server's answer, by mouse and by keys alone:
built without syntax, its impact seen, booked from the offers, answered, broken and understood. A
foreign user sees none of it."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from exchange.accounts.models import Organisation, Role, User
from exchange.keys.services import create_api_key
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.visits import STAMPED_TIMES
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.keys import publish_keys
from targeting import parse
from tests.e2e.building import Builder, check_accessible, write_traffic
from tests.e2e.conftest import Visitor
from tests.e2e.newcomer import WANTED, build_by_keys, build_by_mouse, undo_and_redo_everything
from tests.market.places import found
from tests.people import hire
from tests.reports.samples import NIGHT, as_visit, write_sample
from tests.serving.conftest import running_server
from tests.snapshots.steps import build as build_snapshot
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PUBLISHERS = ("Daily Herald", "Gazette", "Ledger")
EVENING = datetime(2026, 11, 16, 18, 30, tzinfo=UTC)  # a Monday
VISITS: list[Any] = [
    {
        "visit_id": f"visit-{each}",
        "publisher.id": ("daily-herald", "gazette", "frankly")[each % 3],
        **dict.fromkeys(STAMPED_TIMES, EVENING - timedelta(hours=each % 8 // 4 * 9)),
        "user.id": f"user-{each}",
        "geo.utc_offset": 0,
        "geo.city": ("Berlin", "Oslo", None, "Springfield")[each // 3 % 4],
        "geo.location": {"lat": 52.5, "lon": 13.4} if each % 5 == 0 else None,
        "device.type": ("phone", "phone", "ctv")[each % 5 % 3],
        "user.segments": [["pulse:cars"], ["pulse:travel"], []][each % 7 % 3],
        "site.page_cat": [["IAB1"], None, ["IAB2"]][each % 11 % 3],
        "sample_weight": 4.0,
        "logged_on": NIGHT,
    }
    for each in range(900)
]


@dataclass(frozen=True, slots=True)
class Hands:
    """How things are pressed and ticked."""

    page: Page
    build: Callable[[Builder], None]
    is_keyboard: bool

    def press(self, selector: str, key: str = "Enter") -> None:
        if not self.is_keyboard:
            self.page.click(selector)
            return
        self.reach(selector)
        self.page.keyboard.press(key)

    def tick(self, selector: str) -> None:
        self.press(selector, "Space")

    def fill(self, selector: str, text: str) -> None:
        if not self.is_keyboard:
            self.page.fill(selector, text)
            return
        self.reach(selector)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def reach(self, selector: str) -> None:
        """Moves by Tab alone, from wherever the focus is."""
        for _ in range(250):
            if self.page.evaluate("it => document.activeElement.matches(it)", selector):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no way to {selector}")


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Says where the server that is started finds traffic and nights."""
    write_traffic(tmp_path, monkeypatch)
    monkeypatch.setenv("TREELINE_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


@pytest.fixture
def market(transactional_db: None, reports: Path, operator: Organisation) -> Party:
    """Lets three publishers sell to Solberg Soda, and a fourth only what is no phone."""
    write_sample(reports, VISITS)
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    for name in (*PUBLISHERS, "Frankly"):
        rule = "true" if name != "Frankly" else "device.type != 'phone'"
        Edge.objects.create(
            seller=found(Party.Kind.PUBLISHER, name, operator), buyer=soda, expression=rule
        )
    build_snapshot()
    return soda


@pytest.mark.parametrize("build", [build_by_mouse, build_by_keys])
def test_a_newcomers_campaign_is_built_booked_answered_broken_and_understood(
    visitor: Visitor, alice: User, market: Party, build: Callable[[Builder], None]
) -> None:
    hands = Hands(visitor.page, build, build is build_by_keys)
    visitor.enter(alice)
    campaign = make_campaign(visitor, hands)
    book_three(visitor, hands, campaign)
    be_answered(campaign)
    break_and_read_why(visitor, hands, campaign)
    meet_a_stranger(visitor, campaign)


def make_campaign(visitor: Visitor, hands: Hands) -> Campaign:
    page = visitor.page
    visitor.go("/campaigns/new/")
    builder = Builder(page)
    impact = page.get_by_role("complementary", name="Impact")
    expect(impact).to_contain_text("Add a condition to see what it reaches")
    hands.fill("[name=name]", "Autumn")
    if hands.is_keyboard:
        hands.reach("[name=advertiser]")
        page.keyboard.type("Solberg")
        hands.reach("[name=status]")
        page.keyboard.type("Live")
    else:
        page.select_option("[name=advertiser]", label="Solberg Soda")
        page.select_option("[name=status]", "live")
    hands.build(builder)
    assert flat(builder.text()) == WANTED
    expect(builder.row("geo.city")).to_contain_text("2 of 40 values of geo.city were never seen")
    expect(page.locator(".sentence")).to_contain_text("Visits on phone, (from Berlin, Hamburg")
    expect(impact.locator(".figure")).to_have_text(f"{count_a_day(WANTED):,} visits a day")
    undo_and_redo_everything(builder)
    expect(impact.locator(".figure")).to_have_text(f"{count_a_day(WANTED):,} visits a day")
    check_accessible(page)
    page.keyboard.press("Escape")
    hands.press("form[data-guard] button.primary")
    expect(page.locator("h1")).to_have_text("Autumn")
    saved = Campaign.objects.get(name="Autumn")
    assert flat(saved.expression) == WANTED
    return saved


def flat(text: str) -> str:
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def count_a_day(text: str, publisher: str = "") -> int:
    """Counts in plain Python; the sample has one day."""
    expression = parse(text, load_catalog())
    met = sum(
        visit["sample_weight"]
        for visit in VISITS
        if publisher in ("", visit["publisher.id"]) and expression.evaluate(as_visit(visit)) is True
    )
    return int(met)


def book_three(visitor: Visitor, hands: Hands, campaign: Campaign) -> None:
    page = visitor.page
    hands.press(".tabs a[href$='/bookings/']")
    offers = page.locator("#offers tbody tr")
    frankly = offers.filter(has_text="Frankly")
    expect(frankly).to_contain_text(
        "Frankly → Solberg Soda excludes visits on phone, and this campaign wants visits on phone"
    )
    wanted = count_a_day(WANTED, "daily-herald")
    assert wanted
    told = offers.filter(has_text="Daily Herald").locator("[data-label='Eligible a day']")
    expect(told).to_have_text(f"{wanted:,}")
    for name in PUBLISHERS:
        hands.tick(f"[aria-label='Book {name}']")
    hands.press("[data-choose-button]")
    expect(page.locator("#messages")).to_contain_text(
        "is booked with Daily Herald, Gazette, Ledger"
    )
    expect(page.locator("#served")).to_contain_text("On its way to ad servers")
    write_changes()
    expect(page.locator("#served")).to_contain_text(
        re.compile(r"Answered by ad servers, \d+\.\d s")
    )
    assert Booking.objects.filter(campaign=campaign).count() == 3


def be_answered(campaign: Campaign) -> None:
    """Asks with the visitor's clock set so that it is Wednesday evening there, whenever this
    runs."""
    now = datetime.now(UTC)
    wednesday = timedelta(days=2 - now.weekday(), hours=19 - now.hour)
    visit: dict[str, Any] = {
        "device": {"type": "phone"},
        "geo": {"city": "Berlin", "utc_offset": int(wednesday.total_seconds() // 60)},
        "user": {"segments": ["pulse:cars"]},
    }
    _, key = create_api_key(
        name="Herald's",
        organisation=campaign.advertiser.organisation,
        publishers=list(Party.objects.publishers()),
    )
    publish_keys()
    with running_server(SnapshotDirectory(settings.SNAPSHOT_DIR)) as server:
        address = f"http://127.0.0.1:{server.port}/api/v1/eligibility"
        answer = ask(address, key, {"publisher": "gazette", "visit": visit})
        assert [item["campaign"] for item in answer["eligible"]] == ["Autumn"]
        visit["device"]["type"] = "ctv"
        assert ask(address, key, {"publisher": "gazette", "visit": visit})["eligible"] == []


def ask(address: str, key: str, document: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Api-Key {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(  # noqa: S310, our own server
        address, json.dumps(document).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
        return answer


def break_and_read_why(visitor: Visitor, hands: Hands, campaign: Campaign) -> None:
    """Begins with a visit that passes, filled in already; on a television it does not, and the
    bench says which condition it was."""
    page = visitor.page
    hands.press(".tabs a[href$='/tests/']")
    expect(page.locator("#verdict h2")).to_have_text("Passes at all 3 publishers")
    hands.fill("[name='v-device.type']", "ctv")
    hands.press("#bench-try")
    expect(page.locator("#verdict h2")).to_have_text("Passes at none of 3 publishers")
    expect(page.locator("#verdict .changes").first).to_contain_text(
        "if device.type in ('phone') were met"
    )
    check_accessible(page)
    hands.fill("[name='v-device.type']", "ctv, phone, ?")
    hands.fill("[name='v-geo.city']", "Berlin, Springfield")
    hands.fill("[name='v-geo.location']", "")
    hands.press("#bench-try")
    expect(page.locator("#matrix h2")).to_have_text("1 of 6 visits pass at Daily Herald")
    check_accessible(page)


def meet_a_stranger(visitor: Visitor, campaign: Campaign) -> None:
    rival = Organisation.objects.create(name="Rival Ltd")
    found(Party.Kind.ADVERTISER, "Rival Cola", rival)
    visitor.page.context.clear_cookies()
    visitor.enter(hire("rita", Role.CAMPAIGN_MANAGER, rival))
    visitor.go("/campaigns/")
    expect(visitor.page.locator("main")).not_to_contain_text("Autumn")
    for tab in ("", "bookings/", "paths/", "tests/", "history/", "api/", "edit/"):
        answer = visitor.page.request.get(f"{visitor.url}/campaigns/{campaign.pk}/{tab}")
        assert answer.status == 404
