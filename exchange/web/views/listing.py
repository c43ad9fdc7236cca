"""What all list and form pages share: who is asking, a filtered page of rows, saving a form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from exchange.accounts.models import User
from exchange.market.models import Attribute
from exchange.web.filters import ListFilter
from exchange.web.paging import Order, Page, read_page

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    page: Page[Row]
    filters: ListFilter
    is_filtered: bool


def person_of(request: HttpRequest) -> User:
    """The middleware lets only people through that are logged in; this tells the type checker."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Log in first.")
    return request.user


def read_listing(
    request: HttpRequest, filters: ListFilter, rows: QuerySet[Row], order: Order
) -> Listing[Row]:
    """`rows` are filtered already; `filters` is shown above them."""
    return Listing(read_page(rows, order, request.GET), filters, bool(filters.chosen))


def load_reference() -> list[Attribute]:
    """The catalogue beside the expression editor."""
    return list(Attribute.objects.order_by("name"))
