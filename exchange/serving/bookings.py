"""The bookings file of a snapshot: a mapped Arrow table of what an answer says about each booking.

    booking_id   ascending, what the index answers with
    rank         place in the order of answers: net CPM descending, then campaign id
    fragment     the booking's item of an answer, already JSON

Rows are found by binary search, so no Python object exists for a booking that is not answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from exchange.serving.directory import DirectoryError

Integers = NDArray[np.signedinteger]

SCHEMA = pa.schema(
    [
        pa.field("booking_id", pa.int64(), nullable=False),
        pa.field("campaign_id", pa.int64(), nullable=False),
        pa.field("publisher", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("fragment", pa.large_binary(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class BookingRow:
    """One booking as answers name it."""

    booking_id: int
    campaign_id: int
    campaign: str
    advertiser: str
    publisher: str
    path: tuple[str, ...]
    net_cpm: float

    def fragment(self) -> bytes:
        return msgspec.json.encode(
            {
                "campaign_id": self.campaign_id,
                "campaign": self.campaign,
                "advertiser": self.advertiser,
                "booking_id": self.booking_id,
                "path": self.path,
                "net_cpm": self.net_cpm,
            }
        )


def write_bookings(path: Path, rows: Sequence[BookingRow]) -> None:
    """The rows come in ascending order of booking id."""
    columns = [
        pa.array([row.booking_id for row in rows], pa.int64()),
        pa.array([row.campaign_id for row in rows], pa.int64()),
        pa.array([row.publisher for row in rows], pa.string()).dictionary_encode(),
        pa.array(ranks(rows), pa.int32()),
        pa.array([row.fragment() for row in rows], pa.large_binary()),
    ]
    batch = pa.record_batch(columns, schema=SCHEMA)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        writer.write_batch(batch)


def ranks(rows: Sequence[BookingRow]) -> list[int]:
    order = sorted(range(len(rows)), key=lambda i: (-rows[i].net_cpm, rows[i].campaign_id, i))
    places = [0] * len(rows)
    for place, row in enumerate(order):
        places[row] = place
    return places


class Bookings:
    """The mapped file. Immutable, so any number of threads may read it."""

    def __init__(self, path: Path) -> None:
        self._batch = open_batch(path)
        # Not `to_numpy`, which imports pandas: two seconds at every start of a server.
        self._ids = cast(Integers, np.from_dlpack(self._batch.column("booking_id")))
        self._ranks = cast(Integers, np.from_dlpack(self._batch.column("rank")))
        if np.any(self._ids[1:] <= self._ids[:-1]):
            raise DirectoryError(f"{path} is not in ascending order of booking id")
        _, offsets, content = self._batch.column("fragment").buffers()
        self._offsets: Integers = np.frombuffer(offsets, np.int64)
        self._content = memoryview(content or b"")

    def __len__(self) -> int:
        return len(self._ids)

    def fragments_of(self, booking_ids: Integers, limit: int | None) -> list[memoryview]:
        """The JSON items of these bookings, best first, at most `limit` of them."""
        rows = np.searchsorted(self._ids, booking_ids)
        rows = rows[np.argsort(self._ranks[rows])][:limit]
        content = self._content
        starts = self._offsets[rows].tolist()
        ends = self._offsets[rows + 1].tolist()
        return [content[start:end] for start, end in zip(starts, ends, strict=True)]


def open_batch(path: Path) -> pa.RecordBatch:
    try:
        file = pa.ipc.open_file(pa.memory_map(str(path)))
        if not file.schema.equals(SCHEMA) or file.num_record_batches != 1:
            raise DirectoryError(f"{path} does not have the shape that this version reads")
        batch = file.get_batch(0)
        batch.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise DirectoryError(f"{path} cannot be read: {error}") from error
    return batch
