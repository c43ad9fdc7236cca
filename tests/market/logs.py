"""A visit log of a few visits, as the servers would have written it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def write_log(folder: Path, visits: list[dict[str, Any]], day: str = "2026-11-16") -> None:
    path = folder / f"dt={day}" / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = {name for visit in visits for name in visit}
    table = pa.table({name: [visit.get(name) for visit in visits] for name in sorted(names)})
    pq.write_table(table, path, row_group_size=40)
