"""Four people change what they all use, again and again at the same moment: the market stays whole
each time, and nobody is shown more than an ordinary refusal."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Model

from exchange.accounts.models import Organisation, User
from exchange.accounts.ownership import owner_id_of
from exchange.findings.services import check_booking
from exchange.market.expressions import check_expression
from exchange.market.impact import impact_of_audience
from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, Party, ValueList
from exchange.market.services import (
    retire_attribute,
    retire_audience,
    retire_booking,
    retire_campaign,
    retire_edge,
    retire_party,
    retire_value_list,
    save_attribute,
    save_audience,
    save_booking,
    save_campaign,
    save_edge,
    save_party,
    save_value_list,
    saving,
)
from exchange.uniqueness import save_unique
from targeting import ExpressionError
from tests.market.places import found
from tests.rivals import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 8
FEW = 4
LONGEST_PAUSE = 0.1
# What people do, the more often the more of it is here.
NAMING = [
    *["save_audience"] * 5,
    *["save_campaign"] * 2,
    *["retire_name"] * 3,
    "save_edge",
    "save_list",
    "save_attribute",
    "look",
]
TRADING = [
    *["save_booking"] * 4,
    *["save_edge"] * 4,
    *["save_campaign"] * 2,
    *["retire_place"] * 3,
    "save_party",
    "look",
]


class Trader:
    """Does things drawn at random, when the others do theirs, each on their own connection."""

    def __init__(
        self,
        seed: int,
        habits: list[str],
        start: Barrier,
        by: User,
        shops: list[Organisation],
    ) -> None:
        self.start = start
        self.habits = habits
        self.random = Random(seed)
        self.by = by
        self.shops = shops
        self.saved = self.refused = 0

    def act(self) -> None:
        self.start.wait(PATIENCE)
        self.attempt(getattr(self, self.random.choice(self.habits)))

    def leave(self) -> None:
        self.start.wait(PATIENCE)
        connection.close()

    def attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (ValidationError, ExpressionError) as refusal:
            if getattr(refusal, "code", "") == "busy":
                raise
            self.refused += 1
        else:
            self.saved += 1

    def pick(self, model: Any, apart_from: int | None = None, **of: Any) -> Any:
        """Picks mostly the newest, so that they meet."""
        rows = list(model.objects.kept().filter(**of).exclude(pk=apart_from).order_by("-pk"))
        if not rows:
            raise ValidationError("There is none.")
        return rows[0] if self.random.random() < 0.6 else self.random.choice(rows)

    def some(self, model: Any, **new: Any) -> Any:
        """Gives one that is there, or a new one where there are few."""
        if model.objects.kept().count() >= FEW and self.random.random() < 0.75:
            return self.pick(model)
        return model(**new)

    def new_name(self) -> str:
        return f"n{self.random.randrange(10**9)}"

    def text(self, apart_from: int | None = None) -> str:
        """Writes a text of names and attributes that are there now, and that others are perhaps
        ending."""
        kind = self.random.randrange(6)
        if kind == 0:
            return f"user.age in ${self.pick(ValueList).name}"
        if kind == 1:
            return f"{self.pick(Attribute, name__startswith='shoe').name} = 'x1'"
        return f"@{self.pick(Audience, apart_from).name}"

    def save_audience(self) -> None:
        shop = self.random.choice(self.shops)
        row = self.some(Audience, name=self.new_name(), organisation=shop)
        row.expression = "true" if row._state.adding else self.text(row.pk)
        save_audience(audience=row, by=self.by, confirmed=True)

    def save_list(self) -> None:
        shop = self.random.choice(self.shops)
        row = self.some(ValueList, name=self.new_name(), organisation=shop, type="integer")
        values = self.random.sample(range(9), 3)
        save_value_list(value_list=row, values=values, by=self.by, confirmed=True)

    def save_attribute(self) -> None:
        shoes = Attribute.objects.kept().filter(name__startswith="shoe")
        row = shoes.first() or Attribute(name=f"shoe{self.new_name()}", type="string")
        row.values = self.random.choice([[], ["x0", "x1"], ["x0", "x2"]])
        save_attribute(attribute=row, by=self.by)

    def save_party(self) -> None:
        number = self.random.randrange(10**9)
        kind, shop = self.random.choice(Party.Kind.values), self.random.choice(self.shops)
        row = self.some(Party, kind=kind, name=f"P {number}", seller_id=f"p{number}")
        row.organisation = shop
        save_party(party=row, by=self.by)

    def save_edge(self) -> None:
        seller = self.pick(Party, kind__in=["publisher", "intermediary"])
        row = self.some(Edge, seller=seller)
        row.buyer = self.pick(Party, kind__in=["intermediary", "advertiser"])
        row.expression = self.random.choice(["true", self.text()])
        save_edge(edge=row, by=self.by)

    def save_campaign(self) -> None:
        advertiser = self.pick(Party, kind="advertiser")
        row = self.some(Campaign, name=self.new_name(), status="live")
        row.advertiser, row.expression = advertiser, self.text()
        save_campaign(campaign=row, by=self.by, confirmed=True)

    def save_booking(self) -> None:
        """Saves a booking, mostly pinned to an edge that others are turning away, or ending."""
        edge = self.pick(Edge, seller__kind="publisher", buyer__kind="advertiser")
        campaign = self.pick(Campaign, advertiser=edge.buyer_id)
        row = self.some(Booking, campaign=campaign, publisher=edge.seller)
        row.policy = self.random.choice(["pinned", "any", "cheapest"])
        if row.policy == "pinned" and (row.publisher_id, row.campaign.advertiser_id) == (
            edge.seller_id,
            edge.buyer_id,
        ):
            row.pinned_edges = [edge.pk]
        check_booking(booking=save_booking(booking=row, by=self.by))

    def retire_name(self) -> None:
        kind = self.random.randrange(4)
        if kind == 0:
            retire_value_list(value_list=self.pick(ValueList), by=self.by)
        elif kind == 1:
            shoe = self.pick(Attribute, name__startswith="shoe")
            retire_attribute(attribute=shoe, by=self.by)
        else:
            retire_audience(audience=self.pick(Audience), by=self.by)

    def retire_place(self) -> None:
        kind = self.random.randrange(6)
        if kind == 0:
            retire_campaign(campaign=self.pick(Campaign), by=self.by)
        elif kind == 1:
            retire_booking(booking=self.pick(Booking), by=self.by)
        elif kind == 2:
            retire_party(party=self.pick(Party), by=self.by)
        else:
            retire_edge(edge=self.pick(Edge), by=self.by)

    def look(self) -> None:
        """Looks as pages do; texts changed by other hands are read again by whoever looks first."""
        Campaign.objects.filter(pk=self.pick(Campaign).pk).update(expression="true")
        impact_of_audience(self.pick(Audience))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between the check and the save, where others would come in."""
    random = Random(0)

    def save_later(row: Model) -> None:
        time.sleep(random.uniform(LONGEST_PAUSE / 2, LONGEST_PAUSE))
        save_unique(row)

    monkeypatch.setattr(saving, "save_unique", save_later)


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("habits", [NAMING, TRADING], ids=["naming", "trading"])
def test_the_market_stays_whole(habits: list[str], erin: User, operator: Organisation) -> None:
    shop = Organisation.objects.create(name="Shop Ltd")
    parties = {kind: found(kind, kind.label, shop) for kind in Party.Kind}
    advertiser = parties[Party.Kind.ADVERTISER]
    Edge.objects.create(seller=parties[Party.Kind.PUBLISHER], buyer=advertiser)
    for name in ("a", "b", "c"):
        Audience.objects.create(name=name, organisation=shop, expression="true")
        Campaign.objects.create(name=name, advertiser=advertiser, expression="true", status="live")
    start = Barrier(4)
    shops = [operator, shop, shop]
    traders = [Trader(number, habits, start, erin, shops) for number in range(4)]
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(4) as pool:
        while time.monotonic() < until:
            all_at_once(pool, [trader.act for trader in traders])
            check_expressions()
            check_references()
        all_at_once(pool, [trader.leave for trader in traders])
    assert sum(trader.saved for trader in traders)


def all_at_once(pool: ThreadPoolExecutor, actions: list[Callable[[], None]]) -> None:
    for done in [pool.submit(action) for action in actions]:
        done.result()


def check_expressions() -> None:
    """Checks that there is no circle, and no name or attribute that has ended: each still reads as
    it did when saved."""
    for model in (Audience, Edge, Campaign):
        for row in model.objects.kept():
            name = row.name if isinstance(row, Audience) else None
            read = check_expression(
                text=row.expression, organisation_id=owner_id_of(row), name=name
            )
            assert not any(read.catalog[used].retired for used in read.attributes), row.expression


def check_references() -> None:
    for edge in Edge.objects.kept().select_related("seller", "buyer"):
        assert not edge.seller.is_retired
        assert not edge.buyer.is_retired
    for campaign in Campaign.objects.kept().select_related("advertiser"):
        assert not campaign.advertiser.is_retired
    for booking in Booking.objects.kept().select_related("publisher", "campaign"):
        assert not booking.publisher.is_retired
        assert booking.advertiser_id == booking.campaign.advertiser_id
        kept = Edge.objects.kept().filter(pk__in=booking.pinned_edges)
        assert kept.count() == len(booking.pinned_edges)
