"""Prepares the newest nights for who opens their pages first."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa

from exchange.reports.night.catalogue import REPORTS
from exchange.reports.night.mapped import path_of, remove_others, write_mapped
from exchange.reports.night.tables import (
    Night,
    find_night,
    look_for_days,
    name_files,
    open_files,
)

logger = logging.getLogger(__name__)

LEAST_ROWS = 200_000  # fewer are unpacked in some milliseconds


def prepare_nights() -> None:
    """Copies the large tables of each job's newest night, and removes older copies."""
    look_for_days.cache_clear()
    kept = []
    for report in REPORTS.values():
        night = find_night(report.job, table=report.table)
        if night is not None and night.rows.get(report.table, 0) >= LEAST_ROWS:
            kept.append(prepare_table(night, report.table))
    remove_others(path_of("", ()).parent, kept)


def prepare_table(night: Night, table: str) -> Path:
    place, names = name_files(night, table)
    path = path_of(place, names)
    try:
        if not path.exists():
            write_mapped(path, open_files(place, names))
    except (OSError, pa.ArrowException) as error:  # pages read the files themselves
        logger.warning("%s of %s is not prepared: %s", table, night.day, error)
    return path
