"""Who sees which rows of the night: everybody theirs, and how few users there are nobody else."""

from __future__ import annotations

import csv
import io
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign
from exchange.reports.night.asking import Question, ask
from exchange.reports.night.catalogue import REPORTS
from tests.reports.night.written import NIGHT, reach, write_funnel, write_night
from tests.trading import Exchange, House

# Rows by the parties that may see them: one that says whose it is by `campaign_id`, by `publisher`,
# by both, or by a name.
OPERATORS_ONLY = {
    "blockers",
    "edges",
    "truth-rates",
    "data-quality",
    "top-values",
    "unmapped-keys",
    "rows",
    "proposed-edges",
    "parity",
    "parity-mismatches",
}


def rows_of(slug: str, person: User, **asked: Any) -> list[dict[str, Any]]:
    answer = ask(Question(REPORTS[slug], person, **asked))
    assert answer is not None
    return answer.rows


def analyst(house: House) -> User:
    return house.people[Role.ANALYST]


def test_a_campaigns_reach_is_its_advertisers(exchange: Exchange, nights: Path) -> None:
    summer, winter = exchange.campaign.pk, exchange.rival_campaign.pk
    write_night(nights, "reach", {"reach": [reach(summer, 300), reach(winter, 200)]})
    seen = {
        name: [row["campaign_id"] for row in rows_of("reach", person)]
        for name, person in {
            "operator": exchange.operators[Role.ANALYST],
            "soda": analyst(exchange.soda),
            "rival": analyst(exchange.rival),
            "herald": analyst(exchange.herald),
            "northgate": analyst(exchange.northgate),
        }.items()
    }
    assert seen == {
        "operator": [summer, winter],
        "soda": [summer],
        "rival": [winter],
        "herald": [],
        "northgate": [],
    }


def test_a_publisher_sees_the_funnels_of_its_own_bookings_but_for_drafts(
    exchange: Exchange, nights: Path
) -> None:
    Booking.objects.create(campaign=exchange.rival_campaign, publisher=exchange.herald.party)
    write_funnel(nights, exchange)
    herald = analyst(exchange.herald)
    assert {row["booking_id"] for row in rows_of("funnel", herald)} == {901, 902}
    assert {row["booking_id"] for row in rows_of("funnel", analyst(exchange.soda))} == {901}
    Campaign.objects.filter(pk=exchange.rival_campaign.pk).update(status="draft")
    assert {row["booking_id"] for row in rows_of("funnel", herald)} == {901}


def test_a_pair_is_told_to_who_has_both_and_to_the_publisher(
    exchange: Exchange, nights: Path
) -> None:
    summer, winter = exchange.campaign.pk, exchange.rival_campaign.pk
    second = Campaign.objects.create(advertiser=exchange.soda.party, name="Spring", status="live")
    pairs = [pair(summer, winter), pair(winter, summer), pair(summer, second.pk)]
    write_night(nights, "overlap", {"partners": pairs, "alone": []})
    assert len(rows_of("overlap-pairs", analyst(exchange.herald))) == 3
    assert [row["partner_id"] for row in rows_of("overlap-pairs", analyst(exchange.soda))] == [
        second.pk
    ]
    assert rows_of("overlap-pairs", analyst(exchange.rival)) == []


def pair(one: int, other: int, users: int | None = 40, publisher: str = "herald") -> dict[str, Any]:
    return {
        "publisher": publisher,
        "campaign_id": one,
        "partner_id": other,
        "rank": 1,
        "visits_both": 80,
        "share_of_visits": 0.4,
        "users_both": users,
    }


def test_what_is_dead_is_named_to_its_owner(exchange: Exchange, nights: Path) -> None:
    summer, winter = exchange.campaign.pk, exchange.rival_campaign.pk
    dead = [
        {"kind": "campaign", "name": str(summer), "days_counted": 28},
        {"kind": "campaign", "name": str(winter), "days_counted": 28},
        {"kind": "predicate", "name": "geo.country = 'CAN'", "days_counted": 28},
    ]
    write_night(nights, "forecast", {"expected": [], "errors": [], "dead": dead})
    assert [row["name"] for row in rows_of("dead-targeting", analyst(exchange.soda))] == [
        str(summer)
    ]
    assert len(rows_of("dead-targeting", exchange.operators[Role.ANALYST])) == 3


def test_what_holds_nothing_of_a_party_does_not_exist_for_it(
    exchange: Exchange, nights: Path, client: Client
) -> None:
    for person, missing in (
        (exchange.operators[Role.VIEWER], set()),
        (exchange.soda.people[Role.ADMIN], OPERATORS_ONLY),
        (exchange.herald.people[Role.ADMIN], OPERATORS_ONLY),
    ):
        client.force_login(person)
        found = {slug for slug in REPORTS if client.get(f"/reports/{slug}/").status_code == 404}
        assert found == missing
        listed = client.get("/reports/").content.decode()
        assert {slug for slug in REPORTS if f'href="/reports/{slug}/"' in listed} == (
            REPORTS.keys() - missing
        )


