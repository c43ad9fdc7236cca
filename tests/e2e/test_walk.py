"""The walk through the whole product: from an edge and a campaign to its eligible visits."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import expect

from exchange.market.models import Campaign, Edge, Party
from exchange.serving.directory import SnapshotDirectory
from tests.e2e.conftest import Visitor
from tests.serving.conftest import running_server
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.spark, pytest.mark.timeout(900)]

SECOND = 1_000
NOTE_BAR = """() => {
  window.seen = [];
  new MutationObserver(() => {
    const bar = document.querySelector("#build-bar");
    if (bar && window.seen.at(-1) !== bar.value) window.seen.push(bar.value);
  }).observe(document.body, { childList: true, subtree: true, attributes: true });
}"""


@pytest.mark.usefixtures("demo")
def test_from_an_edge_and_a_campaign_to_its_eligible_visits(
    visitor: Visitor, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    publisher = Party.objects.publishers().order_by("name")[0]
    found_an_advertiser(visitor)
    connect_it_with(visitor, publisher)
    create_a_campaign(visitor)
    book_it_with(visitor, publisher)
    watch_a_build(visitor, request)
    try_a_visit(visitor, publisher)
    ask_as_an_ad_server(publisher)
    read_the_report(visitor, tmp_path)


def found_an_advertiser(visitor: Visitor) -> None:
    visitor.log_in("operator")
    page = visitor.page
    page.click("nav >> text=Parties")
    page.click("text=New party")
    page.fill("[name=name]", "Walker Boots")
    page.select_option("[name=kind]", "advertiser")
    page.fill("[name=seller_id]", "walker-boots")
    page.click("text=Save party")
    expect(page.locator("h1")).to_have_text("Walker Boots")


def connect_it_with(visitor: Visitor, publisher: Party) -> None:
    """First with a mistake, which is marked where it is, by the live check and by saving."""
    page = visitor.page
    page.click("nav >> text=Edges")
    page.click("text=New edge")
    visitor.choose("[name=seller]", publisher.name)
    visitor.choose("[name=buyer]", "Walker Boots")
    page.fill("[name=fee_percent]", "7.5")
    visitor.write("geo.country is present\nand device.typ != 'ooh'")
    expect(page.locator(".problems .place")).to_have_text("2:5")
    expect(page.locator(".paper mark")).to_have_text("device.typ")

    page.click("text=Save edge")
    expect(page.locator(".message.error")).to_contain_text("Nothing is saved yet")
    expect(page.locator("[name=fee_percent]")).to_have_value("7.5")
    expect(page.locator(".paper mark")).to_have_text("device.typ")

    page.click("text=Apply")
    expect(page.locator(".verdict")).to_have_text("Valid, with 1 thing to look at")
    expect(page.locator(".hints")).to_contain_text("or device.type is missing) includes them")
    expect(page.locator("[name=expression]")).to_have_value(
        "geo.country is present\nand device.type != 'ooh'"
    )
    page.click("text=Save edge")
    expect(page.locator(".message.success")).to_contain_text("is saved")
    edge = Edge.objects.get(buyer__name="Walker Boots")
    assert edge.expression == "geo.country is present\nand device.type != 'ooh'"
    visitor.log_out()


def create_a_campaign(visitor: Visitor) -> None:
    visitor.log_in("manager")
    page = visitor.page
    page.click("nav >> text=Campaigns")
    page.click("text=New campaign")
    page.fill("[name=name]", "Autumn hikes")
    visitor.choose("[name=advertiser]", "Walker Boots")
    page.select_option("[name=status]", "live")
    page.fill("[name=bid_cpm]", "4.00")
    page.fill("[name=starts_at]", "2026-01-01T00:00")
    visitor.write("geo.country is present and site.cat = 'sports'")
    expect(page.locator(".problems li")).to_contain_text("one of")
    expect(page.locator(".paper mark")).to_have_text("=")
    page.click("text=Save campaign")
    expect(page.locator("[name=name]")).to_have_value("Autumn hikes")
    expect(page.locator(".problems li")).to_contain_text("one of")

    visitor.write("")
    page.click("text=All attributes")
    page.fill("#reference-search", "country")
    page.click("[data-insert='geo.country']")
    page.keyboard.type(" is present")
    expect(page.locator(".verdict")).to_have_text("✓ Valid")
    page.click("text=Save campaign")
    expect(page.locator("h1")).to_have_text("Autumn hikes")
    expect(page.locator("text=Not booked yet")).to_be_visible()
    assert Campaign.objects.get(name="Autumn hikes").expression == "geo.country is present"


def book_it_with(visitor: Visitor, publisher: Party) -> None:
    page = visitor.page
    page.click(".tabs >> text=Bookings")
    page.fill("#offer-q", publisher.name)
    page.press("#offer-q", "Enter")
    page.check(f"[aria-label='Book {publisher.name}']")
    page.click("button:text-is('Book 1')")
    expect(page.locator(".message.success")).to_contain_text("is booked with")
    page.click(".rows summary")
    path = page.locator(".path")
    expect(path).to_contain_text(publisher.name)
    expect(path).to_contain_text("fee 7.50 %")
    expect(path).to_contain_text("Walker Boots")
    expect(page.locator("text=net CPM 3.70")).to_be_visible()


def watch_a_build(visitor: Visitor, request: pytest.FixtureRequest) -> None:
    """The worker starts only after the click, so that the bar is seen from its beginning."""
    page = visitor.page
    page.click("nav >> text=Snapshots")
    page.click("text=Build now")
    expect(page.locator("#build-progress")).to_contain_text("waiting for a worker")
    page.evaluate(NOTE_BAR)
    request.getfixturevalue("celery_worker_process")
    expect(page.locator("#build-progress")).to_contain_text("is finished", timeout=90 * SECOND)
    seen = page.evaluate("window.seen")
    assert seen[-1] == 100
    assert seen == sorted(seen), "the bar went backwards"
    expect(page.locator("#list .badge.good")).to_have_text("Live")


def try_a_visit(visitor: Visitor, publisher: Party) -> None:
    page = visitor.page
    page.click("nav >> text=Try a visit")
    page.select_option("[name=publisher]", label=publisher.name)
    page.fill("[name=visit]", '{"geo": {"country": "USA"},\n "device": {"type": phone}}')
    page.click("text=What is eligible?")
    expect(page.locator("[data-visit-problem]")).to_contain_text("2:21")
    expect(page.locator(".paper mark")).to_have_text("phone")

    page.fill("[name=visit]", '{"geo": {"country": "USA"},\n "device": {"type": "phone"}}')
    page.click("text=What is eligible?")
    row = page.locator("#answer tr", has_text="Autumn hikes")
    expect(row).to_contain_text("→ Walker Boots")
    row.locator("text=Why?").click()
    expect(page.locator("#explanation h2")).to_have_text("Autumn hikes is eligible")

    page.fill("[name=visit]", '{"device": {"type": "phone"}}')
    page.fill("[name=campaign]", "Autumn hikes")
    page.click("text=What is eligible?")
    expect(page.locator("#explanation h2")).to_have_text("Autumn hikes is not eligible")


def ask_as_an_ad_server(publisher: Party) -> None:
    visit = {"geo": {"country": "USA"}, "device": {"type": "phone"}}
    with running_server(SnapshotDirectory(settings.SNAPSHOT_DIR)) as server:
        answer = post(
            f"http://127.0.0.1:{server.port}/api/v1/eligibility",
            {"publisher": publisher.seller_id, "visit": visit},
        )
    [found] = [item for item in answer["eligible"] if item["campaign"] == "Autumn hikes"]
    assert found["path"] == [publisher.seller_id, "walker-boots"]
    assert found["net_cpm"] == 3.7


def post(url: str, document: dict[str, Any]) -> dict[str, Any]:
    key = (settings.VAR_DIR / "demo-api-key").read_text().strip()
    headers = {"Authorization": f"Api-Key {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(  # noqa: S310, our own server
        url, json.dumps(document).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
        return answer


def read_the_report(visitor: Visitor, folder: Path) -> None:
    visitor.log_out()
    visitor.log_in("analyst")
    page = visitor.page
    page.click("nav >> text=Reports")
    page.click(".actions >> text=Runs")
    page.click("text=Run now")
    expect(page.locator("#runs tbody .badge.good")).to_have_text("Done", timeout=300 * SECOND)
    page.click("nav >> text=Reports")
    page.click("h3 >> text=Eligible visits")
    expect(page.locator("#report svg").first).to_be_visible()
    page.fill("[name=q]", "Autumn hikes")
    row = page.locator("#report tr", has_text="Autumn hikes")
    expect(row).to_contain_text("Walker Boots")
    expect(page.locator("#download a")).to_have_attribute("href", re.compile("q=Autumn"))

    with page.expect_download() as download:
        page.click("text=Download CSV")
    target = folder / "report.csv"
    download.value.save_as(target)
    lines = target.read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert {row["campaign"] for row in rows} == {"Autumn hikes"}
    assert sum(int(row["eligible_visits"]) for row in rows) > 0
    assert all(int(row["eligible_visits"]) <= int(row["visits"]) for row in rows)
    open_with_pandas(visitor, folder)


def open_with_pandas(visitor: Visitor, folder: Path) -> None:
    """Another of the night's tables: its chart, its file, and the code that the page shows."""
    page = visitor.page
    page.click("nav >> text=Reports")
    page.click("h3 >> text=Exclusive reach")
    page.fill("[name=q]", "Autumn hikes")
    bar = page.locator("#report svg.wide .bar")
    expect(bar).to_have_count(1)
    expect(bar.locator("title").first).to_contain_text("Autumn hikes")
    with page.expect_download() as download:
        page.click("#download >> text=Parquet")
    download.value.save_as(folder / download.value.suggested_filename)
    page.click("text=Open in a notebook")
    code = page.locator("[data-cell]").inner_text()
    said = page.locator("#rows tbody td[data-label=Visits]").inner_text()
    shown = 'print(rows["visits"].tolist())'
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{shown}"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == f"[{said.replace(',', '')}]"
