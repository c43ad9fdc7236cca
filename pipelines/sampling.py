"""Chooses sample visits of what workers count, the same ones in every run.

A visit has a place by a hash of its id; the first of each set are its sample, whatever parts of the
day the set was found in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pandas.util import hash_array
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pipelines.prepared import PreparedVisits, Rows
from targeting.visit_log import VISIT_ID

MOST_SAMPLED = 20
SAMPLED = StructType([StructField("place", LongType()), StructField("visit_id", StringType())])


class Sampler:
    """Chooses among the rows of prepared visits."""

    def __init__(self, visits: PreparedVisits) -> None:
        self._ids = visits.rows[VISIT_ID].combine_chunks()
        self._places = hash_array(self._ids.to_numpy(zero_copy_only=False)).view(np.int64)

    def choose(self, rows: Rows) -> Rows:
        if len(rows) <= MOST_SAMPLED:
            return rows
        return rows[np.argpartition(self._places[rows], MOST_SAMPLED)[:MOST_SAMPLED]]

    def list(self, chosen: Sequence[Rows]) -> pa.Array:
        """Makes a list of SAMPLED of each."""
        ends = np.cumsum([0, *map(len, chosen)]).astype(np.int32)
        every = np.concatenate([np.zeros(0, np.int32), *chosen])
        arrays = [self._places[every], self._ids.take(pa.array(every))]
        return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(arrays, SAMPLED.names))


def unite_samples(name: str) -> Column:
    """Unites lists of SAMPLED over the rows of a group."""
    every = sf.sort_array(sf.flatten(sf.collect_list(name)))
    return sf.slice(every, 1, MOST_SAMPLED).alias(name)


def name_bookings(visits: PreparedVisits, places: Sequence[int]) -> dict[str, Any]:
    """Names the bookings at these places, as columns."""
    taken = pa.array(places, pa.int64())
    return {
        "booking_id": visits.index.snapshot.ids[list(places)],
        "campaign_id": visits.index.campaign_ids.take(taken),
        "publisher": visits.index.publishers.take(taken),
    }
