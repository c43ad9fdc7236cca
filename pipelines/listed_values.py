"""Finds the values of lists that conditions ask for, each as a condition of its own.

Owns what "a value matched" means: a visit has the value, lies in the network, is under the host.
Values that a condition excludes are not asked for: that one of them never comes is no mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from matcher_ext.language import read_tree
from matcher_ext.values import CompiledCatalog
from targeting.printer import print_predicate
from targeting.tree import CONSTRUCTORS, Predicate

# A longer list is made by a program, and nobody goes through it value by value.
MOST_VALUES = 10_000
# How a single value is asked for, by the operator of its list.
ASKED_BY = {
    "in": "in",
    "in network": "in network",
    "under": "under",
    "one of": "one of",
    "all of": "one of",
    "only of": "one of",
}


def list_values(catalog: CompiledCatalog, predicates: Iterable[str]) -> list[str]:
    """Lists the values of all lists as conditions, each once, in the order of the predicates."""
    found: dict[str, None] = {}
    for text in predicates:
        node = read_tree(catalog, text, CONSTRUCTORS, composed=True)
        found.update(dict.fromkeys(split_list(node)))
    return list(found)


def split_list(node: object) -> Iterator[str]:
    """Yields a condition for each value; of one value alone, its own condition says it already."""
    if not isinstance(node, Predicate) or node.negated or node.counted:
        return
    operator = ASKED_BY.get(node.operator)
    if operator is not None and 1 < len(node.operands) <= MOST_VALUES:
        for value in node.operands:
            yield print_predicate(Predicate(node.attribute, operator, (value,)))
