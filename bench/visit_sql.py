"""Writes campaigns as conditions of SQL, as far as it has the operators, and lets DuckDB count
them.

Truth in SQL is three-valued as the language's is. Sets are lists; a circle is spelled out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from targeting import Catalog, Expression, parse
from targeting.operators import read_time_operands
from targeting.tree import And, Constant, Node, Not, Operand, Or, Predicate, Reference

COMPARED = {"=", "!=", "<", "<=", ">", ">="}
EARTH_KM = 6371.0088


class UntoldError(Exception):
    """SQL has no such operator."""


def list_conditions(
    campaigns: Sequence[str], definitions: Mapping[str, str], catalog: Catalog, most: int
) -> dict[int, str]:
    """Returns the conditions of the first campaigns that SQL can express, by their number."""
    trees = {name: parse(text, catalog) for name, text in definitions.items()}
    told: dict[int, str] = {}
    for number, text in enumerate(campaigns):
        try:
            told[number] = tell(parse(text, catalog).root, catalog, trees)
        except UntoldError:
            continue
        if len(told) == most:
            break
    return told


def tell(node: Node, catalog: Catalog, trees: Mapping[str, Expression]) -> str:
    if isinstance(node, And | Or):
        word = " AND " if isinstance(node, And) else " OR "
        return "(" + word.join(tell(child, catalog, trees) for child in node.children) + ")"
    if isinstance(node, Not):
        return f"(NOT {tell(node.child, catalog, trees)})"
    if isinstance(node, Constant):
        return quote(node.value)
    if isinstance(node, Reference):
        return tell(trees[node.name].root, catalog, trees)
    if not isinstance(node, Predicate) or node.list_name is not None:
        raise UntoldError
    told = tell_predicate(node, catalog[node.attribute].type.value)
    return f"(NOT ({told}))" if node.negated else f"({told})"


def tell_predicate(node: Predicate, kind: str) -> str:
    name, operands = f'"{node.attribute}"', node.operands
    if kind == "geo":
        name = f'"{node.attribute}.lat"'
    if kind.startswith("timestamp"):
        if node.operator not in COMPARED:
            raise UntoldError
        return f"{name} {node.operator} {read_time_operands(operands)[0]}"
    if kind == "ip":
        raise UntoldError
    if node.operator in COMPARED:
        left = f"len(list_distinct({name}))" if node.counted else name
        return f"{left} {node.operator} {quote(operands[0])}"
    if node.operator == "within":
        return tell_circle(node)
    return tell_operator(name, node.operator, operands)


def tell_operator(name: str, operator: str, operands: tuple[Operand, ...]) -> str:
    values = ", ".join(map(quote, operands))
    if operator in ("starts with", "ends with", "contains"):
        return f"{operator.replace(' ', '_')}({name}, {values})"
    forms = {
        "is true": name,
        "is present": f"{name} IS NOT NULL",
        "is missing": f"{name} IS NULL",
        "is empty": f"len({name}) = 0",
        "in": f"{name} IN ({values})",
        "between": f"{name} BETWEEN {values.replace(', ', ' AND ')}",
        "one of": f"list_has_any({name}, [{values}])",
        "none of": f"NOT list_has_any({name}, [{values}])",
        "all of": f"list_has_all({name}, [{values}])",
    }
    if operator not in forms:
        raise UntoldError
    return forms[operator]


def tell_circle(node: Predicate) -> str:
    lat, lon, km = node.operands
    own = f'"{node.attribute}.lat"', f'"{node.attribute}.lon"'
    half = f"pow(sin(radians({lat} - {own[0]}) / 2), 2)"
    other = f"cos(radians({own[0]})) * cos(radians({lat}))"
    other += f" * pow(sin(radians({lon} - {own[1]}) / 2), 2)"
    return f"2 * {EARTH_KM} * asin(sqrt(least(1.0, {half} + {other}))) <= {km}"


def quote(value: Operand) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower()


class Database:
    """Visits in a DuckDB of one thread, loaded once: those that may be eligible for something."""

    def __init__(self, visits: pa.Table, catalog: Catalog) -> None:
        required = [f'"{each.name}" IS NOT NULL' for each in catalog if each.required]
        carried = " AND ".join(["true", *required])
        self._link = duckdb.connect(config={"threads": 1})
        self._link.register("given", flatten(visits))
        self._link.execute(f"CREATE TABLE visits AS SELECT * FROM given WHERE {carried}")  # noqa: S608  (ours)

    def count(self, conditions: Sequence[str]) -> list[int]:
        """Counts all conditions in one scan."""
        counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in conditions)
        found = self._link.execute(f"SELECT {counts} FROM visits").fetchone()  # noqa: S608  (ours)
        assert found is not None
        return list(found)


def flatten(visits: pa.Table) -> pa.Table:
    """Writes places as two columns, and times as milliseconds; what is no place is missing."""
    columns = {}
    for name in visits.schema.names:
        values = visits[name].combine_chunks()
        if pa.types.is_struct(values.type):
            lat, lon = (pc.struct_field(values, part) for part in ("lat", "lon"))
            is_place = pc.and_(pc.less_equal(pc.abs(lat), 90.0), pc.less_equal(pc.abs(lon), 180.0))
            columns[f"{name}.lat"] = pc.if_else(is_place, lat, None)
            columns[f"{name}.lon"] = pc.if_else(is_place, lon, None)
        elif pa.types.is_timestamp(values.type):
            columns[name] = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        else:
            columns[name] = values
    return pa.table(columns)
