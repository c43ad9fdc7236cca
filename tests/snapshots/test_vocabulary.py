"""Audiences and lists in a snapshot: each organisation's names, resolved, checked and served."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Audience, Campaign, ValueList
from exchange.market.services import save_audience, save_value_list
from exchange.snapshots.composing import Composer
from exchange.snapshots.market import AudienceRow, Market, read_market
from exchange.snapshots.models import ChangeKind
from exchange.snapshots.quarantine import Quarantine
from exchange.snapshots.texts import read_tree
from exchange.snapshots.vocabulary import Vocabulary
from matcher_ext import ATree
from targeting import Catalog, ExpressionError
from tests.people import hire
from tests.snapshots.story import Story, tell

CATALOG = Catalog.of(
    **{"geo.country": "string", "age": "integer", "publisher.id": "string", "time": "timestamp"}
)
ACME, GLOBEX, OPERATOR = 1, 2, 9


def market_with(*audiences: AudienceRow) -> Market:
    return Market(
        read_at=datetime.now(UTC),
        catalog=CATALOG,
        parties={},
        links=[],
        edge_expressions={},
        campaigns={},
        bookings=[],
        audiences=list(audiences),
        operator_ids=frozenset({OPERATOR}),
    )


def test_the_same_name_means_each_organisations_own() -> None:
    words = Vocabulary(
        market_with(
            AudienceRow(1, ACME, "adults", "age >= 18"),
            AudienceRow(2, GLOBEX, "adults", "age >= 21"),
        )
    )
    assert words.compile("@adults", ACME).text == "@audience.1"
    assert words.compile("not @adults and age < 5", GLOBEX).text == "not @audience.2 and age < 5"
    assert read_tree(words.compile("@adults", ACME)).evaluate({"age": 19}) is True
    assert read_tree(words.compile("@adults", GLOBEX)).evaluate({"age": 19}) is False


def test_names_are_replaced_where_they_are_names_only() -> None:
    words = Vocabulary(market_with(AudienceRow(1, ACME, "adults", "age >= 18")))
    text = "@adults # not the @adults below\nand geo.country != '@adults' and not @adults"
    compiled = words.compile(text, ACME)
    assert compiled.text == (
        "@audience.1 # not the @adults below\nand geo.country != '@adults' and not @audience.1"
    )
    assert compiled.references == {"audience.1"}
    assert words.compile("geo.country != '@adults'", ACME).references == frozenset()


def test_an_audience_in_its_last_good_form_serves_those_who_use_it() -> None:
    """Shows it where its present text does not compile, and theirs does."""
    former = {(ChangeKind.AUDIENCE, 1): ["age >= 18"]}
    quarantine = Quarantine(lambda kind, number: former.get((kind, number), []))
    words = Vocabulary(market_with(AudienceRow(1, ACME, "adults", "agee >= 18")), quarantine)
    compiled = read_tree(words.compile("geo.country = 'USA' and @adults", ACME))
    assert compiled.evaluate({"age": 19, "geo.country": "USA"}) is True


def test_the_operators_audiences_are_everybodys_and_others_are_not() -> None:
    words = Vocabulary(
        market_with(
            AudienceRow(1, ACME, "fans", "@adults and geo.country = 'USA'"),
            AudienceRow(2, OPERATOR, "adults", "age >= 18"),
        )
    )
    fans = read_tree(words.compile("@fans", ACME))
    assert fans.evaluate({"age": 19, "geo.country": "USA"}) is True
    assert list(words.audiences) == ["audience.2", "audience.1"]
    with pytest.raises(ExpressionError, match="unknown name `@fans`"):
        words.compile("@fans", GLOBEX)


@pytest.mark.parametrize(
    ("audiences", "reason"),
    [
        ([("broken", "agee > 3")], "agee"),
        ([("broken", "@inner"), ("inner", "age >")], "."),
        ([("broken", "@other"), ("other", "@broken")], "leads back to itself"),
    ],
)
def test_a_broken_audience_breaks_those_who_use_it_and_nobody_else(
    audiences: Sequence[tuple[str, str]], reason: str
) -> None:
    rows = [AudienceRow(n, ACME, name, text) for n, (name, text) in enumerate(audiences)]
    words = Vocabulary(market_with(*rows, AudienceRow(7, ACME, "adults", "age >= 18")))
    assert list(words.audiences) == ["audience.7"]
    assert words.compile("@adults", ACME)
    with pytest.raises(ExpressionError, match=reason):
        words.compile("@adults or @broken", ACME)


@pytest.fixture
def story(db: None) -> Story:
    return tell()


@pytest.fixture
def erin(story: Story) -> User:
    return hire("erin", Role.ADMIN, Organisation.objects.get())


def build(composer: Composer) -> ATree:
    index = ATree(composer.market.catalog)
    for name, expression in composer.definitions():
        index.define(name, expression)
    for entry in composer.entries():
        index.insert(entry.row.booking_id, entry.text)
    return index


def read() -> Composer:
    """Reads without the transaction of its own that a build uses: here it would be inside
    another."""
    return Composer(read_market(begin=lambda _: None, advance=lambda _: None))


@pytest.mark.django_db(transaction=True)
def test_audiences_and_lists_are_served(erin: User, story: Story) -> None:
    house = story.soda.organisation
    save_value_list(
        value_list=ValueList(organisation=house, name="nordics"),
        values=["SWE", "NOR", "FIN"],
        by=erin,
    )
    save_audience(
        audience=Audience(
            organisation=house, name="north", expression="geo.country in $nordics or user.age > 90"
        ),
        by=erin,
    )
    Campaign.objects.update(expression="@north and not device.type = 'ctv'")
    composer = read()
    index = build(composer)
    assert not composer.skipped.count
    visit = {"publisher.id": "evening-tribune", "time": 1_800_000_000_000, "device.type": "phone"}
    assert index.match(visit | {"geo.country": "NOR"}) == [story.at_tribune.pk]
    assert index.match(visit | {"geo.country": "USA"}) == []
    assert index.match(visit | {"geo.country": "USA", "user.age": 91}) == [story.at_tribune.pk]
    assert index.match(visit | {"geo.country": "NOR", "device.type": "ctv"}) == []
    expression = composer.campaigns[story.summer.pk]
    assert not isinstance(expression, ExpressionError)
    assert read_tree(expression).evaluate(visit | {"geo.country": "NOR"}) is True


@pytest.mark.django_db(transaction=True)
def test_retired_things_and_broken_pins_are_not_served(erin: User, story: Story) -> None:
    now = datetime.now(UTC)
    story.at_herald.policy = "pinned"
    story.at_herald.pinned_edges = [story.herald_to_northgate.pk, story.northgate_to_soda.pk]
    story.at_herald.save()
    assert {entry.row.booking_id: entry.edge_ids for entry in read().entries()}[
        story.at_herald.pk
    ] == (story.herald_to_northgate.pk, story.northgate_to_soda.pk)
    story.herald_to_northgate.retired_at = now
    story.herald_to_northgate.save()
    composer = read()
    assert [entry.row.booking_id for entry in composer.entries()] == [story.at_tribune.pk]
    assert "pinned path" in str(composer.skipped.first[0]["reason"])
    Campaign.objects.update(retired_at=now)
    assert not read().market.bookings
