"""Why-not as a page: the verdict first, rules of others left out, what publishers see of it, a
question that the owner finds on Today."""

from __future__ import annotations

import json
from datetime import date
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse

from exchange.accounts.models import Role
from exchange.findings.models import OwnerQuestion
from exchange.market.models import Audience, Booking, Campaign, Edge, Party
from exchange.market.services import save_audience, save_campaign, save_edge
from exchange.market.visibility import REDACTED
from tests.market.places import found
from tests.reading.sampled import EDGES, Visit, eligible, nights, visits
from tests.trading import Exchange, House, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange", "nights", "visits"]

pytestmark = pytest.mark.django_db
NIGHT = date(2026, 11, 16)
SECRET = "site.page contains 'secret'"
WANTED = "user.segments one of ('travel')"


def client_of(house: House, log_in: LogIn, role: Role = Role.ADMIN) -> Client:
    return log_in(house.people[role])


def read(client: Client, campaign: Campaign, query: str = "") -> str:
    answer = client.get(reverse("campaign-why", args=[campaign.pk]) + query)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def narrow(exchange: Exchange, text: str) -> None:
    edge = Edge.objects.get(pk=exchange.middle_edge.pk)
    edge.expression = text
    save_edge(edge=edge, by=exchange.northgate.admin)


def test_the_verdict_names_the_edge_and_the_change_that_did_it(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    narrow(exchange, "geo.country = 'CAN'")
    operator = log_in(exchange.operators[Role.ADMIN])
    page = read(operator, exchange.campaign)
    assert f"{exchange.middle_edge} lets only visits from CAN through" in page
    before = eligible(visits, "herald", *EDGES, "geo.country = 'USA'")
    assert f"With the version before, {before:,.0f} visits a day would be eligible" in page
    assert 'class="source">sample' in page
    advertiser = read(client_of(exchange.soda, log_in), exchange.campaign)
    assert f"{exchange.middle_edge} excludes every visit that this campaign wants" in advertiser
    assert "Since someone of another organisation" in advertiser
    assert REDACTED in advertiser


def test_rules_of_others_are_nowhere_on_the_page(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    narrow(exchange, f"{SECRET} and geo.country = 'USA'")
    client = client_of(exchange.soda, log_in)
    blocked = f"e{exchange.middle_edge.pk}"
    for query in ("", f"?visits={blocked}", f"?without={blocked}", f"?without={blocked}.0"):
        assert "secret" not in read(client, exchange.campaign, query)
    assert "secret" in read(log_in(exchange.operators[Role.ADMIN]), exchange.campaign)
    answer = client.get(reverse("campaign-why", args=[exchange.rival_campaign.pk]))
    assert answer.status_code == 404


def test_trying_without_says_the_gain_and_how_to_go_on(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    exchange.campaign.expression = "geo.country = 'USA' and user.age > 30"
    exchange.campaign.save()
    page = read(client_of(exchange.soda, log_in), exchange.campaign, "?without=c.1")
    before = eligible(visits, "herald", *EDGES, "user.age > 30")
    after = eligible(visits, "herald", *EDGES)
    assert f"{before:,.0f} → {after:,.0f} visits a day" in page
    assert "expression=%23-+user.age+%3E+30%0Ageo.country+%3D+%27USA%27" in page


def write_funnel(out: Path, booking: Booking, steps: list[tuple[str, int, int, int, int]]) -> None:
    folder = out / "funnel" / f"dt={NIGHT}"
    names = ("name", "came", "passed", "lost_to_false", "lost_to_unknown")
    rows = [
        {"booking_id": booking.pk, "step": number, **dict(zip(names, step, strict=True))}
        for number, step in enumerate(steps)
    ]
    alone = {f"@{steps[0][0]}": 7, WANTED: 4, "geo.country = 'FRA'": 0}
    blockers = [
        {"booking_id": booking.pk, "condition": condition, "visits": visits}
        for condition, visits in alone.items()
    ]
    tables = {"steps": rows, "blockers": blockers}
    for table, listed in tables.items():
        (folder / "run" / table).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(listed), folder / f"run/{table}/part.parquet")
    files = {table: {"files": [f"run/{table}/part.parquet"]} for table in tables}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "tables": files}))


def test_a_night_is_told_by_its_own_tables(exchange: Exchange, nights: Path, log_in: LogIn) -> None:
    edge = f"edge.{exchange.first_edge.pk}"
    write_funnel(nights, exchange.booking, [(edge, 100, 40, 45, 15), ("campaign", 40, 25, 15, 0)])
    page = read(client_of(exchange.soda, log_in), exchange.campaign, f"?day={NIGHT}")
    assert "25 of 100 visits at Herald were eligible on 2026-11-16" in page
    assert f"most stayed at {exchange.first_edge}, 60" in page
    assert "40 passed · 45 false · 15 unknown" in page
    assert "7 visits lost only here" in page
    assert "travel" in page
    assert "FRA" not in page
    assert "No funnel was counted on 2026-11-15" in read(
        client_of(exchange.soda, log_in), exchange.campaign, "?day=2026-11-15"
    )


def test_before_the_first_night_and_without_a_booking_it_says_so(
    exchange: Exchange, nights: Path, log_in: LogIn
) -> None:
    operator = log_in(exchange.operators[Role.ADMIN])
    assert "No night has been counted yet" in read(operator, exchange.campaign)
    assert "Not booked yet" in read(operator, exchange.rival_campaign)
    address = reverse("campaign-why", args=[exchange.campaign.pk])
    assert operator.get(f"{address}?publisher=999").status_code == 404
    assert operator.get(f"{address}?day=soon").status_code == 404


