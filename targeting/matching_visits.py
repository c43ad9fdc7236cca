"""Finds a visit that makes several expressions true at once, to show people one that passes.

A search over the values of each attribute, as `search.py` does over their classes; likely values
are tried first, so that the visit looks like one. Times and the visitor's offset are chosen
together, since the visitor's clock follows from both. What is found was judged by the plain
evaluator; where nothing is found there may still be one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import Any

from targeting.budget import Budget, OutOfBudgetError
from targeting.candidates import MAX_CLASSES, candidates
from targeting.catalog import UTC_OFFSET, Attribute, AttributeType
from targeting.conditions import TooManyClassesError, read_condition
from targeting.evaluator import Context, Truth, UnresolvedNameError, test
from targeting.expression import Expression
from targeting.search import ANY, FLAGS, TRUE, UNDEFINED, Numbered, possible_truths, resolve
from targeting.tree import And, Constant, Node, Predicate, Reference, children_of
from targeting.visits import Visit, type_visit

NODES = 60_000
HOUR_MS = 3_600_000
HOURS = 7 * 24
SETS = (AttributeType.STRING_SET, AttributeType.INTEGER_SET)
TIMES = (AttributeType.TIMESTAMP, AttributeType.TIMESTAMP_LOCAL)
V4_MAPPED_BASE = 0xFFFF << 32
USUAL_OFFSETS = (0, 60, -300)
EXAMPLES: dict[AttributeType, Any] = {
    AttributeType.STRING: "other",
    AttributeType.GEO: [50.0, 10.0],
    AttributeType.IP: "203.0.113.7",
    AttributeType.INTEGER: 1,
    AttributeType.FLOAT: 1.0,
    AttributeType.BOOLEAN: True,
}

Piece = dict[str, Any]
Asked = tuple[Context, Predicate]


@dataclass(frozen=True, slots=True)
class Variable:
    """Numbers of the conditions on one attribute, or on the clock, and a piece of a visit for each
    way in which they can turn out."""

    atoms: tuple[int, ...]
    pieces: tuple[tuple[tuple[Truth, ...], Piece], ...]


def find_matching_visit(
    expressions: Sequence[Expression],
    *,
    given: Visit,
    likely: Mapping[str, Iterable[Any]],
    from_ms: int,
) -> dict[str, Any] | None:
    """Returns a visit with what is `given`, in JSON's types and times in milliseconds. All
    expressions are of one catalogue. `from_ms`: its time is in the week after, if one can be."""
    finder = Finder(expressions, given, likely, from_ms)
    try:
        return finder.find()
    except (OutOfBudgetError, TooManyClassesError, UnresolvedNameError):
        return None


class Finder:
    """Numbers the conditions, makes variables of them and tries. Used once."""

    def __init__(
        self,
        expressions: Sequence[Expression],
        given: Visit,
        likely: Mapping[str, Iterable[Any]],
        from_ms: int,
    ) -> None:
        self.budget = Budget(NODES)
        self._expressions = expressions
        self._given = dict(given)
        self._likely = likely
        self._from_ms = from_ms
        self._asked: dict[tuple[int, Predicate], int] = {}
        self._contexts = [expression.context(self._given) for expression in expressions]

    def find(self) -> dict[str, Any] | None:
        roots = [
            self._number(index, resolve(expression.root, self._contexts[index], self.budget))
            for index, expression in enumerate(self._expressions)
        ]
        root: Numbered = (And, tuple(roots))
        known = [ANY] * len(self._asked)
        variables = sorted(
            (narrow(root, each, known, self.budget) for each in self._list_variables()),
            key=lambda variable: len(variable.pieces),
        )
        chosen = choose(root, variables, known, self.budget)
        if chosen is None:
            return None
        visit = self._complete({**chosen, **self._given})
        is_met = all(expression.evaluate(visit) is True for expression in self._expressions)
        return visit if is_met else None

    def _number(self, index: int, node: Node) -> Numbered:
        """Gives each predicate below a node its number. An audience that is not known here cannot
        be made true."""
        if isinstance(node, Reference):
            raise UnresolvedNameError(node.name)
        if isinstance(node, Predicate):
            return self._asked.setdefault((index, node), len(self._asked))
        if isinstance(node, Constant):
            return node
        return type(node), tuple(self._number(index, child) for child in children_of(node))

    def _list_variables(self) -> Iterator[Variable]:
        by_attribute: dict[str, list[tuple[int, Asked]]] = {}
        for (index, predicate), number in self._asked.items():
            asked = self._contexts[index], predicate
            by_attribute.setdefault(predicate.attribute, []).append((number, asked))
        clock = self._take_clock(by_attribute)
        if clock:
            yield self._sort_out(clock, self._list_moments(clock))
        for name, asked_of in by_attribute.items():
            attribute = self._contexts[0].catalog[name]
            pieces = self._list_pieces(attribute, asked_of)
            is_said = attribute.required or name in self._given
            yield self._sort_out(asked_of, pieces, may_miss=not is_said)

    def _take_clock(self, by_attribute: dict[str, list[tuple[int, Asked]]]) -> list[Any]:
        catalog = self._contexts[0].catalog
        times = [name for name in by_attribute if catalog[name].type in TIMES]
        is_local = any(catalog[name].type is AttributeType.TIMESTAMP_LOCAL for name in times)
        names = [*times, *([UTC_OFFSET] if is_local and UTC_OFFSET in by_attribute else [])]
        return [each for name in names for each in by_attribute.pop(name)]

    def _list_moments(self, clock: list[tuple[int, Asked]]) -> Iterator[Piece]:
        """Lists every hour of a week, on a few clocks; then the bounds that conditions name."""
        catalog = self._contexts[0].catalog
        conditions = [read_condition(predicate, context) for _, (context, predicate) in clock]
        timed = [each for each in conditions if catalog[each.predicate.attribute].type in TIMES]
        beside = [each for each in conditions if each.predicate.attribute == UTC_OFFSET]
        named = candidates(catalog[timed[0].predicate.attribute], timed, self.budget)[1]
        hours = (self._from_ms + hour * HOUR_MS for hour in range(HOURS))
        bounds = candidates(catalog[UTC_OFFSET], beside, self.budget)[1] if beside else ()
        offsets = dict.fromkeys((*self._likely.get(UTC_OFFSET, ()), *USUAL_OFFSETS, *bounds))
        names = [each.name for each in catalog if each.type in TIMES]
        for offset, moment in product(offsets, [*hours, *named]):
            yield {**dict.fromkeys(names, moment), UTC_OFFSET: offset}

    def _list_pieces(
        self, attribute: Attribute, asked_of: list[tuple[int, Asked]]
    ) -> Iterator[Piece]:
        if attribute.name in self._given:
            yield {attribute.name: self._given[attribute.name]}
            return
        conditions = [read_condition(predicate, context) for _, (context, predicate) in asked_of]
        _, values = candidates(attribute, conditions, self.budget)
        for value in chain(self._list_likely(attribute), map(as_json(attribute), values)):
            yield {attribute.name: value}

    def _list_likely(self, attribute: Attribute) -> Iterator[Any]:
        known = chain(self._likely.get(attribute.name, ()), attribute.domain or ())
        if attribute.type in SETS:
            yield from ([value] for value in known)
            yield []
        else:
            yield from known
        if attribute.type in EXAMPLES:
            yield EXAMPLES[attribute.type]

    def _sort_out(
        self,
        asked_of: Sequence[tuple[int, Asked]],
        pieces: Iterable[Piece],
        *,
        may_miss: bool = True,
    ) -> Variable:
        """Keeps the first piece of those that are alike; to say nothing comes last."""
        found: dict[tuple[Truth, ...], Piece] = {}
        for piece in islice(pieces, MAX_CLASSES):
            self.budget.look_at(len(asked_of))
            found.setdefault(self._judge(asked_of, piece), piece)
        if may_miss:
            found.setdefault(self._judge(asked_of, {}), {})
        return Variable(tuple(number for number, _ in asked_of), tuple(found.items()))

    def _judge(self, asked_of: Sequence[tuple[int, Asked]], piece: Piece) -> tuple[Truth, ...]:
        catalog = self._contexts[0].catalog
        typed = type_visit(catalog, piece)
        return tuple(
            test(predicate, Context(catalog, typed, {}, context.lists))
            for _, (context, predicate) in asked_of
        )

    def _complete(self, visit: dict[str, Any]) -> dict[str, Any]:
        """Adds what every visit must carry."""
        for attribute in self._contexts[0].catalog:
            if attribute.required and attribute.name not in visit:
                values = chain(self._list_likely(attribute), [self._from_ms])
                visit[attribute.name] = next(values)
        return visit


def narrow(root: Numbered, variable: Variable, known: list[int], budget: Budget) -> Variable:
    """Drops the pieces that rule a match out whatever the other attributes are."""
    kept = []
    for truths, piece in variable.pieces:
        assign(variable, truths, known)
        if possible_truths(root, known, budget) & TRUE:
            kept.append((truths, piece))
    for atom in variable.atoms:
        known[atom] = ANY
    return Variable(variable.atoms, tuple(kept))


def choose(
    root: Numbered, variables: Sequence[Variable], known: list[int], budget: Budget
) -> Piece | None:
    """Chooses a piece of each; what makes no difference any more takes its first."""
    if not possible_truths(root, known, budget) & TRUE:
        return None
    if not variables:
        return {}
    for truths, piece in variables[0].pieces:
        assign(variables[0], truths, known)
        rest = choose(root, variables[1:], known, budget)
        if rest is not None:
            return {**piece, **rest}
    for atom in variables[0].atoms:
        known[atom] = ANY
    return None


def assign(variable: Variable, truths: Sequence[Truth], known: list[int]) -> None:
    for atom, truth in zip(variable.atoms, truths, strict=True):
        known[atom] = FLAGS[truth] if truth is not None else UNDEFINED


def as_json(attribute: Attribute) -> Any:
    """Returns what writes a value of the attribute as a visit would carry it."""
    if attribute.type in SETS:
        return sorted
    if attribute.type is AttributeType.GEO:
        return list
    return write_address if attribute.type is AttributeType.IP else lambda value: value


def write_address(number: int) -> str:
    if number >> 32 == 0xFFFF:
        return str(ipaddress.IPv4Address(number - V4_MAPPED_BASE))
    return str(ipaddress.IPv6Address(number))
