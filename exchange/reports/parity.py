"""Reads how many of the sampled answers of ad servers the last nights could not give again: there
must be none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from exchange.reports.night.tables import Night, list_nights, read_batches, read_night

logger = logging.getLogger(__name__)

JOB, TABLE, COUNT = "parity", "states", "mismatches"
# So many are told about: what answers were given with is kept as long.
NIGHTS_TOLD = 3


@dataclass(frozen=True, slots=True)
class Mismatches:
    """How many answers of a day differ from what is recomputed."""

    day: date
    answers: int


def find_mismatches() -> list[Mismatches]:
    """Finds the nights with any, the newest first."""
    nights = [read_night(JOB, day) for day in list_nights(JOB)[:NIGHTS_TOLD]]
    found = [Mismatches(night.day, sum(read_counts(night))) for night in nights if night]
    return [each for each in found if each.answers]


def read_counts(night: Night) -> Iterator[int]:
    try:
        for batch in read_batches(night, TABLE, None, [COUNT]):
            yield from batch.column(COUNT).to_pylist()
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No parity of %s: %s", night.day, error)
