"""Compares two builds in eligible visits: both counted on the newest night's sample, each as it was
built, flights included. Visits a day of a campaign, over its publishers.

Of a large exchange some bookings are counted, those of campaigns that changed first: a page waits.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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

Numbers = NDArray[np.int64]

logger = logging.getLogger(__name__)

SHOWN = 25
MOST_BOOKINGS = 20_000  # of a build


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
    campaigns, which may be eligible for the same visit. Of `bookings` that either build has,
    `counted` were."""

    sample: Sample
    before: float
    after: float
    changed: int
    changes: tuple[Change, ...]
    bookings: int
    counted: int


def compare_visits(
    directory: SnapshotDirectory, before: str, after: str, first: Iterable[int] = ()
) -> BuildVisits | None:
    """Compares two builds on the sample, campaigns of `first` before others; gives None if no night
    was counted yet, or if a build was made with another catalogue."""
    sample = open_sample()
    if sample is None:
        return None
    try:
        builds = [open_build(directory.folder(each)) for each in (before, after)]
        chosen = choose_bookings(builds, first)
        old, new = (count_campaigns(build, sample, chosen) for build in builds)
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
    sums = sum(old.values()), sum(new.values())
    whole = len(np.union1d(*(build.ids for build in builds)))
    return BuildVisits(sample, *sums, len(moved), changes, whole, len(chosen))


@dataclass(frozen=True, slots=True)
class Build:
    """The index of a build, and of each of its bookings, ascending: campaign, and publisher as a
    place in `publisher_ids`."""

    index: Snapshot
    ids: Numbers
    campaigns: Numbers
    publishers: Numbers
    publisher_ids: list[str]


def open_build(folder: Path) -> Build:
    index = Snapshot.open(folder / INDEX_FILE)
    batch = open_batch(folder / BOOKINGS_FILE)
    ids, campaigns = (
        cast("Numbers", np.from_dlpack(batch.column(name)))
        for name in ("booking_id", "campaign_id")
    )
    named = batch.column("publisher")
    publishers = np.asarray(np.from_dlpack(named.indices), dtype=np.int64)
    kept = np.sort(np.asarray(index.ids, dtype=np.int64))
    rows = ids.searchsorted(kept)
    return Build(index, kept, campaigns[rows], publishers[rows], named.dictionary.to_pylist())


def choose_bookings(builds: Sequence[Build], first: Iterable[int]) -> Numbers:
    """Chooses all, ascending; of too many those of campaigns that come first, then the lowest."""
    ids = np.concatenate([build.ids for build in builds])
    campaigns = np.concatenate([build.campaigns for build in builds])
    ids, places = np.unique(ids, return_index=True)
    is_later = ~np.isin(campaigns[places], list(first))
    return np.sort(ids[np.argsort(is_later, kind="stable")[:MOST_BOOKINGS]])


def count_campaigns(build: Build, sample: Sample, chosen: Numbers) -> Mapping[int, float]:
    """Counts visits by campaign. All visits of a booking are at its publisher, whose rows stand for
    equally many each."""
    rows = np.flatnonzero(np.isin(build.ids, chosen))
    counts = count_bookings(build, sample, build.ids[rows])
    weights = np.array([weigh(sample, name) for name in build.publisher_ids])
    per_visit = weights[build.publishers[rows]] if len(rows) else np.zeros(0)
    found: dict[int, float] = defaultdict(float)
    for campaign_id, visits in zip(build.campaigns[rows].tolist(), counts * per_visit, strict=True):
        found[campaign_id] += float(visits)
    return found


def count_bookings(build: Build, sample: Sample, ids: Numbers) -> Numbers:
    """Counts each one's eligible rows of the sample. All at once are faster than one by one."""
    if len(ids) == len(build.ids):
        order = np.argsort(np.asarray(build.index.ids, dtype=np.int64))
        return sample.table.count(build.index)[order]
    funnels = sample.table.funnel(build.index, ids.tolist())
    return np.array([funnels[pk].eligible for pk in ids.tolist()], dtype=np.int64)


def weigh(sample: Sample, seller_id: str) -> float:
    """Gives the visits a day that a row of the publisher stands for."""
    if seller_id not in sample.publisher_ids:
        return 0.0
    here = sample.publishers == sample.publisher_ids.index(seller_id)
    return float(sample.weights[here].mean()) / sample.day_count
