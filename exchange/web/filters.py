"""Defines what lists can be narrowed by. Every filter lives in the address, so a list can be
shared.

A value that makes no sense (an unknown status in an old link) is ignored and the list says so by
showing the filter as not set.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.urls import reverse

from exchange.findings.models import BookingFinding
from exchange.findings.status import Status, bookings_in, campaigns_in
from exchange.market.models import Attribute, Booking, Party
from exchange.market.querysets import (
    AttributeQuerySet,
    AudienceQuerySet,
    BookingQuerySet,
    CampaignQuerySet,
    EdgeQuerySet,
    PartyQuerySet,
    ValueListQuerySet,
)
from exchange.snapshots.models import SnapshotBuild
from exchange.web.forms.naming import NamedChoice

ACTIVE_CHOICES = [("", "Any state"), ("yes", "Active"), ("no", "Switched off")]


class ListFilter(forms.Form):
    """A form in the address. `chosen` holds only what is set and makes sense."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if isinstance(field, NamedChoice):
                field.offer(field.rows, f"{reverse('party-options')}?side={name}&all=1")

    @property
    def chosen(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}

    @property
    def narrowing(self) -> dict[str, Any]:
        """Returns what leaves rows out."""
        return self.chosen

    def is_active_value(self) -> bool | None:
        return {"yes": True, "no": False}.get(self.chosen.get("active", ""))


def search_field(placeholder: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"type": "search", "placeholder": placeholder})
    return forms.CharField(label="Search", required=False, max_length=200, widget=widget)


def status_field() -> forms.ChoiceField:
    return forms.ChoiceField(
        label="Status", required=False, choices=[("", "Any status"), *Status.choices]
    )


def party_field(label: str, kind: Party.Kind | None, empty: str) -> NamedChoice:
    parties = Party.objects.order_by("name")
    if kind is not None:
        parties = parties.filter(kind=kind)
    return NamedChoice(parties, label=label, required=False, empty_label=empty)


class PartyFilter(ListFilter):
    q = search_field("Name, seller id or domain")
    kind = forms.ChoiceField(
        label="Kind", required=False, choices=[("", "Any kind"), *Party.Kind.choices]
    )

    def apply(self, parties: PartyQuerySet) -> PartyQuerySet:
        chosen = self.chosen
        parties = parties.search(chosen.get("q", ""))
        if kind := chosen.get("kind"):
            parties = parties.filter(kind=kind)
        return parties


class EdgeFilter(ListFilter):
    q = search_field("Seller, buyer or rule")
    seller = party_field("Seller", None, "Any seller")
    buyer = party_field("Buyer", None, "Any buyer")
    active = forms.ChoiceField(label="State", required=False, choices=ACTIVE_CHOICES)

    def apply(self, edges: EdgeQuerySet) -> EdgeQuerySet:
        chosen = self.chosen
        edges = edges.search(chosen.get("q", ""))
        if seller := chosen.get("seller"):
            edges = edges.filter(seller=seller)
        if buyer := chosen.get("buyer"):
            edges = edges.filter(buyer=buyer)
        if (is_active := self.is_active_value()) is not None:
            edges = edges.filter(is_active=is_active)
        return edges


class CampaignFilter(ListFilter):
    q = search_field("Campaign, advertiser or number")
    targeting = forms.CharField(
        label="Targeting",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "phone Berlin"}),
    )
    status = status_field()
    advertiser = party_field("Advertiser", Party.Kind.ADVERTISER, "Any advertiser")
    label = forms.CharField(
        label="Label",
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"placeholder": "Any label", "size": 12}),
    )
    sort = forms.CharField(required=False, max_length=20, widget=forms.HiddenInput)

    @property
    def narrowing(self) -> dict[str, Any]:
        """Leaves out the order: all rows in another order are still all rows."""
        return {name: value for name, value in self.chosen.items() if name != "sort"}

    def apply(self, campaigns: CampaignQuerySet) -> CampaignQuerySet:
        chosen = self.chosen
        campaigns = campaigns.search(chosen.get("q", ""))
        campaigns = campaigns.aimed_at(chosen.get("targeting", ""))
        return self.apply_rest(campaigns)

    def apply_as_ids(self, campaigns: CampaignQuerySet, *, most: int) -> CampaignQuerySet | None:
        """Applies them to rows that come in another order, so that nothing is looked through in it.
        None if a text means more."""
        chosen = self.chosen
        for name, find in (("q", campaigns.find_searched), ("targeting", campaigns.find_aimed)):
            if text := chosen.get(name):
                ids = find(text, most=most)
                if ids is None:
                    return None
                campaigns = campaigns.filter(pk__among=ids)
        return self.apply_rest(campaigns)

    def apply_rest(self, campaigns: CampaignQuerySet) -> CampaignQuerySet:
        chosen = self.chosen
        if status := chosen.get("status"):
            campaigns = campaigns_in(campaigns, status)
        if advertiser := chosen.get("advertiser"):
            campaigns = campaigns.filter(advertiser=advertiser)
        if label := chosen.get("label"):
            campaigns = campaigns.labelled(label)
        return campaigns


