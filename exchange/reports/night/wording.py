"""Writes the values of a night's rows as people read them: names for numbers, links to pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.urls import reverse

from exchange.accounts.models import User
from exchange.accounts.ownership import may_see
from exchange.market.models import Campaign, Edge, Party
from exchange.reports.night.asking import Row, is_below
from exchange.reports.night.shapes import Column, Kind

UNKNOWN = "\N{EN DASH}"
EDGE_PREFIX, ANY_PREFIX, CAMPAIGN_STEP = "edge.", "reach.", "campaign"
ALL_CAMPAIGNS = "All campaigns"
WORDS = {
    "predicate": "condition",
    "value": "value of a list",
    "unknown_hop": "unknown hop",
    "no_visit_id": "no visit id",
    "no_publisher": "no publisher",
    "no_time": "no time",
    "later_day": "of a later day",
}


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    href: str = ""
    is_number: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the campaigns, publishers and edges of some rows, looked up once; `seen` are the
    numbers of those whose pages the person may open."""

    campaigns: Mapping[int, Campaign]
    publishers: Mapping[str, str]
    edges: Mapping[int, Edge]
    seen: frozenset[tuple[str, int]]

    def write(self, row: Row, columns: Iterable[Column]) -> list[Cell]:
        return [self.write_cell(row, each) for each in columns]

    def write_cell(self, row: Row, column: Column) -> Cell:
        value = row.get(column.name)
        text, href = self._write_value(value, column, row)
        return Cell(text, href, column.is_number, column.label)

    def tell(self, row: Row, columns: Sequence[Column]) -> str:
        """Names a row by some of its columns, in one line."""
        return " · ".join(self.write_cell(row, each).text for each in columns)

    def _write_value(self, value: Any, column: Column, row: Row) -> tuple[str, str]:
        if column.kind == Kind.USERS and (below := is_below(row, column.name)):
            return f"< {below}", ""
        if column.kind == Kind.CAMPAIGN:
            return self._campaign(value)
        if value is None:
            return UNKNOWN, ""
        if column.kind == Kind.PUBLISHER:
            return self.publishers.get(value, value), ""
        if column.kind == Kind.EDGE:
            return self._edge(value)
        if column.kind == Kind.STEP:
            return self._step(value)
        if column.kind == Kind.NAMED:
            return self._named(value, row.get("kind"))
        return write_plain(value, column.kind), ""

    def _campaign(self, pk: int | None) -> tuple[str, str]:
        if pk is None:
            return ALL_CAMPAIGNS, ""
        found = self.campaigns.get(pk)
        if found is None:
            return f"campaign {pk}", ""
        is_seen = ("campaign", pk) in self.seen
        return found.name, reverse("campaign-detail", args=[pk]) if is_seen else ""

    def _edge(self, value: str) -> tuple[str, str]:
        pk = edge_number(value)
        found = self.edges.get(pk) if pk is not None else None
        if found is None:
            return f"edge {value}", ""
        is_seen = ("edge", found.pk) in self.seen
        name = f"{found.seller.name} \N{RIGHTWARDS ARROW} {found.buyer.name}"
        return name, reverse("edge-detail", args=[found.pk]) if is_seen else ""

    def _step(self, value: str) -> tuple[str, str]:
        if value == CAMPAIGN_STEP:
            return "the campaign's targeting", ""
        return ("any path", "") if value.startswith(ANY_PREFIX) else self._edge(value)

    def _named(self, value: str, kind: str | None) -> tuple[str, str]:
        if kind == "campaign" and value.isdecimal():
            return self._campaign(int(value))
        return self._edge(value) if kind == "edge" else (value, "")


def write_plain(value: Any, kind: Kind) -> str:
    if kind == Kind.SHARE:
        return f"{100 * value:.1f} %"
    if kind == Kind.DECIMAL:
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if kind != Kind.WORD else str(value)
    if isinstance(value, list):
        is_chain = any(isinstance(each, str) for each in value)
        return (" \N{RIGHTWARDS ARROW} " if is_chain else ", ").join(map(str, value))
    return value.isoformat() if isinstance(value, date) else WORDS.get(str(value), str(value))


def edge_number(value: str) -> int | None:
    number = value.removeprefix(EDGE_PREFIX)
    return int(number) if number.isdecimal() else None


def look_up_names(rows: Iterable[Row], columns: Sequence[Column], person: User) -> Names:
    """Looks up all names in three queries, however many rows there are."""
    found = Mentioned.of(rows, columns)
    campaigns = Campaign.objects.select_related("advertiser").in_bulk(found.campaigns)
    edges = Edge.objects.select_related("seller", "buyer").in_bulk(found.edges)
    parties = Party.objects.publishers().filter(seller_id__in=found.publishers).order_by()
    objects = [*campaigns.values(), *edges.values()]
    seen = {(str(each._meta.model_name), each.pk) for each in objects if may_see(person, each)}
    return Names(campaigns, dict(parties.values_list("seller_id", "name")), edges, frozenset(seen))


@dataclass(frozen=True, slots=True)
class Mentioned:
    campaigns: set[int]
    publishers: set[str]
    edges: set[int]

    @classmethod
    def of(cls, rows: Iterable[Row], columns: Sequence[Column]) -> Mentioned:
        found = cls(set(), set(), set())
        for row in rows:
            for column in columns:
                value = row.get(column.name)
                if value is not None:
                    found.note(value, column.kind, row.get("kind"))
        return found

    def note(self, value: Any, kind: Kind, named: str | None) -> None:
        if kind == Kind.CAMPAIGN:
            self.campaigns.add(value)
        elif kind == Kind.PUBLISHER:
            self.publishers.add(value)
        elif kind == Kind.NAMED and named == "campaign" and value.isdecimal():
            self.campaigns.add(int(value))
        elif kind in (Kind.EDGE, Kind.STEP) or (kind == Kind.NAMED and named == "edge"):
            pk = edge_number(value)
            if pk is not None:
                self.edges.add(pk)
