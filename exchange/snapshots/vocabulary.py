"""Names audiences and lists as the index does: `@audience.17`, `@list.5.in.geo.city`.

People of every organisation have their own names; the index has one for each thing. A condition on
a list is a definition of its own, checked once however many expressions use it: when the list
changes, servers replace that definition, and no booking is inserted again.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from exchange.market.names import Definitions, Lists, Names, load_values
from exchange.snapshots.market import ListRow, Market
from exchange.snapshots.models import ChangeKind
from exchange.snapshots.quarantine import Quarantine
from exchange.snapshots.texts import (
    CheckedText,
    Compiled,
    Readable,
    find_names,
    read_tree,
    rename_in,
)
from targeting import Catalog, Expression, ExpressionError, parse
from targeting.tree import And, Node, Not, Operand, Or, Predicate, Reference, Xnor, Xor, walk


class Vocabulary:
    """The names of one market. `audiences` are those that compile, each after what it refers to;
    `slots` are the conditions on lists that they and other expressions use. Not thread-safe."""

    def __init__(self, market: Market, quarantine: Quarantine | None = None) -> None:
        self._market = market
        self._quarantine = quarantine or Quarantine()
        self._audiences = {audience_name(audience.id): audience for audience in market.audiences}
        self._lists = {row.id: row for row in market.value_lists}
        self._names: dict[int | None, Names] = {}
        self._compiled: dict[str, Compiled] = {}
        self._refused_slots: dict[str, ExpressionError] = {}
        self.slots: dict[str, Expression] = {}
        self.audiences: dict[str, Expression] = {}
        self._definitions = ChainMap(self.slots, self.audiences)
        for name in self._audiences:
            self._compile_audience(name)

    def compile(self, text: str, organisation_id: int | None) -> Readable:
        """Compiles with the names of the index. Raises `ExpressionError`, also for what an audience
        of it has wrong."""
        if "$" in text:
            return self._compile_tree(text, organisation_id)
        places = find_names(text, self._market.catalog)
        if not places:
            return CheckedText(text, self._market.catalog)
        rows = self._names_of(organisation_id).definitions.rows
        if any(name not in rows for name, _, _ in places):
            return self._compile_tree(text, organisation_id)  # which says what is wrong
        names = {name: audience_name(rows[name][0]) for name, _, _ in places}
        self._need_audiences(names.values())
        renamed = rename_in(text, places, names)
        return CheckedText(
            renamed, self._market.catalog, self._definitions, frozenset(names.values())
        )

    def _compile_tree(self, text: str, organisation_id: int | None) -> Expression:
        """Compiles by way of the tree: a condition on a list becomes a name as a whole."""
        names = self._names_of(organisation_id)
        read = parse(text, self._market.catalog, definitions=names.definitions)
        if not read.references and not read.list_names:
            return read
        self._check_lists(read, names)
        root = rename(read.root, names)
        expression = Expression(root, self._market.catalog, definitions=self._definitions)
        self._need_audiences(expression.references - self.slots.keys())
        return expression

    def _need_audiences(self, names: Iterable[str]) -> None:
        for name in names:
            compiled = self._compile_audience(name)
            if isinstance(compiled, ExpressionError):
                raise compiled

    def define_slot(self, name: str) -> Expression | None:
        """Makes the condition that a slot's name tells, with the list's values of now; None if
        there is no such list any more, or its values do not fit."""
        if name not in self.slots and name not in self._refused_slots:
            list_id, condition = read_slot(name)
            row = self._lists.get(list_id)
            if row is None:
                return None
            try:
                self.slots[name] = make_slot(condition, row, self._market.catalog)
            except ExpressionError as error:
                self._refused_slots[name] = error
        return self.slots.get(name)

    def _compile_audience(self, name: str) -> Compiled:
        if name not in self._compiled:
            audience = self._audiences[name]
            compiled = self._quarantine.compile(
                ChangeKind.AUDIENCE,
                audience.id,
                audience.expression,
                lambda text: self._compile_tree(text, audience.organisation_id),
            )
            if not isinstance(compiled, ExpressionError):
                self.audiences[name] = compiled = read_tree(compiled)
            self._compiled[name] = compiled
        return self._compiled[name]

    def _check_lists(self, expression: Expression, names: Names) -> None:
        """Checks conditions on lists; an unknown list is refused as every check refuses it."""
        for node in walk(expression.root):
            if isinstance(node, Predicate) and node.list_name is not None:
                if node.list_name not in names.lists:
                    parse(expression.text, self._market.catalog, lists={})
                name = slot_name(node, names)
                if self.define_slot(name) is None:
                    raise self._refused_slots[name]

    def _names_of(self, organisation_id: int | None) -> Names:
        if organisation_id not in self._names:
            self._names[organisation_id] = self._gather_names(organisation_id)
        return self._names[organisation_id]

    def _gather_names(self, organisation_id: int | None) -> Names:
        market = self._market
        owners = market.operator_ids | {organisation_id}
        lists = Lists(
            {
                row.name: (row.id, row.current_number, row.type)
                for row in market.value_lists
                if row.organisation_id in owners
            }
        )
        rows = {
            row.name: (row.id, row.expression)
            for row in market.audiences
            if row.organisation_id in owners
        }
        return Names(Definitions(rows, market.catalog, lists), lists)


@lru_cache(maxsize=16)
def make_slot(condition: Predicate, row: ListRow, catalog: Catalog) -> Expression:
    """Makes a condition on a list. It is kept, since a version never changes: whatever else is
    saved must not wait until a million values have been checked and printed again. It is checked as
    a person would write it, with the list's name: the errors then speak of it."""
    listed = load_values(row.id, row.current_number, row.type)
    text = Expression(replace(condition, list_name="it"), catalog).text
    parse(text, catalog, lists={"it": listed})
    values: tuple[Operand, ...] = tuple(listed)
    return Expression(replace(condition, operands=values), catalog)


def audience_name(audience_id: int) -> str:
    return f"audience.{audience_id}"


def slot_name(node: Predicate, names: Names) -> str:
    """Writes `list.5.not_in.geo.city`, with the parts of the operator joined."""
    list_id = names.lists.rows[str(node.list_name)][0]
    words = ["not"] * node.negated + ["count"] * node.counted + node.operator.split()
    return f"list.{list_id}.{'_'.join(words)}.{node.attribute}"


def read_slot(name: str) -> tuple[int, Predicate]:
    _, list_id, operator, attribute = name.split(".", 3)
    words = operator.split("_")
    negated, counted = "not" in words[:1], "count" in words[:2]
    kept = " ".join(words[negated + counted :])
    return int(list_id), Predicate(attribute, kept, negated=negated, counted=counted)


def rename(node: Node, names: Names) -> Node:
    if isinstance(node, And | Or | Xor | Xnor):
        return replace(node, children=tuple(rename(child, names) for child in node.children))
    if isinstance(node, Not):
        return replace(node, child=rename(node.child, names))
    if isinstance(node, Reference):
        return replace(node, name=audience_name(names.definitions.rows[node.name][0]))
    if isinstance(node, Predicate) and node.list_name is not None:
        return Reference(slot_name(node, names), node.notes)
    return node
