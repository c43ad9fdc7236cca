"""The kinds of things that people keep, for what every kind can do alike: retire, show its past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet
from django.urls import reverse

from exchange.accounts.permissions import Editable
from exchange.market import services
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    TestVisit,
    ValueList,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """`slug` is the word in the names of its addresses, `folder` the first part of them."""

    slug: str
    folder: str
    label: str
    model: type[Model]
    editable: Editable
    retire: Callable[..., Any]
    joins: tuple[str, ...] = ()

    def rows(self) -> QuerySet[Any]:
        return self.model._default_manager.select_related(*self.joins)

    def address_of(self, row: Any) -> str:
        """Its own page; a test visit is shown on its campaign's."""
        if self.slug == "test-visit":
            return reverse("campaign-detail", args=[row.campaign_id])
        return reverse(f"{self.slug}-detail", args=[row.pk])


KINDS = {
    kind.slug: kind
    for kind in (
        Kind("party", "parties", "Parties", Party, "party", services.retire_party),
        Kind(
            "edge",
            "edges",
            "Edges",
            Edge,
            "edge",
            services.retire_edge,
            ("seller__organisation", "buyer__organisation"),
        ),
        Kind(
            "campaign",
            "campaigns",
            "Campaigns",
            Campaign,
            "campaign",
            services.retire_campaign,
            ("advertiser__organisation",),
        ),
        Kind(
            "booking",
            "bookings",
            "Bookings",
            Booking,
            "booking",
            services.retire_booking,
            ("campaign__advertiser", "publisher"),
        ),
        Kind(
            "audience",
            "audiences",
            "Audiences",
            Audience,
            "audience",
            services.retire_audience,
            ("organisation",),
        ),
        Kind(
            "value-list",
            "lists",
            "Lists",
            ValueList,
            "value_list",
            services.retire_value_list,
            ("organisation",),
        ),
        Kind(
            "attribute",
            "attributes",
            "Attributes",
            Attribute,
            "attribute",
            services.retire_attribute,
        ),
        Kind(
            "test-visit",
            "test-visits",
            "Test visits",
            TestVisit,
            "test_visit",
            services.retire_test_visit,
            ("campaign__advertiser",),
        ),
    )
}
