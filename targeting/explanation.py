"""Explains why an expression is true, false or undefined of a visit: a tree of each node's truth.

Shares the plain evaluator's code for every truth, so that it can never tell another story.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from targeting.evaluator import Context, Truth, combine, look_up, negate, test
from targeting.fixes import Fix, find_fixes
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
    without_notes,
)
from targeting.visits import Value


@dataclass(frozen=True)
class Explanation:
    """A node, its truth, and for a predicate the visit's value (None when missing).

    A reference has its definition's tree as its only child the first time that it is met; later
    ones have none, so that shared definitions do not multiply. `lacking` (at the root only) names
    the required attributes that the visit lacks: without all of them a visit matches nothing.
    """

    node: Node
    truth: Truth
    value: Value | None = None
    malformed: bool = False
    children: tuple[Explanation, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        return self.truth is True and not self.lacking

    @property
    def text(self) -> str:
        return print_line(without_notes(self.node), is_root=True)

    @cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """Finds the single conditions that would make it match if met, not met, or dropped."""
        return find_fixes(self)

    def walk(self) -> Iterator[Explanation]:
        yield self
        for child in self.children:
            yield from child.walk()

    def to_json(self) -> dict[str, Any]:
        """Writes the whole explanation, with the fixes at the top."""
        return {
            **self._document(),
            "matches": self.matches,
            "lacking": list(self.lacking),
            "fixes": [{"condition": fix.text, "change": fix.change.value} for fix in self.fixes],
        }

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"kind": kind_of(self.node), "truth": self.truth}
        if not isinstance(self.node, And | Or | Xor | Xnor | Not):
            document["text"] = self.text
        if isinstance(self.node, Predicate):
            is_set = isinstance(self.value, frozenset)
            document["value"] = sorted(self.value) if is_set else self.value  # type: ignore[arg-type]
            document["malformed"] = self.malformed
            document["attribute"] = self.node.attribute
        if self.children:
            document["children"] = [child._document() for child in self.children]
        return document


def kind_of(node: Node) -> str:
    if isinstance(node, And | Or | Xor | Xnor):
        return CONNECTIVES[type(node)]
    if isinstance(node, Not):
        return "not"
    return "definition" if isinstance(node, Reference) else "condition"


def explain(node: Node, context: Context) -> Explanation:
    """Explains a whole tree, and names the required attributes that the visit lacks."""
    lacking = [a.name for a in context.catalog if a.required and a.name not in context.visit.values]
    return replace(explain_node(node, context, set()), lacking=tuple(lacking))


def explain_node(node: Node, context: Context, told: set[str]) -> Explanation:
    """Explains a node. `told` names the definitions whose trees are in the story already."""
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
        truth, is_new = look_up(node.name, context), node.name not in told
        told.add(node.name)
        below = (context.trees[node.name],) if is_new else ()
        trees = tuple(explain_node(tree, context, told) for tree in below)
        return Explanation(node, truth, children=trees)
    if isinstance(node, Not):
        child = explain_node(node.child, context, told)
        return Explanation(node, negate(child.truth), children=(child,))
    children = tuple(explain_node(child, context, told) for child in node.children)
    return Explanation(node, combine(node, [c.truth for c in children]), children=children)
