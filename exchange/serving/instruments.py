"""What the eligibility servers count and time, for Prometheus.

With PROMETHEUS_MULTIPROC_DIR set (before the first import, to a folder that is emptied before the
servers start) the numbers of all worker processes add up; without it each process has its own.
A request only leaves a note; `Tally.flush` brings the notes to Prometheus, twice a second: in
process a request took 86 us with the four instruments in it and 68 us with a note instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Count
from collections import deque
from typing import NamedTuple

from prometheus_client import Counter, Gauge, Histogram

from exchange.serving.answers import Part

SECONDS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)

REQUESTS = Counter(
    "treeline_eligibility_requests", "Requests by endpoint and status.", ["endpoint", "code"]
)
LATENCY = Histogram(
    "treeline_eligibility_seconds", "Time in our code per eligibility request.", buckets=SECONDS
)
MATCH_TIME = Histogram(
    "treeline_match_seconds", "Time in the index per eligibility request.", buckets=SECONDS
)
MATCHES = Counter("treeline_matches", "Bookings found eligible.")
BAD_ATTRIBUTES = Counter(
    "treeline_bad_attributes",
    "Visits with a value of a wrong type, by attribute; those not in the catalogue as one.",
    ["attribute"],
)
SWAPS = Counter("treeline_snapshot_swaps", "Times a server took up a new snapshot.")
FAILED_SWAPS = Counter(
    "treeline_snapshot_failed_swaps", "Times a server could not take up what the directory named."
)
SNAPSHOT_READ_AT = Gauge(
    "treeline_snapshot_read_timestamp_seconds",
    "When Postgres was read for the snapshot that is served.",
    multiprocess_mode="mostrecent",
)

DELTA = Gauge(
    "treeline_snapshot_delta",
    "Number of the last change that is served beside the snapshot.",
    multiprocess_mode="mostrecent",
)
DELTA_SIZE = Gauge(
    "treeline_snapshot_delta_bookings",
    "Bookings that changed since the snapshot and are served beside it.",
    multiprocess_mode="mostrecent",
)
ANSWERS_DROPPED = Counter(
    "treeline_answer_log_dropped", "Sampled answers that could not be kept: too many, or no disk."
)

NOT_IN_CATALOGUE = "(not in the catalogue)"


class Note(NamedTuple):
    """What one answered request leaves behind."""

    endpoint: str
    seconds: float
    parts: tuple[Part, ...]


class Tally:
    """Thread-safe: notes are put and taken at the two ends of a deque. Bounded, because it is
    emptied by whoever finds it full."""

    def __init__(self, most: int = 20_000) -> None:
        self._notes: deque[Note] = deque()
        self._most = most

    def add(self, note: Note) -> None:
        self._notes.append(note)
        if len(self._notes) > self._most:
            self.flush()

    def flush(self) -> None:
        notes = take_all(self._notes)
        if not notes:
            return
        for endpoint, count in Count(note.endpoint for note in notes).items():
            REQUESTS.labels(endpoint, "200").inc(count)
        observe_all(LATENCY, [note.seconds for note in notes])
        parts = [part for note in notes for part in note.parts]
        observe_all(MATCH_TIME, [part.match_seconds for part in parts])
        MATCHES.inc(sum(part.count for part in parts))
        count_bad_attributes(parts)


def count_bad_attributes(parts: list[Part]) -> None:
    """By name only where the catalogue has it, so that callers cannot make names up."""
    for name, count in Count(name for part in parts for name in part.malformed).items():
        BAD_ATTRIBUTES.labels(name).inc(count)
    if unknown := sum(part.has_unknown for part in parts):
        BAD_ATTRIBUTES.labels(NOT_IN_CATALOGUE).inc(unknown)


def take_all(notes: deque[Note]) -> list[Note]:
    taken = []
    try:
        while True:
            taken.append(notes.popleft())
    except IndexError:
        return taken


def observe_all(histogram: Histogram, amounts: list[float]) -> None:
    """As `histogram.observe` of each, which writes to the shared file twice per amount."""
    counts = [0] * (len(SECONDS) + 1)
    for amount in amounts:
        counts[bisect_left(SECONDS, amount)] += 1
    for bucket, count in zip(histogram._buckets, counts, strict=True):
        if count:
            bucket.inc(count)
    histogram._sum.inc(sum(amounts))


TALLY = Tally()
