"""Owns the way from a request's bytes to its answer's bytes: order, texts, names of downloads."""

from matcher_ext.serving.answer_texts import Items
from matcher_ext.serving.fast_endpoint import Batch, Bucket, Counts, Desk, Pass, Times
from matcher_ext.serving.ranking import (
    Integers,
    Paths,
    Terms,
    count_before,
    fee_percent_of,
    find_worth,
    rank_between,
)
from matcher_ext.serving.snapshot_files import (
    BOOKINGS_LINES,
    DELTA_LINES,
    HASHES_FILE,
    PREFIX,
    SEAL,
    SEAL_BYTES,
    TERMS,
    TERMS_FILE,
    seal,
)
from matcher_ext.serving.state_answers import StateAnswers

__all__ = [
    "BOOKINGS_LINES",
    "DELTA_LINES",
    "HASHES_FILE",
    "PREFIX",
    "SEAL",
    "SEAL_BYTES",
    "TERMS",
    "TERMS_FILE",
    "Batch",
    "Bucket",
    "Counts",
    "Desk",
    "Integers",
    "Items",
    "Pass",
    "Paths",
    "StateAnswers",
    "Terms",
    "Times",
    "count_before",
    "fee_percent_of",
    "find_worth",
    "rank_between",
    "seal",
]
