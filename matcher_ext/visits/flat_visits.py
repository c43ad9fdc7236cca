"""Brings a caller's visit into the form that the index reads: a flat dict of dotted names.

It bounds what a visit may hold and stamps what is not the caller's to say; what its values mean is
the index's business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

MAX_ATTRIBUTES = 500
MAX_DEPTH = 8
MAX_NAME_LENGTH = 200
MAX_LIST_LENGTH = 10_000
# The server's clock decides, never the visit: a flight or a daypart must not be the caller's to
# choose. `local_time` is the same instant, shifted by the index to the visitor's own clock.
STAMPED_TIMES = ("time", "local_time")
PUBLISHER = "publisher.id"
STAMPED = frozenset({*STAMPED_TIMES, PUBLISHER})


class VisitError(ValueError):
    """A visit is larger or deeper than visits may be; the message says how."""


def stamp_milliseconds(flat: dict[str, object], publisher: str, at: int) -> None:
    for name in STAMPED_TIMES:
        flat[name] = at
    flat[PUBLISHER] = publisher


def flatten(visit: Mapping[str, object], names: Collection[str]) -> dict[str, object]:
    """Flattens a visit: `{"geo": {"country": "USA"}}` becomes `{"geo.country": "USA"}`.

    An object under the name of an attribute is that attribute's value (a position is one).
    """
    flat: dict[str, object] = {}
    _flatten_into(flat, "", visit, names, MAX_DEPTH)
    bound_lists(flat)
    return flat


def copy_flat(visit: Mapping[str, object], names: frozenset[str]) -> dict[str, object] | None:
    """Copies a visit that is flat already and has only these names, as most are; else gives
    None."""
    if not visit.keys() <= names:
        return None
    flat = dict(visit)
    bound_lists(flat)
    return flat


def bound_lists(flat: Mapping[str, object]) -> None:
    for value in flat.values():
        if type(value) is list and len(value) > MAX_LIST_LENGTH:
            raise VisitError(f"A list may have {MAX_LIST_LENGTH} elements, not more.")


def _flatten_into(
    flat: dict[str, object],
    prefix: str,
    part: Mapping[str, object],
    names: Collection[str],
    depth: int,
) -> None:
    if not depth:
        raise VisitError(f"Objects in a visit may be nested {MAX_DEPTH} deep, not deeper.")
    for key, value in part.items():
        name = prefix + key
        if isinstance(value, dict) and name not in names:
            _flatten_into(flat, name + ".", value, names, depth - 1)
        elif len(flat) >= MAX_ATTRIBUTES:
            raise VisitError(f"A visit may carry {MAX_ATTRIBUTES} attributes, not more.")
        elif len(name) > MAX_NAME_LENGTH:
            raise VisitError(f"A name may have {MAX_NAME_LENGTH} characters, not more.")
        else:
            flat[name] = value
