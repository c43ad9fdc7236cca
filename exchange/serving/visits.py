"""Reads visits of callers in the index's form; what is too large is the caller's problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from http import HTTPStatus

from exchange.serving.problems import ProblemError
from matcher_ext import visits
from matcher_ext.visits import PUBLISHER, STAMPED, STAMPED_TIMES, VisitError, stamp_milliseconds

__all__ = [
    "PUBLISHER",
    "STAMPED",
    "STAMPED_TIMES",
    "copy_flat",
    "flatten",
    "stamp",
    "stamp_milliseconds",
]


def stamp(flat: dict[str, object], publisher: str, at: datetime) -> None:
    stamp_milliseconds(flat, publisher, int(at.timestamp() * 1000))


def flatten(visit: Mapping[str, object], names: Collection[str]) -> dict[str, object]:
    """Flattens as `matcher_ext.visits.flatten` does, and raises the problem to answer with."""
    try:
        return visits.flatten(visit, names)
    except VisitError as error:
        raise invalid_visit(error) from None


def copy_flat(visit: Mapping[str, object], names: frozenset[str]) -> dict[str, object] | None:
    """Copies as `matcher_ext.visits.copy_flat` does, and raises the problem to answer with."""
    try:
        return visits.copy_flat(visit, names)
    except VisitError as error:
        raise invalid_visit(error) from None


def invalid_visit(error: VisitError) -> ProblemError:
    return ProblemError(HTTPStatus.BAD_REQUEST, "invalid_visit", str(error))
