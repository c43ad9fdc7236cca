"""Truth rates come from logged visits, and their absence from nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest_django import Settings

from exchange.snapshots.rates import SAMPLED_VISITS, learn_rates, sample_visits
from matcher_ext import ATree
from targeting import Catalog

CATALOG = Catalog.of(**{"geo.country": "string", "device.type": "string", "time": "timestamp"})
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path, settings: Settings) -> Path:
    settings.VISIT_LOG_DIR = tmp_path
    settings.TRUTH_RATES_FILE = tmp_path / "none.json"
    return tmp_path


def write_day(log: Path, day: str, countries: Sequence[str | None]) -> None:
    folder = log / f"dt={day}"
    folder.mkdir()
    columns: dict[str, Any] = {"geo.country": countries, "time": [NOON] * len(countries)}
    pq.write_table(pa.table(columns), folder / "part-0.parquet")


def test_visits_are_those_of_the_last_day(log: Path) -> None:
    write_day(log, "2026-11-14", ["USA"])
    write_day(log, "2026-11-15", ["DEU", None])
    milliseconds = int(NOON.timestamp() * 1000)
    assert list(sample_visits(log)) == [
        {"geo.country": "DEU", "time": milliseconds},
        {"time": milliseconds},
    ]


def test_sample_is_spread_over_the_day(log: Path) -> None:
    write_day(log, "2026-11-15", [str(n) for n in range(SAMPLED_VISITS * 3)])
    seen = [int(visit["geo.country"]) for visit in sample_visits(log)]
    assert (len(seen), seen[0], seen[-1]) == (SAMPLED_VISITS, 0, SAMPLED_VISITS * 3 - 3)


@pytest.mark.parametrize("content", [None, b"no parquet"])
def test_without_a_log_the_index_goes_by_defaults(log: Path, content: bytes | None) -> None:
    if content is not None:
        write_day(log, "2026-11-15", ["USA"])
        (log / "dt=2026-11-15" / "part-0.parquet").write_bytes(content)
    assert learn_rates(ATree(CATALOG)) == ""


def test_measured_rates_change_the_order_and_no_answer(log: Path) -> None:
    write_day(log, "2026-11-15", ["USA"] * 99 + ["DEU"])
    index = ATree(CATALOG)
    index.insert(1, "geo.country = 'USA' and device.type = 'ctv'")
    index.insert(2, "geo.country = 'DEU'")
    visits = [{"geo.country": country, "device.type": "ctv"} for country in ("USA", "DEU")]
    before = [index.match(visit) for visit in visits]
    assert learn_rates(index) == "100 sampled visits"
    assert [index.match(visit) for visit in visits] == before == [[1], [2]]
