"""Finds what an expression asks for that visits hardly ever carry, and which visits it leaves out.

It is given what was measured, and does not know where that comes from. These are hints about
traffic, not about meaning: an expression may be right, and only early.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from targeting.catalog import Attribute, AttributeType
from targeting.expression import Expression
from targeting.printer import print_value
from targeting.tree import And, Node, Not, Operand, Or, Predicate, walk, walk_paths

RARE = 0.05
MAX_NAMED = 5
NEGATIVE = frozenset({"!=", "none of", "is false"})
PRESENCE = frozenset({"is present", "is missing"})
OFFSET = "geo.utc_offset"  # what a time on the visitor's own clock needs
WHOLE_VALUES = frozenset({"=", "in", "one of", "all of", "only of"})


@dataclass(frozen=True, slots=True)
class Traffic:
    """How often visits carry an attribute (0 to 1), and the values that were seen of it.

    An attribute that is not in `values` was not counted: nothing is said of its values.
    """

    fill_rates: Mapping[str, float]
    values: Mapping[str, Collection[Operand]]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A condition that asks for the absence of something, and is undefined, not true, of visits
    without the attribute `needs`: `share` of all visits, None if nobody counted. `is_denied`: it
    asks for the presence, and stands under a `not`. `paths` lists all conditions that leave the
    same visits out."""

    condition: Predicate
    needs: str
    share: float | None
    is_denied: bool = False
    paths: tuple[str, ...] = ()


def find_excluded(expression: Expression, traffic: Traffic) -> list[Exclusion]:
    """Finds the visits that are left out unawares: one exclusion for each attribute, unless a
    condition asks whether the attribute is there."""
    told = {
        node.attribute
        for node in walk(expression.root)
        if isinstance(node, Predicate) and node.operator in PRESENCE
    }
    paths = {id(node): path for path, node in walk_paths(expression.root)}
    found: dict[str, Exclusion] = {}
    for node, is_denied in negative_conditions(expression.root):
        attribute = expression.catalog[node.attribute]
        needs = needed_by(node, attribute)
        rate = traffic.fill_rates.get(needs)
        if needs in told or attribute.required or rate == 1:
            continue
        share = None if rate is None else 1 - rate
        first = found.get(needs) or Exclusion(node, needs, share, is_denied)
        found[needs] = replace(first, paths=(*first.paths, paths[id(node)]))
    return list(found.values())


def needed_by(node: Predicate, attribute: Attribute) -> str:
    """Names the attribute that a visit must carry so that the condition is true or false of it."""
    is_local = attribute.type is AttributeType.TIMESTAMP_LOCAL
    return OFFSET if is_local and node.operator == "during" else attribute.name


def negative_conditions(node: Node, *, is_denied: bool = False) -> Iterator[tuple[Predicate, bool]]:
    """Yields the conditions that ask for an absence, and whether a `not` makes them do so. Says
    nothing of those in `xor`, where it depends on the rest."""
    if isinstance(node, Predicate):
        is_negative = node.negated != (node.operator in NEGATIVE)
        if is_negative != is_denied and node.operator not in PRESENCE:
            yield node, is_denied
    elif isinstance(node, Not):
        yield from negative_conditions(node.child, is_denied=not is_denied)
    elif isinstance(node, And | Or):
        for child in node.children:
            yield from negative_conditions(child, is_denied=is_denied)


def find_rare(expression: Expression, traffic: Traffic, *, rare: float = RARE) -> list[str]:
    """Tells of attributes below the fill rate, then of values never seen; in sentences."""
    return [
        *(sentence for _, sentence in rare_attributes(expression, traffic, rare)),
        *(
            sentence
            for node in walk(expression.root)
            if isinstance(node, Predicate)
            for sentence in unseen_values(node, expression, traffic)
        ),
    ]


def rare_attributes(
    expression: Expression, traffic: Traffic, rare: float
) -> Iterator[tuple[str, str]]:
    """Yields the names of rare attributes, each with a sentence."""
    for name in sorted(expression.attributes):
        rate = traffic.fill_rates.get(name)
        if rate is not None and rate < rare:
            share = "no visit carries" if rate == 0 else f"only {rate:.1%} of visits carry"
            yield name, f"{share} `{name}`"


def unseen_values(node: Predicate, expression: Expression, traffic: Traffic) -> Iterator[str]:
    """Names the values that were never seen, where the condition asks for one: avoiding a value
    that never comes is no mistake."""
    seen = traffic.values.get(node.attribute)
    if seen is None or node.negated or node.counted or node.operator not in WHOLE_VALUES:
        return
    wanted = node.operands
    if node.list_name is not None:
        wanted = tuple(expression.lists.get(node.list_name, ()))
    unseen = [print_value(value) for value in wanted if value not in seen]
    if unseen:
        more = f" and {len(unseen) - MAX_NAMED} more" if len(unseen) > MAX_NAMED else ""
        yield f"never seen in `{node.attribute}`: {', '.join(unseen[:MAX_NAMED])}{more}"
