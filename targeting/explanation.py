"""Why an expression is true, false or undefined of a visit: the tree with each node's truth.

Shares the plain evaluator's code for every truth, so that it can never tell another story.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from targeting.evaluator import Context, Truth, combine, look_up, negate, test
from targeting.printer import print_line
from targeting.tree import (
    CONNECTIVES,
    And,
    Constant,
    Node,
    Not,
    Or,
    Predicate,
    Reference,
    Xnor,
    Xor,
)
from targeting.visits import Value


@dataclass(frozen=True, slots=True)
class Explanation:
    """A node, its truth, and for a predicate the visit's value (None when missing)."""

    node: Node
    truth: Truth
    value: Value | None = None
    malformed: bool = False
    children: tuple[Explanation, ...] = ()

    def walk(self) -> Iterator[Explanation]:
        yield self
        for child in self.children:
            yield from child.walk()

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"truth": self.truth}
        if isinstance(self.node, And | Or | Xor | Xnor):
            document["kind"] = CONNECTIVES[type(self.node)]
        elif isinstance(self.node, Not):
            document["kind"] = "not"
        else:
            document |= {"kind": "condition", "text": print_line(self.node)}
        if isinstance(self.node, Predicate):
            document["value"] = (
                sorted(self.value) if isinstance(self.value, frozenset) else self.value
            )
            document["malformed"] = self.malformed
        if self.children:
            document["children"] = [child.to_json() for child in self.children]
        return document


def explain(node: Node, context: Context) -> Explanation:
    if isinstance(node, Predicate):
        return Explanation(
            node,
            test(node, context),
            context.visit.values.get(node.attribute),
            node.attribute in context.visit.malformed,
        )
    if isinstance(node, Constant):
        return Explanation(node, node.value)
    if isinstance(node, Reference):
        truth = look_up(node.name, context)
        return Explanation(node, truth, children=(explain(context.trees[node.name], context),))
    if isinstance(node, Not):
        child = explain(node.child, context)
        return Explanation(node, negate(child.truth), children=(child,))
    children = tuple(explain(child, context) for child in node.children)
    return Explanation(node, combine(node, [c.truth for c in children]), children=children)
