"""Makes up visits for the check of a snapshot: no traffic is needed.

Their values come from the expressions themselves, near and exact, so that conditions are met and
missed in many combinations; an attribute is missing now and then.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from targeting import Catalog, Expression

MISSING_SHARE = 0.1
STRANGE_SHARE = 0.2
# No index knows this text, yet the visit carries a value: `!=` and `not in` hold.
UNSEEN = "a value that no expression names"
UNSEEN_SHARE = 0.1


class VisitMaker:
    """Draws visits from the values that some expressions name."""

    def __init__(
        self, catalog: Catalog, parts: Iterable[list[Expression]], chance: random.Random
    ) -> None:
        self._catalog = catalog
        self._chance = chance
        self._known = gather(expression for group in parts for expression in group)

    def make(self, aimed_at: list[Expression]) -> dict[str, object]:
        """Makes a visit that has a good chance of satisfying these expressions, and others."""
        own = gather(aimed_at)
        visit: dict[str, object] = {}
        for name, known in self._known.items():
            if self._chance.random() < MISSING_SHARE:
                continue
            is_strange = self._chance.random() < STRANGE_SHARE
            values = known if is_strange or name not in own else own[name]
            value = self._value(name, values)
            if value is not None:
                visit[name] = value
        return visit

    def _value(self, name: str, values: list[list[Any]]) -> object:
        operands = self._chance.choice(values)
        kind = self._catalog[name].type.value
        if kind == "boolean":
            return self._chance.random() < 0.5
        if not operands:
            return None
        if kind in {"string set", "integer set"}:
            return self._chance.sample(operands, self._chance.randint(0, len(operands)))
        if kind == "geo":
            latitude, longitude = flat(operands)[:2]
            return {"lat": latitude, "lon": longitude}
        return self._scalar(kind, self._chance.choice(operands))

    def _scalar(self, kind: str, operand: Any) -> object:
        if kind in {"integer", "float"}:
            return operand + self._chance.choice([-1, 0, 0, 1])
        if kind == "ip":
            return str(operand).partition("/")[0]
        if kind == "string" and self._chance.random() < UNSEEN_SHARE:
            return UNSEEN
        if kind == "string":
            return str(operand).replace("*", "x").replace("?", "x")
        return None  # times are stamped


def gather(expressions: Iterable[Expression]) -> dict[str, list[list[Any]]]:
    """Collects, for every attribute, the lists of values that conditions compare it with."""
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for expression in expressions:
        for predicate in predicates_of(expression.to_json()):
            is_value = not predicate.get("count")
            found[predicate["attribute"]].append(predicate.get("values", []) if is_value else [])
    return found


def predicates_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "attribute" in document:
        yield document
    for group in ("and", "or", "xor", "xnor"):
        for child in document.get(group, ()):
            yield from predicates_of(child)
    if "not" in document:
        yield from predicates_of(document["not"])


def flat(operands: list[Any]) -> list[float]:
    """Lists an area's numbers: a polygon's points are pairs, a circle's operands are not."""
    return list(operands[0]) if isinstance(operands[0], list | tuple) else operands
