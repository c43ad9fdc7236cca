"""Finds the single conditions that stand between a visit and a match.

For every node it knows how the root's truth depends on the node's, all else unchanged: a function
of three truth values, handed down from the root. One walk finds all fixes, however large the tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from targeting.evaluator import Truth, combine, negate
from targeting.tree import Constant, Not, Predicate, Reference, without_notes

if TYPE_CHECKING:
    from targeting.explanation import Explanation

TRUTHS: tuple[Truth, ...] = (True, False, None)


class Change(StrEnum):
    MET = "met"
    NOT_MET = "not met"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Fix:
    """This change of this one condition, all else unchanged, would make the expression match."""

    node: Predicate | Reference
    text: str
    change: Change


@dataclass(frozen=True, slots=True)
class Influence:
    """The root's truth for each truth of a node, and without the node.

    `within` names the definitions around the node; it is empty for the expression's own nodes.
    """

    by_truth: dict[Truth, Truth]
    dropped: Truth = None
    within: frozenset[str] = frozenset()


def find_fixes(explanation: Explanation) -> tuple[Fix, ...]:
    """Finds the changes of one condition that would make the visit match: none when it matches
    already, or lacks a required attribute. A condition that stands in several places can only be
    dropped in one: the visit meets it in all of them at once, which no single place can tell."""
    if explanation.truth is True or explanation.lacking:
        return ()
    found = list(spread(explanation, Influence({truth: truth for truth in TRUTHS})))
    places = Counter(without_notes(leaf.node) for leaf, _ in found)
    shared = {
        node.name for node, count in places.items() if isinstance(node, Reference) and count > 1
    }
    fixes = []
    for leaf, influence in found:
        is_only = places[without_notes(leaf.node)] == 1 and influence.within.isdisjoint(shared)
        for change in changes_of(influence, is_only=is_only):
            assert isinstance(leaf.node, Predicate | Reference)  # noqa: S101  spread's promise
            fixes.append(Fix(leaf.node, leaf.text, change))
    return tuple(fixes)


def changes_of(influence: Influence, *, is_only: bool) -> Iterator[Change]:
    if is_only and influence.by_truth[True] is True:
        yield Change.MET
    if is_only and influence.by_truth[False] is True:
        yield Change.NOT_MET
    if not influence.within and influence.dropped is True:
        yield Change.DROPPED


def spread(
    explanation: Explanation, influence: Influence
) -> Iterator[tuple[Explanation, Influence]]:
    """Yields all predicates and references below, each with its influence on the root."""
    node = explanation.node
    if isinstance(node, Predicate | Reference):
        yield explanation, influence
    if isinstance(node, Predicate | Constant):
        return
    if isinstance(node, Reference):
        # What is inside a definition can be met or not, but is not this expression's to drop.
        for tree in explanation.children:
            inside = influence.within | {node.name}
            yield from spread(tree, Influence(influence.by_truth, within=inside))
    elif isinstance(node, Not):
        turned = {truth: influence.by_truth[negate(truth)] for truth in TRUTHS}
        yield from spread(explanation.children[0], replace(influence, by_truth=turned))
    else:
        yield from spread_group(explanation, influence)


def spread_group(
    explanation: Explanation, influence: Influence
) -> Iterator[tuple[Explanation, Influence]]:
    counts = Counter(child.truth for child in explanation.children)
    for child in explanation.children:
        counts[child.truth] -= 1
        others = compress(counts)
        counts[child.truth] += 1
        by_truth = {
            truth: influence.by_truth[combine(explanation.node, [*others, truth])]
            for truth in TRUTHS
        }
        dropped = influence.by_truth[combine(explanation.node, others)]
        yield from spread(child, Influence(by_truth, dropped, influence.within))


def compress(counts: Counter[Truth]) -> list[Truth]:
    """Makes a few truths that combine like all of these: which occur, and whether an even number of
    times, is all that a connective asks."""
    return [
        truth
        for truth, count in counts.items()
        if count > 0
        for _ in range(1 if count % 2 == 1 else 2)
    ]
