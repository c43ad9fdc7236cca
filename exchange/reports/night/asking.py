"""Asks a night's table: those rows that a person sees and means, the first of them in an order, how
many there are, and what the chart is drawn from. One pass over the table, a piece at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from exchange.accounts.models import User
from exchange.reports.night.covering import BELOW, cover_small
from exchange.reports.night.seeing import find_rows, is_one_of, seen_columns
from exchange.reports.night.shapes import Column, Kind, NightReport
from exchange.reports.night.tables import Night, find_night, read_batches, read_schema

ROWS_SHOWN = 50
PAGES_SHOWN = 20  # further than that nobody reads; the downloads have all rows
BARS_SHOWN = 12
TIES = 3  # columns that decide between equals, so that pages are stable

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, and by whom. `campaigns` are those that a search means; None: all. A
    `sort` begins with a minus for the largest first."""

    report: NightReport
    person: User
    day: date | None = None
    campaigns: tuple[int, ...] | None = None
    publisher: str = ""
    choice: str = ""
    sort: str = ""
    page: int = 1

    @property
    def is_of_one_campaign(self) -> bool:
        return self.campaigns is not None and len(self.campaigns) == 1


@dataclass(frozen=True, slots=True)
class Answer:
    """`rows` are one page of `total`; `bars` are the rows, or sums, that the chart shows."""

    question: Question
    night: Night
    columns: tuple[Column, ...]
    rows: list[Row]
    total: int
    bars: list[Row]

    @property
    def before(self) -> int | None:
        return self.question.page - 1 if self.question.page > 1 else None

    @property
    def after(self) -> int | None:
        is_last = self.question.page * ROWS_SHOWN >= self.total
        return None if is_last or self.question.page >= PAGES_SHOWN else self.question.page + 1


def ask(question: Question) -> Answer | None:
    """Answers a question from its night's tables; gives None if no such night was counted."""
    report = question.report
    night = find_night(report.job, question.day, table=report.table)
    if night is None:
        return None
    columns = list_columns(question.person, report, night)
    shown = Best(question.sort or report.sort, columns, question.page * ROWS_SHOWN)
    charted = Best(report.sort, columns, BARS_SHOWN)
    sums = Sums(report)
    for batch in read_rows(question, night):
        for taker in (shown, charted, sums):
            taker.add(batch)
    first = (question.page - 1) * ROWS_SHOWN
    return Answer(
        question,
        night,
        columns,
        shown.rows()[first : first + ROWS_SHOWN],
        shown.total,
        sums.rows() if sums.is_wanted else in_order(charted.rows(), report, charted.total),
    )


def in_order(rows: list[Row], report: NightReport, total: int) -> list[Row]:
    """Puts what is shown whole into the order that it happens in."""
    order = report.bars.order if report.bars else ()
    if not order or total > len(rows):
        return rows
    return sorted(rows, key=lambda row: [row[name] for name in order])


def read_rows(question: Question, night: Night, *, covers: bool = True) -> Iterator[pa.RecordBatch]:
    """Reads rows of a night, redacted and narrowed to what is meant: nothing else reads them.
    Whoever passes `covers=False` covers small numbers of users with `small_counts` before they are
    told."""
    report, person = question.report, question.person
    names = [each.name for each in seen_columns(person, report)] or None
    schema = read_schema(night, report.table)
    conditions = [each for each in (find_rows(person, report),) if each is not None]
    conditions += narrow(question, schema)
    rows = reduce(and_, conditions) if conditions else None
    batches = read_batches(night, report.table, rows, names)
    yield from cover_small(batches, report, person, night) if covers else batches


def narrow(question: Question, schema: pa.Schema) -> Iterator[ds.Expression]:
    report = question.report
    if question.campaigns is not None and report.column_of(Kind.CAMPAIGN):
        yield is_one_of("campaign_id", list(question.campaigns))
    if question.publisher and report.column_of(Kind.PUBLISHER):
        yield ds.field("publisher") == question.publisher
    if report.told_if in schema.names:
        yield ds.field(report.told_if) > 0
    choice = report.choice
    if choice is not None and question.choice and choice.column in schema.names:
        kind = schema.field(choice.column).type
        yield ds.field(choice.column) == pa.scalar(question.choice).cast(kind)


