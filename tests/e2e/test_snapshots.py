"""An operator at a real browser, between two snapshots: one word for a change, one thing to do."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from exchange.accounts.models import Role
from exchange.market.models import Booking
from exchange.snapshots.deltas import write_changes
from tests.e2e.conftest import Visitor
from tests.e2e.test_trust import check_widths
from tests.people import hire
from tests.snapshots.steps import build
from tests.snapshots.story import run_campaign, tell

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

MILLISECONDS = re.compile(r"\d\s*ms\b")
SLUG = re.compile("daily-herald|northgate")


def test_rows_of_snapshots_have_one_action_and_changes_one_name(
    visitor: Visitor, transactional_db: None
) -> None:
    story, page = tell(), visitor.page
    first = build()
    added = run_campaign(story.soda, "Winter", "true")
    Booking.objects.create(campaign=added, publisher=story.herald)
    write_changes()
    second = build()
    page.on("dialog", lambda dialog: dialog.accept())
    visitor.enter(hire("bob", Role.GRAPH_OPERATOR, story.soda.organisation))

    def offered(number: int) -> Locator:
        row = page.locator("#list tr", has_text=f"Build {number}")
        return row.locator("button")

    visitor.go("/snapshots/")
    expect(page.locator("#change")).to_contain_text(re.compile(r"change \d+"))
    expect(offered(first.pk)).to_contain_text(["Roll back to it"])
    expect(offered(second.pk)).to_have_count(0)
    check_widths(visitor)
    offered(first.pk).click()
    expect(page.locator("#held")).to_contain_text("Rolled back.")
    expect(offered(first.pk)).to_contain_text(["Let changes in"])
    expect(offered(second.pk)).to_contain_text(["Make live"])
    for address in ("/snapshots/", f"/snapshots/{first.pk}/", f"/snapshots/{second.pk}/", "/"):
        visitor.go(address)
        main = page.locator("main")
        expect(main).not_to_contain_text("delta")
        expect(main).not_to_contain_text(MILLISECONDS)


def test_paths_have_names_where_a_visit_is_tried(visitor: Visitor, transactional_db: None) -> None:
    story, page = tell(), visitor.page
    build()
    visitor.enter(hire("alice", Role.CAMPAIGN_MANAGER, story.soda.organisation))
    visitor.go(f"/visits/?campaign={story.summer.pk}")
    page.select_option("[name=publisher]", label="Daily Herald")
    page.fill("#id_visit", json.dumps({"geo": {"country": "USA"}, "user": {"age": 30}}))
    page.click("text=What is eligible?")
    answer = page.locator("#answer")
    expect(answer).to_contain_text("Daily Herald → Northgate → Solberg Soda")
    expect(answer).to_contain_text(re.compile(r"change \d+"))
    expect(answer).not_to_contain_text(SLUG)
    check_widths(visitor)
