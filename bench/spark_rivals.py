"""Writes expressions as SQL, for databases that count beside the index, and as a row-wise Python
function.

Only what SQL can say in one line with the same truth: comparisons, lists of values, sets that share
or hold values, joined by `and`, `or`, `not`. Everything else is refused, and not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from targeting import Expression
from targeting.tree import And, Constant, Node, Not, Or, Predicate, children_of


class NoSqlError(Exception):
    """SQL has no such test."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database writes names, lists, and tests on lists."""

    quote: str
    values: Callable[[str], str]
    shares: str
    holds: str

    def name(self, attribute: str) -> str:
        return f"{self.quote}{attribute}{self.quote}"


SPARK = Dialect("`", lambda listed: f"array({listed})", "arrays_overlap", "array_contains")
DUCKDB = Dialect('"', lambda listed: f"[{listed}]", "list_has_any", "list_contains")


def write_sql(expression: Expression, dialect: Dialect) -> str:
    return write_node(expression.root, dialect)


def write_node(node: Node, dialect: Dialect) -> str:
    if isinstance(node, Constant):
        return str(node.value).lower()
    if isinstance(node, Predicate):
        return write_predicate(node, dialect)
    if isinstance(node, Not):
        return f"(not {write_node(node.child, dialect)})"
    if isinstance(node, And | Or):
        joint = " and " if isinstance(node, And) else " or "
        return f"({joint.join(write_node(each, dialect) for each in children_of(node))})"
    raise NoSqlError(type(node).__name__)


def write_predicate(node: Predicate, dialect: Dialect) -> str:
    if node.counted or node.list_name or not all(map(is_plain, node.operands)):
        raise NoSqlError(node.operator)
    text = write_test(node, dialect, dialect.name(node.attribute))
    return f"(not {text})" if node.negated else text


def is_plain(operand: object) -> bool:
    return isinstance(operand, bool | int | float | str)


def write_test(node: Predicate, dialect: Dialect, name: str) -> str:
    operands = [write_value(each) for each in node.operands]
    if node.operator in ("=", "!=", "<", "<=", ">", ">="):
        return f"({name} {node.operator.replace('!=', '<>')} {operands[0]})"
    if node.operator == "is true":
        return f"({name})"
    if node.operator == "between":
        return f"({name} between {operands[0]} and {operands[1]})"
    if node.operator == "in":
        return f"({name} in ({', '.join(operands)}))"
    if node.operator in ("one of", "none of"):
        shares = f"{dialect.shares}({name}, {dialect.values(', '.join(operands))})"
        return shares if node.operator == "one of" else f"(not {shares})"
    if node.operator == "all of":
        each = [f"{dialect.holds}({name}, {value})" for value in operands]
        return f"({' and '.join(each)})"
    raise NoSqlError(node.operator)


def write_value(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return str(value).lower()
