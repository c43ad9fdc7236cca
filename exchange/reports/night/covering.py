"""Covers figures of few users in a night's rows, for whoever trades on the exchange: pages, CSV and
Parquet read what comes out of here. Sorting comes after it, so that an order tells nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from exchange.accounts.models import User
from exchange.reports.night.campaign_reports import ALONE
from exchange.reports.night.seeing import find_rows
from exchange.reports.night.shapes import Kind, NightReport, Sees
from exchange.reports.night.tables import Night, read_batches
from exchange.reports.small_counts import is_small, least_told

BELOW = "_below"
# Users of a campaign at a publisher.
UsersOf = dict[tuple[str, int], int]


def cover_small(
    batches: Iterator[pa.RecordBatch], report: NightReport, person: User, night: Night
) -> Iterator[pa.RecordBatch]:
    """Takes out users that are too few to be told, and what is derived from them. A column beside
    them says below which number they are."""
    least = least_told(person)
    covered = [each.name for each in report.columns if each.kind == Kind.USERS]
    wholes = read_wholes(person, night) if report.sees == Sees.PAIR and least else {}
    for batch in batches:
        for name in covered if least else ():
            is_few = find_few(batch.column(name), least)
            hidden = pc.or_(is_few, find_nearly_all(batch, wholes, least)) if wholes else is_few
            batch = cover_column(batch, report, name, hidden)
            below = pc.if_else(is_few, pa.scalar(least, pa.int64()), pa.scalar(None, pa.int64()))
            batch = batch.append_column(name + BELOW, below)
        yield batch


def find_few(users: pa.Array, least: int) -> pa.Array:
    return pc.fill_null(pc.and_(pc.greater(users, 0), pc.less(users, least)), False)


def cover_column(
    batch: pa.RecordBatch, report: NightReport, name: str, hidden: pa.Array
) -> pa.RecordBatch:
    names = [name, *(each.name for each in report.columns if each.derived_from == name)]
    for each in names:
        cells = batch.column(each)
        shown = pc.if_else(hidden, pa.scalar(None, cells.type), cells)
        batch = batch.set_column(batch.schema.get_field_index(each), each, shown)
    return batch


def read_wholes(person: User, night: Night) -> UsersOf:
    """Users of each campaign that the person is told about, which pairs could be subtracted
    from."""
    columns = ["publisher", "campaign_id", "users"]
    found = read_batches(night, ALONE.table, find_rows(person, ALONE), columns)
    return {
        (row["publisher"], row["campaign_id"]): row["users"]
        for batch in found
        for row in batch.to_pylist()
        if row["users"] is not None
    }


def find_nearly_all(batch: pa.RecordBatch, wholes: UsersOf, least: int) -> pa.Array:
    """Finds pairs that have all but a few users of one of the two."""
    columns = (batch.column(name).to_pylist() for name in ("publisher", "users_both"))
    sides = zip(
        batch.column("campaign_id").to_pylist(),
        batch.column("partner_id").to_pylist(),
        strict=True,
    )
    return pa.array(
        [
            both is not None
            and any(is_small(wholes.get((place, side), both) - both, least) for side in pair)
            for place, both, pair in zip(*columns, sides, strict=True)
        ],
        pa.bool_(),
    )
