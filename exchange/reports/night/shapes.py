"""What reports of the catalogue are made of: columns with their words, charts, who sees what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a column holds, which decides how it is written and what it may be filtered by."""

    CAMPAIGN = "campaign"
    PUBLISHER = "publisher"
    EDGE = "edge"
    STEP = "step"
    NAMED = "named"
    TEXT = "text"
    WORD = "word"
    DAY = "day"
    COUNT = "count"
    USERS = "users"
    DECIMAL = "decimal"
    SHARE = "share"


NUMBERS = {Kind.COUNT, Kind.USERS, Kind.DECIMAL, Kind.SHARE}


class Sees(StrEnum):
    """Who sees which rows, beside the exchange's own people, who see all of them."""

    CAMPAIGN = "campaign"  # whose campaign it is
    BOOKING = "booking"  # whose campaign it is, and whose publisher
    PUBLISHER = "publisher"  # whose publisher it is
    PAIR = "pair"  # whose publisher it is, and who has both campaigns
    NAMED = "named"  # whose campaign the row names
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its words. One that is `derived_from` users would tell them by a division, so
    it is hidden with them. An internal one is about the exchange's own files: others do not get
    it."""

    name: str
    label: str
    meaning: str
    kind: Kind = Kind.COUNT
    derived_from: str = ""
    is_internal: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: its column, and its colour's name."""

    column: str
    colour: str = "main"


@dataclass(frozen=True, slots=True)
class Bars:
    """The chart: a bar for each row, named by `labels`, or for each value of a label that rows are
    summed by; without parts, rows are counted. `low` and `high` are columns of an interval. Where
    all rows are shown they are in `order`."""

    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    is_summed: bool = False
    low: str = ""
    high: str = ""
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """A column that is narrowed to one of a few values. `default` is chosen if nothing is said;
    empty: all."""

    column: str
    label: str
    values: tuple[tuple[str, str], ...]
    default: str = ""


@dataclass(frozen=True, slots=True)
class NightReport:
    """`columns` may be empty: then the table says itself what it has. `sort` is the order that rows
    come in and that the chart's rows are chosen by, with a minus for the largest first. Rows with
    no more than 0 in the column `leaves_zeros` say nothing, and are left out."""

    slug: str
    title: str
    about: str
    group: str
    job: str
    table: str
    columns: tuple[Column, ...]
    sees: Sees
    sort: str
    bars: Bars | None = None
    choice: Choice | None = None
    empty: str = "The night found nothing to list here."
    note: str = ""
    leaves_zeros: str = ""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column | None:
        return next((each for each in self.columns if each.name == name), None)

    def column_of(self, kind: Kind) -> Column | None:
        return next((each for each in self.columns if each.kind == kind), None)
