"""Reads and writes a snapshot's bookings: a mapped Arrow table of what an answer says about each.

    booking_id   ascending, what the index answers with
    rank         place in the order of answers: net CPM descending, then campaign id
    fragment     the booking's item of an answer, already JSON; its path comes last
    path_at      how many bytes of the fragment come before the path
    reach        of a booking that takes any path: what the index knows the path by; else 0
    price        what the path's share is taken of: the bid of such a booking; else the net CPM
    net_cpm      as the fragment says, for changed bookings that look for their rank

Rows are found by binary search, so no Python object exists for a booking that is not answered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from exchange.serving.directory import DirectoryError
from matcher_ext import Snapshot
from matcher_ext.serving import TERMS, Integers, Items, Terms, count_before

# Within JSON strings every quotation mark is escaped, so this occurs only as the key itself.
NET_CPM_AT = b',"net_cpm":'

SCHEMA = pa.schema(
    [
        pa.field("booking_id", pa.int64(), nullable=False),
        pa.field("campaign_id", pa.int64(), nullable=False),
        pa.field("publisher", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("fragment", pa.large_binary(), nullable=False),
        pa.field("path_at", pa.int32(), nullable=False),
        pa.field("reach", pa.int64(), nullable=False),
        pa.field("price", pa.float64(), nullable=False),
        pa.field("net_cpm", pa.float64(), nullable=False),
    ]
)


class BookingRow(msgspec.Struct, frozen=True, gc=False):
    """One booking as answers name it. Of one that takes any path, path, fee and net CPM are those
    of the cheapest path there is, which no visit may be able to take."""

    booking_id: int
    campaign_id: int
    campaign: str
    advertiser: str
    publisher: str
    path: tuple[str, ...]
    fee_percent: float
    net_cpm: float
    reach: int = 0
    bid_cpm: float = 0.0

    @property
    def price(self) -> float:
        return self.bid_cpm if self.reach else self.net_cpm

    def fragment(self) -> tuple[bytes, int]:
        """Encodes the item; also returns where the path begins, for callers who want none."""
        item = encode_item(
            Item(
                self.campaign_id,
                self.campaign,
                self.advertiser,
                self.booking_id,
                self.net_cpm,
                self.fee_percent,
            )
        )
        path_at = len(item) - 1
        return b'%s,"path":%s}' % (item[:-1], encode_path(self.path)), path_at


class Item(msgspec.Struct, frozen=True, gc=False):
    """What an answer says about a booking, in this order; its path follows."""

    campaign_id: int
    campaign: str
    advertiser: str
    booking_id: int
    net_cpm: float
    fee_percent: float


encode_item = msgspec.json.Encoder().encode


@lru_cache(maxsize=100_000)  # many bookings share theirs
def encode_path(path: tuple[str, ...]) -> bytes:
    return msgspec.json.encode(path)


def write_bookings(path: Path, rows: Sequence[BookingRow]) -> None:
    """Writes the file; the rows come in ascending order of booking id."""
    fragments = [row.fragment() for row in rows]
    publishers = {name: number for number, name in enumerate(sorted({r.publisher for r in rows}))}
    columns = [
        as_integers([row.booking_id for row in rows], pa.int64()),
        as_integers([row.campaign_id for row in rows], pa.int64()),
        pa.DictionaryArray.from_arrays(
            as_integers([publishers[row.publisher] for row in rows], pa.int32()),
            as_bytes([name.encode() for name in publishers], pa.string()),
        ),
        as_integers(terms_of(rows).ranks(), pa.int32()),
        as_bytes([item for item, _ in fragments], pa.large_binary()),
        as_integers([path_at for _, path_at in fragments], pa.int32()),
        as_integers([row.reach for row in rows], pa.int64()),
        as_floats([row.price for row in rows]),
        as_floats([row.net_cpm for row in rows]),
    ]
    batch = pa.record_batch(columns, schema=SCHEMA)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        writer.write_batch(batch)


def as_integers(values: Sequence[int] | Integers, kind: pa.DataType) -> pa.Array:
    """Avoids `pa.array`, which imports pandas: seconds in every process that writes."""
    buffer = pa.py_buffer(np.array(values, f"int{kind.bit_width}"))
    return pa.Array.from_buffers(kind, len(values), [None, buffer])


def as_floats(values: Sequence[float]) -> pa.Array:
    buffer = pa.py_buffer(np.array(values, np.float64))
    return pa.Array.from_buffers(pa.float64(), len(values), [None, buffer])


def as_bytes(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Makes an array of texts, which come encoded."""
    offsets = np.zeros(len(values) + 1, np.int64 if kind == pa.large_binary() else np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def terms_of(rows: Collection[BookingRow]) -> Terms:
    """Collects what decides the order of bookings in answers."""
    return Terms(
        np.array([row.net_cpm for row in rows], np.float64),
        np.array([row.campaign_id for row in rows], np.int64),
        np.array([row.booking_id for row in rows], np.int64),
    )


class Bookings:
    """A mapped file of bookings. Immutable, so any number of threads may read it."""

    def __init__(self, path: Path) -> None:
        self._batch = open_batch(path)
        self._ids = self._integers("booking_id")
        self._ranks = self._integers("rank")
        if np.any(self._ids[1:] <= self._ids[:-1]):
            raise DirectoryError(f"{path} is not in ascending order of booking id")
        row_of_rank = np.argsort(self._ranks)
        if np.any(self._ranks[row_of_rank] != np.arange(len(self._ranks))):
            raise DirectoryError(f"{path} ranks its bookings wrongly")
        _, offsets, content = self._batch.column("fragment").buffers()
        self._rows_by_rank = row_of_rank
        # Memory views give plain Python integers when single elements are read.
        self._row_of_rank = row_of_rank.data
        self._offsets = memoryview(offsets or bytes(8)).cast("B").cast("q")
        self._content = memoryview(content or b"").cast("B")

    def items_of(self, index: Snapshot) -> Items:
        """Makes what the index answers with; raises DirectoryError if it is of another build."""
        offsets = np.frombuffer(self._offsets, np.int64, count=len(self) + 1)
        try:
            return Items(
                index,
                self._ids,
                self._ranks,
                offsets,
                self._content,
                campaigns=self._integers("campaign_id"),
                path_at=cast(NDArray[np.int32], self._integers("path_at")),
                reaches=self._integers("reach"),
                prices=self._floats("price"),
            )
        except ValueError as error:
            raise DirectoryError(f"index and bookings are not of one build: {error}") from error

    def _integers(self, name: str) -> Integers:
        # Not `to_numpy`, which imports pandas: two seconds at every start of a server.
        return cast(Integers, np.from_dlpack(self._batch.column(name)))

    def _floats(self, name: str) -> NDArray[np.float64]:
        return cast(NDArray[np.float64], np.from_dlpack(self._batch.column(name)))

    def __len__(self) -> int:
        return len(self._ids)

    def rows_of(self, booking_ids: Integers) -> Integers:
        return self._ids.searchsorted(booking_ids)

    def ranks_of(self, rows: Integers) -> Integers:
        return self._ranks.take(rows)

    def campaigns_of(self, rows: Integers) -> Integers:
        return self._integers("campaign_id").take(rows)

    def reaches_of(self, rows: Integers) -> Integers:
        return self._integers("reach").take(rows)

    def prices_of(self, rows: Integers) -> NDArray[np.float64]:
        return self._floats("price").take(rows)

    def count_before(self, others: Terms) -> NDArray[np.int64]:
        """Counts how many come before each of some other bookings in the order of answers."""
        below = Terms(self._floats("net_cpm"), self._integers("campaign_id"), self._ids)
        return count_before(below, self._rows_by_rank, others)

    def best_rows(self, booking_ids: Integers, limit: int | None) -> list[int]:
        """Returns the rows in the order of answers, at most `limit` of them."""
        ranks = self._ranks.take(self._ids.searchsorted(booking_ids))
        ranks.sort()
        row_of_rank = self._row_of_rank
        return [row_of_rank[rank] for rank in ranks[:limit].tolist()]

    def rows_by_campaign(self, booking_ids: Integers, limit: int | None) -> list[int]:
        rows = self._ids.searchsorted(booking_ids)
        order = self._integers("campaign_id").take(rows).argsort(kind="stable")
        best: list[int] = rows.take(order[:limit]).tolist()
        return best

    def keep_campaigns(self, booking_ids: Integers, campaign_ids: Sequence[int]) -> Integers:
        campaigns = self._integers("campaign_id").take(self._ids.searchsorted(booking_ids))
        return booking_ids[np.isin(campaigns, np.array(campaign_ids, np.int64))]

    def fragments(self, rows: Sequence[int]) -> list[memoryview]:
        """Returns the JSON items of these rows."""
        offsets, content = self._offsets, self._content
        return [content[offsets[row] : offsets[row + 1]] for row in rows]

    def terms(self, start: int, stop: int) -> bytes:
        """Returns these rows as `terms.npy` holds them; each says where its line of the bookings
        ends."""
        part = np.empty(stop - start, TERMS)
        for name in ("booking_id", "campaign_id", "rank", "path_at", "reach"):
            part[name] = self._integers(name)[start:stop]
        for name in ("price", "net_cpm"):
            part[name] = self._floats(name)[start:stop]
        offsets = np.frombuffer(self._offsets, np.int64, count=stop - start + 1, offset=8 * start)
        part["line_bytes"] = np.diff(offsets) + 1
        return part.tobytes()

    def pathless_fragments(self, rows: Sequence[int]) -> list[bytes]:
        offsets, content = self._offsets, self._content
        lengths = self._integers("path_at").take(rows).tolist() if rows else []
        return [
            b"%s}" % content[offsets[row] : offsets[row] + length]
            for row, length in zip(rows, lengths, strict=True)
        ]


def read_booking_ids(path: Path) -> Integers:
    """Reads the ids of a snapshot that is not served here, ascending."""
    return cast(Integers, np.from_dlpack(open_batch(path).column("booking_id")))


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
