"""What audiences and lists reach, on the sample, against plain Python over the plain evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from exchange.accounts.models import Organisation, User
from exchange.market.catalog import load_catalog
from exchange.market.models import Audience, ValueList
from exchange.market.services import save_audience, save_value_list
from exchange.reading.library_reach import reach_of_audience, reach_of_list
from exchange.reports.sample_table import prepare_sample
from targeting import parse
from tests.people import alice, operator
from tests.reports.samples import as_visit, draw_visits, write_sample

__all__ = ["alice", "operator"]

pytestmark = pytest.mark.django_db

VISITS = draw_visits(300)


@pytest.fixture(autouse=True)
def reports(settings: Settings, tmp_path: Path) -> Path:
    settings.REPORT_DIR = tmp_path / "reports"
    settings.VISIT_LOG_DIR = str(tmp_path / "visits")
    return tmp_path / "reports"


@pytest.fixture
def towns(operator: Organisation, alice: User) -> ValueList:
    towns = ValueList(organisation=operator, name="countries", type="string")
    save_value_list(value_list=towns, values=["USA", "MEX"], by=alice)
    return towns


def expect_a_day(text: str) -> float:
    expression = parse(text, load_catalog())
    met = [v["sample_weight"] for v in VISITS if expression.evaluate(as_visit(v)) is True]
    return float(sum(met) / 3)


def test_an_audience_reaches_what_it_is_true_of(
    operator: Organisation, alice: User, reports: Path
) -> None:
    audience = Audience(organisation=operator, name="abroad", expression="geo.country = 'CAN'")
    save_audience(audience=audience, by=alice)
    assert reach_of_audience(audience) is None
    write_sample(reports, VISITS)
    prepare_sample()
    reached = reach_of_audience(audience)
    assert reached is not None
    assert reached.count.visits == pytest.approx(expect_a_day("geo.country = 'CAN'"))


def test_a_list_is_counted_as_most_expressions_use_it(
    operator: Organisation, alice: User, towns: ValueList, reports: Path
) -> None:
    write_sample(reports, VISITS)
    prepare_sample()
    assert reach_of_list(towns) is None, "nobody uses it, and no log says where its values are"
    text = "geo.country in $countries"
    near = Audience(organisation=operator, name="near", expression=text)
    save_audience(audience=near, by=alice)
    reach = reach_of_list(towns)
    assert reach is not None
    assert reach.attribute == "geo.country"
    expected = expect_a_day("geo.country in ('USA', 'MEX')")
    assert reach.reached.count.visits == pytest.approx(expected)
