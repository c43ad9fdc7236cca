"""Reading many expressions says the same as reading each by itself."""

from __future__ import annotations

import pytest

from exchange.accounts.models import Organisation, User
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader, read_expression
from exchange.market.models import Audience, ValueList
from exchange.market.services import save_audience, save_value_list
from targeting import ExpressionError

TEXTS = (
    "geo.city = 'Oslo'",
    "geo.city in $cities and geo.country = 'NOR'",
    "geo.city not in $cities or @fans",
    "@fans and not @strangers",
    "geo.city in $towns",
    "user.age in $cities",
    "device.type in $cities",
    "geo.city in $cities and",
)


@pytest.fixture
def names(erin: User, operator: Organisation) -> None:
    cities = ValueList(organisation=operator, name="cities")
    save_value_list(value_list=cities, values=["Oslo", "Rome"], by=erin)
    fans = Audience(organisation=operator, name="fans", expression="geo.city in $cities")
    save_audience(audience=fans, by=erin)


@pytest.mark.usefixtures("names")
def test_many_are_read_as_each_is(operator: Organisation) -> None:
    catalog = load_catalog()
    reader = ExpressionReader(catalog)
    for text in TEXTS * 2:
        try:
            alone = read_expression(text=text, catalog=catalog, organisation_id=operator.pk)
        except ExpressionError:
            with pytest.raises(ExpressionError):
                reader.read(text, operator.pk)
            continue
        together = reader.read(text, operator.pk)
        assert together == alone
        for visit in ({}, {"geo.city": "Oslo", "geo.country": "NOR"}, {"geo.city": "Bonn"}):
            assert together.evaluate(visit) is alone.evaluate(visit)
