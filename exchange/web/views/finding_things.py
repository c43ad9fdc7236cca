"""Finds things by a part of the name, for Ctrl+K: pages, campaigns, parties, edges, audiences,
lists and attributes. Everybody finds what they may see, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.market.models import Attribute, Audience, Campaign, Edge, Party, ValueList
from exchange.market.querysets import has_id, parties_named
from exchange.market.visibility import visible
from exchange.web.navigation import items_for
from exchange.web.views.listing import person_of

OF_A_KIND = 6
LONGEST = 100


@dataclass(frozen=True, slots=True)
class Hit:
    kind: str
    label: str
    note: str
    url: str


@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """Answers an htmx request with the hits alone, as options of the box that it was typed into."""
    text = request.GET.get("find", "").strip()[:LONGEST]
    hits = list(find_all(text, person_of(request)))
    template = "parts/_found.html" if request.headers.get("HX-Request") else "find.html"
    return render(request, template, {"hits": hits, "text": text})


def find_all(text: str, person: User) -> Iterator[Hit]:
    """Finds without a text the pages only: where a newcomer may go."""
    yield from find_pages(text, person)
    if not text:
        return
    yield from find_campaigns(text, person)
    yield from find_parties(text, person)
    yield from find_edges(text, person)
    for model, kind, slug in (
        (Audience, "Audience", "audience"),
        (ValueList, "List", "value-list"),
        (Attribute, "Attribute", "attribute"),
    ):
        yield from find_named(model, kind, slug, text, person)


def find_pages(text: str, person: User) -> Iterator[Hit]:
    for item in items_for(person):
        if text.lower() in item.label.lower():
            yield Hit("Page", item.label, "", reverse(item.url_name))


def find_campaigns(text: str, person: User) -> Iterator[Hit]:
    campaigns = visible(Campaign.objects.kept().with_advertiser(), person).search(text)
    for campaign in campaigns.order_by("-id")[:OF_A_KIND]:
        note = f"{campaign.advertiser.name}, #{campaign.pk}"
        yield Hit("Campaign", campaign.name, note, reverse("campaign-detail", args=[campaign.pk]))


def find_parties(text: str, person: User) -> Iterator[Hit]:
    parties = visible(Party.objects.kept(), person).search(text).order_by("name")
    for party in parties[:OF_A_KIND]:
        url = reverse("party-detail", args=[party.pk])
        yield Hit(party.get_kind_display(), party.name, "", url)


def find_edges(text: str, person: User) -> Iterator[Hit]:
    """Finds edges by the names of their ends: rules are searched in the list of edges."""
    named = parties_named(text)
    ends = Q(seller_id__in=named) | Q(buyer_id__in=named) | has_id(text)
    edges = visible(Edge.objects.kept().with_parties(), person).filter(ends)
    for edge in edges.order_by("pk")[:OF_A_KIND]:
        yield Hit("Edge", str(edge), f"#{edge.pk}", reverse("edge-detail", args=[edge.pk]))


def find_named(model: Any, kind: str, slug: str, text: str, person: User) -> Iterator[Hit]:
    rows = visible(model.objects.kept(), person).filter(name__icontains=text).order_by("name")
    for row in rows[:OF_A_KIND]:
        yield Hit(kind, row.name, row.description[:80], reverse(f"{slug}-detail", args=[row.pk]))
