"""Two stories: an operator sees what narrowing an edge of the demo would stop before saving it; a
manager finds on Today that a campaign fell, and reads why."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings

from exchange.accounts.models import Organisation, User
from exchange.findings.changed import check_night
from exchange.findings.services import judged
from exchange.findings.status import Status, with_campaign_status
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services import save_edge
from exchange.reading.paths import find_paths
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from tests.e2e.building import Builder, check_accessible, write_traffic
from tests.e2e.conftest import Visitor
from tests.look.test_look import keep_night
from tests.market.places import found
from tests.reports.samples import as_visit, draw_visits, write_sample

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

VISITS = draw_visits(900, publishers=("daily-herald", "gazette"))


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Says where the server that is started finds its nights."""
    write_traffic(tmp_path, monkeypatch)
    monkeypatch.setenv("TREELINE_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


@pytest.fixture
def edge(transactional_db: None, operator: Organisation, reports: Path) -> Edge:
    """Makes an edge of Northgate, over which the Herald's visits come to two campaigns of Soda."""
    herald = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
    northgate = found(Party.Kind.INTERMEDIARY, "Northgate", operator)
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    Edge.objects.create(seller=herald, buyer=northgate, fee_percent="5")
    edge = Edge.objects.create(seller=northgate, buyer=soda, fee_percent="5")
    for name, text in (("Summer", "user.age >= 18"), ("North", "geo.country = 'CAN'")):
        campaign = Campaign.objects.create(
            advertiser=soda, name=name, expression=text, status="live"
        )
        Booking.objects.create(campaign=campaign, publisher=herald)
    write_sample(reports, VISITS)
    return edge


def a_day(*countries: str | None, least_age: int = 0) -> str:
    met = [
        visit["sample_weight"]
        for visit in VISITS
        if visit["publisher.id"] == "daily-herald"
        and visit["geo.country"] in countries
        and visit["user.age"] >= least_age
    ]
    return f"{sum(met) / 3:,.0f}"


def fits(page: Page) -> None:
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@dataclass(frozen=True)
class Narrowed:
    """An edge of the demo, a narrower rule, and what it does to each booking over it: visits of the
    sample before and after, by plain Python over the plain evaluator."""

    edge: Edge
    text: str
    fates: dict[Booking, tuple[int, int]]

    @property
    def stopped(self) -> list[Booking]:
        return [each for each, (before, after) in self.fates.items() if before and not after]


@pytest.fixture
def narrowed(reports: Path, settings: Settings, demo: None) -> Narrowed:
    """The edge between intermediaries that most bookings take."""
    settings.REPORT_DIR = reports
    keep_night(Path(settings.VISIT_LOG_DIR), reports)
    Booking.objects.update(policy=Booking.Policy.CHEAPEST, pinned_edges=[])
    admin = User.objects.get(username="admin")
    paths = [each for each in find_paths(judged(), admin) if each.hops]
    taken = Counter(hop.edge.pk for path in paths for hop in path.hops[1:-1])
    edge = Edge.objects.with_parties().get(pk=taken.most_common(1)[0][0])
    text = f"({edge.expression})\nand geo.country in ('USA', 'CAN')"
    over = {path.booking: path.hops for path in paths if edge.pk in {h.edge.pk for h in path.hops}}
    fates = judge_plainly(reports, over, edge, text)
    return Narrowed(edge, text, fates)


def judge_plainly(
    reports: Path, over: dict[Booking, Any], edge: Edge, text: str
) -> dict[Booking, tuple[int, int]]:
    (part,) = reports.rglob("visits.parquet")
    rows = [as_visit(row) for row in pq.read_table(part, partitioning=None).to_pylist()]
    reader = ExpressionReader(load_catalog())
    narrow = reader.read(text, edge.seller.organisation_id)
    fates = {}
    for booking, hops in over.items():
        advertiser = booking.campaign.advertiser
        asked = [reader.read(booking.campaign.expression, advertiser.organisation_id)]
        asked += [reader.read(h.edge.expression, h.edge.seller.organisation_id) for h in hops]
        here = [row for row in rows if row.get("publisher.id") == booking.publisher.seller_id]
        met = [row for row in here if all(one.evaluate(row) is True for one in asked)]
        fates[booking] = len(met), sum(narrow.evaluate(row) is True for row in met)
    return fates


def test_an_operator_sees_what_a_save_would_stop_and_takes_it_back(
    visitor: Visitor, narrowed: Narrowed
) -> None:
    page, edge, stopped = visitor.page, narrowed.edge, narrowed.stopped
    assert len(stopped) > 1
    words = f"{len(stopped)} bookings"
    visitor.log_in("operator")
    visitor.go(reverse("edge-edit", args=[edge.pk]))
    area = page.locator("#rehearsal")
    expect(area).to_contain_text("Nothing that decides about visits is changed yet")
    Builder(page).write(narrowed.text)
    said = f"Saving this would stop {len(stopped)} of the {len(narrowed.fates)} bookings"
    expect(area).to_contain_text(said)
    for summary in area.locator("details > summary").all():
        summary.click()
    rows = area.locator(".fates tbody tr", has=page.locator(".badge.bad"))
    told = {tuple(row.locator("td.lead a, td.lead .at").all_inner_texts()) for row in rows.all()}
    assert told == {(each.campaign.name, each.publisher.name) for each in stopped}
    save = page.get_by_role("button", name=f"Save and stop {words}")
    check_accessible(page)
    fits(page)
    save.click()  # the browser asks for the tick
    expect(page.locator("#stops_confirmed:invalid")).to_be_visible()
    page.check("#stops_confirmed")
    save.click()
    expect(page.locator("#messages")).to_contain_text("is saved")

    check_night()
    blocked = find_blocked(stopped)
    assert blocked
    for campaign in blocked[:2]:
        visitor.go(reverse("campaign-detail", args=[campaign.pk]))
        expect(page.locator("header.head")).to_contain_text("Blocked")
        expect(page.locator("header.head")).to_contain_text("contradiction on its path")
        page.get_by_role("link", name="Why not").click()
        here = next(each for each in stopped if each.campaign_id == campaign.pk)
        page.select_option("#why-publisher", label=here.publisher.name)
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#verdict")).to_contain_text(f"can serve at {here.publisher.name}")
        expect(page.locator("#verdict")).to_contain_text(f"{edge} lets only")
        expect(page.locator(".changes-made li").last).to_contain_text(str(edge))
    visitor.go(reverse("edge-history", args=[edge.pk]))
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Go back to this").click()
    expect(page.locator("#messages")).to_contain_text("is back as it was")
    check_night()
    for campaign in blocked[:2]:
        visitor.go(reverse("campaign-detail", args=[campaign.pk]))
        expect(page.locator("header.head")).not_to_contain_text("Blocked")
    assert find_blocked(stopped) == []


def find_blocked(bookings: list[Booking]) -> list[Campaign]:
    """Campaigns of the bookings whose every booking cannot serve, by what was checked last."""
    ids = {booking.campaign_id for booking in bookings}
    found = with_campaign_status(Campaign.objects.filter(pk__in=ids)).order_by("pk")
    return [campaign for campaign in found if campaign.standing == Status.BLOCKED]


def count_nights(campaign: Campaign, publisher: Party) -> None:
    """Counts nights in which Summer had 300 a day, and 100 since yesterday."""
    today = timezone.now().date()
    run = ReportRun.objects.create(first_day=today, last_day=today, status="done")
    for back in range(1, 20):
        day, visits = today - timedelta(days=back), {"publisher": publisher, "run": run}
        DailyVisits.objects.create(day=day, visits=500, **visits)
        EligibleVisits.objects.create(
            day=day, campaign=campaign, eligible_visits=300 if back > 1 else 100, **visits
        )


def test_a_manager_reads_why_a_campaign_fell_and_tries_without_a_condition(
    visitor: Visitor, alice: User, bob: User, edge: Edge
) -> None:
    summer = Campaign.objects.get(name="Summer")
    edge.expression = "geo.country = 'USA'"
    save_edge(edge=edge, by=bob)
    count_nights(summer, Party.objects.get(name="Daily Herald"))
    check_night()
    page = visitor.page
    visitor.enter(alice)
    visitor.go("/")
    row = page.locator(".causes > li", has_text="1 campaign fell by half")
    row.get_by_role("link", name="Summer").click()
    expect(page.locator("h1")).to_have_text("Summer")
    verdict = page.locator(".why-verdict")
    expect(verdict).to_contain_text(f"About {a_day('USA', least_age=18)} of")
    expect(verdict).to_contain_text("change of Northgate → Solberg Soda")
    would_be = a_day("USA", "CAN", None, least_age=18)
    expect(verdict).to_contain_text(f"With the version before, {would_be} visits a day")
    mark = page.locator(".changes-made li.is-cause")
    expect(mark).to_contain_text("Northgate → Solberg Soda")
    mark.get_by_text("Difference").click()
    expect(mark).to_contain_text(re.compile("geo.country", re.IGNORECASE))
    expect(page.locator(".funnel .worst, .funnel tr", has_text="Northgate").first).to_be_visible()
    check_accessible(page)
    fits(page)

    alone = page.locator(".blockers").first.locator("li", has_text="age")
    alone.get_by_role("link", name="20 visits").click()
    expect(page.locator("#why-visits table tbody tr")).to_have_count(20)
    alone.get_by_role("link", name="Try without").click()
    tried = page.locator(".tried")
    expect(tried).to_contain_text(f"{a_day('USA', least_age=18)} → {a_day('USA')} visits a day")
    tried.get_by_role("link", name="Edit it so").click()
    assert Builder(page).text() == "#- user.age >= 18\ntrue"
