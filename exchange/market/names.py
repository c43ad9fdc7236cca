"""Finds what `@name` and `$name` mean in an expression, by the organisation that it belongs to.

An organisation's people use its own audiences and lists and those of the exchange's operator. The
two never share a name (`services` refuse it), so a name cannot change its meaning by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Q

from exchange.market.models import Audience, ValueList, ValueListVersion
from targeting import Catalog, Expression, parse

Values = Sequence[str] | Sequence[int]


@dataclass(frozen=True, slots=True)
class Names:
    definitions: Definitions
    lists: Lists


class Definitions(Mapping[str, Expression]):
    """Audiences by name, each parsed when it is first asked for; raises `ExpressionError` for one
    that no longer compiles."""

    def __init__(self, rows: Mapping[str, tuple[int, str]], catalog: Catalog, lists: Lists) -> None:
        self.rows = rows
        self._catalog = catalog
        self._lists = lists
        self._parsed: dict[str, Expression] = {}

    @property
    def ids(self) -> Mapping[str, int]:
        return {name: row[0] for name, row in self.rows.items()}

    def __getitem__(self, name: str) -> Expression:
        if name not in self._parsed:
            read = parse(self.rows[name][1], self._catalog)
            self._parsed[name] = Expression(
                read.root, self._catalog, definitions=self, lists=self._lists
            )
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class Lists(Mapping[str, Values]):
    """Lists by name; a list's values are read when they are first asked for. `given` are values
    that are not saved yet, by name."""

    def __init__(
        self,
        rows: Mapping[str, tuple[int, int, str]],
        given: Mapping[str, Values] | None = None,
    ) -> None:
        self.rows = rows
        self._given = given or {}

    @property
    def ids(self) -> Mapping[str, int]:
        return {name: row[0] for name, row in self.rows.items()}

    def __getitem__(self, name: str) -> Values:
        return self._given[name] if name in self._given else load_values(*self.rows[name])

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@lru_cache(maxsize=8)  # a version never changes; eight large lists are a few hundred MB at most
def load_values(list_id: int, number: int, kind: str) -> Values:
    values = ValueListVersion.objects.values_list("values", flat=True).get(
        value_list_id=list_id, number=number
    )
    return tuple(map(int, values)) if kind == ValueList.Type.INTEGER else tuple(values)


def load_names(organisation_id: int | None, catalog: Catalog) -> Names:
    """Loads what the organisation may use, in two queries; for None, only what the exchange's
    operator offers to all."""
    audiences = Audience.objects.kept().filter(usable_by(organisation_id))
    lists = ValueList.objects.kept().filter(usable_by(organisation_id))
    columns = ("name", "id", "current_number", "type")
    found = Lists({row[0]: row[1:] for row in lists.values_list(*columns)})
    rows = audiences.values_list("name", "id", "expression")
    return Names(Definitions({row[0]: row[1:] for row in rows}, catalog, found), found)


def with_audience(names: Names, audience: Audience, catalog: Catalog) -> Names:
    """Reads names as if the audience were saved with its expression of now."""
    rows = {**names.definitions.rows, audience.name: (audience.pk, audience.expression)}
    return Names(Definitions(rows, catalog, names.lists), names.lists)


def with_values(names: Names, value_list: ValueList, values: Values, catalog: Catalog) -> Names:
    """Reads names as if the list were saved with these values."""
    lists = Lists(names.lists.rows, {value_list.name: values})
    return Names(Definitions(names.definitions.rows, catalog, lists), lists)


def no_names() -> Names:
    lists = Lists({})
    return Names(Definitions({}, Catalog(()), lists), lists)


def usable_by(organisation_id: int | None) -> Q:
    return Q(organisation__is_operator=True) | Q(organisation_id=organisation_id)
