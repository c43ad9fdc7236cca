"""Job: counts what a draft would gain and lose, on the same visits, with flights left out.

    python -m pipelines whatif .. --campaign 7 --expression "user.age >= 18"
    python -m pipelines whatif .. --edge 17 --expression "geo.country != 'FRA'"
    python -m pipelines whatif .. --against OTHER_SNAPSHOT

    changes   booking: visits before and after, gained and lost; null if it cannot be told
    samples   20 visits of each booking that it gains, and 20 that it loses

A draft is written with the names that the snapshot has (`@audience.5`). A flight is a condition of
the booking itself on `time`, and is left out on both sides: a draft is not judged by its dates.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from matcher_ext import LiveIndex
from pipelines.asking import as_answers
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.matching import OpenSnapshot, SnapshotSource, load_index
from pipelines.prepared import PreparedVisits, PublisherRows, Rows
from pipelines.sampling import SAMPLED, Sampler, unite_samples
from pipelines.visit_log import column

NAME = "whatif"
FLIGHT = re.compile(r"time (<|<=|>|>=|between) ")
PATH = ("@edge.", "@reach.")
BOOKING = [
    StructField("booking_id", LongType()),
    StructField("campaign_id", LongType()),
    StructField("publisher", StringType()),
]
COUNTS = [
    StructField("visits_before", LongType()),
    StructField("visits_after", LongType()),
    StructField("gained", LongType()),
    StructField("lost", LongType()),
]
CHANGES = StructType([*BOOKING, *COUNTS])
SAMPLES = StructType(
    [*BOOKING, StructField("change", StringType()), StructField("visit_id", StringType())]
)
SAMPLED_AS = {"sampled_gained": "gained", "sampled_lost": "lost"}
FOUND = StructType([*CHANGES, *[StructField(each, ArrayType(SAMPLED)) for each in SAMPLED_AS]])


class AsItIs:
    """The snapshot itself, for the bookings at these places."""

    def __init__(self, visits: PreparedVisits, places: Sequence[int]) -> None:
        self.visits = visits
        self.bookings = dict(zip(visits.ids_of(places), places, strict=True))
        self.asked = visits.ask_conditions(places)

    def at(self, place: int) -> PublisherRows:
        return self.asked[self.visits.publishers_of([place])[0]]

    def conditions_of(self, place: int) -> list[str]:
        return [each for each in self.visits.conditions.of(place) if not FLIGHT.match(each)]

    def rows_of(self, place: int) -> Rows | None:
        """Finds what a booking is eligible for at any time; None if it cannot be told."""
        at, conditions = self.at(place), self.conditions_of(place)
        if not all(each in at.truths for each in conditions):
            return None
        return self.visits.row_numbers(at.first, at.all_true(conditions))


class CampaignDraft(AsItIs):
    """The same with another expression of the campaign that all places are of."""

    def __init__(self, visits: PreparedVisits, places: Sequence[int], expression: str) -> None:
        super().__init__(visits, places)
        self._draft = visits.ask(expression).true

    def rows_of(self, place: int) -> Rows | None:
        at = self.at(place)
        path = [each for each in self.conditions_of(place) if each.startswith(PATH)]
        return self.visits.row_numbers(at.first, at.all_true(path) & at.cut(self._draft))


class EdgeDraft(AsItIs):
    """The same with another expression of an edge."""

    def __init__(
        self, visits: PreparedVisits, places: Sequence[int], edge: int, expression: str
    ) -> None:
        super().__init__(visits, places)
        self._index = change_edge(visits.index, edge, expression)

    def rows_of(self, place: int) -> Rows | None:
        at, bits = self.at(place), self.at(place).bits
        for condition in self.conditions_of(place):
            if condition.startswith(PATH):
                bits = bits & at.cut(self.visits.ask(condition, self._index).true)
            elif condition in at.truths:
                bits = bits & at.truths[condition].true
            else:
                return None
        return self.visits.row_numbers(at.first, bits)


@lru_cache(maxsize=1)
def change_edge(index: OpenSnapshot, edge: int, expression: str) -> LiveIndex:
    changed = LiveIndex(index.snapshot)
    changed.define(f"edge.{edge}", expression)
    return changed


@dataclass(frozen=True, slots=True)
class Draft:
    """What is held against the snapshot: one of its parts in another form, or another one."""

    campaign: int | None = None
    edge: int | None = None
    expression: str = ""
    against: SnapshotSource | None = None
    name: str = NAME
    answers: StructType = FOUND

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        before, after = self._sides(visits)
        yield compare(visits, before, after)

    def _sides(self, visits: PreparedVisits) -> tuple[AsItIs, AsItIs]:
        if self.against is not None:
            other = PreparedVisits(self.against.open(), visits.rows, visits.weight)
            return AsItIs(visits, visits.here), AsItIs(other, other.here)
        visits.conditions.word(visits.here)
        if self.campaign is not None:
            of_campaign = visits.index.campaign_ids.to_numpy()
            places = [place for place in visits.here if of_campaign[place] == self.campaign]
            return AsItIs(visits, places), CampaignDraft(visits, places, self.expression)
        assert self.edge is not None  # noqa: S101 - `make_draft` saw to it
        places = [place for place in visits.here if self._may_take_edge(visits, place)]
        return AsItIs(visits, places), EdgeDraft(visits, places, self.edge, self.expression)

    def _may_take_edge(self, visits: PreparedVisits, place: int) -> bool:
        """Tells whether a booking may take the edge; also true if its path is any, because only the
        walk knows which edges are on one."""
        conditions = visits.conditions.of(place)
        return f"@edge.{self.edge}" in conditions or any(
            each.startswith("@reach.") for each in conditions
        )


def compare(visits: PreparedVisits, before: AsItIs, after: AsItIs) -> pa.RecordBatch:
    """Makes a row of FOUND for each booking that either side has."""
    ids = sorted({*before.bookings, *after.bookings})
    counts: list[list[int | None]] = []
    gained, lost = [], []
    for booking in ids:
        old, new = find_rows(before, booking), find_rows(after, booking)
        is_told = old is not None and new is not None
        old, new = (old, new) if old is not None and new is not None else (NO_ROWS, NO_ROWS)
        gained.append(np.setdiff1d(new, old))
        lost.append(np.setdiff1d(old, new))
        sizes = [len(old), len(new), len(gained[-1]), len(lost[-1])]
        counts.append([visits.weight * size if is_told else None for size in sizes])
    sampler = Sampler(visits)
    columns = dict(zip((each.name for each in COUNTS), zip(*counts, strict=True), strict=True))
    return as_answers(
        FOUND,
        len(ids),
        **name_bookings_of(before, after, ids),
        **{name: pa.array(values, pa.int64()) for name, values in columns.items()},
        sampled_gained=sampler.list([sampler.choose(each) for each in gained]),
        sampled_lost=sampler.list([sampler.choose(each) for each in lost]),
    )


NO_ROWS = np.zeros(0, np.int32)


def find_rows(side: AsItIs, booking: int) -> Rows | None:
    """Finds nothing for a booking that the side has not."""
    return side.rows_of(side.bookings[booking]) if booking in side.bookings else NO_ROWS


def name_bookings_of(before: AsItIs, after: AsItIs, ids: Sequence[int]) -> dict[str, pa.Array]:
    campaigns, publishers = [], []
    for booking in ids:
        side = before if booking in before.bookings else after
        place, index = side.bookings[booking], side.visits.index
        campaigns.append(index.campaign_ids[place].as_py())
        publishers.append(index.publishers[place].as_py())
    return {
        "booking_id": pa.array(ids, pa.int64()),
        "campaign_id": pa.array(campaigns, pa.int64()),
        "publisher": pa.array(publishers, pa.string()),
    }


def make_draft(day: DayInput) -> Draft:
    asked = day.order.options
    given = {name: asked.get(name) for name in ("campaign", "edge", "against")}
    if sum(value is not None for value in given.values()) != 1:
        raise ValueError("say one of --campaign, --edge and --against")
    if given["against"] is not None:
        index = load_index(day.spark, given["against"], day.order.master)
        return Draft(against=index.source)
    if not asked.get("expression"):
        raise ValueError("a draft needs its --expression")
    return Draft(given["campaign"], given["edge"], asked["expression"])


def compute(day: DayInput) -> Tables:
    found = day.keep(sum_changes(day.found(NAME)))
    samples = [list_samples(found, name, change) for name, change in SAMPLED_AS.items()]
    return {"changes": found, "samples": samples[0].union(samples[1])}


def sum_changes(found: DataFrame) -> DataFrame:
    """Sums up; what cannot be told of some visits cannot be told at all."""
    is_told = sf.count("visits_before") == sf.count("*")
    sums = [sf.when(is_told, sf.sum(each.name)).alias(each.name) for each in COUNTS]
    keys = [each.name for each in BOOKING]
    return found.groupBy(*keys).agg(*sums, *[unite_samples(name) for name in SAMPLED_AS])


def list_samples(found: DataFrame, name: str, change: str) -> DataFrame:
    keys = [each.name for each in BOOKING]
    visits = found.select(*keys, sf.lit(change).alias("change"), sf.explode(name).alias("visit"))
    return visits.select(*keys, "change", column("visit").visit_id.alias("visit_id"))


JOB = DayJob(NAME, {"changes": CHANGES, "samples": SAMPLES}, compute, question=make_draft)
