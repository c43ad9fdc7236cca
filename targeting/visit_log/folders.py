"""Says where the log's files lie, and which of them readers take.

    LOG/dt=2026-11-16/part-*.parquet                   a day, sorted by publisher: for readers
    LOG/_incoming/dt=2026-11-16/0512-<random>.parquet  what servers wrote, until it is compacted

A name that starts with a dot is not finished, one that starts with an underscore not for readers.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from targeting.places import list_days_in

INCOMING = "_incoming"
DAY = "dt=????-??-??"


def incoming_folder(log: Path) -> Path:
    return log / INCOMING


def list_days(log: Path | str) -> list[date]:
    """Lists the days that anything was logged on, oldest first, whether compacted or not. The log
    may be at a URL."""
    return sorted({*list_days_in(str(log)), *list_days_in(f"{log}/{INCOMING}")})


def find_newest_part(log: Path) -> Path | None:
    """Finds the largest file of the newest day, because visits that came late have a small file of
    their own."""
    for day in sorted(log.glob(DAY), reverse=True):
        parts = [(path.stat().st_size, path) for path in day.glob("[!._]*.parquet")]
        if parts:
            return max(parts)[1]
    return None
