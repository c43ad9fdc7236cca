"""Why-not as a page: the verdict first, rules of others left out, a question that the owner finds
on Today; and the tick that a save needs which would stop bookings."""

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

from exchange.accounts.models import Organisation, Role
from exchange.findings.models import OwnerQuestion
from exchange.market.models import Booking, Campaign, Edge
from exchange.market.services import save_edge
from exchange.market.visibility import REDACTED
from tests.reading.sampled import EDGES, Visit, eligible, nights, visits
from tests.trading import Exchange, House, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange", "nights", "visits"]

pytestmark = pytest.mark.django_db
NIGHT = date(2026, 11, 16)
SECRET = "site.page contains 'secret'"


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
    blockers = [{"booking_id": booking.pk, "condition": f"@{steps[0][0]}", "visits": 7}]
    tables = {"steps": rows, "blockers": blockers}
    for table, found in tables.items():
        (folder / "run" / table).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(found), folder / f"run/{table}/part.parquet")
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


def save(client: Client, edge: Edge, **more: str) -> tuple[int, str]:
    data = {
        "seller": edge.seller_id,
        "buyer": edge.buyer_id,
        "fee_percent": "5",
        "is_active": "on",
        "expression": "geo.country = 'CAN'",
        "expected_version": edge.version,
    }
    answer = client.post(reverse("edge-edit", args=[edge.pk]), {**data, **more})
    return answer.status_code, unescape(answer.content.decode())


def test_a_save_that_stops_bookings_needs_a_tick(
    exchange: Exchange, visits: list[Visit], log_in: LogIn
) -> None:
    client = log_in(exchange.operators[Role.GRAPH_OPERATOR])
    edge = exchange.middle_edge
    status, page = save(client, edge)
    assert status == 422
    assert "Nothing is saved yet: it would stop 1 booking" in page
    assert "Save and stop 1 booking" in page
    assert "I know that 1 booking of 1 advertiser stops" in page
    assert save(client, edge, stops_confirmed="0")[0] == 422
    assert Edge.objects.get(pk=edge.pk).expression == "geo.country = 'USA'"
    Organisation.objects.filter(is_operator=True).update(unasked_stops=1)
    assert save(client, edge)[0] == 302
    Organisation.objects.filter(is_operator=True).update(unasked_stops=0)
    edge.refresh_from_db()
    assert save(client, edge, expression="geo.country = 'USA'")[0] == 302
    edge.refresh_from_db()
    assert save(client, edge, stops_confirmed="1")[0] == 302
