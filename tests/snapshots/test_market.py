"""What a build reads: only what is live, and all of it as of one moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection

from exchange.market.models import Booking, Campaign, Edge
from exchange.snapshots.market import Market, read_market
from tests.snapshots.story import Story, connect, run_campaign


def ignore(_rows: int) -> None:
    """Watches nothing."""


def read(begin: Callable[[int], None] = ignore) -> Market:
    return read_market(begin=begin, advance=ignore)


def test_reads_parties_edges_campaigns_and_bookings(story: Story) -> None:
    market = read()
    assert [pair.booking_id for pair in market.bookings] == [
        story.at_herald.pk,
        story.at_tribune.pk,
    ]
    assert market.campaigns[story.summer.pk].expression == "geo.country = 'USA'"
    assert market.edge_expressions[story.herald_to_northgate.pk] == "user.age >= 18"
    assert market.parties[story.herald.pk].seller_id == "daily-herald"
    assert "geo.country" in market.catalog


def test_leaves_out_what_is_not_live(story: Story) -> None:
    draft = run_campaign(story.soda, "Draft", "true")
    draft.status = Campaign.Status.DRAFT
    draft.save()
    Booking.objects.create(campaign=draft, publisher=story.herald)
    Booking.objects.filter(pk=story.at_tribune.pk).update(is_active=False)
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(is_active=False)
    market = read()
    assert [pair.booking_id for pair in market.bookings] == [story.at_herald.pk]
    assert set(market.campaigns) == {story.summer.pk}
    assert story.northgate_to_soda.pk not in market.edge_expressions


def test_edits_that_commit_during_the_read_are_not_mixed_in(story: Story) -> None:
    def edit_elsewhere(_rows: int) -> None:
        editor = threading.Thread(target=add_campaign_and_edge)
        editor.start()
        editor.join()

    def add_campaign_and_edge() -> None:
        late = run_campaign(story.soda, "Late", "true")
        Booking.objects.create(campaign=late, publisher=story.herald)
        connect(story.tribune, story.soda, "0", "true")
        connection.close()

    market = read(begin=edit_elsewhere)
    assert Campaign.objects.filter(name="Late").exists()
    assert {campaign.name for campaign in market.campaigns.values()} == {"Summer"}
    assert len(market.bookings) == 2
    assert len(market.links) == 5


@pytest.mark.parametrize(
    "text",
    ["a\tb\nc\r\\d", r"\N", r"\\n", "\\", "\b\f\v", "thé, 東京 \u2028", "{1,2}", ""],
)
def test_reads_texts_as_they_are(story: Story, text: str) -> None:
    Campaign.objects.filter(pk=story.summer.pk).update(name=text, expression=f"# {text}")
    campaign = read().campaigns[story.summer.pk]
    assert (campaign.name, campaign.expression) == (text, f"# {text}")


def test_reads_values_as_django_does(story: Story) -> None:
    starts_at = datetime(2026, 3, 1, 4, 5, 6, 789_000, tzinfo=UTC)
    rows = Campaign.objects.filter(pk=story.summer.pk)
    for ends_at in (None, starts_at + timedelta(days=3, microseconds=1)):
        rows.update(starts_at=starts_at, ends_at=ends_at, bid_cpm=Decimal("0.10"))
        campaign = read().campaigns[story.summer.pk]
        columns = ("name", "advertiser_id", "expression", "starts_at", "ends_at", "bid_cpm")
        assert tuple(campaign) == rows.values_list(*columns).get()
    pins = [story.herald_to_northgate.pk, story.northgate_to_soda.pk]
    Booking.objects.filter(pk=story.at_herald.pk).update(
        policy="pinned", pinned_edges=pins, hop_limit=3
    )
    assert read().bookings == [
        (story.at_herald.pk, story.summer.pk, story.herald.pk, "pinned", tuple(pins), 3),
        (story.at_tribune.pk, story.summer.pk, story.tribune.pk, "cheapest", (), 5),
    ]
