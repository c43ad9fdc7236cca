"""Owns the way from a mapping or an Arrow row to a typed visit, and the test of one predicate."""

from matcher_ext.visits.flat_visits import (
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    MAX_LIST_LENGTH,
    MAX_NAME_LENGTH,
    PUBLISHER,
    STAMPED,
    STAMPED_TIMES,
    VisitError,
    bound_lists,
    copy_flat,
    flatten,
    stamp_milliseconds,
)

__all__ = [
    "MAX_ATTRIBUTES",
    "MAX_DEPTH",
    "MAX_LIST_LENGTH",
    "MAX_NAME_LENGTH",
    "PUBLISHER",
    "STAMPED",
    "STAMPED_TIMES",
    "VisitError",
    "bound_lists",
    "copy_flat",
    "flatten",
    "stamp_milliseconds",
]
