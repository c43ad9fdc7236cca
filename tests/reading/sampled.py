"""A small exchange with a night's sample, and its figures by plain Python over the evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.reports.sample_table import find_newest
from targeting import Expression, parse
from tests.reports.samples import as_visit, draw_visits, write_sample
from tests.trading import Exchange

DAYS = 3
EDGES = ("device.type = 'ctv'", "geo.country = 'USA'", "not site.page contains 'casino'")
TEXT = "user.age > 30 and geo.country in ('USA', 'CAN') and user.segments one of ('travel')"

Visit = dict[str, Any]


@pytest.fixture
def nights(tmp_path: Path, settings: Settings) -> Path:
    find_newest.cache_clear()
    settings.REPORT_DIR = tmp_path / "reports"
    return tmp_path / "reports"


@pytest.fixture
def visits(exchange: Exchange, nights: Path) -> list[Visit]:
    """Draws visits at the Herald and the Gazette; some say neither their page nor their
    segments."""
    drawn = [
        {
            **visit,
            "site.page": "https://a.example/" if number % 4 else None,
            "user.segments": (["travel"], ["cars"], None)[number // 3 % 3],
        }
        for number, visit in enumerate(draw_visits(2_400))
    ]
    write_sample(nights, drawn)
    return drawn


def read(text: str) -> Expression:
    return parse(text, load_catalog())


def truth(text: str, visit: Visit) -> bool | None:
    return read(text).evaluate(as_visit(visit))


class Judge:
    """Each text is read once: parsing them for every visit would take seconds."""

    def __init__(self) -> None:
        self._read: dict[str, Expression] = {}

    def __call__(self, text: str, visit: Visit) -> bool | None:
        if text not in self._read:
            self._read[text] = ExpressionReader(load_catalog()).read(text, None)
        return self._read[text].evaluate(as_visit(visit))


def at(visits: Iterable[Visit], publisher: str) -> list[Visit]:
    return [visit for visit in visits if visit["publisher.id"] == publisher]


def a_day(visits: Iterable[Visit]) -> float:
    """Sums what visits stand for a day."""
    return float(sum(visit["sample_weight"] for visit in visits)) / DAYS


def eligible(visits: Iterable[Visit], publisher: str, *texts: str) -> float:
    judge = Judge()
    met = [
        visit
        for visit in at(visits, publisher)
        if all(judge(text, visit) is True for text in texts)
    ]
    return a_day(met)


def rounded(found: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in found.items() if value}
