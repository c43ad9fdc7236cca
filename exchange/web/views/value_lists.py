"""Value lists: up to a million values kept once and used by many, as `$name`."""

from __future__ import annotations

import io
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from exchange.accounts.models import User
from exchange.market.impact import impact_of_value_list
from exchange.market.models import ValueList
from exchange.market.names import Values, load_lines, load_values
from exchange.market.services import compare_values, save_value_list
from exchange.market.visibility import visible
from exchange.web.filters import ValueListFilter
from exchange.web.forms import ValueListForm, save_form
from exchange.web.paging import Order
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)

BY_NAME = Order(("name", "id"))
VALUES_SHOWN = 200
VERSIONS_SHOWN = 20


@require_safe
def list_value_lists(request: HttpRequest) -> HttpResponse:
    filters = ValueListFilter(request.GET)
    value_lists = visible(ValueList.objects.kept().select_related("organisation"), request.user)
    listing = read_listing(request, filters, filters.apply(value_lists), BY_NAME)
    return render(request, "market/value_list_list.html", {"listing": listing})


@require_safe
def show_value_list(request: HttpRequest, pk: int) -> HttpResponse:
    value_list = find_visible(
        ValueList.objects.select_related("organisation"), person_of(request), pk
    )
    versions = value_list.versions.defer("values").select_related("created_by")
    context = {
        "value_list": value_list,
        "values": current_values(value_list)[:VALUES_SHOWN],
        "versions": versions.order_by("-number")[:VERSIONS_SHOWN],
        "impact": impact_of_value_list(value_list),
    }
    return render(request, "market/value_list_detail.html", context)


@require_safe
def download_value_list(request: HttpRequest, pk: int) -> FileResponse:
    """The same bytes for all who download it: neither a copy nor a thread for each."""
    value_list = find_visible(ValueList.objects.all(), person_of(request), pk)
    lines = load_lines(value_list.pk, value_list.current_number)
    return FileResponse(
        io.BytesIO(lines),
        as_attachment=True,
        filename=f"{value_list.name}.txt",
        content_type="text/plain; charset=utf-8",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit_value_list(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    value_list, form = open_form(request, person, pk)
    if request.method == "POST" and save_form(form, lambda **row: save_with_values(form, **row)):
        messages.success(
            request, f"${value_list.name} is saved: {value_list.value_count:,} values."
        )
        return redirect("value-list-detail", value_list.pk)
    return show_form(
        request,
        "market/value_list_form.html",
        form,
        value_list=value_list,
        impact=impact_of_value_list(value_list) if pk else None,
    )


@require_POST
def compare_value_list(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """What saving would add and remove, while the form stays as it is, with its file chosen."""
    value_list, form = open_form(request, person_of(request), pk)
    context: dict[str, Any] = {}
    if form.is_valid():
        try:
            values = form.values()
            context["is_empty"] = values is None
            if values is not None:
                context["difference"] = compare_values(value_list=value_list, values=values)
        except ValidationError as error:
            context["complaints"] = error.messages
    else:
        context["complaints"] = [text for texts in form.errors.values() for text in texts]
    return render(request, "market/_value_list_difference.html", context)


def open_form(
    request: HttpRequest, person: User, pk: int | None
) -> tuple[ValueList, ValueListForm]:
    new = ValueList(organisation=person.organisation)
    value_list = open_for_edit(ValueList.objects.select_related("organisation"), person, pk, new)
    data, files = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    return value_list, ValueListForm(data, files, person=person, instance=value_list)


def save_with_values(form: ValueListForm, **row: Any) -> None:
    save_value_list(by=form.person, values=form.values(), **row)


def current_values(value_list: ValueList) -> Values:
    return load_values(value_list.pk, value_list.current_number, value_list.type)
