"""Checking an expression as its owner may write it."""

from __future__ import annotations

from exchange.market.catalog import load_catalog
from exchange.market.names import Names, load_names
from targeting import Expression, parse


def check_expression(
    *,
    text: str,
    organisation_id: int | None = None,
    name: str | None = None,
    names: Names | None = None,
) -> Expression:
    """Raises `ExpressionError` with the position of everything that is wrong.

    People refer to audiences and lists by `@name` and `$name`. The names of edges are the index's
    own: a campaign must not borrow somebody's edge. `name` is the audience that the text is to
    become, so that a circle is found.
    """
    catalog = load_catalog()
    if names is None:
        names = load_names(organisation_id=organisation_id, catalog=catalog)
    return parse(text, catalog, definitions=names.definitions, lists=names.lists, name=name)
