"""Shows and edits the people of an organisation and their roles. For its administrators."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from exchange.accounts.models import LONGEST_LINK_LIFE, Organisation, User
from exchange.accounts.permissions import is_exchange_operator, require_edit
from exchange.accounts.services import find_just_made, reset_password, save_person
from exchange.market.visibility import visible
from exchange.reading.paging import Order
from exchange.web.filters import ListFilter
from exchange.web.forms.people import PersonForm
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    seed_of,
)

BY_NAME = Order(("username",))
SUGGESTIONS = 12


@require_safe
def list_people(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    require_edit(person, "person")
    people = visible(User.objects.all(), person).select_related("organisation")
    listing = read_listing(request, ListFilter(request.GET), people, BY_NAME)
    return render(request, "accounts/person_list.html", {"listing": listing})


@require_http_methods(["GET", "HEAD", "POST"])
def edit_person(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Edits a person. A new one's link is in the answer to the form, and nowhere else."""
    admin = person_of(request)
    require_edit(admin, "person")
    new = User(organisation=choose_organisation(request, admin))
    person = open_for_edit(User.objects.all(), admin, pk, new)
    form = PersonForm(request.POST or None, person=admin, instance=person)
    seed = seed_of(request)
    if request.method == "POST" and form.is_valid():
        try:
            return answer_saved(request, person, save_person(person=person, by=admin, seed=seed))
        except ValidationError as error:
            form.take_complaints(error)
    if pk is None and form.errors:
        username = request.POST.get("username", "")
        if made := find_just_made(username=username, reader=admin, seed=seed):
            return show_link(request, *made)
    context = {"form": form, "person": person, "is_new": pk is None}
    status = 422 if form.errors else 200
    return render(request, "accounts/person_form.html", context, status=status)


def choose_organisation(request: HttpRequest, admin: User) -> Organisation | None:
    """Chooses the organisation of a new person: the one whose page the exchange's administrators
    come from."""
    wanted = request.GET.get("for", "")
    if wanted.isdecimal() and is_exchange_operator(admin):
        return Organisation.objects.filter(pk=wanted).first() or admin.organisation
    return admin.organisation


def answer_saved(request: HttpRequest, person: User, secret: str | None) -> HttpResponse:
    if secret is None:
        messages.success(request, f"{person.username} is saved.")
        return redirect("person-list")
    return show_link(request, person, secret)


@require_POST
def renew_password(request: HttpRequest, pk: int) -> HttpResponse:
    admin = person_of(request)
    require_edit(admin, "person")
    person = find_visible(User.objects.all(), admin, pk)
    return show_link(
        request, person, reset_password(person=person, by=admin, seed=seed_of(request))
    )


def show_link(request: HttpRequest, person: User, secret: str) -> HttpResponse:
    address = request.build_absolute_uri(reverse("password-link", args=[secret]))
    context = {"person": person, "address": address, "days": LONGEST_LINK_LIFE.days}
    response = render(request, "accounts/person_link.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def switch_person(request: HttpRequest, pk: int) -> HttpResponse:
    """Ends or gives back a person's access; nobody is deleted, their name stays in the history."""
    admin = person_of(request)
    require_edit(admin, "person")
    person = find_visible(User.objects.all(), admin, pk)
    person.is_active = request.POST.get("active") == "yes"
    try:
        save_person(person=person, by=admin)
    except PermissionDenied as error:
        messages.error(request, str(error))
    else:
        said = "may log in again" if person.is_active else "may no longer log in"
        messages.success(request, f"{person.username} {said}.")
    return redirect("person-list")


@require_safe
def suggest_organisations(request: HttpRequest) -> HttpResponse:
    """Lists options for a field that takes an organisation by typing."""
    if not is_exchange_operator(request.user):
        raise PermissionDenied("Only the exchange's people choose among organisations.")
    text = request.GET.get("organisation", "").strip()
    named = Organisation.objects.filter(name__icontains=text).order_by("name")
    labels = list(named.values_list("name", flat=True)[:SUGGESTIONS])
    return render(request, "parts/_options.html", {"labels": labels})
