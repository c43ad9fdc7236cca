"""Explanations over the API: the same story as the pages tell, as far as the key may see it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Organisation
from exchange.api import explaining
from exchange.api.explaining import EXPLAIN_PATH
from exchange.keys.models import Scope
from exchange.keys.services import create_api_key
from exchange.market.models import Campaign, Party
from exchange.market.visibility import REDACTED
from exchange.serving.eligibility import service_for
from exchange.serving.rates import Buckets
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.keys import publish_keys
from exchange.snapshots.services import run_build
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    monkeypatch.setattr(explaining, "buckets", Buckets(1_000))


def make_key(exchange: Exchange, organisation: Organisation, publisher: Party, *scopes: str) -> str:
    _, text = create_api_key(
        name="Ad server",
        organisation=organisation,
        publishers=[publisher],
        scopes=scopes or (Scope.EXPLAIN_READ,),
    )
    publish_keys()
    return text


def ask(client: Client, key: str, document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    from django.conf import settings

    service_for(settings.SNAPSHOT_DIR).refresh()
    response = client.post(
        EXPLAIN_PATH,
        document,
        content_type="application/json",
        headers={"Authorization": f"Api-Key {key}"},
    )
    return response.status_code, response.json()


@pytest.fixture
def herald_key(exchange: Exchange) -> str:
    return make_key(exchange, exchange.herald.organisation, exchange.herald.party)


def test_tells_the_failing_edge_and_hides_what_others_agreed(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    """Shows that the Herald reads the rule that it sells under, and learns only the verdict of the
    others."""
    status, document = ask(client, herald_key, {"visit": {}, "campaigns": [exchange.campaign.pk]})
    assert status == 200
    (explanation,) = document["explanations"]
    assert explanation["verdict"] == "not_eligible"
    assert explanation["failed_edge_id"] == exchange.first_edge.pk
    by_edge = {step["edge_id"]: step for step in explanation["steps"]}
    own, others = by_edge[exchange.first_edge.pk], by_edge[exchange.middle_edge.pk]
    assert own["truth"] is not True
    assert own["tree"]["text"] in exchange.first_edge.expression
    assert (others["tree"], others["note"]) == (None, REDACTED)
    assert exchange.middle_edge.expression not in str(document)
    assert exchange.campaign.expression not in str(document)


def test_campaigns_that_the_key_does_not_see_do_not_exist(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    asked = [exchange.rival_campaign.pk, 10**9]
    _, document = ask(client, herald_key, {"visit": {}, "campaigns": asked})
    for explanation in document["explanations"]:
        assert explanation["problem"]["code"] == "not_found"
    assert exchange.rival_campaign.name not in str(document)


def test_key_needs_scope_and_publisher(client: Client, exchange: Exchange, herald_key: str) -> None:
    plain = make_key(
        exchange, exchange.herald.organisation, exchange.herald.party, Scope.ELIGIBILITY_READ
    )
    asked = {"visit": {}, "campaigns": [exchange.campaign.pk]}
    assert ask(client, plain, asked)[1]["code"] == "scope_missing"
    assert ask(client, "tl_unknown", asked)[0] == 401
    status, problem = ask(client, herald_key, {**asked, "publisher": "tribune"})
    assert (status, problem["code"]) == (403, "publisher_not_allowed")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"visit": {}},
        {"visit": {}, "campaigns": []},
        {"visit": {}, "campaigns": list(range(1, 22))},
        {"visit": {}, "campaigns": [10**30]},
        {"visit": {}, "campaigns": [-1]},
        {"visit": [], "campaigns": [1]},
        {"visit": {}, "bid_request": {}, "campaigns": [1]},
        {"visit": {"time": "noon"}, "campaigns": [1]},
        {"bid_request": {"imp": "top"}, "campaigns": [1]},
        {
            "visit": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}},
            "campaigns": [1],
        },
    ],
)
def test_wrong_requests_are_the_callers_fault(
    client: Client, exchange: Exchange, herald_key: str, document: dict[str, Any]
) -> None:
    if document.get("campaigns") == [1]:
        document = {**document, "campaigns": [exchange.campaign.pk]}
    status, problem = ask(client, herald_key, document)
    assert (status, problem["status"]) == (400, 400)


def test_rate_is_its_own(
    client: Client, exchange: Exchange, herald_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "buckets", Buckets(0.1, burst=1))
    asked = {"visit": {}, "campaigns": [exchange.campaign.pk]}
    assert [ask(client, herald_key, asked)[0] for _ in range(2)] == [200, 429]


def test_only_post_is_allowed(client: Client) -> None:
    response = client.get(EXPLAIN_PATH)
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


def test_without_a_snapshot_nothing_is_served(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    asked = {"visit": AMERICAN, "campaigns": [exchange.campaign.pk]}
    (explanation,) = ask(client, herald_key, asked)[1]["explanations"]
    assert (explanation["verdict"], explanation["served"]) == ("eligible", None)
    assert "No snapshot is live" in explanation["difference"]


AMERICAN = {"geo.country": "USA", "device.type": "ctv", "site.page": "https://herald.example/"}


@pytest.mark.django_db(transaction=True)
def test_says_so_while_a_saved_change_is_not_served(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    """Shows that no verdict contradicts eligibility's without saying why."""

    def explain() -> tuple[str, str, str | None, int]:
        asked = {"visit": AMERICAN, "campaigns": [exchange.campaign.pk]}
        document = ask(client, herald_key, asked)[1]
        (found,) = document["explanations"]
        return found["verdict"], found["served"], found["difference"], document["delta"]

    assert run_build(build_id=request_build().pk)
    *agreeing, before = explain()
    assert agreeing == ["eligible", "eligible", None]
    Campaign.objects.filter(pk=exchange.campaign.pk).update(expression="geo.country = 'CAN'")
    verdict, served, difference, delta = explain()
    assert (verdict, served, delta) == ("not_eligible", "eligible", before)
    assert difference is not None
    assert f"change {before}" in difference
    assert write_changes()
    verdict, served, difference, delta = explain()
    assert (verdict, served, difference) == ("not_eligible", "not_eligible", None)
    assert delta > before