class FindingFilter(ListFilter):
    q = search_field("Campaign, advertiser or publisher")
    kind = forms.ChoiceField(
        label="Kind", required=False, choices=[("", "Any kind"), *BookingFinding.Kind.choices]
    )
    cause = forms.CharField(required=False, max_length=240, widget=forms.HiddenInput)
    campaign = forms.IntegerField(
        required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput
    )

    @property
    def is_opened(self) -> bool:
        """Tells whether single findings are asked for, not causes."""
        return not self.chosen.keys().isdisjoint({"cause", "campaign"})

    def apply(self, findings: QuerySet[BookingFinding]) -> QuerySet[BookingFinding]:
        chosen = self.chosen
        if cause := chosen.get("cause"):
            findings = findings.filter(cause=cause)
        if campaign_id := chosen.get("campaign"):
            findings = findings.filter(booking__campaign_id=campaign_id)
        if text := chosen.get("q"):
            findings = findings.filter(booking__in=Booking.objects.search(text).order_by())
        if kind := chosen.get("kind"):
            findings = findings.filter(kind=kind)
        return findings


class BookingFilter(ListFilter):
    q = search_field("Campaign, advertiser or publisher")
    publisher = party_field("Publisher", Party.Kind.PUBLISHER, "Any publisher")
    active = forms.ChoiceField(label="State", required=False, choices=ACTIVE_CHOICES)
    status = status_field()

    def apply(self, bookings: BookingQuerySet, campaigns: CampaignQuerySet) -> BookingQuerySet:
        """Narrows bookings; `campaigns` are those that the bookings are of."""
        chosen = self.chosen
        bookings = bookings.search(chosen.get("q", ""), campaigns)
        if publisher := chosen.get("publisher"):
            bookings = bookings.filter(publisher=publisher)
        if status := chosen.get("status"):
            bookings = bookings_in(bookings, status)
        if (is_active := self.is_active_value()) is not None:
            bookings = bookings.filter(is_active=is_active)
        return bookings


class AudienceFilter(ListFilter):
    q = search_field("Name or description")

    def apply(self, audiences: AudienceQuerySet) -> AudienceQuerySet:
        return audiences.search(self.chosen.get("q", ""))


class ValueListFilter(ListFilter):
    q = search_field("Name or description")

    def apply(self, value_lists: ValueListQuerySet) -> ValueListQuerySet:
        return value_lists.search(self.chosen.get("q", ""))


class AttributeFilter(ListFilter):
    q = search_field("Name or description")
    type = forms.ChoiceField(
        label="Type", required=False, choices=[("", "Any type"), *Attribute.Type.choices]
    )

    def apply(self, attributes: AttributeQuerySet) -> AttributeQuerySet:
        attributes = attributes.search(self.chosen.get("q", ""))
        if type_ := self.chosen.get("type"):
            attributes = attributes.filter(type=type_)
        return attributes


class BuildFilter(ListFilter):
    status = forms.ChoiceField(
        label="Status", required=False, choices=[("", "Any status"), *SnapshotBuild.Status.choices]
    )

    def apply(self, builds: QuerySet[SnapshotBuild]) -> QuerySet[SnapshotBuild]:
        if status := self.chosen.get("status"):
            builds = builds.filter(status=status)
        return builds
