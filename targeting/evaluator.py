"""Owns the plain evaluator: short, obvious, three-valued (true, false, undefined as None).

It is the judge of the compiled matcher, so it shares nothing with it but the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from targeting.catalog import UTC_OFFSET, AttributeType, Catalog
from targeting.long_lists import LONG_TESTS, LongList, find_kept_list
from targeting.operators import TESTS, is_during, read_time_operands
from targeting.tree import And, Constant, Node, Not, Operand, Or, Predicate, Reference, Xor
from targeting.visits import TypedVisit, read_ip

Truth = bool | None
TIMES = (AttributeType.TIMESTAMP, AttributeType.TIMESTAMP_LOCAL)


class UnresolvedNameError(LookupError):
    """The expression uses a definition or list that the caller did not provide."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a tree is evaluated against.

    `trees` are the definitions' roots, each after those that it refers to. `known` keeps their
    truths: each is evaluated once, and no chain of definitions makes a deep stack.
    """

    catalog: Catalog
    visit: TypedVisit
    trees: Mapping[str, Node]
    lists: Mapping[str, Sequence[Operand]]
    known: dict[str, Truth] = field(default_factory=dict)


def negate(truth: Truth) -> Truth:
    return None if truth is None else not truth


def conjoin(truths: Iterable[Truth]) -> Truth:
    seen = set(truths)
    return False if False in seen else None if None in seen else True


def disjoin(truths: Iterable[Truth]) -> Truth:
    return negate(conjoin(negate(truth) for truth in truths))


def parity(truths: Sequence[Truth]) -> Truth:
    return None if None in truths else truths.count(True) % 2 == 1


def evaluate(node: Node, context: Context) -> Truth:
    if isinstance(node, Predicate):
        return test(node, context)
    if isinstance(node, Not):
        return negate(evaluate(node.child, context))
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Reference):
        return look_up(node.name, context)
    return combine(node, [evaluate(child, context) for child in node.children])


def combine(node: Node, truths: Sequence[Truth]) -> Truth:
    """Combines the truths of a group's children into its own."""
    if isinstance(node, And):
        return conjoin(truths)
    if isinstance(node, Or):
        return disjoin(truths)
    odd = parity(truths)
    if isinstance(node, Xor) or len(truths) % 2 == 1:
        return odd
    return negate(odd)


def look_up(name: str, context: Context) -> Truth:
    if name not in context.trees:
        raise UnresolvedNameError(f"definition @{name} is not known here")
    if name not in context.known:
        for below, tree in context.trees.items():
            if below not in context.known:
                context.known[below] = evaluate(tree, context)
    return context.known[name]


def test(node: Predicate, context: Context) -> Truth:
    """Tests one predicate: undefined where its value is missing, or the offset that it needs."""
    is_known = node.attribute in context.visit.values
    if node.operator in ("is present", "is missing"):
        return (is_known == (node.operator == "is present")) != node.negated
    if not is_known:
        return None
    long = find_kept_list(listed_by(node, context)) if node.operator in LONG_TESTS else None
    if node.operator == "during":
        answer = test_during(node, str(node.operands[0]), context)
    elif long is not None:
        answer = test_long(node, long, context)
    else:
        value = context.visit.values[node.attribute]
        operands = operands_of(node, context)
        answer = TESTS[node.operator](len(value) if node.counted else value, operands)  # type: ignore[arg-type]
    return negate(answer) if node.negated else answer


def test_long(node: Predicate, long: LongList, context: Context) -> bool:
    """Tests a predicate whose list is too long to go through for every visit."""
    value = context.visit.values[node.attribute]
    if context.catalog[node.attribute].type in TIMES:
        return value in long.moments
    return LONG_TESTS[node.operator](value, long)


def test_during(node: Predicate, schedule: str, context: Context) -> Truth:
    ms = context.visit.values[node.attribute]
    offset = context.visit.values.get(UTC_OFFSET)
    if context.catalog[node.attribute].type is AttributeType.TIMESTAMP:
        offset = 0
    if offset is None:
        return None
    return is_during(ms, schedule, offset)  # type: ignore[arg-type]


def operands_of(node: Predicate, context: Context) -> tuple[Operand, ...]:
    """Reads the operands in the attribute's type, a managed list's values in place of its name."""
    operands = tuple(listed_by(node, context))
    kind = context.catalog[node.attribute].type
    if kind in TIMES and node.operator != "during":
        return read_time_operands(operands)
    if kind is AttributeType.IP and node.operator in ("=", "!="):
        return tuple(read_ip(text) for text in operands)
    return operands


def listed_by(node: Predicate, context: Context) -> Sequence[Operand]:
    """Gives the operands as they are written, or as the managed list has them."""
    if node.list_name is None:
        return node.operands
    if node.list_name not in context.lists:
        raise UnresolvedNameError(f"list ${node.list_name} is not known here")
    return context.lists[node.list_name]
