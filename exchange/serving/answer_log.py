"""Keeps a sample of the answers that were given, for the parity report: one in N, as Parquet.

Internet addresses and what is not in the catalogue are left out, user ids are hashed with a salt
that is the log's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path

import msgspec
import numpy
import pyarrow as pa

from exchange.serving.instruments import ANSWERS_DROPPED
from exchange.serving.kept import MOST_KEPT, Kept, KeptLog, Retention, read_visits

USER_ID = "user.id"
SCHEMA = pa.schema(
    [
        pa.field("at", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("snapshot_id", pa.string(), nullable=False),
        pa.field("delta", pa.int64(), nullable=False),
        pa.field("visit", pa.string(), nullable=False),
        pa.field("booking_ids", pa.list_(pa.int64()), nullable=False),
    ]
)


class AnswerLog(KeptLog):
    name = "sampled answers"

    def __init__(
        self,
        folder: Path,
        *,
        every: int,
        salt: bytes,
        most: int = MOST_KEPT,
        retention: Retention | None = None,
    ) -> None:
        super().__init__(
            [folder], most=most, retention=retention or Retention(), dropped=ANSWERS_DROPPED
        )
        self.every = every
        self._hash_key = hashlib.blake2b(salt, digest_size=32).digest()
        self._numbers = count(1)

    def is_due(self) -> bool:
        return next(self._numbers) % self.every == 0

    def _make_tables(self, kept: list[Kept]) -> Iterator[tuple[date, pa.Table]]:
        """One, by columns, and bookings as the arrays that they are: a list of numbers for each
        would hold the interpreter for half a second, and every request with it."""
        visits = list(read_visits(kept))
        ids = [numpy.sort(each.booking_ids) for each in kept if each.booking_ids is not None]
        ends = numpy.cumsum([0, *map(len, ids)])
        table = pa.Table.from_arrays(
            [
                pa.array([visit["time"] for visit in visits], SCHEMA.field("at").type),
                pa.array([each.live.manifest.snapshot_id for each in kept]),
                pa.array([each.live.delta for each in kept]),
                pa.array([self._encode(*each) for each in zip(kept, visits, strict=True)]),
                pa.ListArray.from_arrays(ends.astype(numpy.int32), numpy.concatenate(ids)),
            ],
            names=SCHEMA.names,
        ).cast(SCHEMA)
        yield datetime.now(UTC).date(), table

    def _encode(self, kept: Kept, visit: Mapping[str, object]) -> str:
        types = {row[0]: row[1] for row in kept.live.index.snapshot.catalog_rows}
        return msgspec.json.encode(self._mask(visit, types)).decode()

    def _mask(self, whole: Mapping[str, object], types: Mapping[str, str]) -> dict[str, object]:
        visit = {
            name: value for name, value in whole.items() if name in types and types[name] != "ip"
        }
        if USER_ID in visit:
            visit[USER_ID] = self._hash(str(visit[USER_ID]))
        return visit

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), key=self._hash_key, digest_size=16).hexdigest()
