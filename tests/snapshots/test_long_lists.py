"""A long list travels once; what has nothing to do with it does not touch it again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from exchange.accounts.models import Role, User
from exchange.findings.services import check_some
from exchange.market.models import Booking, Campaign, ValueList
from exchange.market.services import save_value_list
from exchange.serving.deltas import Delta
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.vocabulary import make_slot
from matcher_ext.index import fold_definitions
from tests.people import hire
from tests.snapshots.steps import AMERICAN, GERMAN, Server, build
from tests.snapshots.story import Story, run_campaign

LONG = 30_000
MILLION = 1_000_000


class Lists:
    """A list of countries, most of them invented, that the campaign uses."""

    def __init__(self, story: Story, count: int) -> None:
        assert story.soda.organisation is not None
        self.user: User = hire("erin", Role.ADMIN, story.soda.organisation)
        self.row = ValueList(organisation=story.soda.organisation, name="countries")
        self.count = count

    def save(self, *also: str) -> None:
        values = [*(f"country-{number:07}" for number in range(self.count - 10)), *also]
        save_value_list(value_list=self.row, values=values, by=self.user)

    def use(self) -> None:
        Campaign.objects.update(expression="geo.country in $countries")


def follow_a_long_list(story: Story, server: Server, count: int) -> None:
    lists = Lists(story, count)
    lists.save("USA")
    lists.use()
    assert write_changes() == 1
    assert server.ask(AMERICAN) == [story.at_herald.pk]
    assert server.ask(GERMAN) == []
    lists.save("DEU")
    assert write_changes() == 1
    assert server.ask(AMERICAN) == []
    assert server.ask(GERMAN) == [story.at_herald.pk]
    other = run_campaign(story.soda, "Other", "geo.country not in $countries")
    booking = Booking.objects.create(campaign=other, publisher=story.herald)
    assert write_changes() == 1
    assert server.ask(AMERICAN) == [booking.pk]
    assert server.ask(GERMAN) == [story.at_herald.pk]
    build()
    assert server.ask(AMERICAN) == [booking.pk]
    lists.save("USA", "DEU")
    assert write_changes() == 1
    assert server.ask(AMERICAN) == server.ask(GERMAN) == [story.at_herald.pk]
    Campaign.objects.filter(pk=other.pk).update(expression="geo.country in $countries")
    assert write_changes() == 1
    assert server.ask(GERMAN) == [story.at_herald.pk, booking.pk]
    assert check_some(booking_ids=[story.at_herald.pk, booking.pk]) == 0


def test_a_long_list_is_followed_through_changes_and_builds(story: Story, server: Server) -> None:
    follow_a_long_list(story, server, LONG)


@pytest.mark.soak
@pytest.mark.large
def test_a_million_values_are_followed_through_changes_and_builds(
    story: Story, server: Server
) -> None:
    follow_a_long_list(story, server, MILLION)


def test_other_changes_do_not_read_the_list_again(story: Story, server: Server) -> None:
    lists = Lists(story, LONG)
    lists.save("USA")
    lists.use()
    write_changes()
    made = make_slot.cache_info().misses
    Campaign.objects.update(name="Renamed")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert write_changes() == 1
    assert server.item()["campaign"] == "Renamed"
    assert make_slot.cache_info().misses == made
    assert not [each for each in queries if "valuelistversion" in each["sql"]]


def delta(number: int, **definitions: str) -> Delta:
    return Delta(
        log_id="0" * 16,
        number=number,
        position="",
        read_at=datetime.now(UTC),
        definitions=definitions,
    )


def test_a_server_that_comes_late_reads_only_the_last_values_of_a_list() -> None:
    deltas = [
        delta(1, a="s in ('x')", b="@a"),
        delta(2, a="s in ('y')", c="@b or @a"),
        delta(3, b="i = 1", c="@a"),
    ]
    assert fold_definitions(each.definitions for each in deltas) == [
        ("a", "s in ('y')"),
        ("b", "i = 1"),
        ("c", "@b or @a"),
        ("c", "@a"),
    ]
