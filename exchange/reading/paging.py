"""Pages long lists by key, never by offset: the tenth page costs what the first one does.

A cursor is the key of the row that the reader saw last. It holds nothing secret, so it is not
signed; one that cannot be read is a page that does not exist.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import reduce
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import Http404, QueryDict

PAGE_SIZE = 50
# Counting a million rows to print a number that nobody reads would cost more than the page. Fewer
# are counted of a search: what it finds may be one row in a hundred.
COUNT_LIMIT = 1_000
SEARCHED_COUNT_LIMIT = 200

Row = TypeVar("Row", bound=Model)
Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list: fields that together are unique, all in one direction, so that a key
    names one place."""

    fields: tuple[str, ...]
    is_descending: bool = False

    def names(self, *, backwards: bool) -> list[str]:
        sign = "-" if self.is_descending != backwards else ""
        return [sign + field for field in self.fields]

    def beyond(self, key: Key, *, backwards: bool) -> Q:
        """Leaves rows behind the key: (a, b) > (x, y), or < where the list runs the other way."""
        lookup = "lt" if self.is_descending != backwards else "gt"
        steps = []
        for position, field in enumerate(self.fields):
            same = dict(zip(self.fields[:position], key, strict=False))
            steps.append(Q(**same) & Q(**{f"{field}__{lookup}": key[position]}))
        # Follows from the rest, but an index can begin with it.
        bound = Q(**{f"{self.fields[0]}__{lookup}e": key[0]})
        return bound & reduce(lambda one, other: one | other, steps)

    def key_of(self, row: Model) -> Key:
        values = (attrgetter(field.replace("__", "."))(row) for field in self.fields)
        return tuple(write_part(value) for value in values)


def write_part(value: Any) -> str | int:
    """Writes a part as the database reads it back."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    total: int
    before: str
    after: str
    count_limit: int = COUNT_LIMIT

    @property
    def is_total_exact(self) -> bool:
        return self.total <= self.count_limit

    @property
    def shown_total(self) -> str:
        return tell_total(self.total, self.count_limit)


def tell_total(total: int, limit: int) -> str:
    return f"{total:,}" if total <= limit else f"more than {limit:,}"


def count_listed(queryset: QuerySet[Row]) -> str:
    """Says what the list of these rows says about their number, for links that lead there. They
    come in the order in which they are soonest found."""
    return tell_total(queryset.values("pk")[: COUNT_LIMIT + 1].count(), COUNT_LIMIT)


def count_roughly(queryset: QuerySet[Row]) -> str:
    """Counts as `count_listed` does, but where that is only more than its limit, says about how
    many Postgres takes them for; for rows that one column tells apart, of whose values it keeps
    frequencies."""
    said = count_listed(queryset)
    if not said.startswith("more"):
        return said
    (found,) = json.loads(queryset.order_by().explain(format="json"))
    guess = int(found["Plan"]["Plan Rows"])
    return f"about {round(guess, 2 - len(str(guess))):,}" if guess > COUNT_LIMIT else said


def read_page(
    queryset: QuerySet[Row],
    order: Order,
    query: QueryDict,
    *,
    is_searched: bool = False,
    size: int = PAGE_SIZE,
) -> Page[Row]:
    """Reads the page that `?after=` or `?before=` names, the first one without either."""
    count_limit = SEARCHED_COUNT_LIMIT if is_searched else COUNT_LIMIT
    # Counts in order: what is frequent among a list's first rows may be rare at the other end.
    counted = queryset.order_by(*(order.names(backwards=False) if is_searched else ()))
    after, before = query.get("after", ""), query.get("before", "")
    backwards = bool(before)
    rows = queryset.order_by(*order.names(backwards=backwards))
    if before or after:
        rows = go_on(rows, order, before or after, backwards=backwards)
    found = list(rows[: size + 1])
    has_more = len(found) > size
    shown = found[:size]
    if backwards:
        shown.reverse()
    has_previous = has_more if backwards else bool(after)
    has_next = True if backwards else has_more
    return Page(
        rows=shown,
        total=counted.values("pk")[: count_limit + 1].count(),
        count_limit=count_limit,
        before=write_cursor(order.key_of(shown[0])) if shown and has_previous else "",
        after=write_cursor(order.key_of(shown[-1])) if shown and has_next else "",
    )


def go_on(
    rows: QuerySet[Row], order: Order, cursor: str, *, backwards: bool = False
) -> QuerySet[Row]:
    """Leaves the rows behind the one that the cursor names; one whose parts are of other columns
    names none."""
    try:
        return rows.filter(order.beyond(read_cursor(cursor, order), backwards=backwards))
    except (ValueError, TypeError, ValidationError):
        raise Http404("This page of the list does not exist.") from None


def write_cursor(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def read_cursor(text: str, order: Order) -> Key:
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        raise Http404("This page of the list does not exist.") from None
    is_key = isinstance(key, list) and len(key) == len(order.fields)
    if not is_key or not all(type(part) in (str, int) for part in key):
        raise Http404("This page of the list does not exist.")
    return tuple(key)
