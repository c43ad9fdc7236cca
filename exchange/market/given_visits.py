"""Reads a visit as people give it to try it out: with a time of its own, or as a bid request.

What ad servers send is stamped with the server's clock, whatever it says. Here the time that a
visit says counts, so that a daypart can be tried at any hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from exchange.serving.answers import WarningNote
from exchange.serving.openrtb import read_impressions, read_sources
from exchange.serving.visits import PUBLISHER, STAMPED, STAMPED_TIMES, flatten, invalid_visit
from matcher_ext.visits import VisitError
from targeting import Catalog
from targeting.visits import EPOCH, MalformedError, read_timestamp, type_visit

WRONG_TIME = (
    "`{name}` is a moment such as 2026-11-17T08:30:00Z, or the milliseconds since 1970 in UTC."
)


@dataclass(frozen=True, slots=True)
class GivenVisit:
    """A visit to try. `flat` has dotted names. `at` is the time that it says, None if it says none;
    `imp_id` the impression of a bid request, None for a plain visit. `notes` are what the giver
    should know about how it was read."""

    flat: dict[str, object]
    at: datetime | None = None
    imp_id: str | None = None
    notes: tuple[WarningNote, ...] = ()

    def notes_at(self, publisher: str) -> tuple[WarningNote, ...]:
        """Adds that the publisher who is asked about is not the one that the visit names."""
        named = self.flat.get(PUBLISHER)
        if named is None or named == publisher:
            return self.notes
        return (*self.notes, ("other_publisher", PUBLISHER))


def is_bid_request(document: Mapping[str, Any]) -> bool:
    """Tells a bid request by its list `imp`: in a visit, `imp` is an object (one impression)."""
    return isinstance(document.get("imp"), list)


def read_given(document: Mapping[str, Any], catalog: Catalog) -> list[GivenVisit]:
    """Reads a visit, or one for each impression of a bid request. Raises `ProblemError` for what no
    ad server could send either, and for a time that cannot be read."""
    if not is_bid_request(document):
        return [note_faults(document, catalog)]
    imps = read_impressions(document, read_sources(catalog.to_json()))
    # OpenRTB knows no time: who writes one beside the rest wants it tried.
    said = {name: document[name] for name in STAMPED_TIMES if name in document}
    return [note_faults({**imp.visit, **said}, catalog, imp.imp_id, imp.notes) for imp in imps]


def note_faults(
    visit: Mapping[str, Any],
    catalog: Catalog,
    imp_id: str | None = None,
    notes: tuple[WarningNote, ...] = (),
) -> GivenVisit:
    known = {attribute.name for attribute in catalog}
    flat = flatten(visit, known)
    malformed = [("malformed_attribute", name) for name in type_visit(catalog, flat).malformed]
    unknown = [("unknown_attribute", name) for name in sorted(flat.keys() - known - STAMPED)]
    return GivenVisit(flat, read_time(flat), imp_id, (*malformed, *unknown, *notes))


def read_time(flat: Mapping[str, object]) -> datetime | None:
    """Reads the time that a visit says. Takes `local_time` for the same instant: the index shifts
    it to the visitor's clock."""
    for name in STAMPED_TIMES:
        if (value := flat.get(name)) is not None:
            try:
                return EPOCH + timedelta(milliseconds=read_timestamp(value))
            except (MalformedError, OverflowError):
                raise invalid_visit(VisitError(WRONG_TIME.format(name=name))) from None
    return None


def write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
