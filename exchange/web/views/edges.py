"""Shows and edits edges: who sells visits to whom, for what fee, which visits the rule lets
pass."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from exchange.market.impact import impact_of_edge
from exchange.market.models import Edge
from exchange.market.services import check_expression, save_edge
from exchange.market.visibility import visible
from exchange.reading.paging import Order
from exchange.web.filters import EdgeFilter
from exchange.web.forms import EdgeForm, save_form
from exchange.web.rehearsing import is_rehearsed
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)
from targeting import ExpressionError

BY_NAMES = Order(("seller__name", "buyer__name"))


@require_safe
def list_edges(request: HttpRequest) -> HttpResponse:
    filters = EdgeFilter(request.GET)
    edges = filters.apply(visible(Edge.objects.kept().with_parties(), request.user))
    listing = read_listing(request, filters, edges, BY_NAMES)
    return render(request, "market/edge_list.html", {"listing": listing})


@require_safe
def show_edge(request: HttpRequest, pk: int) -> HttpResponse:
    edge = find_visible(Edge.objects.with_parties(), person_of(request), pk)
    context = {"edge": edge, "use": impact_of_edge(edge), "broken": find_fault(edge)}
    return render(request, "market/edge_detail.html", context)


def find_fault(edge: Edge) -> str:
    """Says why an edge's rule no longer compiles; empty if it does."""
    try:
        check_expression(text=edge.expression, organisation_id=edge.seller.organisation_id)
    except ExpressionError as error:
        return str(error)
    return ""


@require_http_methods(["GET", "HEAD", "POST"])
def edit_edge(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    edge = open_for_edit(Edge.objects.with_parties(), person, pk, Edge())
    form = EdgeForm(request.POST or None, person=person, instance=edge, initial=request.GET.dict())
    is_due = request.method == "POST" and is_rehearsed(request, form)
    if is_due and save_form(form, partial(save_edge, by=person)):
        messages.success(request, f"The edge {edge} is saved.")
        return redirect("edge-detail", edge.pk)
    return show_form(
        request,
        "market/edge_form.html",
        form,
        edge=edge,
        use=impact_of_edge(edge) if pk else None,
    )
