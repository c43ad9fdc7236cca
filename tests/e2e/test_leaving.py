"""Leaving a page that still has something to ask: it does not ask, and the console is quiet."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from playwright.sync_api import Page, Route, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Campaign, Party
from exchange.snapshots.build_requests import request_build
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

# Longer than every pause that these pages make before they ask.
ALL_COME_DUE_MS = 1500


@pytest.fixture
def page(visitor: Visitor, alice: User, operator: Organisation) -> Page:
    """Alice's. A build waits for a worker that is not there."""
    Party.objects.create(
        kind="advertiser", name="Solberg Soda", seller_id="soda", organisation=operator
    )
    request_build()
    visitor.page.on("dialog", lambda dialog: dialog.accept())  # unsaved work may go
    visitor.enter(alice)
    return visitor.page


def log_out_slowly(page: Page) -> None:
    """Logs out so that the server has ended the session while its answer is still on the way."""
    held: list[Route] = []
    page.route("**/logout/", lambda route: held.append(route))
    page.click("text=Log out", no_wait_after=True)
    while not held:
        page.wait_for_timeout(20)  # lets the browser's messages in
    answer = held[0].fetch(max_redirects=0)
    page.wait_for_timeout(ALL_COME_DUE_MS)
    held[0].fulfill(response=answer)
    page.wait_for_url("**/login/")
    page.unroute("**/logout/")


def test_nothing_is_asked_after_a_log_out(visitor: Visitor, page: Page, alice: User) -> None:
    for address, field in [
        ("/snapshots/", ""),
        ("/visits/", "[name=campaign]"),
        ("/parties/", "[name=q]"),
        ("/campaigns/new/", "[name=expression]"),
    ]:
        visitor.enter(alice)
        visitor.go(address)
        if field == "[name=expression]":
            visitor.write("geo.country = 'USA'")
        elif field:
            page.fill(field, "geo.country = 'USA'")
        log_out_slowly(page)
        assert visitor.complaints == [], address


def test_a_question_that_is_on_the_way_is_taken_back(visitor: Visitor, page: Page) -> None:
    """Shows it for a newer question, a link, and logging out; the server answers none of them."""
    for way_out in ("nav >> text=Parties", "text=Log out"):
        visitor.go("/visits/")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"lock table {Campaign._meta.db_table} in access exclusive mode")
            for words in ("s", "su"):
                with page.expect_request("**/campaigns/options/**"):
                    page.fill("[name=campaign]", words)
            page.click(way_out)
            page.wait_for_url(lambda url: "/visits/" not in url)
        assert visitor.complaints == [], way_out


def test_a_person_who_stays_is_answered_again(visitor: Visitor, page: Page) -> None:
    """Keeps the next page from ever coming, so that the old one is still there."""
    visitor.go("/parties/")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.route("**/logout/", lambda route: route.fulfill(status=204))
    with page.expect_response("**/logout/"):
        page.click("text=Log out")
    page.fill("[name=q]", "nobody")
    expect(page.locator("#list")).not_to_contain_text("Solberg Soda")
