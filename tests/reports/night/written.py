"""Nights for tests: tables as the jobs commit them, and an exchange that they are about.

Daily Herald sells Solberg Soda's Summer and Rival's Winter over Northgate; see `tests.trading`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest_django import Settings

from exchange.reports.night import tables
from tests.trading import Exchange

NIGHT, EARLIER = date(2026, 11, 14), date(2026, 11, 13)
# What Arrow cannot guess of a column without values.
TYPES = {
    "campaign_id": pa.int64(),
    "users": pa.int64(),
    "users_both": pa.int64(),
    "publisher": pa.string(),
    "chain": pa.list_(pa.string()),
    "first_unknown": pa.string(),
    "target_day": pa.date32(),
}

Rows = Sequence[Mapping[str, Any]]


@pytest.fixture
def nights(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """Gives the reports' folder, empty."""
    settings.REPORT_DIR = tmp_path / "reports"
    tables.look_for_days.cache_clear()
    yield settings.REPORT_DIR
    tables.look_for_days.cache_clear()


def write_night(
    out: Path, job: str, written: Mapping[str, Rows], day: date = NIGHT, run: str = "run-1"
) -> None:
    """Writes each table in two files, if it has two rows."""
    folder = out / job / f"dt={day}"
    committed = {}
    for name, rows in written.items():
        files = []
        for number, part in enumerate((rows[::2], rows[1::2])):
            if part:
                files.append(f"{run}/{name}/part-{number}.parquet")
                (folder / files[-1]).parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(as_table(rows, part), folder / files[-1])
        committed[name] = {"files": files, "rows": len(rows)}
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "format": 1,
        "run": run,
        "tables": committed,
        "finished_at": "2026-11-15T02:05:00+00:00",
        "snapshot_id": "5" * 32,
        "seconds": 1.5,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    tables.look_for_days.cache_clear()


def as_table(rows: Rows, part: Rows) -> pa.Table:
    """Makes a table with the same columns and types in every part."""
    whole = pa.Table.from_pylist([dict(row) for row in rows])
    fields = [pa.field(each.name, TYPES.get(each.name, each.type)) for each in whole.schema]
    return pa.Table.from_pylist([dict(row) for row in part], pa.schema(fields))


def reach(campaign_id: int, users: int, days: int = 7, visits: int = 600) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "window_days": days,
        "days_counted": days,
        "visits": visits,
        "users": users,
        "frequency": visits / users if users else None,
    }


def step(booking: int, campaign: int, number: int, name: str, *counts: int) -> dict[str, Any]:
    names = ("came", "passed", "lost_to_false", "lost_to_unknown")
    return {
        "booking_id": booking,
        "campaign_id": campaign,
        "publisher": "herald",
        "step": number,
        "name": name,
        **dict(zip(names, counts, strict=True)),
    }


def write_funnel(out: Path, exchange: Exchange) -> None:
    """Lets Summer lose visits at the first edge, Winter (booking 902) at its own targeting."""
    edge, middle = exchange.first_edge.pk, exchange.middle_edge.pk
    summer, winter = exchange.campaign.pk, exchange.rival_campaign.pk
    rows = [
        step(901, summer, 0, f"edge.{edge}", 1000, 600, 300, 100),
        step(901, summer, 1, f"edge.{middle}", 600, 500, 100, 0),
        step(901, summer, 2, "campaign", 500, 450, 50, 0),
        step(902, winter, 0, f"edge.{edge}", 1000, 600, 300, 100),
        step(902, winter, 1, "campaign", 600, 20, 580, 0),
    ]
    write_night(out, "funnel", {"steps": rows})
