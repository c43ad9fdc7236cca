"""Compares two builds in eligible visits: both counted on the newest night's sample, each as it was
built, flights included. Visits a day of a campaign, over its publishers."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from exchange.market.models import Campaign
from exchange.reports.sample_table import Sample, open_sample
from exchange.serving.bookings import open_batch
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    DirectoryError,
    SnapshotDirectory,
)
from matcher_ext import Snapshot, SnapshotError

logger = logging.getLogger(__name__)

SHOWN = 25


@dataclass(frozen=True, slots=True)
class Change:
    """Of one campaign: visits a day that it is eligible for, in either build."""

    campaign_id: int
    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class BuildVisits:
    """`changes` are the largest of `changed` campaigns. `before` and `after` are sums over
    campaigns, which may be eligible for the same visit."""

    sample: Sample
    before: float
    after: float
    changed: int
    changes: tuple[Change, ...]


def compare_visits(directory: SnapshotDirectory, before: str, after: str) -> BuildVisits | None:
    """Compares two builds on the sample; gives None if no night was counted yet, or if a build was
    made with another catalogue."""
    sample = open_sample()
    if sample is None:
        return None
    try:
        old, new = (count_campaigns(directory.folder(each), sample) for each in (before, after))
    except (OSError, ValueError, SnapshotError, DirectoryError) as error:
        logger.warning("Builds are not counted on the sample: %s", error)
        return None
    moved = {pk for pk in old.keys() | new.keys() if old.get(pk, 0.0) != new.get(pk, 0.0)}
    largest = sorted(moved, key=lambda pk: (-abs(new.get(pk, 0.0) - old.get(pk, 0.0)), pk))[:SHOWN]
    names = dict(Campaign.objects.filter(pk__in=largest).values_list("pk", "name"))
    changes = tuple(
        Change(pk, names.get(pk, f"campaign {pk}"), old.get(pk, 0.0), new.get(pk, 0.0))
        for pk in largest
    )
    return BuildVisits(sample, sum(old.values()), sum(new.values()), len(moved), changes)


def count_campaigns(folder: Path, sample: Sample) -> Mapping[int, float]:
    """Counts visits by campaign. All visits of a booking are at its publisher, whose rows stand for
    equally many each, so one weight per publisher is enough."""
    index = Snapshot.open(folder / INDEX_FILE)
    counts = sample.table.count(index)
    batch = open_batch(folder / BOOKINGS_FILE)
    ids, campaigns = (
        cast("NDArray[np.int64]", np.from_dlpack(batch.column(name)))
        for name in ("booking_id", "campaign_id")
    )
    publishers = batch.column("publisher")
    weights = np.array([weigh(sample, name) for name in publishers.dictionary.to_pylist()])
    rows = ids.searchsorted(np.asarray(index.ids, dtype=np.int64))
    per_visit = weights[np.from_dlpack(publishers.indices)[rows]] if len(rows) else np.zeros(0)
    found: dict[int, float] = defaultdict(float)
    for campaign_id, visits in zip(campaigns[rows].tolist(), counts * per_visit, strict=True):
        found[campaign_id] += float(visits)
    return found


def weigh(sample: Sample, seller_id: str) -> float:
    """Gives the visits a day that a row of the publisher stands for."""
    if seller_id not in sample.publisher_ids:
        return 0.0
    here = sample.publishers == sample.publisher_ids.index(seller_id)
    return float(sample.weights[here].mean()) / sample.day_count