def test_files_of_the_log_are_named_to_the_exchange_only(exchange: Exchange, nights: Path) -> None:
    row = {
        "publisher": "herald",
        "visit_id": "v1",
        "reason": "duplicate",
        "visit_weight": 1,
        "source_file": "/log/part-1.parquet",
        "source_row": 7,
    }
    write_night(nights, "quarantine", {"rows": [row, row | {"publisher": "gazette"}]})
    (seen,) = rows_of("quarantine", analyst(exchange.herald))
    assert seen == {k: v for k, v in row.items() if not k.startswith("source")}


# --- fewer than ten users


def test_few_users_are_told_to_parties_as_fewer_than_ten(
    exchange: Exchange, nights: Path, client: Client
) -> None:
    """Looks at the page, the CSV and the Parquet file; also at what would tell them by a
    division."""
    summer = exchange.campaign.pk
    rows = [reach(summer, 9, 1, 18), reach(summer, 10, 7, 30), reach(summer, 0, 28, 0)]
    write_night(nights, "reach", {"reach": rows})
    client.force_login(analyst(exchange.soda))
    page = client.get("/reports/reach/?choice=1").content.decode()
    assert "&lt; 10" in page
    assert "2.00" not in page
    told = read_csv(client, "/reports/reach/rows.csv?choice=1")
    assert [(row["users"], row["frequency"], row["visits"]) for row in told] == [("< 10", "", "18")]
    assert read_csv(client, "/reports/reach/rows.csv?choice=7")[0]["users"] == "10"
    assert read_csv(client, "/reports/reach/rows.csv?choice=28")[0]["users"] == "0"
    table = read_parquet(client, "/reports/reach/rows.parquet?choice=1")
    assert table["users"] == [None]
    assert table["frequency"] == [None]
    assert table["users_below"] == [10]
    client.force_login(exchange.operators[Role.ANALYST])
    assert read_csv(client, "/reports/reach/rows.csv?choice=1")[0]["users"] == "9"
    assert "users_below" not in read_parquet(client, "/reports/reach/rows.parquet?choice=1")


def test_how_many_are_told_is_a_setting(
    exchange: Exchange, nights: Path, client: Client, settings: Settings
) -> None:
    write_night(nights, "reach", {"reach": [reach(exchange.campaign.pk, 40)]})
    client.force_login(analyst(exchange.soda))
    settings.LEAST_USERS_TOLD = 50
    assert read_csv(client, "/reports/reach/rows.csv")[0]["users"] == "< 50"
    settings.LEAST_USERS_TOLD = 0
    assert read_csv(client, "/reports/reach/rows.csv")[0]["users"] == "40"


def test_an_order_by_users_does_not_tell_the_small_ones(exchange: Exchange, nights: Path) -> None:
    campaigns = [
        Campaign.objects.create(advertiser=exchange.soda.party, name=f"C{n}", status="live")
        for n in range(3)
    ]
    rows = [reach(each.pk, users) for each, users in zip(campaigns, (2, 9, 50), strict=True)]
    write_night(nights, "reach", {"reach": rows})
    found = rows_of("reach", analyst(exchange.soda), sort="-users")
    assert [row["campaign_id"] for row in found] == [
        campaigns[2].pk,
        campaigns[0].pk,
        campaigns[1].pk,
    ]


def test_a_pair_that_has_nearly_all_users_of_one_is_covered(
    exchange: Exchange, nights: Path
) -> None:
    """Covers 45 of 50: whoever knows both knows that 5 are not."""
    own = [
        Campaign.objects.create(advertiser=exchange.soda.party, name=f"C{n}", status="live").pk
        for n in range(3)
    ]
    alone = [
        {
            "publisher": "herald",
            "campaign_id": pk,
            "visits": 500,
            "exclusive_visits": 1,
            "users": users,
        }
        for pk, users in zip(own, (50, 400, 45), strict=True)
    ]
    pairs = [pair(own[0], own[1], 45), pair(own[1], own[0], 45), pair(own[1], own[2], 20)]
    write_night(nights, "overlap", {"partners": pairs, "alone": alone})
    told = {
        (row["campaign_id"], row["partner_id"]): row["users_both"]
        for row in rows_of("overlap-pairs", analyst(exchange.soda))
    }
    assert told == {(own[0], own[1]): None, (own[1], own[0]): None, (own[1], own[2]): 20}


def read_csv(client: Client, address: str) -> list[dict[str, str]]:
    response = client.get(address)
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


def read_parquet(client: Client, address: str) -> dict[str, list[Any]]:
    content = b"".join(client.get(address).streaming_content)  # type: ignore[attr-defined]
    columns: dict[str, list[Any]] = pq.read_table(io.BytesIO(content)).to_pydict()
    return columns


def test_a_night_that_was_not_counted_is_not_another(exchange: Exchange, nights: Path) -> None:
    write_night(nights, "reach", {"reach": [reach(exchange.campaign.pk, 40)]})
    person = analyst(exchange.soda)
    assert ask(Question(REPORTS["reach"], person, NIGHT)) is not None
    assert ask(Question(REPORTS["reach"], person, date(2026, 1, 1))) is None


@pytest.fixture(autouse=True)
def _empty_log(tmp_path: Path, settings: Settings) -> None:
    settings.VISIT_LOG_DIR = tmp_path / "visits"