@pytest.mark.django_db(transaction=True)
def test_the_time_that_a_visit_says_counts(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    Campaign.objects.filter(pk=exchange.campaign.pk).update(
        expression="time during '17:00-23:00'", starts_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert run_build(build_id=request_build().pk)
    for hour, verdict in (("03", "not_eligible"), ("18", "eligible")):
        visit = {**AMERICAN, "time": f"2026-11-17T{hour}:00:00Z"}
        asked = {"visit": visit, "campaigns": [exchange.campaign.pk]}
        _, document = ask(client, herald_key, asked)
        (explanation,) = document["explanations"]
        assert document["at"] == visit["time"]
        assert (explanation["verdict"], explanation["served"]) == (verdict, verdict)


def test_a_bid_request_is_recognised_wherever_it_stands(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    request = {
        "site": {"page": "https://herald.example/", "publisher": {"id": "other"}, "shoe": 1},
        "device": {"geo": {"country": "USA"}, "devicetype": 3},
        "imp": [{"id": "a", "banner": {}}, {"id": "b", "video": {}}],
    }
    Campaign.objects.filter(pk=exchange.campaign.pk).update(
        expression="imp.media_types one of ('video')"
    )
    asked = {"campaigns": [exchange.campaign.pk]}
    for name in ("visit", "bid_request"):
        _, first = ask(client, herald_key, {**asked, name: request})
        assert (first["imp_id"], first["explanations"][0]["verdict"]) == ("a", "not_eligible")
        assert first["warnings"] == [
            {"code": "first_of_several_imps", "attribute": "imp"},
            {"code": "other_publisher", "attribute": "publisher.id"},
        ]
        _, second = ask(client, herald_key, {**asked, name: request, "imp_id": "b"})
        assert (second["imp_id"], second["explanations"][0]["verdict"]) == ("b", "eligible")
        status, problem = ask(client, herald_key, {**asked, name: request, "imp_id": "c"})
        assert (status, problem["code"]) == (400, "invalid_bid_request")


def test_unknown_names_and_wrong_values_are_warned_of(
    client: Client, exchange: Exchange, herald_key: str
) -> None:
    visit = {"shoe_size": 43, "user": {"age": "old"}}
    asked = {"visit": visit, "campaigns": [exchange.campaign.pk]}
    assert ask(client, herald_key, asked)[1]["warnings"] == [
        {"code": "malformed_attribute", "attribute": "user.age"},
        {"code": "unknown_attribute", "attribute": "shoe_size"},
    ]
