"""Makes tables of a night of a large exchange, as the jobs commit them, for the pages that read
them.

Each campaign has a row in every window of reach and on every day of the forecast, a booking with
three steps and a partner. Nothing is counted here: figures are made of the campaigns' numbers, so
that pages have something to sort.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 8  # as Spark writes a table
WINDOWS, AHEAD, STEPS = (1, 7, 28), 7, 3


def write_nights(out: Path, day: date, ids: Sequence[int], publishers: Sequence[str]) -> None:
    """Writes a night of these campaigns at these publishers."""
    campaigns = np.array(ids, dtype=np.int64)
    write_job(out, "reach", day, {"reach": make_reach(campaigns)})
    write_job(out, "funnel", day, {"steps": make_steps(campaigns, publishers)})
    write_job(out, "overlap", day, make_overlap(campaigns, publishers))
    write_job(out, "forecast", day, make_forecast(campaigns, day))


def make_reach(campaigns: Any) -> dict[str, Any]:
    ids = np.repeat(campaigns, len(WINDOWS))
    users = ids * 7919 % 50_000
    visits = users * 3
    return {
        "campaign_id": ids,
        "window_days": np.tile(np.array(WINDOWS, dtype=np.int32), len(campaigns)),
        "days_counted": np.tile(np.array(WINDOWS, dtype=np.int32), len(campaigns)),
        "visits": visits,
        "users": users,
        "frequency": np.where(users > 0, visits / np.maximum(users, 1), 0.0),
    }


def make_steps(campaigns: Any, publishers: Sequence[str]) -> dict[str, Any]:
    ids = np.repeat(campaigns, STEPS)
    came = ids * 31 % 100_000
    passed = came * 6 // 10
    names = ["edge.1", "edge.2", "campaign"]
    return {
        "booking_id": ids,
        "campaign_id": ids,
        "publisher": name_publishers(ids, publishers),
        "step": np.tile(np.arange(STEPS, dtype=np.int32), len(campaigns)),
        "name": np.tile(np.array(names), len(campaigns)),
        "came": came,
        "passed": passed,
        "lost_to_false": (came - passed) // 2,
        "lost_to_unknown": (came - passed) - (came - passed) // 2,
    }


def make_overlap(campaigns: Any, publishers: Sequence[str]) -> dict[str, dict[str, Any]]:
    visits = campaigns * 31 % 100_000
    places = name_publishers(campaigns, publishers)
    alone = {
        "publisher": places,
        "campaign_id": campaigns,
        "visits": visits,
        "exclusive_visits": visits // 50,
        "users": visits // 3,
    }
    partners = {
        "publisher": places,
        "campaign_id": campaigns,
        "partner_id": np.roll(campaigns, len(publishers)),
        "rank": np.ones(len(campaigns), dtype=np.int32),
        "visits_both": visits // 2,
        "share_of_visits": np.full(len(campaigns), 0.5),
        "users_both": visits // 6,
    }
    return {"alone": alone, "partners": partners}


def make_forecast(campaigns: Any, day: date) -> dict[str, dict[str, Any]]:
    ids = np.repeat(campaigns, AHEAD)
    expected = (ids * 31 % 100_000).astype(np.float64)
    days = [day + timedelta(days=ahead) for ahead in range(1, AHEAD + 1)]
    return {
        "expected": {
            "campaign_id": ids,
            "target_day": np.tile(np.array(days, dtype="datetime64[D]"), len(campaigns)),
            "expected": expected,
            "low": expected * 0.8,
            "high": expected * 1.2,
            "days_used": np.full(len(ids), 28, dtype=np.int32),
        },
        "errors": {
            "campaign_id": campaigns,
            "wape": (campaigns % 100) / 100,
            "days": np.full(len(campaigns), 7, dtype=np.int32),
        },
    }


def name_publishers(ids: Any, publishers: Sequence[str]) -> Any:
    return np.array(publishers)[ids % len(publishers)]


def write_job(out: Path, job: str, day: date, tables: dict[str, dict[str, Any]]) -> None:
    folder = out / job / f"dt={day}"
    committed = {name: write_table(folder, name, columns) for name, columns in tables.items()}
    manifest = {
        "format": 1,
        "run": "bench",
        "tables": committed,
        "finished_at": f"{day + timedelta(days=1)}T02:30:00+00:00",
        "snapshot_id": "a" * 32,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def write_table(folder: Path, name: str, columns: dict[str, Any]) -> dict[str, Any]:
    """Writes a table in files by a hash of rows, as Spark leaves them: no file is about some
    campaigns only."""
    rows = pa.table(columns)
    place = np.random.default_rng(1).integers(0, FILES, rows.num_rows)
    names = []
    for number in range(FILES):
        names.append(f"bench/{name}/part-{number}.parquet")
        path = folder / names[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.filter(pa.array(place == number)), path, compression="zstd")
    return {"files": names, "rows": rows.num_rows}
