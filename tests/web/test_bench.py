"""The test bench: its fields, what it fills them with, verdicts edge by edge, and the matrix."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge, Party, TestVisit
from exchange.reports.sample_table import prepare_sample
from targeting import parse
from tests.reports.samples import draw_visits, write_sample
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db

TARGETING = (
    "geo.country in ('USA', 'CAN') and user.age >= 18 and local_time during 'Mon-Fri 17:00-23:00'"
)
EVENING = "2026-11-17 18:30"


@pytest.fixture(autouse=True)
def reports(settings: Settings, tmp_path: Path) -> Path:
    settings.REPORT_DIR = tmp_path / "reports"
    settings.VISIT_LOG_DIR = str(tmp_path / "visits")
    return tmp_path / "reports"


@pytest.fixture
def booked(booking: Booking) -> Campaign:
    """Books at Daily Herald, whose edge to Northgate refuses finance."""
    Campaign.objects.filter(pk=booking.campaign_id).update(expression=TARGETING)
    booking.campaign.refresh_from_db()
    return booking.campaign


def try_on(browser: Client, campaign: Campaign, do: str = "try", **given: str) -> Any:
    data = {"tab": "form", "do": do, "time": EVENING, "zone": "UTC"}
    fields = {name.replace("__", "."): text for name, text in given.items()}
    return browser.post(f"/campaigns/{campaign.pk}/tests/", data | fields)


def v(**values: str) -> dict[str, str]:
    """Names fields of attributes; `__` stands for the dot."""
    return {f"v-{name}": text for name, text in values.items()}


def test_asks_only_for_what_the_campaign_and_its_path_ask_for(
    alice: User, booked: Campaign, log_in: LogIn
) -> None:
    form = log_in(alice).get(f"/campaigns/{booked.pk}/tests/").context["form"]
    asked = {row["attribute"].name: row["by"] for row in form.rows()}
    assert asked == {
        "geo.country": "The campaign's targeting",
        "user.age": "The campaign's targeting",
        "site.cat": "Daily Herald → Northgate",
    }


def test_a_campaign_is_in_flight_in_the_minute_in_which_it_starts(
    alice: User, booked: Campaign, log_in: LogIn
) -> None:
    """Fields show minutes, and the minute began before a flight that starts now."""
    Campaign.objects.filter(pk=booked.pk).update(
        expression="user.age >= 18", starts_at=datetime.now(UTC)
    )
    browser = log_in(alice)
    [suggested] = browser.get(f"/campaigns/{booked.pk}/tests/").context["tried"]
    given = v(user__age="30", site__cat="news")
    [now] = try_on(browser, booked, time="", **given).context["tried"]
    assert suggested.held == now.held == ()


def test_begins_with_a_visit_that_passes(alice: User, booked: Campaign, log_in: LogIn) -> None:
    context = log_in(alice).get(f"/campaigns/{booked.pk}/tests/").context
    [tried] = context["tried"]
    assert tried.is_eligible
    visit = json.loads(context["to_try"].text)
    assert "finance" not in visit["site.cat"]
    moment = datetime.fromisoformat(visit["time"].replace("Z", "+00:00"))
    assert moment >= datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def test_says_which_edge_refuses_and_the_nearest_change(
    alice: User, booked: Campaign, log_in: LogIn
) -> None:
    given = v(geo__country="USA", user__age="30", site__cat="finance + sports")
    answer = try_on(log_in(alice), booked, **given)
    [tried] = answer.context["tried"]
    assert not tried.passes
    assert [(step.title, step.truth) for step in tried.steps] == [
        ("The rule of Daily Herald → Northgate", False),
        ("The rule of Northgate → Solberg Soda", True),
        ("The campaign's targeting", True),
    ]
    assert [step.title for step in tried.changes] == ["The rule of Daily Herald → Northgate"]
    assert "if <code>site.cat none of (&#x27;finance&#x27;) were" in answer.text


@pytest.mark.parametrize(
    ("time", "zone", "passes"),
    [
        ("2026-11-17 18:30", "Europe/Berlin", True),
        ("2026-11-17 18:30", "-08:00", True),
        ("2026-11-17T18:30:00Z", "Asia/Tokyo", False),  # half past three there
        ("2026-11-22 18:30", "UTC", False),  # a Sunday
        ("2026-11-17 18:30", "", False),  # the visitor's clock is not known
    ],
)
def test_the_time_is_on_the_visitors_clock(
    alice: User, booked: Campaign, log_in: LogIn, time: str, zone: str, passes: bool
) -> None:
    given = v(geo__country="USA", user__age="30", site__cat="sports")
    answer = try_on(log_in(alice), booked, **given, time=time, zone=zone)
    assert answer.context["tried"][0].passes is passes


def test_commas_make_a_matrix_whose_cells_the_evaluator_agrees_with(
    alice: User, booked: Campaign, log_in: LogIn
) -> None:
    given = v(geo__country="USA, DEU, ?", user__age="12, 18, 99", site__cat="sports, finance, ?")
    answer = try_on(log_in(alice), booked, **given, time="2026-11-17 12:00, 2026-11-17 18:30")
    matrix = answer.context["matrix"]
    rules = [parse(TARGETING, load_catalog())]
    rules += [parse(edge.expression, load_catalog()) for edge in Edge.objects.all()]
    expected = []
    for hour, country, age, cat in product(
        (12, 18.5), ("USA", "DEU", None), (12, 18, 99), (["sports"], ["finance"], None)
    ):
        ms = int(datetime(2026, 11, 17, tzinfo=UTC).timestamp() * 1000 + hour * 3_600_000)
        clock = {"time": ms, "local_time": ms, "geo.utc_offset": 0, "publisher.id": "daily-herald"}
        visit = {"geo.country": country, "user.age": age, "site.cat": cat, **clock}
        expected.append(all(rule.evaluate(visit) is True for rule in rules))
    assert [cell.passes for cell in matrix.cells] == expected
    assert matrix.passing == sum(expected) == 2
    by_value = {varied.name: rows for varied, rows in matrix.count_by_value()}
    assert by_value["geo.country"] == [("USA", 2, 18), ("DEU", 0, 18), ("?", 0, 18)]


def test_two_that_vary_are_a_grid(alice: User, booked: Campaign, log_in: LogIn) -> None:
    given = v(geo__country="USA, DEU", user__age="17, 18", site__cat="sports")
    context = try_on(log_in(alice), booked, **given).context
    told = [(label, [cell.passes for cell in cells]) for label, cells in context["grid"]]
    assert told == [("USA", [False, True]), ("DEU", [False, False])]


def test_a_matrix_has_its_limit(alice: User, booked: Campaign, log_in: LogIn) -> None:
    numbers = ", ".join(map(str, range(130)))
    countries = ", ".join(f"C{number}" for number in range(130))
    given = v(geo__country=countries, user__age=numbers)
    answer = try_on(log_in(alice), booked, **given)
    assert answer.status_code == 422
    assert "That makes 16,900 visits. Try at most 15,000 at once." in answer.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (v(user__age="old"), "“old” is not a whole number."),
        ({"zone": "Mars/Phobos"}, "“Mars/Phobos” is no time zone."),
        ({"time": "soon"}, "“soon” is no moment."),
        (v(geo__country='"USA'), "do not end"),
    ],
)
def test_says_what_is_wrong_at_its_field(
    alice: User, booked: Campaign, log_in: LogIn, given: dict[str, str], said: str
) -> None:
    answer = try_on(log_in(alice), booked, **given)
    assert answer.status_code == 422
    assert said in unescape(answer.text)
    assert 'aria-invalid="true"' in answer.text or "data-wrong" in answer.text


def test_tabs_take_the_visit_along(alice: User, booked: Campaign, log_in: LogIn) -> None:
    browser = log_in(alice)
    given = v(geo__country="USA", user__age="30", site__cat="sports")
    turned = try_on(browser, booked, do="tab-json", **given, zone="Europe/Berlin")
    text = turned.context["form"].data["text"]
    assert json.loads(text) == {
        "time": "2026-11-17T17:30:00Z",
        "geo.utc_offset": 60,
        "geo.country": "USA",
        "user.age": 30,
        "site.cat": ["sports"],
    }
    changed = {**json.loads(text), "device.type": "phone", "user.age": 31}
    data = {"tab": "json", "do": "tab-form", "text": json.dumps(changed)}
    back = browser.post(f"/campaigns/{booked.pk}/tests/", data).context["form"]
    assert (back.data["time"], back.data["zone"]) == ("2026-11-17 18:30", "+01:00")
    assert back.data["v-user.age"] == "31"
    assert json.loads(back.data["rest"]) == {"device.type": "phone"}


def test_a_bid_request_is_recognised_in_any_tab(
    alice: User, booked: Campaign, log_in: LogIn
) -> None:
    bid = {
        "id": "1",
        "time": "2026-11-17T18:30:00Z",
        "imp": [{"id": "top"}, {"id": "side"}],
        "device": {"geo": {"country": "USA", "utcoffset": 0}},
        "user": {"yob": 1990},
    }
    data = {"tab": "json", "do": "try", "text": json.dumps(bid), "imp": "2"}
    answer = log_in(alice).post(f"/campaigns/{booked.pk}/tests/", data)
    assert "This is a bid request with 2 imps" in answer.text
    to_try = answer.context["to_try"]
    assert (to_try.imp, to_try.imps[1].imp_id) == (2, "side")
    assert to_try.base["geo.country"] == "USA"


def test_a_sampled_visit_leaves_out_what_is_about_persons(
    alice: User, booked: Campaign, log_in: LogIn, reports: Path
) -> None:
    browser = log_in(alice)
    refused = try_on(browser, booked, do="sample")
    assert "No night has been counted yet" in refused.text
    visits = draw_visits(60, publishers=("daily-herald", "gazette"))
    write_sample(reports, visits)
    prepare_sample()
    Campaign.objects.filter(pk=booked.pk).update(
        expression="geo.country = 'CAN' and user.segments is present"
    )
    found = set()
    for number in range(6):
        answer = try_on(browser, booked, do="sample", drawn=str(number))
        form = answer.context["form"]
        assert form.data["v-geo.country"] == "CAN"
        assert form.data["v-user.segments"] == ""
        assert "about persons: user.segments" in answer.context["note"]
        found.add(form.data["time"])
    wanted = {
        visit["time"].strftime("%Y-%m-%d %H:%M")
        for visit in visits
        if visit["geo.country"] == "CAN" and visit["publisher.id"] == "daily-herald"
    }
    assert len(found) > 1
    assert found <= wanted


def test_a_tried_visit_is_saved_as_a_test_with_its_time(
    alice: User, booked: Campaign, log_in: LogIn
) -> None:
    browser = log_in(alice)
    given = v(geo__country="DEU", user__age="30", site__cat="sports")
    answer = try_on(browser, booked, **given, zone="Europe/Berlin")
    asked = {"visit": answer.context["to_try"].text, "expects": "no"}
    form = browser.get(f"/campaigns/{booked.pk}/tests/new/", asked).context["form"]
    saved = {"name": "Not Germany", "visit": form["visit"].value(), "expects_eligible": "no"}
    saved["expected_version"] = form["expected_version"].value() or ""
    browser.post(f"/campaigns/{booked.pk}/tests/new/", saved)
    kept = TestVisit.objects.get(name="Not Germany")
    assert kept.visit["time"] == "2026-11-17T17:30:00Z"
    assert "Passes" in browser.get(f"/campaigns/{booked.pk}/tests/").text


def test_before_it_is_booked_the_targeting_alone_is_tried(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    answer = log_in(alice).get(f"/campaigns/{campaign.pk}/tests/")
    assert "The targeting wants this visit" in answer.text
    assert "It is not booked yet" in answer.text


def test_a_draft_is_tried_as_if_it_were_live(alice: User, booked: Campaign, log_in: LogIn) -> None:
    Campaign.objects.filter(pk=booked.pk).update(status="draft")
    answer = log_in(alice).get(f"/campaigns/{booked.pk}/tests/")
    [tried] = answer.context["tried"]
    assert (tried.passes, tried.is_eligible) == (True, False)
    assert "The campaign is draft, not live." in answer.text


def test_rules_that_one_may_not_read_are_neither_asked_for_nor_told(exchange: Exchange) -> None:
    browser = Client()
    browser.force_login(exchange.soda.people[Role.CAMPAIGN_MANAGER])
    address = f"/campaigns/{exchange.campaign.pk}/tests/"
    context = browser.get(address).context
    assert [row["attribute"].name for row in context["form"].rows()] == ["geo.country", "site.page"]
    answer = try_on(browser, exchange.campaign, **v(geo__country="USA"))
    [tried] = answer.context["tried"]
    assert not tried.passes
    assert "Herald → Northgate" in answer.text
    assert "ctv" not in answer.text


@pytest.mark.parametrize("policy", Booking.Policy.values)
def test_each_policy_is_judged_over_its_own_paths(
    alice: User, booked: Campaign, northgate: Party, log_in: LogIn, policy: str
) -> None:
    """Adds a dearer second path that takes finance as well: only a booking that takes any path may
    use it."""
    herald, soda = Party.objects.get(name="Daily Herald"), booked.advertiser
    Edge.objects.create(seller=herald, buyer=soda, fee_percent=60)
    first = Edge.objects.get(seller=herald, buyer=northgate)
    pinned = [first.pk, Edge.objects.get(seller=northgate).pk] if policy == "pinned" else []
    Booking.objects.update(policy=policy, pinned_edges=pinned)
    given = v(geo__country="USA, DEU", user__age="30", site__cat="finance")
    matrix = try_on(log_in(alice), booked, **given).context["matrix"]
    assert [cell.passes for cell in matrix.cells] == [policy == "any", False]
    single = try_on(log_in(alice), booked, **(given | v(geo__country="USA")))
    assert single.context["tried"][0].passes is (policy == "any")
