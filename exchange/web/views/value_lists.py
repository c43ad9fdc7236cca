"""Shows and edits value lists: up to a million values kept once and used by many, as `$name`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from exchange.accounts.models import User
from exchange.market.impact import impact_of_value_list
from exchange.market.models import ValueList
from exchange.market.names import Values, load_values
from exchange.market.services import (
    BadValueError,
    ValuesDifference,
    compare_values,
    save_value_list,
)
from exchange.market.visibility import visible
from exchange.reading.library_reach import reach_of_list
from exchange.reading.paging import Order
from exchange.web.filters import ValueListFilter
from exchange.web.forms import ChangeValuesForm, ValueListForm, save_form
from exchange.web.rehearsing import describe, is_change_rehearsed, is_rehearsed
from exchange.web.value_texts import GivenValues, load_lines, write_value
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
    return render_values(request, value_list, ChangeValuesForm(), request.GET.get("q", ""))


@require_POST
def change_value_list(request: HttpRequest, pk: int) -> HttpResponse:
    """Adds or removes what is typed. `remove` is the button of a single value."""
    person = person_of(request)
    rows = ValueList.objects.select_related("organisation")
    value_list = open_for_edit(rows, person, pk, ValueList())
    asked = request.POST.dict()
    if "remove" in asked:
        asked |= {"text": write_value(asked["remove"]), "action": "remove"}
    form, text = ChangeValuesForm(asked), asked.get("q", "")
    is_due = form.is_valid() and is_change_rehearsed(request, form, value_list, person)
    changed = form.change(value_list, person) if is_due else None
    if changed is None:
        return render_values(request, value_list, form, text)
    messages.success(request, f"${value_list.name}: {changed}.")
    page = reverse("value-list-detail", args=[pk])
    return redirect(f"{page}?{urlencode({'q': text})}" if text else page)


def render_values(
    request: HttpRequest, value_list: ValueList, form: ChangeValuesForm, text: str
) -> HttpResponse:
    found = search_values(current_values(value_list), text)
    versions = value_list.versions.defer("values").select_related("created_by")
    context = {
        "value_list": value_list,
        "form": form,
        "q": text,
        "found_count": len(found),
        "values": found[:VALUES_SHOWN],
        "versions": versions.order_by("-number")[:VERSIONS_SHOWN],
        "impact": impact_of_value_list(value_list),
        "reach": reach_of_list(value_list),
    }
    if form.rehearsal is not None:
        context |= describe(form.rehearsal, person_of(request))
    status = 422 if form.errors else 200
    return render(request, "market/value_list_detail.html", context, status=status)


def search_values(values: Values, text: str) -> Sequence[str | int]:
    """Finds the values that have the text somewhere, in small or capital letters."""
    wanted = text.strip().casefold()
    if not wanted:
        return values
    return [value for value in values if wanted in str(value).casefold()]


@require_safe
def download_value_list(request: HttpRequest, pk: int) -> FileResponse:
    """Sends the same bytes to all who download it: neither a copy nor a thread for each."""
    value_list = find_visible(ValueList.objects.all(), person_of(request), pk)
    return FileResponse(
        io.BytesIO(load_lines(value_list.pk, value_list.current_number)),
        as_attachment=True,
        filename=f"{value_list.name}.txt",
        content_type="text/plain; charset=utf-8",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit_value_list(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    value_list, form = open_form(request, person, pk)
    is_due = request.method == "POST" and is_rehearsed(request, form)
    if is_due and save_form(form, lambda **row: save_with_values(form, **row)):
        messages.success(request, describe_save(value_list, form))
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
    """Shows what saving would add and remove; the form stays as it is, with its file chosen."""
    value_list, form = open_form(request, person_of(request), pk)
    context: dict[str, Any] = {}
    if form.is_valid():
        try:
            given = form.given()
            context["is_empty"] = given is None
            if given is not None:
                context["difference"] = compare_given(value_list, given)
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


def compare_given(value_list: ValueList, given: GivenValues) -> ValuesDifference:
    try:
        return compare_values(value_list=value_list, values=given.values)
    except BadValueError as error:
        raise given.place(error) from error


def save_with_values(form: ValueListForm, **row: Any) -> None:
    given = form.given()
    try:
        save_value_list(by=form.person, values=given.values if given else None, **row)
    except BadValueError as error:
        raise (given or GivenValues()).place(error) from error
    form.given_count = len(given.values) if given else None


def describe_save(value_list: ValueList, form: ValueListForm) -> str:
    """Says what was saved; what was given and is not kept was there twice."""
    said = f"${value_list.name} is saved: {value_list.value_count:,} values"
    if form.given_count is None:
        return f"{said}."
    count = form.given_count - value_list.value_count
    return f"{said}, {count:,} {'duplicate' if count == 1 else 'duplicates'}."


def current_values(value_list: ValueList) -> Values:
    return load_values(value_list.pk, value_list.current_number, value_list.type)