def list_columns(person: User, report: NightReport, night: Night) -> tuple[Column, ...]:
    """Lists the catalogue's columns that the table has; for a report that names none, the table's
    own."""
    schema = read_schema(night, report.table)
    if report.columns:
        return tuple(
            each for each in seen_columns(person, report) if each.name in schema.names or not schema
        )
    return tuple(
        Column(
            each.name,
            each.name.replace("_", " ").capitalize(),
            str(each.type),
            Kind.COUNT if pa.types.is_integer(each.type) else Kind.TEXT,
        )
        for each in schema
    )


@dataclass(slots=True)
class Best:
    """Keeps the first `count` rows in an order, and counts all. Once it has so many, rows that come
    after the last of them are passed over before anything is copied or sorted."""

    sort: str
    columns: tuple[Column, ...]
    count: int
    total: int = 0
    _kept: pa.Table | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self.total += batch.num_rows
        piece = pa.Table.from_batches([self._pass_over(batch)])
        whole = piece if self._kept is None else pa.concat_tables([self._kept, piece])
        keys = self._keys(whole)
        if keys and whole.num_rows:
            chosen = pc.select_k_unstable(whole, k=self.count, sort_keys=keys)
            self._kept = whole.take(chosen)
        else:
            self._kept = whole.slice(0, self.count)

    def rows(self) -> list[Row]:
        return [] if self._kept is None else self._kept.to_pylist()

    def _pass_over(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Leaves out rows that come behind those kept. Without a value comes last, either way."""
        keys = self._keys(batch)
        if not keys or self._kept is None or self._kept.num_rows < self.count:
            return batch
        name, order = keys[0]
        last = self._kept[name][-1]
        if not last.is_valid or last.as_py() != last.as_py():  # not a number
            return batch
        is_before = pc.greater_equal if order == "descending" else pc.less_equal
        return batch.filter(is_before(batch.column(name), last))

    def _keys(self, rows: pa.Table | pa.RecordBatch) -> list[tuple[str, str]]:
        names = [each.name for each in self.columns if is_sortable(rows.schema, each.name)]
        wanted = self.sort.removeprefix("-")
        first = [(wanted, "descending" if self.sort.startswith("-") else "ascending")]
        ties = [(name, "ascending") for name in names[:TIES] if name != wanted]
        return (first if wanted in names else []) + ties


def is_sortable(schema: pa.Schema, name: str) -> bool:
    if name not in schema.names:
        return False
    kind = schema.field(name).type
    return not (pa.types.is_nested(kind) or pa.types.is_boolean(kind))


@dataclass(slots=True)
class Sums:
    """Sums up the parts of bars by their label, where a report's chart does that."""

    report: NightReport
    _found: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def is_wanted(self) -> bool:
        return self.report.bars is not None and self.report.bars.is_summed

    def add(self, batch: pa.RecordBatch) -> None:
        bars = self.report.bars
        if bars is None or not self.is_wanted or not batch.num_rows:
            return
        (label,) = bars.labels
        summed = [*(part.column for part in bars.parts), *filter(None, (bars.low, bars.high))]
        wanted = [(name, "sum") for name in summed] or [(label, "count")]
        grouped = pa.Table.from_batches([batch]).group_by(label).aggregate(wanted)
        for row in grouped.to_pylist():
            sums = self._found.setdefault(row[label], defaultdict(float))
            for name, how in wanted:
                sums[name if summed else COUNTED] += row[f"{name}_{how}"] or 0

    def rows(self) -> list[Row]:
        """Lists the bars: by label if that is a day, else the largest first."""
        assert self.report.bars is not None  # noqa: S101, whoever asks wants them
        (label,) = self.report.bars.labels
        rows: list[Row] = [{label: value, **sums} for value, sums in self._found.items()]
        column = self.report.column(label)
        if column is not None and column.kind == Kind.DAY:
            return sorted(rows, key=lambda row: row[label])
        measure = self.report.bars.parts[0].column if self.report.bars.parts else COUNTED
        return sorted(rows, key=lambda row: (-row[measure], str(row[label])))[:BARS_SHOWN]


COUNTED = "counted"


def is_below(row: Row, name: str) -> int | None:
    """Gives the number that a row's users are below where they are not told."""
    below: int | None = row.get(name + BELOW)
    return below
