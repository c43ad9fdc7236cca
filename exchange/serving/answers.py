"""Puts an answer together from ready fragments: which of the matched bookings, in which order.

    {"snapshot_id": .., "delta": .., "snapshot_age_seconds": ..,     heading: the state
     "eligible": [..], "count": .., "warnings": [..]}                part: one per visit

A heading and its parts come from one `LiveSnapshot`, so no answer mixes two states.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import msgspec

from exchange.serving.changed_bookings import BookingsView
from matcher_ext.serving import Integers

WarningNote = tuple[str, str]  # a code, and the attribute that it is about

MAX_LIMIT = 10_000
MAX_CAMPAIGNS = 10_000
MAX_WARNINGS = 50
NO_WARNINGS = b"[]"
RECOVERED: WarningNote = ("recovered_state", "")
# A visit's part of an answer: its items, how many campaigns are eligible, its warnings.
FOUND = b'"eligible":[%b],"count":%d,"warnings":%b'

CampaignId = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class Order(StrEnum):
    """Orders the eligible campaigns: by what is left for the publisher, best first, or by their
    ids."""

    NET_CPM = "net_cpm"
    CAMPAIGN_ID = "id"


class Paths(StrEnum):
    """Says whether each campaign comes with its path, the cheapest that the visit may take."""

    CHEAPEST = "cheapest"
    NONE = "none"


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the caller wants to be told of a match; `campaigns` leaves out all others."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_LIMIT)] | None = None
    campaigns: Annotated[list[CampaignId], msgspec.Meta(max_length=MAX_CAMPAIGNS)] | None = None
    order: Order = Order.NET_CPM
    paths: Paths = Paths.CHEAPEST

    @property
    def is_plain(self) -> bool:
        """Tells whether all campaigns are wanted, the best first, with their paths: what the index
        answers by itself."""
        return (
            self.campaigns is None and self.order is Order.NET_CPM and self.paths is Paths.CHEAPEST
        )


EVERYTHING = Options()


class Part(msgspec.Struct, frozen=True, gc=False):
    """What the servers count about one visit's part of an answer. `count` is of all that are
    eligible, whatever the limit; `malformed` names attributes with a value of a wrong type."""

    count: int
    match_seconds: float
    malformed: tuple[str, ...]
    has_unknown: bool = False


def write_items(bookings: BookingsView, ids: Integers, options: Options) -> tuple[bytes, int]:
    """Writes the eligible campaigns as JSON; also returns how many there are without the limit."""
    if options.campaigns is not None:
        ids = bookings.keep_campaigns(ids, options.campaigns)
    if options.order is Order.NET_CPM:
        rows = bookings.best_rows(ids, options.limit)
    else:
        rows = bookings.rows_by_campaign(ids, options.limit)
    if options.paths is Paths.CHEAPEST:
        return b",".join(bookings.fragments(rows)), len(ids)
    return b",".join(bookings.pathless_fragments(rows)), len(ids)


def write_warnings(
    malformed: Iterable[str],
    unknown: Iterable[str],
    notes: Iterable[WarningNote] = (),
    standing: Iterable[WarningNote] = (),
) -> bytes:
    """Writes warnings with names only: what a visit carries may be personal. Those that every
    answer has come first."""
    found = [*standing]
    found += [("malformed_attribute", name) for name in sorted(malformed)]
    found += [("unknown_attribute", name) for name in sorted(unknown)]
    found += notes
    return msgspec.json.encode(
        [{"code": code, "attribute": name} for code, name in found[:MAX_WARNINGS]]
    )
