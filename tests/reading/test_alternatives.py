"""Paths compared: fees, what each lets by on the sample, and the edges that refuse a visit."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.reading.alternatives import Alternative, compare_paths
from exchange.reading.offers import read_offers
from exchange.reports.sample_table import prepare_sample
from targeting import parse
from tests.people import dave, operator
from tests.reports.samples import as_visit, draw_visits, write_sample
from tests.trading import Exchange, exchange

__all__ = ["dave", "exchange", "operator"]

pytestmark = pytest.mark.django_db

VISITS = draw_visits(300)


@pytest.fixture(autouse=True)
def reports(settings: Settings, tmp_path: Path) -> Path:
    settings.REPORT_DIR = tmp_path / "reports"
    return tmp_path / "reports"


@pytest.fixture
def booking(exchange: Exchange) -> Booking:
    """Adds a direct, dearer way for phones beside the three hops over both gates."""
    Edge.objects.create(
        seller=exchange.herald.party,
        buyer=exchange.soda.party,
        expression="device.type = 'phone'",
        fee_percent=Decimal(40),
    )
    Edge.objects.filter(pk=exchange.last_edge.pk).update(expression="user.age >= 30")
    return Booking.objects.with_parties().get(pk=exchange.booking.pk)


def expect_a_day(publisher: str, *texts: str) -> float:
    """Counts in plain Python over the plain evaluator; the sample has three days."""
    rules = [parse(text, load_catalog()) for text in texts]
    met = [
        visit["sample_weight"]
        for visit in VISITS
        if visit["publisher.id"] == publisher
        and all(rule.evaluate(as_visit(visit)) is True for rule in rules)
    ]
    return float(sum(met) / 3)


def compare(booking: Booking, viewer: User, visit: Any = None) -> dict[int, Alternative]:
    return {len(one.path.hops): one for one in compare_paths(booking, viewer, visit)}


def test_alternatives_are_compared_by_price_and_by_what_they_let_by(
    booking: Booking, exchange: Exchange, reports: Path
) -> None:
    write_sample(reports, VISITS)
    prepare_sample()
    viewer = exchange.operators[Role.CAMPAIGN_MANAGER]
    listed = compare_paths(booking, viewer)
    assert [(len(one.path.hops), one.is_chosen) for one in listed] == [(3, True), (1, False)]
    long, direct = listed
    assert [str(one.path.fee_percent) for one in listed] == ["14.26", "40.00"]
    wanted = ("geo.country = 'USA'",)
    over = ("device.type = 'ctv'", "geo.country = 'USA'", "user.age >= 30")
    assert long.reach is not None
    assert direct.reach is not None
    assert long.reach.wanted == pytest.approx(expect_a_day("herald", *wanted))
    assert long.reach.eligible == pytest.approx(expect_a_day("herald", *wanted, *over))
    assert direct.reach.eligible == pytest.approx(
        expect_a_day("herald", *wanted, "device.type = 'phone'")
    )
    share = direct.reach.eligible / direct.reach.wanted  # type: ignore[operator]
    assert direct.reach.percent == pytest.approx(100 * share)


def test_an_offer_says_how_many_visits_a_day_it_would_bring(
    booking: Booking, exchange: Exchange, reports: Path
) -> None:
    viewer = exchange.operators[Role.CAMPAIGN_MANAGER]
    campaign = Campaign.objects.select_related("advertiser").get(pk=exchange.campaign.pk)
    publishers = Party.objects.publishers()
    assert read_offers(campaign, publishers, viewer)[0].reach is None
    write_sample(reports, VISITS)
    prepare_sample()
    [offer] = read_offers(campaign, publishers, viewer)
    over = ("device.type = 'ctv'", "geo.country = 'USA'", "user.age >= 30")
    assert offer.reach is not None
    assert offer.reach.eligible == pytest.approx(expect_a_day("herald", *over))


def test_of_few_people_nothing_is_told_that_is_about_persons(
    booking: Booking, exchange: Exchange, reports: Path
) -> None:
    Campaign.objects.update(expression="user.age = 42")
    booking.campaign.refresh_from_db()
    write_sample(reports, VISITS)
    prepare_sample()
    reach = compare(booking, exchange.operators[Role.VIEWER])[1].reach
    assert reach is not None
    assert (reach.wanted, reach.eligible, reach.percent) == (None, None, None)


def test_the_edges_that_refuse_a_visit_are_marked(booking: Booking, exchange: Exchange) -> None:
    visit = {"geo.country": "USA", "device.type": "phone", "user.age": 20}
    compared = compare(booking, exchange.operators[Role.VIEWER], visit)
    assert [step.truth for step in compared[3].steps] == [False, True, False]
    assert [step.truth for step in compared[1].steps] == [True]
    assert not compared[1].refusing


def test_each_policy_says_what_it_takes(booking: Booking, exchange: Exchange) -> None:
    viewer = exchange.operators[Role.VIEWER]

    def tell() -> list[str]:
        return [one.use for one in compare(booking, viewer).values()]

    assert tell() == ["taken: the cheapest", "not taken"]
    booking.policy = Booking.Policy.ANY
    assert tell() == ["first choice", "if cheaper ones are closed"]
    booking.hop_limit = 2
    assert tell() == ["too long: at most 2 hops", "first choice"]
    booking.policy = Booking.Policy.PINNED
    booking.pinned_edges = [Edge.objects.latest("pk").pk]
    assert tell() == ["too long: at most 2 hops", "taken: pinned"]


def test_others_rules_and_fees_stay_hidden(booking: Booking, exchange: Exchange) -> None:
    viewer = exchange.soda.people[Role.CAMPAIGN_MANAGER]
    visit = {"geo.country": "USA", "device.type": "phone", "user.age": 40}
    long = compare(booking, viewer, visit)[3]
    assert not long.path.price.reads_total
    assert [step.truth for step in long.steps] == [False, True, True]
    assert [len(step.lines) > 0 for step in long.steps] == [False, False, True]
    assert "ctv" not in str(long.steps)
