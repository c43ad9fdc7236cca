"""Pages by key: every row once, in order, forwards and backwards, at the same cost."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models.functions import Length
from django.http import Http404, QueryDict

from exchange.market.models import Campaign, Edge, Party
from exchange.reading.paging import PAGE_SIZE, Order, Page, count_roughly, read_page, write_cursor

BY_NAME = Order(("name",))
BY_NAMES = Order(("seller__name", "buyer__name"))

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("crowd")]


def read_parties(**query: str) -> Page[Party]:
    given = QueryDict(mutable=True)
    given.update(query)
    return read_page(Party.objects.all(), BY_NAME, given)


def test_walks_forwards_through_every_row_once() -> None:
    names, page = [], read_parties()
    while True:
        names += [party.name for party in page.rows]
        if not page.after:
            break
        page = read_parties(after=page.after)
    assert names == list(Party.objects.order_by("name").values_list("name", flat=True))
    assert len(names) > PAGE_SIZE


def test_walks_back_to_the_page_it_came_from() -> None:
    first = read_parties()
    second = read_parties(after=first.after)
    back = read_parties(before=second.before)
    assert [party.pk for party in back.rows] == [party.pk for party in first.rows]
    assert not back.before
    assert back.after == first.after


def test_orders_by_several_fields_of_other_tables() -> None:
    edges = Edge.objects.select_related("seller", "buyer")
    first = read_page(edges, BY_NAMES, QueryDict())
    query = QueryDict(mutable=True)
    query["after"] = first.after
    second = read_page(edges, BY_NAMES, query)
    seen = [(edge.seller.name, edge.buyer.name) for edge in first.rows + second.rows]
    assert seen == sorted(seen)
    assert len(set(seen)) == len(seen) == 2 * PAGE_SIZE


def test_a_row_that_vanished_does_not_lose_the_place() -> None:
    first = read_parties()
    expected = read_parties(after=first.after).rows[0]
    Party.objects.filter(pk=first.rows[-1].pk).update(name="Zzz, now the very last")
    assert read_parties(after=first.after).rows[0] == expected


def test_says_that_there_are_more_than_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exchange.reading.paging.COUNT_LIMIT", 20)
    assert read_parties().shown_total == "more than 20"


@pytest.mark.parametrize(
    "cursor", ["x", "!!", "AAAA", write_cursor(("a", "b")), write_cursor(()), "é", "W251bGxd"]
)
def test_a_cursor_that_makes_no_sense_is_a_page_that_does_not_exist(cursor: str) -> None:
    with pytest.raises(Http404):
        read_parties(after=cursor)


def test_large_numbers_are_told_roughly_and_small_ones_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = Campaign.objects.filter(status="live")
    assert count_roughly(live) == "60"
    monkeypatch.setattr("exchange.reading.paging.COUNT_LIMIT", 20)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE market_campaign")
    assert count_roughly(live) == "about 60"
    assert count_roughly(live.filter(name="Crowd 001")) == "1"


def test_a_guess_that_is_too_low_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Postgres expects one row in two hundred to satisfy what it has no frequencies of."""
    monkeypatch.setattr("exchange.reading.paging.COUNT_LIMIT", 20)
    doubled = Campaign.objects.annotate(letters=Length("name")).filter(letters=9)
    assert count_roughly(doubled) == "more than 20"
