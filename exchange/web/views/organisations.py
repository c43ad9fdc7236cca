"""Shows and edits the companies on the exchange. For the exchange's administrators."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from exchange.accounts.models import Organisation, User
from exchange.accounts.permissions import require_edit
from exchange.accounts.services import save_organisation
from exchange.market.models import Party
from exchange.reading.paging import Order
from exchange.web.filters import ListFilter
from exchange.web.forms.people import NameForm
from exchange.web.views.listing import person_of, read_listing

BY_NAME = Order(("name",))


@require_safe
def list_organisations(request: HttpRequest) -> HttpResponse:
    require_edit(person_of(request), "organisation")
    organisations = Organisation.objects.annotate(
        person_count=count_of(User.objects.filter(is_active=True)),
        party_count=count_of(Party.objects.all()),
    )
    listing = read_listing(request, ListFilter(request.GET), organisations, BY_NAME)
    return render(request, "accounts/organisation_list.html", {"listing": listing})


def count_of(rows: QuerySet[User] | QuerySet[Party]) -> Coalesce:
    """Counts for each organisation by itself: a join of two would count each times the other."""
    own = rows.filter(organisation=OuterRef("pk")).order_by().values("organisation")
    counted = own.annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_organisation(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Edits an organisation. A new one has nobody: the next page invites its first
    administrator."""
    admin = person_of(request)
    require_edit(admin, "organisation")
    organisation = Organisation() if pk is None else get_object_or_404(Organisation, pk=pk)
    form = NameForm(request.POST or None, instance=organisation)
    if request.method == "POST" and form.is_valid():
        try:
            save_organisation(organisation=organisation, by=admin)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"{organisation.name} is saved.")
            if pk is not None:
                return redirect("organisation-list")
            return redirect(reverse("person-create", query={"for": organisation.pk}))
    context = {"form": form, "organisation": organisation, "is_new": pk is None}
    status = 422 if form.errors else 200
    return render(request, "accounts/organisation_form.html", context, status=status)
