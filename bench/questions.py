"""Makes what ad servers ask: whole visits as they were logged, and the bodies that carry them.

Nothing is cut or mended: objects, names that the catalogue does not know, times and malformed
values are sent as logged, as far as JSON can carry them (NaN becomes null).
Half of the bodies are written as Go or JavaScript write JSON, half as Python's `json` does, with
spaces and everything beyond ASCII escaped.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as parquet

from bench.bid_requests import draw_bid_requests

PATH = "/api/v1/eligibility"
BATCH_PATH = "/api/v1/eligibility:batch"
LIMIT = 20
BATCH_VISITS = 100
VISITS, BID_REQUESTS = "visits", "bid requests"
BATCHES, CURL = f"batches of {BATCH_VISITS} visits", "the welcome's curl line"


@dataclass(frozen=True, slots=True)
class Question:
    """What an ad server sends: the publisher, and a visit."""

    publisher: str
    visit: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """Requests of one kind, all different."""

    name: str
    path: str
    bodies: list[bytes]
    visits_each: int = 1

    def save(self, file: Path) -> None:
        """Writes one body per line."""
        file.write_bytes(b"".join(body + b"\n" for body in self.bodies))


def read_log(folder: Path) -> list[Question]:
    """Reads all visits of the newest day, each asked for at its own publisher."""
    day = max(folder.glob("dt=*"))
    rows = parquet.read_table(day).to_pylist()
    return ask_rows(rows, {row["publisher.id"] for row in rows if row["publisher.id"]})


def ask_rows(rows: Iterable[Mapping[str, Any]], sellers: Iterable[str]) -> list[Question]:
    """Makes a question of each row. A larger exchange has several editions of a publisher, of which
    one is drawn; a visit that was logged without its publisher may be any publisher's."""
    chosen, every = random.Random(1), sorted(sellers)
    editions: dict[str, list[str]] = {}
    questions = []
    for row in rows:
        name = row["publisher.id"] or ""
        if name not in editions:
            editions[name] = [each for each in every if each.startswith(name)]
        publisher = chosen.choice(editions[name])
        visit = as_sent(row)
        if name:
            visit["publisher.id"] = publisher
        questions.append(Question(publisher, visit))
    return questions


def as_sent(row: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in row.items() if value is not None}
    visit: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(known))
    return visit


def make_kinds(questions: Sequence[Question], curl: bytes | None = None) -> list[Kind]:
    requests = [
        {"publisher": each.publisher, "visit": each.visit, "limit": LIMIT} for each in questions
    ]
    bids = [
        {"publisher": each.publisher, "bid_request": bid, "limit": LIMIT}
        for each, bid in zip(
            questions, draw_bid_requests([each.visit for each in questions]), strict=True
        )
    ]
    batches = [
        {"requests": requests[first : first + BATCH_VISITS]}
        for first in range(0, len(requests) - BATCH_VISITS + 1, BATCH_VISITS)
    ]
    kinds = [
        Kind(VISITS, PATH, write_all(requests)),
        Kind(BID_REQUESTS, PATH, write_all(bids)),
        Kind(BATCHES, BATCH_PATH, write_all(batches), BATCH_VISITS),
    ]
    return kinds if curl is None else [*kinds, Kind(CURL, PATH, [curl])]


def write_all(requests: Iterable[Mapping[str, Any]]) -> list[bytes]:
    return [
        json.dumps(request).encode() if number % 2 else msgspec.json.encode(request)
        for number, request in enumerate(requests)
    ]
