"""A night's sample of visits, as the job `sample` would have written it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from exchange.market.catalog import load_catalog
from exchange.snapshots.rates import as_logged
from targeting.visit_log import LogColumns

NIGHT = date(2026, 11, 16)


def draw_visits(number: int, publishers: tuple[str, ...] = ("herald", "gazette")) -> list[Any]:
    """Draws three days, some users with several visits; some visits say neither user nor
    country."""
    start = datetime(2026, 11, 14, 8, tzinfo=UTC)
    return [
        {
            "visit_id": f"visit-{each}",
            "publisher.id": publishers[each % 5 % len(publishers)],
            "time": start + timedelta(days=each % 3, minutes=each),
            "user.id": f"user-{each % 41}" if each % 6 else None,
            "geo.country": ("USA", "CAN", None)[each * 7 % 3],
            "device.type": ("ctv", "phone")[each % 11 % 2],
            "user.age": each * 13 % 90,
            "user.segments": ["travel", "cars"][: each % 3],
            "geo.location": {"lat": 50.0 + each % 5, "lon": 13.0},
            "sample_weight": (2.5, 4.0)[each % 5 % len(publishers) % 2],
            "logged_on": NIGHT - timedelta(days=2 - each % 3),
        }
        for each in range(number)
    ]


def as_visit(row: dict[str, Any]) -> dict[str, Any]:
    """Leaves what an ad server was asked about."""
    of_the_row = {"visit_id", "sample_weight", "logged_on"}
    return {n: as_logged(v) for n, v in row.items() if v is not None and n not in of_the_row}


def write_sample(out: Path, visits: list[Any], night: date = NIGHT, run: str = "run-1") -> None:
    """Writes the sample in two files, in the columns of the catalogue of now."""
    columns = LogColumns.of((each.name, each.type) for each in load_catalog())
    added = [pa.field("sample_weight", pa.float64()), pa.field("logged_on", pa.date32())]
    schema = pa.schema([*columns.schema, *added])
    folder = out / "sample" / f"dt={night}"
    names = []
    for number, part in enumerate((visits[::2], visits[1::2])):
        names.append(f"{run}/visits/part-{number}.parquet")
        path = folder / names[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(part, schema=schema), path)
    manifest = {"format": 1, "tables": {"visits": {"files": names}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
