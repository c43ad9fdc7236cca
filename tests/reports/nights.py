"""Nights of counted conditions, as the job `truth_rates` commits them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest_django import Settings

from exchange.reports import edge_counts
from targeting.report_tables import FORMAT


@pytest.fixture
def nights(settings: Settings, tmp_path: Path) -> Iterator[Path]:
    settings.REPORT_DIR = tmp_path
    edge_counts.look.cache_clear()
    yield tmp_path
    edge_counts.look.cache_clear()


def write_night(nights: Path, day: date, rows: list[tuple[str, str, int, int, int]]) -> None:
    """Writes a night as the job commits it: files of a run, and the manifest that names them."""
    folder = nights / "truth_rates" / f"dt={day}"
    (folder / "run-1").mkdir(parents=True)
    columns = dict(zip(edge_counts.COLUMNS, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({k: list(v) for k, v in columns.items()}), folder / "run-1/a.parquet")
    tables = {"conditions": {"files": ["run-1/a.parquet"], "rows": len(rows)}}
    manifest = {"format": FORMAT, "run": "run-1", "tables": tables}
    (folder / "manifest.json").write_text(json.dumps(manifest))
