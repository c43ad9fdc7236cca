"""Reads an expression as its owner may write it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from exchange.market.catalog import load_catalog
from exchange.market.names import Lists, Names, load_names, no_names
from targeting import Catalog, Expression, parse
from targeting.tree import Predicate, walk


def check_expression(
    *, text: str, organisation_id: int | None = None, name: str | None = None
) -> Expression:
    """Reads an expression; raises `ExpressionError` with the position of every mistake.

    People refer to audiences and lists by `@name` and `$name`. The names of edges are the index's
    own: a campaign must not borrow somebody's edge. `name` is the audience that the text is to
    become, so that a circle is found.
    """
    return read_expression(
        text=text, catalog=load_catalog(), organisation_id=organisation_id, name=name
    )


def read_expression(
    *, text: str, catalog: Catalog, organisation_id: int | None, name: str | None = None
) -> Expression:
    """Looks names up only where the text has any."""
    has_names = "@" in text or "$" in text
    names = (
        load_names(organisation_id=organisation_id, catalog=catalog) if has_names else no_names()
    )
    return parse(text, catalog, definitions=names.definitions, lists=names.lists, name=name)


class ExpressionReader:
    """Does `read_expression` for very many: asks for an organisation's names once, and looks
    through a list once for each kind of condition on it, however many expressions have it. Reads
    names as of the moment when it was made, or those that it is given. Not thread-safe."""

    def __init__(
        self, catalog: Catalog, names_of: Callable[[int | None], Names] | None = None
    ) -> None:
        self._catalog = catalog
        self._names = cache(names_of or self._load_names)
        self._checked: set[tuple[int, str]] = set()

    def read(self, text: str, organisation_id: int | None) -> Expression:
        if "$" not in text and "@" not in text:
            return parse(text, self._catalog)
        names = self._names(organisation_id)
        read = parse(text, self._catalog, definitions=names.definitions)
        for node in walk(read.root):
            if isinstance(node, Predicate) and node.list_name is not None:
                self._check_list(node, names.lists)
        return Expression(
            read.root, self._catalog, definitions=names.definitions, lists=names.lists
        )

    def _check_list(self, node: Predicate, lists: Lists) -> None:
        name = str(node.list_name)
        condition = Expression(node, self._catalog).text
        key = lists.ids.get(name, 0), condition
        if key not in self._checked:
            parse(condition, self._catalog, lists=lists)
            self._checked.add(key)

    def _load_names(self, organisation_id: int | None) -> Names:
        return load_names(organisation_id=organisation_id, catalog=self._catalog)
