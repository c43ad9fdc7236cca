"""Logs the visits of one user in N, as rows of the visit log, until jobs compact them.

    LOG/_incoming/dt=2026-11-16/0512-<random>.parquet       one file per process and minute

Which visits those are is decided where they are matched (`matcher_ext.serving.choosing`); what they
become is `targeting.visit_log`. Who writes here removes what is too old or too much of the whole
log, also of what was compacted.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from itertools import count, islice
from pathlib import Path

import pyarrow as pa

from exchange.serving.instruments import VISITS_DROPPED
from exchange.serving.kept import Kept, KeptLog, Retention, read_visits
from exchange.serving.live import LiveSnapshot
from matcher_ext.serving.choosing import choose
from matcher_ext.values import CompiledCatalog
from targeting.visit_log import PUBLISHER, TIME, USER, LogColumns, RowMaker, Salts, incoming_folder
from targeting.visits import EPOCH

MOST_KEPT = 20_000
# Making a table of so many visits at once holds the interpreter for about a millisecond.
ROWS_AT_ONCE = 64


class VisitLog(KeptLog):
    name = "logged visits"
    compression = "zstd"

    def __init__(
        self,
        folder: Path,
        *,
        one_in: int,
        salts: Salts,
        most: int = MOST_KEPT,
        retention: Retention | None = None,
    ) -> None:
        super().__init__(
            [incoming_folder(folder), folder],
            most=most,
            retention=retention or Retention(),
            dropped=VISITS_DROPPED,
        )
        self.one_in = one_in
        self._salts = salts
        self._asked = count(1)
        self._written = count(1)
        self._process = secrets.token_hex(6)

    def is_due(self, visit: Mapping[str, object], live: LiveSnapshot) -> bool:
        """Chooses among visits of the general way, which carry the server's stamps."""
        user = visit.get(USER) if has_users(live.index.snapshot.catalog) else None
        moment = visit[TIME]
        text = encode(user) if isinstance(user, str) else None
        number = next(self._asked)
        return isinstance(moment, int) and choose(text, moment, number, self.one_in)

    def _make_tables(self, kept: list[Kept]) -> Iterator[tuple[date, pa.Table]]:
        """Makes one table for each day and catalogue: nearly always one."""
        groups: dict[tuple[date, CompiledCatalog], list[Mapping[str, object]]] = {}
        for each, visit in zip(kept, read_visits(kept), strict=True):
            key = (day_of(visit), each.live.index.snapshot.catalog)
            groups.setdefault(key, []).append(visit)
        for (day, catalog), visits in groups.items():
            columns = LogColumns.of(zip(catalog.names, catalog.types, strict=True))
            yield day, self._make_table(columns, visits)

    def _make_table(self, columns: LogColumns, visits: Iterable[Mapping[str, object]]) -> pa.Table:
        maker = RowMaker(columns, self._salts, self.one_in)
        rows = (maker.make(f"{self._process}-{next(self._written)}", visit) for visit in visits)
        batches = []
        while some := list(islice(rows, ROWS_AT_ONCE)):
            batches.append(maker.make_batch(some))
        return pa.Table.from_batches(batches, maker.schema).sort_by(PUBLISHER)


def encode(user: str) -> bytes | None:
    try:
        return user.encode()
    except UnicodeEncodeError:  # no text, so the index does not know it either
        return None


def day_of(visit: Mapping[str, object]) -> date:
    """Returns the day by the server's own stamp."""
    moment = visit[TIME]
    assert isinstance(moment, int)  # noqa: S101 - whoever keeps a visit has stamped it
    return (EPOCH + timedelta(milliseconds=moment)).date()


def has_users(catalog: CompiledCatalog) -> bool:
    number = catalog.numbers.get(USER)
    return number is not None and catalog.types[number] == "string"
