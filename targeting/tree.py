"""Owns the tree of an expression as people wrote it: frozen nodes, without any behaviour.

An expression's tree comes from the parser, so its operands always fit their attribute's type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

Operand = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Note:
    """A comment, or a disabled condition: kept and printed back, never evaluated."""

    text: str
    disabled: bool = False


Notes = tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class And:
    children: tuple[Node, ...]
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple[Node, ...]
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Xor:
    """True when an odd number of children are."""

    children: tuple[Node, ...]
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Xnor:
    """`a xnor b xnor c` is `(a xnor b) xnor c`."""

    children: tuple[Node, ...]
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Not:
    child: Node
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """`@name`: an expression kept once and used by many."""

    name: str
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class Predicate:
    """`attribute [not] operator operands`.

    `counted`: the test is of `count(attribute)`. `list_name`: the operands are those of the
    managed list `$list_name`, and `operands` is empty. Times, addresses and hosts stay texts as
    written; a circle is (latitude, longitude, km), a polygon latitude and longitude in turn.
    """

    attribute: str
    operator: str
    operands: tuple[Operand, ...] = ()
    negated: bool = False
    counted: bool = False
    list_name: str | None = None
    notes: Notes = ()


Group = And | Or | Xor | Xnor
Node = Group | Not | Constant | Reference | Predicate

CONSTRUCTORS = {
    "and": And,
    "or": Or,
    "xor": Xor,
    "xnor": Xnor,
    "not": Not,
    "constant": Constant,
    "reference": Reference,
    "predicate": Predicate,
    "note": Note,
}
CONNECTIVES: dict[type[Group], str] = {And: "and", Or: "or", Xor: "xor", Xnor: "xnor"}


def children_of(node: Node) -> tuple[Node, ...]:
    if isinstance(node, And | Or | Xor | Xnor):
        return node.children
    return (node.child,) if isinstance(node, Not) else ()


def walk(node: Node) -> Iterator[Node]:
    """Yields the node and all below it, parents first, left to right."""
    yield node
    for child in children_of(node):
        yield from walk(child)


def walk_paths(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """Walks as `walk` does, and gives each node's path in the JSON form: `and.2.not.or.0`, "" of
    the root."""
    yield path, node
    below = f"{path}." if path else ""
    if isinstance(node, Not):
        yield from walk_paths(node.child, f"{below}not")
    elif isinstance(node, And | Or | Xor | Xnor):
        for index, child in enumerate(node.children):
            yield from walk_paths(child, f"{below}{CONNECTIVES[type(node)]}.{index}")


def without_notes(node: Node) -> Node:
    """Leaves out comments and disabled conditions, which do not change the meaning."""
    if isinstance(node, And | Or | Xor | Xnor):
        children = tuple(without_notes(child) for child in node.children)
        return replace(node, children=children, notes=())
    if isinstance(node, Not):
        return Not(without_notes(node.child))
    return replace(node, notes=()) if node.notes else node