def test_the_owner_finds_the_question_on_today_and_settles_it(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    asker, owner = client_of(exchange.soda, log_in), client_of(exchange.northgate, log_in)
    exchange.campaign.expression = "true"
    exchange.campaign.save()
    assert "Ask the owner" in read(asker, exchange.campaign)
    address = reverse("campaign-ask", args=[exchange.campaign.pk])
    asked = {"publisher": exchange.herald.party.pk, "edge": exchange.middle_edge.pk}
    asker.post(address, {**asked, "text": "Could Canada pass?"})
    question = OwnerQuestion.objects.get()
    gain = eligible(visits, "herald", EDGES[0], EDGES[2]) - eligible(visits, "herald", *EDGES)
    assert question.visits == round(gain)
    today = unescape(owner.get("/").content.decode())
    assert f"Soda Ltd asks about {exchange.middle_edge}" in today
    assert "Could Canada pass?" in today
    assert "not settled yet" in read(asker, exchange.campaign)
    for house in (exchange.southgate, exchange.rival):
        assert "Could Canada pass?" not in client_of(house, log_in).get("/").content.decode()
    owner.post(reverse("question-settle", args=[question.pk]))
    assert "Could Canada pass?" not in owner.get("/").content.decode()
    elsewhere = Edge.objects.create(seller=exchange.herald.party, buyer=exchange.rival.party)
    answer = asker.post(address, {**asked, "edge": elsewhere.pk})
    assert answer.status_code == 404


@pytest.fixture
def crowd(exchange: Exchange, visits: list[Visit]) -> Audience:
    """Of Soda, and Summer asks for it; it was changed once."""
    soda = exchange.soda
    crowd = Audience(organisation=soda.organisation, name="crowd", expression="user.age > 20")
    save_audience(audience=crowd, by=soda.admin)
    exchange.campaign.expression = f"@crowd and {WANTED}"
    save_campaign(campaign=exchange.campaign, by=soda.admin)
    crowd.expression = "user.age > 30"
    save_audience(audience=crowd, by=soda.admin)
    return crowd


def test_a_publisher_reads_why_without_what_the_campaign_asks_for(
    exchange: Exchange, visits: list[Visit], crowd: Audience, log_in: LogIn
) -> None:
    client = client_of(exchange.herald, log_in)
    page = read(client, exchange.campaign)
    all_of = eligible(visits, "herald", *EDGES, crowd.expression, WANTED)
    behind = eligible(visits, "herald", *EDGES)
    assert f"About {all_of:,.0f} of" in page
    assert f"{behind:,.0f} passed" in page  # what comes to the campaign
    assert "What the campaign asks for" in page
    assert f"{behind - all_of:,.0f} visits a day lost only here" in page
    assert f"What {exchange.middle_edge} lets through" in page
    assert REDACTED in page
    own = f"e{exchange.first_edge.pk}.0"
    for query in ("", "?visits=c", "?visits=c.0", "?without=c", "?without=c.1", f"?visits={own}"):
        told = read(client, exchange.campaign, query)
        for word in ("crowd", "travel", "user.age", "user.segments", "/edit/?expression"):
            assert word not in told
    assert "device.type" in read(client, exchange.campaign, f"?visits={own}")  # its own rule
    advertiser = read(client_of(exchange.soda, log_in), exchange.campaign)
    assert "@crowd" in advertiser
    assert "travel" in advertiser


def test_a_publisher_asks_about_what_is_booked_with_it_only(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    gazette = found(Party.Kind.PUBLISHER, "Gazette", exchange.rival.organisation)
    Booking.objects.create(campaign=exchange.campaign, publisher=gazette)
    address = reverse("campaign-why", args=[exchange.campaign.pk])
    herald = client_of(exchange.herald, log_in)
    page = read(herald, exchange.campaign)
    assert "Gazette" not in page
    assert herald.get(f"{address}?publisher={gazette.pk}").status_code == 404
    booking = herald.get(reverse("booking-detail", args=[exchange.booking.pk])).content.decode()
    assert f"{address}?publisher={exchange.herald.party.pk}" in booking
    Campaign.objects.filter(pk=exchange.campaign.pk).update(status="draft")
    assert herald.get(address).status_code == 404
    assert client_of(exchange.northgate, log_in).get(address).status_code == 404


def test_a_publisher_reads_a_night_without_what_the_campaign_asks_for(
    exchange: Exchange, nights: Path, log_in: LogIn
) -> None:
    edge = f"edge.{exchange.first_edge.pk}"
    write_funnel(nights, exchange.booking, [(edge, 100, 40, 45, 15), ("campaign", 40, 25, 15, 0)])
    page = read(client_of(exchange.herald, log_in), exchange.campaign, f"?day={NIGHT}")
    assert "What the campaign asks for" in page
    assert "15 visits lost only here" in page
    assert "7 visits lost only here" in page
    assert "travel" not in page


def test_what_contradicts_is_told_to_a_publisher_by_name_only(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    narrow(exchange, "geo.country = 'CAN'")
    page = read(client_of(exchange.herald, log_in), exchange.campaign)
    assert f"{exchange.middle_edge} excludes every visit that this campaign wants" in page
    assert "USA" not in page
