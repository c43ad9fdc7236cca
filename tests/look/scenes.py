"""What there is to look at: every page that has an address, found in the table of addresses, and
states that pages get into by what people do there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.urls import URLPattern
from playwright.sync_api import Page, expect

PLACEHOLDER = re.compile(r"<\w+:\w+>")
# Not pages: what scripts ask for, downloads, and what only a secret opens.
NO_PAGES = re.compile(r"\.(csv|txt)$|/options/$|^welcome/|^logout/|/organisations/$|/drawer/$")


@dataclass(frozen=True, slots=True)
class Scene:
    """`act` does something on the page first. A `kind` groups scenes that look alike: the suite
    looks at one of each."""

    name: str
    address: str
    act: Callable[[Page], None] | None = None
    login: str = "admin"
    kind: str = "page"


def list_pages() -> Iterator[Scene]:
    """Lists all addresses of pages; those of one thing have `{folder}` for its number."""
    from exchange.web.urls import urlpatterns

    for pattern in urlpatterns:
        route = str(pattern.pattern)
        assert isinstance(pattern, URLPattern)
        if NO_PAGES.search(route) or route.count("<") > 1:
            continue
        folder = route.split("/")[0]
        if folder == "graph" and "<" in route:
            folder = "parties"
        address = "/" + PLACEHOLDER.sub(f"{{{folder}}}", route)
        yield Scene(str(pattern.name or route), address)


def show_errors(page: Page) -> None:
    page.fill("[name=name]", "")
    page.click("[data-set-mode=text]")
    page.fill("[name=expression]", "geo.contry = 'DE' and user.age > 30 and user.age < 20")
    expect(page.locator(".problems li").first).to_be_visible()


def show_findings(page: Page) -> None:
    page.click("[data-set-mode=text]")
    page.fill("[name=expression]", "geo.country = 'DE' and user.age > 30 and user.age < 20")
    expect(page.locator("[data-expression-editor]")).to_have_attribute("data-checked", "yes")
    page.click("[data-set-mode=both]")


def show_widgets(page: Page) -> None:
    page.click("[data-set-mode=text]")
    text = (
        "# evenings only\nlocal_time during 'Mon-Fri 17:00-23:00'"
        " and (geo.city in ('Berlin', 'Bonn') or geo.location within 25 km of (52.52, 13.405)"
        " or geo.location inside polygon"
        " ((52.6, 13.2), (52.65, 13.5), (52.45, 13.6))) and device.type in ('phone', 'tablet')"
        " and not (user.segments one of ('pulse:travel')) and user.age between 18 and 40"
    )
    page.fill("[name=expression]", text)
    expect(page.locator(".verdict")).to_contain_text("Valid")
    page.click("[data-set-mode=builder]")
    expect(page.locator("[data-tree] .row").first).to_be_visible()


def open_picker(page: Page) -> None:
    page.locator("[data-tree]").get_by_text("+ Condition").first.click()
    box = page.locator("[data-tree]").get_by_role("combobox", name="Attribute").last
    box.fill("geo")
    expect(page.locator("[role=option]:visible").first).to_be_visible()


def open_row_menu(page: Page) -> None:
    show_widgets(page)
    page.locator("[data-tree] .row [aria-haspopup=menu]").first.click()


def open_jump(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Name or number").fill("a")
    expect(page.locator("#jump [role=option]").first).to_be_visible()


def open_menu(page: Page) -> None:
    if page.locator("[data-menu]").is_visible():
        page.click("[data-menu]")


def try_refused(page: Page) -> None:
    for field in page.locator("[name^='v-']").all():
        field.fill("?")
    page.click("#bench-try")
    expect(page.locator("#verdict h2")).to_contain_text("Passes at none")


def try_matrix(page: Page) -> None:
    page.fill("[name=time]", "2026-11-17 03:00, 2026-11-17 18:30, 2026-11-22 18:30")
    first = page.locator("[name^='v-']").first
    first.fill(f"{first.input_value()}, ?, other")
    page.click("#bench-try")
    expect(page.locator("#matrix")).to_be_visible()


def try_wrong(page: Page) -> None:
    page.fill("[name=zone]", "Mars")
    page.click("#bench-try")
    expect(page.locator(".errors")).to_be_visible()


def turn_to_json(page: Page) -> None:
    page.click("#bench-json")
    expect(page.locator("#id_text")).to_be_visible()


def ask_visit(page: Page) -> None:
    page.select_option("[name=publisher]", index=1)
    page.click("[data-example]")
    page.click("text=What is eligible?")
    expect(page.locator("#answer .card").first).to_be_visible()


def tick_offers(page: Page) -> None:
    for box in page.locator("#offers [type=checkbox]").all()[:3]:
        box.check()


def fail_login(page: Page) -> None:
    page.fill("[name=username]", "nobody")
    page.fill("[name=password]", "wrong")
    page.click("form [type=submit]")
    expect(page.locator(".message.error, .errors").first).to_be_visible()


def compare_list(page: Page) -> None:
    page.fill("[name=text]", "one.example\ntwo.example")
    page.click("text=What would change?")
    expect(page.locator("#difference *").first).to_be_visible()


def open_details(page: Page) -> None:
    for summary in page.locator("main details > summary").all()[:3]:
        summary.click()


STATES = [
    Scene("login-failed", "/login/", fail_login, login="", kind="errors"),
    Scene("not-found", "/campaigns/999999999/"),
    Scene("reports-far-away", "/reports/?first_day=2020-01-01&last_day=2020-01-02"),
    Scene("campaigns-none-match", "/campaigns/?q=no+such+thing", kind="empty"),
    Scene("campaigns-opened", "/campaigns/", open_details),
    Scene("campaign-form-wrong", "/campaigns/new/", show_errors, kind="errors"),
    Scene("campaign-form-findings", "/campaigns/new/", show_findings),
    Scene("campaign-form-widgets", "/campaigns/new/", show_widgets, kind="builder"),
    Scene("campaign-form-picker", "/campaigns/new/", open_picker),
    Scene("campaign-form-menu", "/campaigns/new/", open_row_menu),
    Scene("jump", "/", open_jump, kind="dialog"),
    Scene("menu", "/campaigns/", open_menu),
    Scene("bench-refused", "/campaigns/{campaigns}/tests/", try_refused, kind="answer"),
    Scene("bench-matrix", "/campaigns/{campaigns}/tests/", try_matrix),
    Scene("bench-wrong", "/campaigns/{campaigns}/tests/", try_wrong),
    Scene("bench-json", "/campaigns/{campaigns}/tests/", turn_to_json),
    Scene("offers-ticked", "/campaigns/{campaigns}/bookings/", tick_offers),
    Scene("impact-without", "/campaigns/{campaigns}/impact/?without=0"),
    Scene("paths-opened", "/campaigns/{campaigns}/paths/", open_details),
    Scene("try-visit-answered", "/visits/", ask_visit),
    Scene("value-list-difference", "/lists/new/", compare_list),
    Scene("today-publisher", "/", login="publisher"),
    Scene("today-advertiser", "/", login="advertiser"),
    Scene("campaigns-advertiser", "/campaigns/", login="advertiser"),
    Scene("bookings-publisher", "/bookings/", login="publisher"),
    Scene("forbidden", "/people/", login="viewer"),
]
