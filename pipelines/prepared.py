"""Prepares the visits of a task, once for every question that is asked of them.

Owns the way from Arrow batches to a `VisitTable`, and which rows each booking is eligible for. The
table says how many those are. Which ones is found by the conditions of the bookings, each of them
asked once for all that have it, and held against that number; the few bookings whose conditions
cannot be asked as texts are matched row by row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matcher_ext import ExpressionError, LiveIndex, Snapshot, VisitTable
from pipelines.conditions import conditions_of
from pipelines.matching import OpenSnapshot, split_by_weight
from pipelines.sketches import Users
from targeting.visit_log import PUBLISHER

Numbers = NDArray[np.int64]
Rows = NDArray[np.int32]
Words = NDArray[np.uint64]

# Prepared at once: about 60 MB.
ROWS_AT_ONCE = 200_000
WORD_BITS = 64


class Codes(NamedTuple):
    """A column's values, and each row's place among them: -1 where there is none."""

    values: pa.Array
    of_row: Numbers


class Truth(NamedTuple):
    """Of which of a publisher's rows a condition is true and false; of the rest it is unknown."""

    true: Words
    false: Words


class PublisherRows:
    """The words of a table's bits from `first` on that hold one publisher's rows. `bits` are those
    that carry what is required; `truths` is what was asked, as far as it can be read."""

    def __init__(self, first: int, bits: Words) -> None:
        self.first = first
        self.bits = bits
        self.truths: dict[str, Truth] = {}

    def keep(self, condition: str, truth: Truth) -> None:
        self.truths[condition] = Truth(self.cut(truth.true), self.cut(truth.false))

    def cut(self, bits: Words) -> Words:
        """Takes what is the publisher's out of bits of the whole table."""
        return bits[self.first : self.first + len(self.bits)] & self.bits

    def all_true(self, conditions: Iterable[str]) -> Words:
        return reduce(np.bitwise_and, [self.truths[each].true for each in conditions], self.bits)


def prepare(index: OpenSnapshot, batches: Iterator[pa.RecordBatch]) -> Iterator[PreparedVisits]:
    for gathered in gather(batches):
        for weight, rows in split_by_weight(gathered):
            yield PreparedVisits(index, rows, weight)


