"""Turns a line of a bid-request log into rows of the visit log, or says why it cannot be.

    {"id": .., "imp": [..], .., "time": "2026-11-16T05:12:00Z"}               a bid request
    {"publisher": .., "time": .., "bid_request": {"id": .., "imp": [..]}}     as servers are asked

OpenRTB knows no time, so the line says it. `targeting.openrtb` decides what a bid request says of
its visits, here as for servers.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NoReturn

from matcher_ext.visits import PUBLISHER, VisitError, copy_flat, flatten, stamp_milliseconds
from targeting import Catalog
from targeting.openrtb import BidRequestError, Source, read_impressions, read_sources
from targeting.visit_log import TIME, LogColumns, RowMaker, Salts
from targeting.visit_log.rows import Row, write_moment
from targeting.visits import EPOCH, MalformedError

MAX_LINE_BYTES = 256 * 1024  # as much as a request to the servers may have


class LineError(ValueError):
    """The line cannot be ingested. `reason` is one word for counting, the message for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Said:
    """What columns beside the line say; what the line says itself goes first."""

    time: object = None
    publisher: object = None


class LineReader:
    """Reads the lines of one day. `weight`: how many requests each of them stands for."""

    def __init__(self, catalog: Catalog, day: date, salts: Salts, weight: int) -> None:
        self.maker = RowMaker(LogColumns.of((a.name, a.type) for a in catalog), salts, weight)
        self._names = frozenset(attribute.name for attribute in catalog)
        self._sources: tuple[Source, ...] = read_sources(catalog.to_json())
        self._end = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)

    def read(self, line: str | None, said: Said) -> list[Row]:
        """Returns one row per imp. Raises `LineError`."""
        text = line or ""
        document = read_document(text)
        request = document.get("bid_request", document)
        if not isinstance(request, dict):
            raise LineError("no_bid_request", "`bid_request` is an object.")
        moment = self._read_time(document.get(TIME, said.time))
        request_id = request.get("id")
        if not isinstance(request_id, str) or not request_id:
            request_id = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
        visits = self._read_visits(request, document.get("publisher", said.publisher), moment)
        return [
            self.maker.make(f"{request_id}/{number}", visit)
            for number, visit in enumerate(visits, 1)
        ]

    def _read_visits(
        self, request: Mapping[str, Any], publisher: object, moment: int
    ) -> Iterator[Mapping[str, object]]:
        try:
            for imp in read_impressions(request, self._sources):
                flat = copy_flat(imp.visit, self._names)
                if flat is None:
                    flat = flatten(imp.visit, self._names)
                seller = flat.get(PUBLISHER) if publisher is None else publisher
                if not isinstance(seller, str) or not seller.strip():
                    raise LineError("no_publisher", "Neither the line nor its request names one.")
                stamp_milliseconds(flat, seller, moment)
                yield flat
        except BidRequestError as error:
            raise LineError("invalid_bid_request", str(error)) from None
        except VisitError as error:
            raise LineError("invalid_visit", str(error)) from None

    def _read_time(self, raw: object) -> int:
        """Reads the visit's time. A visit that comes late belongs to the day whose log has it; one
        from a later day is refused."""
        if raw is None:
            raise LineError("no_time", "The line does not say when it was.")
        try:
            moment = write_moment(raw)
        except MalformedError:
            raise LineError("invalid_time", "`time` is RFC 3339, or milliseconds.") from None
        if EPOCH + timedelta(milliseconds=moment) >= self._end:
            raise LineError("later_day", f"{raw} is after the day.")
        return moment


def read_document(text: str) -> dict[str, Any]:
    if len(text.encode(errors="replace")) > MAX_LINE_BYTES:
        raise LineError("too_large", f"A bid request may have {MAX_LINE_BYTES} bytes, not more.")
    try:
        document = json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise LineError("invalid_json", "The line is nested too deeply.") from None
    except ValueError as error:
        raise LineError("invalid_json", str(error)) from None
    if not isinstance(document, dict):
        raise LineError("no_bid_request", "The line is no object.")
    return document


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
