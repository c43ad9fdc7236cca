"""Owns the expression: a checked tree with its catalogue, and what can be asked of it.

It is immutable. Definitions (`@name`) and managed lists (`$name`) are looked up in the mappings
that it was parsed with; any Mapping will do, so that a caller may load them when asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from matcher_ext.language import read_tree
from matcher_ext.values import CompiledCatalog
from targeting.catalog import Catalog
from targeting.definitions import check_definitions, trees_of
from targeting.documents import Document, from_document, to_document
from targeting.evaluator import Context, Truth, evaluate
from targeting.explanation import Explanation, explain
from targeting.printer import print_tree
from targeting.tree import CONSTRUCTORS, Node, Operand, Predicate, Reference, walk
from targeting.visits import Visit, type_visit

Definitions = Mapping[str, "Expression"]
Lists = Mapping[str, Sequence[str] | Sequence[int]]
LIST_NAME = re.compile(r"\$([\w.-]*\w)", re.ASCII)


class Expression:
    """What `parse` returns. Equal expressions have equal trees over equal catalogues."""

    def __init__(
        self,
        root: Node,
        catalog: Catalog,
        *,
        definitions: Definitions | None = None,
        lists: Lists | None = None,
    ) -> None:
        self.root = root
        self.catalog = catalog
        self.definitions: Definitions = {} if definitions is None else definitions
        self.lists: Lists = {} if lists is None else lists

    @classmethod
    def from_json(
        cls,
        document: Any,
        catalog: Catalog,
        *,
        definitions: Definitions | None = None,
        lists: Lists | None = None,
    ) -> Expression:
        """Reads the form of `to_json`. Raises DocumentError for a wrong shape, ExpressionError
        (with positions in the printed text) for what the language refuses."""
        text = print_tree(from_document(document))
        return parse(text, catalog, definitions=definitions, lists=lists)

    @cached_property
    def text(self) -> str:
        """Prints the canonical text."""
        return print_tree(self.root)

    def to_json(self) -> Document:
        return to_document(self.root)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Names the attributes that it tests itself, not those of its definitions."""
        return frozenset(n.attribute for n in walk(self.root) if isinstance(n, Predicate))

    @cached_property
    def references(self) -> frozenset[str]:
        """Names the definitions that it uses directly."""
        return frozenset(n.name for n in walk(self.root) if isinstance(n, Reference))

    @cached_property
    def list_names(self) -> frozenset[str]:
        return frozenset(
            n.list_name for n in walk(self.root) if isinstance(n, Predicate) and n.list_name
        )

    def evaluate(self, visit: Visit) -> Truth:
        """Judges a visit: True, False, or None for undefined; only True matches.

        A visit that lacks an attribute marked required matches nothing: False.
        """
        context = self.context(visit)
        if context.visit.lacks_required(self.catalog):
            return False
        return evaluate(self.root, context)

    def explain(self, visit: Visit) -> Explanation:
        """Tells why it matches or not: the tree with each node's truth and the visit's values."""
        return explain(self.root, self.context(visit))

    def context(self, visit: Visit) -> Context:
        """Collects what the plain evaluator needs to judge this expression for a visit."""
        lists: Mapping[str, Sequence[Operand]] = self.lists
        trees = trees_of(self.references, self.definitions) if self.references else {}
        return Context(self.catalog, type_visit(self.catalog, visit), trees, lists)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self.root == other.root and self.catalog == other.catalog

    def __hash__(self) -> int:
        return hash(self.root)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __str__(self) -> str:
        return self.text


def parse(
    text: str,
    catalog: Catalog,
    *,
    definitions: Definitions | None = None,
    lists: Lists | None = None,
    name: str | None = None,
) -> Expression:
    """Parses and checks a text; raises ExpressionError with all its problems.

    With `definitions`, every `@name` must be among them, and must not lead back to `name`, under
    which the caller is about to keep this text. With `lists`, every `$name` must be among them
    and its values must fit. Without, names are left unchecked.
    """
    compiled = compile_lists(text, catalog, lists)
    root: Node = read_tree(compiled, text, CONSTRUCTORS)
    expression = Expression(root, catalog, definitions=definitions, lists=lists)
    if definitions is not None and expression.references:
        check_definitions(text, expression, name)
    return expression


def compile_lists(text: str, catalog: Catalog, lists: Lists | None) -> CompiledCatalog:
    """Adds to the catalogue those managed lists that the text may mention."""
    if lists is None or "$" not in text:
        return catalog.compiled
    used = {name: lists[name] for name in LIST_NAME.findall(text) if name in lists}
    return catalog.compiled.with_lists(used)