def gather(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Joins batches: a table of many visits is asked as quickly as one of few."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(each.num_rows for each in waiting):
        yield pa.Table.from_batches(waiting)


class PreparedVisits:
    """Rows that stand for `weight` visits each, and the index that they are asked with. Bookings
    are meant by their place in the index's ids. Not thread-safe: what was asked is kept."""

    def __init__(self, index: OpenSnapshot, rows: pa.Table, weight: int) -> None:
        self.index = index
        self.rows = rows
        self.weight = weight
        self.table = VisitTable.from_arrow(rows, index.snapshot.catalog, by=PUBLISHER, users=None)
        self.conditions = conditions_of(index)
        self._publishers: dict[str, PublisherRows] = {}
        self._rows_of: dict[int, Rows] = {}
        self._codes: dict[str, Codes] = {}
        self._users: dict[str, Users] = {}

    @cached_property
    def counts(self) -> Numbers:
        """Counts the rows that each booking is eligible for."""
        return self.table.count(self.index.snapshot)

    @cached_property
    def eligible(self) -> list[int]:
        """Lists the bookings that are eligible for any row, ready to be asked for their rows."""
        found: list[int] = np.flatnonzero(self.counts).tolist()
        self.ask_conditions(found)
        return found

    @cached_property
    def here(self) -> list[int]:
        """Lists the bookings whose publisher has a row."""
        is_here = pc.is_in(self.index.publishers, pc.unique(self.rows[PUBLISHER]))
        found: list[int] = np.flatnonzero(is_here.to_numpy(zero_copy_only=False)).tolist()
        return found

    def ids_of(self, places: Sequence[int]) -> list[int]:
        ids: list[int] = self.index.snapshot.ids[places].tolist()
        return ids

    def publishers_of(self, places: Sequence[int]) -> list[str]:
        names: list[str] = self.index.publishers.take(pa.array(places, pa.int64())).to_pylist()
        return names

    def rows_of(self, place: int) -> Rows:
        """Finds the rows that an eligible booking is eligible for, in no promised order."""
        if place not in self._rows_of:
            found = self._find_rows(place)
            if len(found) != self.counts[place]:
                found = self._matched[0][self._matched[1] == place]
            self._rows_of[place] = found
        return self._rows_of[place]

    def _find_rows(self, place: int) -> Rows:
        """Joins the conditions; finds nothing where one of them cannot be read."""
        (publisher,) = self.publishers_of([place])
        at, conditions = self._publishers[publisher], self.conditions.of(place)
        if not all(each in at.truths for each in conditions):
            return np.zeros(0, np.int32)
        return self.row_numbers(at.first, at.all_true(conditions))

    @cached_property
    def _matched(self) -> tuple[Rows, Numbers]:
        """Matches row by row: which row meets which booking."""
        (batch,) = self.rows.combine_chunks().to_batches()
        offsets, ids = self.index.snapshot.match_batch(batch)
        rows = np.repeat(np.arange(self.rows.num_rows, dtype=np.int32), np.diff(offsets))
        return rows, np.searchsorted(self.index.snapshot.ids, ids)

    def ask_conditions(self, places: Sequence[int]) -> dict[str, PublisherRows]:
        """Asks what these bookings consist of, each condition once for all of their publishers."""
        self.conditions.word(places)
        wanted: dict[str, set[str]] = {}
        for place, publisher in zip(places, self.publishers_of(places), strict=True):
            at = self.at_publisher(publisher)
            for condition in self.conditions.of(place):
                if condition not in at.truths:
                    wanted.setdefault(condition, set()).add(publisher)
        for condition, publishers in wanted.items():
            self._ask_condition(condition, publishers)
        return self._publishers

    def _ask_condition(self, condition: str, publishers: Iterable[str]) -> None:
        try:
            truth = self.ask(condition)
        except ExpressionError:
            return
        for publisher in publishers:
            self._publishers[publisher].keep(condition, truth)

    def at_publisher(self, publisher: str) -> PublisherRows:
        """Finds a publisher's rows, whose blocks follow each other."""
        if publisher not in self._publishers:
            is_here = self.ask(f"{PUBLISHER} = {json.dumps(publisher)}").true
            words = np.flatnonzero(is_here)
            first, end = (int(words[0]), int(words[-1]) + 1) if len(words) else (0, 0)
            found = PublisherRows(first, (is_here & self._valid)[first:end])
            self._publishers[publisher] = found
        return self._publishers[publisher]

    def ask(self, text: str, index: Snapshot | LiveIndex | None = None) -> Truth:
        true, false, _ = self.table.bitmap(text, index or self.index.snapshot)
        return Truth(true.view(np.uint64), false.view(np.uint64))

    @cached_property
    def _valid(self) -> Words:
        """Marks the rows that carry what is required: others are eligible for nothing."""
        every = np.bitwise_or(*self.ask(f"{PUBLISHER} is missing"))
        for name, _, _, is_required, _ in self.index.snapshot.catalog_rows:
            if is_required:
                every &= self.ask(f"{name} is missing").false
        return every

    def row_numbers(self, first: int, bits: Words) -> Rows:
        """Turns bits of the table, from a word on, into rows, in no promised order."""
        words = np.flatnonzero(bits)
        is_set = np.unpackbits(bits[words].view(np.uint8), bitorder="little").view(bool)
        found: Rows = self._row_at[first + words].reshape(-1)[is_set]
        return found

    @cached_property
    def _row_at(self) -> Rows:
        """Finds the row of each bit, by words: the table says which rows a set of bits has, and so,
        asked once for each binary digit, on which bit a row is."""
        bits = len(self._valid) * WORD_BITS
        places = np.arange(bits)
        bit_of = np.zeros(self.rows.num_rows, np.int64)
        for digit in range(bits.bit_length()):
            has_digit = np.packbits((places >> digit & 1).astype(np.uint8), bitorder="little")
            bit_of[self.table.rows(has_digit)] |= 1 << digit
        row_at = np.zeros(bits, np.int32)
        row_at[bit_of] = np.arange(self.rows.num_rows)
        return row_at.reshape(-1, WORD_BITS)

    def users(self, name: str) -> Users:
        """Numbers the users of a column, in the order of their hashes."""
        if name not in self._users:
            self._users[name] = Users.of(*self.codes(name))
        return self._users[name]

    def codes(self, name: str) -> Codes:
        """Codes a column of texts; one that is absent, or of another type, has none."""
        if name not in self._codes:
            self._codes[name] = encode(self.rows, name)
        return self._codes[name]


def encode(rows: pa.Table, name: str) -> Codes:
    if name not in rows.schema.names or not pa.types.is_string(rows.schema.field(name).type):
        return Codes(pa.nulls(0, pa.string()), np.full(rows.num_rows, -1))
    coded = rows[name].combine_chunks().dictionary_encode()
    of_row = pc.fill_null(coded.indices, -1).to_numpy().astype(np.int64)
    return Codes(coded.dictionary, of_row)


def count_bits(bits: Words) -> int:
    return int(np.bitwise_count(bits).sum())
