"""Audiences and lists as the index names them: `@audience.17`, `$list.5`.

People of every organisation have their own names; the index has one for each thing. A list is
checked once per kind of condition that uses it, however many expressions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from exchange.market.names import Definitions, Lists, Names, Values
from exchange.snapshots.market import Market
from matcher_ext.catalog import CompiledCatalog
from targeting import Expression, ExpressionError, parse
from targeting.tree import And, Node, Not, Or, Predicate, Reference, Xnor, Xor, walk

Compiled = Expression | ExpressionError


class Vocabulary:
    """`audiences` are those that compile, each after what it refers to. Not thread-safe."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._audiences = {audience_name(audience.id): audience for audience in market.audiences}
        self._names: dict[int | None, Names] = {}
        self._checked: dict[tuple[str, str, str], ExpressionError | None] = {}
        self._lists: dict[str, Values] = {}
        self._compiled: dict[str, Compiled] = {}
        self.audiences: dict[str, Expression] = {}
        for name in self._audiences:
            self._compile_audience(name)

    def compile(self, text: str, organisation_id: int | None) -> Expression:
        """With the names of the index. Raises `ExpressionError`, also for what an audience of it
        has wrong."""
        names = self._names_of(organisation_id)
        read = parse(text, self._market.catalog, definitions=names.definitions)
        if not read.references and not read.list_names:
            return read
        root = rename(read.root, names)
        expression = Expression(
            root, self._market.catalog, definitions=self.audiences, lists=self._lists
        )
        self._check_lists(root, names)
        for reference in expression.references:
            compiled = self._compile_audience(reference)
            if isinstance(compiled, ExpressionError):
                raise compiled
        return expression

    def index_catalog(self) -> CompiledCatalog:
        """The catalogue with every list that is in use, for the index."""
        return self._market.catalog.compiled.with_lists(self._lists)

    def _compile_audience(self, name: str) -> Compiled:
        if name not in self._compiled:
            audience = self._audiences[name]
            try:
                compiled = self.compile(audience.expression, audience.organisation_id)
                self.audiences[name] = compiled
                self._compiled[name] = compiled
            except ExpressionError as error:
                self._compiled[name] = error
        return self._compiled[name]

    def _check_lists(self, root: Node, names: Names) -> None:
        """An unknown list keeps its name, and is refused here like in every check."""
        for node in walk(root):
            if isinstance(node, Predicate) and node.list_name is not None:
                error = self._check_list(node, names)
                if error is not None:
                    raise error

    def _check_list(self, node: Predicate, names: Names) -> ExpressionError | None:
        name = str(node.list_name)
        kind = (name, node.attribute, node.operator)
        if kind not in self._checked:
            owned = (own for own in names.lists if index_list(own, names) == name)
            values = {name: names.lists[own] for own in owned}  # noqa: B035  one, or none
            self._checked[kind] = self._try(node, values)
            if self._checked[kind] is None:
                self._lists.update(values)
        return self._checked[kind]

    def _try(self, node: Predicate, values: Mapping[str, Values]) -> ExpressionError | None:
        text = f"{node.attribute} {node.operator} ${node.list_name}"
        try:
            parse(text, self._market.catalog, lists=values)
        except ExpressionError as error:
            return error
        return None

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


def audience_name(audience_id: int) -> str:
    return f"audience.{audience_id}"


def index_list(name: str, names: Names) -> str:
    return f"list.{names.lists.rows[name][0]}" if name in names.lists else name


def rename(node: Node, names: Names) -> Node:
    if isinstance(node, And | Or | Xor | Xnor):
        return replace(node, children=tuple(rename(child, names) for child in node.children))
    if isinstance(node, Not):
        return replace(node, child=rename(node.child, names))
    if isinstance(node, Reference):
        return replace(node, name=audience_name(names.definitions.rows[node.name][0]))
    if isinstance(node, Predicate) and node.list_name is not None:
        return replace(node, list_name=index_list(node.list_name, names))
    return node
