"""Makes API keys of an organisation, shows them once, revokes them. For its administrators."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from exchange.accounts.models import User
from exchange.accounts.permissions import require_edit
from exchange.keys.models import ApiKey
from exchange.keys.services import AlreadyMadeError, create_api_key, revoke_api_key
from exchange.market.visibility import visible
from exchange.reading.paging import Order
from exchange.web.filters import ListFilter
from exchange.web.forms.people import ApiKeyForm
from exchange.web.views.listing import find_visible, person_of, read_listing, seed_of

NEWEST_FIRST = Order(("id",), is_descending=True)
PUBLISHERS_SHOWN = 3


@require_safe
def list_api_keys(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    require_edit(person, "api_key")
    keys = visible(ApiKey.objects.all(), person).select_related("organisation", "created_by")
    keys = keys.prefetch_related("publishers")
    listing = read_listing(request, ListFilter(request.GET), keys, NEWEST_FIRST)
    now = timezone.now()
    rows = [(key, key.state(now), name_publishers(key)) for key in listing.page.rows]
    return render(request, "accounts/api_key_list.html", {"listing": listing, "rows": rows})


def name_publishers(key: ApiKey) -> str:
    names = sorted(party.name for party in key.publishers.all())
    more = len(names) - PUBLISHERS_SHOWN
    shown = ", ".join(names[:PUBLISHERS_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


@require_http_methods(["GET", "HEAD", "POST"])
def make_api_key(request: HttpRequest) -> HttpResponse:
    """Makes a key. The answer to the form holds it; no other page ever does. Whoever clicks twice
    sees the second answer only: it holds the same key."""
    person = person_of(request)
    require_edit(person, "api_key")
    form = ApiKeyForm(request.POST or None, person=person)
    try:
        if request.method == "POST" and (made := make(form, person, seed_of(request))):
            return show_made(request, *made)
    except AlreadyMadeError as again:
        return show_made(request, again.key, again.text, is_repeated=True)
    status = 422 if form.errors else 200
    return render(request, "accounts/api_key_form.html", {"form": form}, status=status)


def show_made(
    request: HttpRequest, key: ApiKey, text: str, *, is_repeated: bool = False
) -> HttpResponse:
    context = {"key": key, "text": text, "is_repeated": is_repeated}
    status = 200 if text else 409
    response = render(request, "accounts/api_key_made.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


def make(form: ApiKeyForm, person: User, seed: bytes | None) -> tuple[ApiKey, str] | None:
    if not form.is_valid():
        return None
    try:
        return create_api_key(**form.wanted(), by=person, seed=seed)
    except AlreadyMadeError:
        raise
    except ValidationError as error:
        form.take_complaints(error)
        return None


@require_POST
def end_api_key(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    require_edit(person, "api_key")
    key = find_visible(ApiKey.objects.all(), person, pk)
    if revoke_api_key(key=key, by=person):
        messages.success(request, f"{key.name} is revoked. Servers refuse it within seconds.")
    return redirect("api-key-list")
