from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from exchange.market.catalog import load_catalog
from exchange.market.models import Attribute
from targeting import ExpressionError, parse


@pytest.mark.django_db
def test_the_catalogue_is_read_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        catalog = load_catalog()
    for name, kind in Attribute.objects.values_list("name", "type"):
        assert parse(f"{name} is present", catalog).attributes == {name}, kind


@pytest.mark.django_db
def test_a_new_attribute_can_be_asked_for_at_once() -> None:
    with pytest.raises(ExpressionError):
        parse("custom.loyalty = 'gold'", load_catalog())
    Attribute.objects.create(name="custom.loyalty", type="string", values=["gold", "silver"])
    visit = {"publisher.id": "daily-herald", "custom.loyalty": "gold"}
    assert parse("custom.loyalty = 'gold'", load_catalog()).evaluate(visit)
    with pytest.raises(ExpressionError):
        parse("custom.loyalty = 'bronze'", load_catalog())


@pytest.mark.django_db
def test_a_visit_without_its_publisher_is_eligible_for_nothing() -> None:
    everyone = parse("true", load_catalog())
    assert everyone.evaluate({"publisher.id": "daily-herald"}) is True
    assert not everyone.evaluate({"geo.country": "USA"})
