"""Reading an expression as its owner may write it."""

from __future__ import annotations

from exchange.market.catalog import load_catalog
from exchange.market.names import load_names, no_names
from targeting import Catalog, Expression, parse


def check_expression(
    *, text: str, organisation_id: int | None = None, name: str | None = None
) -> Expression:
    """Raises `ExpressionError` with the position of everything that is wrong.

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
