"""Pages read the same from a table's mapped copy as from its files, in every order."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from exchange.accounts.models import Role
from exchange.reports.night import preparing, tables
from exchange.reports.night.asking import Question, Row, ask
from exchange.reports.night.campaign_reports import BLOCKERS, REACH
from exchange.reports.night.mapped import path_of
from tests.reports.night.written import EARLIER, NIGHT, write_night
from tests.trading import Exchange

pytestmark = pytest.mark.django_db
ROWS = 400
COLUMNS = ("campaign_id", "window_days", "days_counted", "visits", "users", "frequency")


def make_rows() -> list[Row]:
    """In no order; some do not say their users, and many are equal."""
    found = []
    for number in range(ROWS):
        users = number * 7919 % 37 if number % 11 else None
        figures = (number, 7, 7, number * 31 % 101, users, number % 5 / 2)
        found.append(dict(zip(COLUMNS, figures, strict=True)))
    return found


def place(sort: str, row: Row) -> tuple[bool, float, int]:
    """Without a value last; equals by the first columns."""
    name = sort.removeprefix("-")
    value = row[name]
    sign = -1 if sort.startswith("-") else 1
    return value is None, sign * (value or 0), row["campaign_id"]


def read(exchange: Exchange, sort: str, page: int) -> tuple[list[int], int]:
    person = exchange.operators[Role.ANALYST]
    answer = ask(Question(REACH, person, choice="7", sort=sort, page=page))
    assert answer is not None
    return [row["campaign_id"] for row in answer.rows], answer.total


def test_every_order_is_that_of_plain_python_from_files_and_from_the_copy(
    exchange: Exchange, nights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_rows()
    write_night(nights, "reach", {"reach": rows})
    asked = [
        (f"{sign}{name}", page)
        for name in ("users", "visits", "frequency", "campaign_id")
        for sign in ("", "-")
        for page in (1, 3)
    ]
    expected = []
    for sort, page in asked:
        ordered = sorted(rows, key=partial(place, sort))
        shown = ordered[50 * (page - 1) : 50 * page]
        expected.append(([row["campaign_id"] for row in shown], ROWS))
    assert [read(exchange, *each) for each in asked] == expected
    monkeypatch.setattr(preparing, "LEAST_ROWS", ROWS)
    preparing.prepare_nights()
    for part in (nights / "reach").rglob("*.parquet"):
        part.unlink()  # only the copy can answer now
    tables.open_files.cache_clear()
    assert [read(exchange, *each) for each in asked] == expected


def test_a_copy_of_an_older_night_is_removed_and_small_tables_have_none(
    exchange: Exchange, nights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "LEAST_ROWS", ROWS)
    folder = path_of("", ()).parent
    write_night(nights, "reach", {"reach": make_rows()}, day=EARLIER)
    preparing.prepare_nights()
    (older,) = folder.iterdir()
    write_night(nights, "reach", {"reach": make_rows()})
    write_night(nights, "overlap", {"alone": [{"campaign_id": 1, "publisher": "herald"}]})
    preparing.prepare_nights()
    (newer,) = folder.iterdir()
    assert newer != older


def test_conditions_that_keep_nothing_out_are_no_blockers(exchange: Exchange, nights: Path) -> None:
    common = {"campaign_id": exchange.campaign.pk, "publisher": "herald", "booking_id": 1}
    conditions = [{"condition": "a", "visits": 0}, {"condition": "b", "visits": 4}]
    write_night(nights, "funnel", {"blockers": [common | each for each in conditions]})
    answer = ask(Question(BLOCKERS, exchange.operators[Role.ANALYST], NIGHT))
    assert answer is not None
    assert [row["condition"] for row in answer.rows] == ["b"]
    assert answer.total == 1
