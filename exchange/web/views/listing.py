"""Holds what all list and form pages share: who is asking, what they may open, a page of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.accounts.seeds import TOKEN_FIELD, read_seed
from exchange.market.visibility import visible
from exchange.reading.paging import Order, Page, read_page
from exchange.web.filters import ListFilter
from exchange.web.forms import SavingForm
from exchange.web.rehearsing import describe

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    page: Page[Row]
    filters: ListFilter
    is_filtered: bool


def person_of(request: HttpRequest) -> User:
    """Finds who is asking. The middleware lets only people through that are logged in; this tells
    the type checker."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Log in first.")
    return request.user


def seed_of(request: HttpRequest) -> bytes | None:
    """Makes the seed of a form that makes a secret: the same one when the form is sent again."""
    token = request.POST.get(TOKEN_FIELD, "")
    left_out = {TOKEN_FIELD, "csrfmiddlewaretoken"}
    filled = [(name, values) for name, values in request.POST.lists() if name not in left_out]
    return read_seed(
        token=token, by=person_of(request), filled=[*filled, ("address", [request.path])]
    )


def find_visible(rows: QuerySet[Row], person: User, pk: int) -> Row:
    """Finds a row; what belongs to others does not exist."""
    return get_object_or_404(visible(rows, person), pk=pk)


def open_for_edit(rows: QuerySet[Row], person: User, pk: int | None, new: Row) -> Row:
    """Opens the row, or a new one without `pk`; refuses if the person could not save it either."""
    row = new if pk is None else find_visible(rows, person, pk)
    require_change(person, row)
    return row


def read_listing(
    request: HttpRequest, filters: ListFilter, rows: QuerySet[Row], order: Order
) -> Listing[Row]:
    """Reads a page of `rows`, which are filtered already; `filters` is shown above them."""
    # A booking's status is its campaign's, and may be that of one in a hundred, as with words.
    is_searched = not filters.chosen.keys().isdisjoint({"q", "targeting", "status"})
    page = read_page(rows, order, request.GET, is_searched=is_searched)
    return Listing(page, filters, bool(filters.narrowing))


def show_form(
    request: HttpRequest, template: str, form: SavingForm, **context: Any
) -> HttpResponse:
    """Shows a form, with `is_new` and everything that it complains about."""
    context |= {"form": form, "is_new": form.instance._state.adding}
    if form.rehearsal is not None:
        context |= describe(form.rehearsal, form.person)
    return render(request, template, context, status=form.status)
