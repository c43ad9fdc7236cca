"""What an expression asks for that visits hardly ever carry.

Takes what was measured of the traffic; knows nothing of where it comes from. These are hints about
traffic, not about meaning: an expression may be right and early.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from targeting.expression import Expression
from targeting.printer import print_value
from targeting.tree import Operand, Predicate, walk

RARE = 0.05
MAX_NAMED = 5
WHOLE_VALUES = frozenset({"=", "in", "one of", "all of", "only of"})


@dataclass(frozen=True, slots=True)
class Traffic:
    """How often visits carry an attribute (0 to 1), and the values that were seen of it.

    An attribute that is not in `values` was not counted: nothing is said of its values.
    """

    fill_rates: Mapping[str, float]
    values: Mapping[str, Collection[Operand]]


def find_rare(expression: Expression, traffic: Traffic, *, rare: float = RARE) -> list[str]:
    """Attributes below the fill rate, then values never seen; as sentences."""
    return [
        *rare_attributes(expression, traffic, rare),
        *(
            sentence
            for node in walk(expression.root)
            if isinstance(node, Predicate)
            for sentence in unseen_values(node, expression, traffic)
        ),
    ]


def rare_attributes(expression: Expression, traffic: Traffic, rare: float) -> Iterator[str]:
    for name in sorted(expression.attributes):
        rate = traffic.fill_rates.get(name)
        if rate is not None and rate < rare:
            share = "no visit carries" if rate == 0 else f"only {rate:.1%} of visits carry"
            yield f"{share} `{name}`"


def unseen_values(node: Predicate, expression: Expression, traffic: Traffic) -> Iterator[str]:
    """Only where a condition asks for a value: avoiding one that never comes is no mistake."""
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
