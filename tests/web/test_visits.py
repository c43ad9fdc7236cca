"""Trying a visit: read strictly, answered by the API's own engine, nothing typed is lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.seed import read_attributes
from exchange.serving.visits import flatten
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.models import DeltaLog
from exchange.snapshots.services import run_build
from exchange.web.visit_texts import EXAMPLE_VISIT, VisitProblemError, read_visit
from tests.market.places import found
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]


@pytest.mark.parametrize(
    ("text", "line", "column", "length"),
    [
        ('{"a": 1,\n "b": phone}', 2, 7, 5),
        ('{"a": 1', 1, 8, 1),
        ("[1]", 1, 1, 1),
        ("", 1, 1, 1),
        ('{"a": NaN}', 1, 1, 1),
        ("[" * 100_000, 1, 1, 1),
        ('{"a": 1} {"b": 2}', 1, 10, 1),
    ],
)
def test_says_where_a_visit_is_wrong(text: str, line: int, column: int, length: int) -> None:
    with pytest.raises(VisitProblemError) as caught:
        read_visit(text)
    problem = caught.value.problem
    assert (problem.line, problem.column, problem.length) == (line, column, length)
    assert problem.message.endswith(".")


def test_the_example_asks_only_for_what_the_catalogue_knows() -> None:
    known = {row["name"]: row for row in read_attributes()}
    for name, value in flatten(EXAMPLE_VISIT, known).items():
        assert name in known
        domain = known[name].get("values")
        assert not domain or value in domain or set(value) <= set(domain)  # type: ignore[call-overload]


@pytest.mark.django_db
def test_what_was_typed_is_kept(dave: User, herald: Party, log_in: LogIn) -> None:
    typed = '{"geo": {"country": USA}}'
    answer = log_in(dave).post("/visits/", {"publisher": herald.pk, "visit": typed})
    html = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert f">\n{typed}</textarea>" in html
    assert f'<option value="{herald.pk}" selected>' in html
    assert 'data-visit-problem data-line="1" data-column="21" data-length="3"' in html


@pytest.mark.django_db
def test_a_publisher_must_be_chosen(dave: User, log_in: LogIn) -> None:
    answer = log_in(dave).post("/visits/", {"visit": "{}"})
    assert answer.status_code == 422
    assert "Publisher: This field is required." in answer.content.decode()


@pytest.mark.django_db
def test_says_that_there_is_no_snapshot_yet(
    dave: User, herald: Party, log_in: LogIn, settings: Settings, tmp_path: Path
) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    answer = log_in(dave).post("/visits/", {"publisher": herald.pk, "visit": "{}"})
    assert "No snapshot is live yet" in answer.content.decode()


@pytest.mark.django_db
def test_comes_with_a_campaign_from_its_page(dave: User, booking: Booking, log_in: LogIn) -> None:
    html = log_in(dave).get(f"/visits/?campaign={booking.campaign_id}").content.decode()
    assert f'value="Summer · Solberg Soda (#{booking.campaign_id})"' in html
    assert f'<option value="{booking.publisher_id}" selected>' in html


@pytest.fixture
def served(booking: Booking, settings: Settings, tmp_path: Path) -> Booking:
    """Puts the booking into a snapshot that is live."""
    settings.SNAPSHOT_DIR = tmp_path
    assert run_build(build_id=request_build().pk)
    return booking


@pytest.mark.django_db(transaction=True)
def test_answers_from_the_live_snapshot(
    dave: User, served: Booking, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    asked = {"publisher": served.publisher_id, "campaign": f"#{served.campaign_id}"}
    client = log_in(dave)

    visit = {"geo": {"country": "USA"}, "site": {"cat": ["sports"]}, "shoe_size": 44}
    page = client.post("/visits/", asked | {"visit": json.dumps(visit)}).content.decode()
    assert "1 eligible campaign<" in page
    assert "Daily Herald → Northgate → Solberg Soda" in page
    assert "shoe_size" in page.partition("message warning")[2]
    assert "Summer is eligible" in page

    visit = {"geo": {"country": "USA"}, "site": {"cat": ["finance"]}}
    answer = client.post(
        "/visits/", asked | {"visit": json.dumps(visit)}, headers={"HX-Request": "true"}
    )
    part = unescape(answer.content.decode())
    assert "<html" not in part
    assert "Nothing is eligible" in part
    assert "Summer is not eligible" in part
    assert f"The rule of {edges[0].seller.name} → {edges[0].buyer.name} is not true." in part
    assert "the visit has finance" in part


@pytest.mark.django_db(transaction=True)
def test_says_what_is_saved_and_not_served_yet(
    dave: User, served: Booking, campaign: Campaign, log_in: LogIn
) -> None:
    visit = json.dumps({"geo": {"country": "USA"}, "site": {"cat": ["sports"]}})
    asked = {"publisher": served.publisher_id, "visit": visit}
    client = log_in(dave)

    def ask(**more: str) -> str:
        return unescape(client.post("/visits/", asked | more).content.decode())

    of_campaign = {"campaign": f"#{campaign.pk}"}
    page = ask(**of_campaign)
    assert 'id="waiting"' not in page
    assert "ad servers are answered the same" in page

    campaign.expression = "geo.country = 'FRA'"
    campaign.save()
    page = ask(**of_campaign)
    number = DeltaLog.objects.get().number + 1
    told = page.partition('id="waiting"')[2].partition("</p>")[0]
    assert "Summer was saved" in told
    assert f"it goes live with change {number}" in told
    assert 'href="/snapshots/#change"' in told
    assert "Summer is not eligible" in page
    assert "Ad servers are still answered that it is eligible" in page
    assert "What was saved last is not live yet" in ask()
    assert f"live with change {number}" in client.get("/snapshots/").content.decode()

    assert write_changes()
    page = ask(**of_campaign)
    assert 'id="waiting"' not in page
    assert f"change {number}</span>" in page
    assert "ad servers are answered the same" in page
    assert 'id="waiting"' not in client.get("/snapshots/").content.decode()


USA = '{"geo": {"country": "USA"}, "device": {"type": "ctv"}, "site": {"page": "/"}}'


@pytest.fixture
def built(exchange: Exchange, settings: Settings, tmp_path: Path) -> Exchange:
    """Makes Summer of Soda and Winter of Rival both eligible at the Herald for a visit from the USA
    on a television."""
    Campaign.objects.filter(pk=exchange.rival_campaign.pk).update(expression="true")
    Edge.objects.create(seller=exchange.herald.party, buyer=exchange.rival.party)
    Booking.objects.create(campaign=exchange.rival_campaign, publisher=exchange.herald.party)
    settings.SNAPSHOT_DIR = tmp_path
    run_build(build_id=request_build().pk)
    return exchange


@pytest.mark.django_db(transaction=True)
def test_people_see_what_is_eligible_as_far_as_it_is_theirs(built: Exchange, log_in: LogIn) -> None:
    asked = {"publisher": built.herald.party.pk, "visit": USA}
    shown = {
        "operators": log_in(built.operators[Role.VIEWER]).post("/visits/", asked),
        "herald": log_in(built.herald.people[Role.VIEWER]).post("/visits/", asked),
        "soda": log_in(built.soda.people[Role.VIEWER]).post("/visits/", asked),
        "rival": log_in(built.rival.people[Role.VIEWER]).post("/visits/", asked),
        "northgate": log_in(built.northgate.people[Role.VIEWER]).post("/visits/", asked),
    }
    seen = {
        who: {name for name in ("Summer", "Winter") if name in answer.content.decode()}
        for who, answer in shown.items()
    }
    assert seen == {
        "operators": {"Summer", "Winter"},
        "herald": {"Summer", "Winter"},
        "soda": {"Summer"},
        "rival": {"Winter"},
        "northgate": set(),
    }
    # The publisher knows campaigns by name; their pages are not theirs.
    assert f"/campaigns/{built.campaign.pk}/" not in shown["herald"].content.decode()
    assert "1 of your campaigns is eligible" in shown["soda"].content.decode()
    assert "None of your campaigns is eligible" in shown["northgate"].content.decode()


@pytest.mark.django_db
def test_only_those_at_both_ends_ask_why(exchange: Exchange, log_in: LogIn) -> None:
    asked = {
        "publisher": exchange.herald.party.pk,
        "visit": "{}",
        "why": exchange.campaign.pk,
    }
    for who, status in (("soda", 200), ("herald", 200), ("rival", 422), ("northgate", 422)):
        person = getattr(exchange, who).people[Role.VIEWER]
        assert log_in(person).post("/visits/", asked).status_code == status, who


@pytest.mark.django_db
def test_a_publisher_asks_why_at_home_only(exchange: Exchange, log_in: LogIn) -> None:
    other = found(Party.Kind.PUBLISHER, "Gazette", exchange.rival.organisation)
    Booking.objects.create(campaign=exchange.campaign, publisher=other)
    asked = {"publisher": other.pk, "visit": "{}", "campaign": f"#{exchange.campaign.pk}"}
    answer = log_in(exchange.herald.people[Role.VIEWER]).post("/visits/", asked)
    assert answer.status_code == 422
    assert "not booked with a publisher of yours" in answer.content.decode()


@pytest.fixture
def evening(campaign: Campaign) -> Campaign:
    """Wants visits between 17 and 23 o'clock on the visitor's clock."""
    starts_at = datetime(2026, 1, 1, tzinfo=UTC)
    Campaign.objects.update(expression="local_time during '17:00-23:00'", starts_at=starts_at)
    campaign.refresh_from_db()
    return campaign


@pytest.mark.django_db(transaction=True)
def test_the_time_that_a_visit_says_counts(
    dave: User, evening: Campaign, served: Booking, log_in: LogIn
) -> None:
    client = log_in(dave)
    asked = {"publisher": served.publisher_id, "campaign": f"#{served.campaign_id}"}
    for time, is_eligible in (
        ("2026-11-17T18:30:00Z", True),
        ("2026-11-17T03:00:00Z", False),
        (1794940200000, True),
    ):
        visit = {"time": time, "geo.utc_offset": 0, "site.cat": ["sports"]}
        page = client.post("/visits/", asked | {"visit": json.dumps(visit)}).text
        assert f"Summer is {'' if is_eligible else 'not '}eligible" in page
        assert ("1 eligible campaign<" in page) is is_eligible
        assert "ad servers are answered the same" in page
        assert "it is Tue 2026-11-17 " in page
        assert "Tue 2026-11-17" in page.partition('id="moment"')[2].partition("</p>")[0]
    page = unescape(client.post("/visits/", asked | {"visit": '{"time": "noon"}'}).text)
    assert "`time` is a moment such as 2026-11-17T08:30:00Z" in page
    assert "Summer is" not in page


BID_REQUEST: dict[str, Any] = {
    "id": "1",
    "site": {"cat": ["sports"], "publisher": {"id": "somebody"}},
    "device": {"geo": {"country": "USA"}},
    "imp": [{"id": "top", "banner": {"w": 300, "h": 250}}, {"id": "side", "video": {}}],
}


@pytest.mark.django_db(transaction=True)
def test_a_bid_request_is_recognised_and_its_imps_are_answered_apart(
    dave: User, campaign: Campaign, served: Booking, log_in: LogIn
) -> None:
    Campaign.objects.update(expression="geo.country = 'USA' and imp.media_types one of ('video')")
    assert write_changes()
    client = log_in(dave)
    asked = {
        "publisher": served.publisher_id,
        "campaign": f"#{served.campaign_id}",
        "visit": json.dumps(BID_REQUEST),
    }
    page = client.post("/visits/", asked).text
    assert "This is a bid request with 2 imps" in page
    assert "Summer is not eligible" in page
    warned = page.partition('id="warnings"')[2].partition("</div>")[0]
    assert "publisher.id: the publisher chosen above counts" in warned
    assert page.index('id="warnings"') < page.index('id="explanation"')
    page = client.post("/visits/", asked | {"imp": "1", "imp_chosen": "2"}).text
    assert "for imp <strong>side</strong>" in page
    assert "Summer is eligible" in page
    at_night = {**BID_REQUEST, "time": "2026-11-17T03:00:00Z"}
    page = client.post("/visits/", asked | {"visit": json.dumps(at_night)}).text
    assert "Tue 2026-11-17 03:00" in page
    single = {**BID_REQUEST, "imp": BID_REQUEST["imp"][1:]}
    page = client.post("/visits/", asked | {"visit": json.dumps(single), "imp": "2"}).text
    assert "Summer is eligible" in page


@pytest.mark.django_db
def test_warnings_stand_above_the_answer_without_a_snapshot_too(
    dave: User, booking: Booking, log_in: LogIn, settings: Settings, tmp_path: Path
) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    visit = json.dumps({"shoe_size": 43, "user": {"age": "old"}})
    asked = {"publisher": booking.publisher_id, "campaign": f"#{booking.campaign_id}"}
    page = log_in(dave).post("/visits/", asked | {"visit": visit}).text
    warned = page.partition('id="warnings"')[2].partition("</div>")[0]
    assert "shoe_size: no such attribute in the catalogue" in warned
    assert "user.age: the value has the wrong type" in warned
    assert page.index('id="warnings"') < page.index('id="explanation"')


def test_what_an_ad_server_asks_is_read_as_its_visit_or_bid_request() -> None:
    def read(**document: object) -> dict[str, object]:
        return read_visit(json.dumps(document))

    assert read(publisher="herald", bid_request={"imp": []}) == {"imp": []}
    asked = {"geo": {"country": "USA"}}
    assert read(publisher="herald", visit=asked) == {"publisher.id": "herald", **asked}
    own = {"publisher": {"id": "tribune"}}
    assert read(publisher="herald", visit=own) == own
    assert read(visit=asked) == {"visit": asked}
