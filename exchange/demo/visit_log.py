"""Writes the demo's visit log: one Parquet file a day, renamed into place when it is complete."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from exchange.market.bulk import Report

PART = "part-00000.parquet"


@dataclass(frozen=True, slots=True)
class VisitLog:
    """What was asked for: `days` whole days, the last of them the day before `reference`."""

    folder: Path
    seed: int
    visits_per_day: int
    days: int
    reference: date

    def file_of(self, day: date) -> Path:
        return self.folder / f"dt={day.isoformat()}" / PART

    def missing_days(self) -> list[date]:
        """Lists days without a file; a day whose folder holds any part is complete."""
        wanted = [self.reference - timedelta(days=back) for back in range(self.days, 0, -1)]
        return [day for day in wanted if not any(self.file_of(day).parent.glob("part-*.parquet"))]


def write_missing_days(log: VisitLog, report: Report) -> int:
    """Writes the missing days; says how many those were."""
    days = log.missing_days()
    if not days:
        return 0
    # Imported here: a call that finds every day in place must not wait for them.
    import pyarrow.parquet as pq

    from exchange.demo.visit_table import make_day
    from exchange.demo.visits import open_source

    source = open_source(log.seed, log.visits_per_day)
    for number, day in enumerate(days, start=1):
        path = log.file_of(day)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Readers skip names that start with a dot; a killed run's file is overwritten by the next.
        aside = path.with_name(f".{PART}")
        pq.write_table(make_day(source, day), aside, compression="zstd")
        aside.replace(path)
        report("days of visits", number, len(days))
    return len(days)
