"""The newest sample as a table: its figures are those of the plain evaluator over the same visits;
it is made once, and a newer night takes its place."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from exchange.accounts.models import Organisation
from exchange.market.expressions import check_expression
from exchange.market.models import Attribute, Audience
from exchange.reports.sample_counting import Counter
from exchange.reports.sample_table import Sample, find_newest, open_sample, prepare_sample
from tests.reports.samples import NIGHT, as_visit, draw_visits, write_sample

TEXTS = [
    "true",
    "geo.country = 'USA'",
    "geo.country = 'USA' and device.type = 'phone' and user.age > 30",
    "not (geo.country = 'USA' or user.age < 20)",
    "geo.country = 'USA' xor device.type = 'ctv'",
    "geo.country = 'USA' xnor device.type = 'ctv' xnor user.age > 40",
    "geo.country is missing and user.segments one of ('cars')",
    "geo.location within 120 km of (52.0, 13.0) and time during 'Sat-Sun 00:00-24:00'",
    "@grown or user.age < 5",
]


@pytest.fixture(autouse=True)
def _no_night_before() -> None:
    find_newest.cache_clear()


@pytest.fixture
def visits(db: None, report_folder: Path) -> list[Any]:
    drawn = draw_visits(600)
    write_sample(report_folder, drawn)
    return [*drawn[::2], *drawn[1::2]]


def opened() -> Sample:
    sample = open_sample()
    assert sample is not None
    return sample


@pytest.mark.parametrize("text", TEXTS)
def test_figures_are_those_of_the_plain_evaluator(
    text: str, visits: list[Any], operator: Organisation
) -> None:
    Audience.objects.create(organisation=operator, name="grown", expression="user.age >= 60")
    expression = check_expression(text=text, organisation_id=operator.pk)
    counter = Counter(opened())
    rows = counter.of(expression)
    met = [visit for visit in visits if expression.evaluate(as_visit(visit)) is True]
    assert met
    assert rows.tolist() == [visit in met for visit in visits]

    count = counter.count(rows)
    of_people: dict[str, list[float]] = defaultdict(list)
    of_users: dict[Any, list[float]] = defaultdict(list)
    for visit in met:
        of_people[visit["user.id"] or visit["visit_id"]].append(visit["sample_weight"])
        if visit["user.id"]:
            of_users[visit["user.id"], visit["logged_on"]].append(visit["sample_weight"])
    total = sum(visit["sample_weight"] for visit in met)
    spread = sum(sum(w) ** 2 * (1 - len(w) / sum(w)) for w in of_people.values())
    assert count.visits == pytest.approx(total / 3)
    assert count.low == pytest.approx(max(0, total - 1.96 * sqrt(spread)) / 3)
    assert count.high == pytest.approx((total + 1.96 * sqrt(spread)) / 3)
    assert count.users == pytest.approx(sum(sum(w) / len(w) for w in of_users.values()) / 3)
    assert count.people == len(of_people)
    assert count.publishers == len({visit["publisher.id"] for visit in met})


def test_of_what_nobody_did_there_may_be_a_few(visits: list[Any]) -> None:
    counter = Counter(opened())
    count = counter.count(counter.of(check_expression(text="user.age > 100")))
    assert (count.visits, count.low, count.users, count.people) == (0, 0, 0, 0)
    assert count.high == 3 * 4.0 / 3


def test_there_is_none_before_the_first_night(db: None, report_folder: Path) -> None:
    assert open_sample() is None


def test_what_cannot_be_read_is_as_if_it_was_not_counted(
    visits: list[Any], report_folder: Path
) -> None:
    for part in report_folder.rglob("*.parquet"):
        part.write_bytes(b"not a table")
    assert open_sample() is None


def test_it_is_made_once_and_a_newer_night_takes_its_place(
    visits: list[Any], report_folder: Path
) -> None:
    first = opened()
    assert opened() is first
    assert (first.last_day, first.day_count, len(first)) == (NIGHT, 3, 600)
    write_sample(report_folder, draw_visits(90), run="run-2")
    prepare_sample()
    second = opened()
    assert len(second) == 90
    assert len(first.table) == 600  # whoever still asks it, may
    made = [each for each in (report_folder / "sample_tables").iterdir() if each.is_dir()]
    assert len(made) == 2


def test_another_catalogue_makes_another_table(visits: list[Any]) -> None:
    first = opened()
    Attribute.objects.create(name="device.brand_new", type="string")
    second = opened()
    assert second is not first
    counter = Counter(second)
    assert counter.of(check_expression(text="device.brand_new is missing")).all()
