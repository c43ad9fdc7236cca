"""Names a snapshot's downloads and gives their forms, for servers and those who follow them."""

from __future__ import annotations

import hashlib

import numpy as np

PREFIX = "/api/v1/snapshots/"
BOOKINGS_LINES = "bookings.jsonl"
TERMS_FILE = "terms.npy"
HASHES_FILE = "hashes.json"
DELTA_LINES = "deltas.jsonl"
# A row of `terms.npy`; rows ascend by booking id. `line_bytes` is the length of the booking's line
# in `bookings.jsonl`, the rest is as in the server's own file (`exchange.serving.bookings`).
TERMS = np.dtype(
    [
        ("booking_id", "<i8"),
        ("campaign_id", "<i8"),
        ("rank", "<i4"),
        ("line_bytes", "<i4"),
        ("path_at", "<i4"),
        ("reach", "<i8"),
        ("price", "<f8"),
        ("net_cpm", "<f8"),
    ]
)
# How a sealed document ends: with the hash of all that stands before.
SEAL = b',"sha256":"%b"}'
SEAL_BYTES = len(SEAL % (b"0" * 64))


def seal(document: bytes) -> bytes:
    """Seals a JSON object: adds the hash of what stands before as its last field."""
    body = document[:-1]
    return body + SEAL % hashlib.sha256(body).hexdigest().encode()
