"""Defines the forms of parties, edges, campaigns and bookings.

Each offers only what may be chosen: the own side of a trade belongs to the person's organisation,
the other side may be any party by name.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from django import forms
from django.urls import reverse

from exchange.accounts.models import Organisation
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import owned
from exchange.reading.paths import offer_pins
from exchange.web.forms.expressions import ExpressionForm
from exchange.web.forms.naming import NamedChoice
from exchange.web.forms.picking import CampaignPicker
from exchange.web.forms.saving import SavingForm, confirmation, offer_parties

MINUTES = "%Y-%m-%dT%H:%M"


class FlightInput(forms.DateTimeInput):
    """A field with the browser's own picker, to the minute, in UTC."""

    def __init__(self) -> None:
        super().__init__(format=MINUTES, attrs={"type": "datetime-local", "data-utc": ""})


class PartyForm(SavingForm):
    class Meta:
        model = Party
        fields = ["name", "kind", "seller_id", "domain", "organisation"]
        field_classes = {"organisation": NamedChoice}
        labels = {"seller_id": "Seller id"}
        help_texts = {"domain": "Optional, for example news.example"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_exchange_operator(self.person):
            organisation = cast("NamedChoice", self.fields["organisation"])
            organisation.offer(Organisation.objects.all(), reverse("organisation-options"))
        else:
            del self.fields["organisation"]


class EdgeForm(ExpressionForm):
    class Meta:
        model = Edge
        fields = ["seller", "buyer", "fee_percent", "is_active", "is_disclosed", "expression"]
        field_classes = {"seller": NamedChoice, "buyer": NamedChoice}
        labels = {
            "fee_percent": "Fee in percent",
            "is_active": "Active: visits may pass this edge",
            "is_disclosed": "Disclosed: everybody on a path may read the rule",
            "expression": "Rule: which visits may pass",
        }
        help_texts = {
            "fee_percent": "What the seller keeps of every bid that passes.",
            "is_disclosed": "Otherwise only seller, buyer and the exchange read it.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "seller", owned(Party.objects.kept().sellers(), self.person))
        offer_parties(self, "buyer", Party.objects.kept().buyers())

    def owner_id(self) -> int | None:
        seller: Party | None = self.cleaned_data.get("seller")
        return seller.organisation_id if seller else None

    def is_stopped(self) -> bool:
        return not self.cleaned_data.get("is_active")


class CampaignForm(ExpressionForm):
    starts_at = forms.DateTimeField(label="Starts (UTC)", widget=FlightInput())
    ends_at = forms.DateTimeField(
        label="Ends (UTC)",
        widget=FlightInput(),
        required=False,
        help_text="Leave empty to run without end.",
    )
    confirmed = confirmation()

    class Meta:
        model = Campaign
        fields = [
            "name",
            "advertiser",
            "starts_at",
            "ends_at",
            "status",
            "bid_cpm",
            "priority",
            "labels",
            "expression",
        ]
        field_classes = {"advertiser": NamedChoice}
        labels = {
            "bid_cpm": "Bid (CPM)",
            "expression": "Targeting: which visits this campaign wants",
        }
        help_texts = {
            "status": "Only live campaigns are served.",
            "labels": "Your own words to find it by, with commas between them.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "advertiser", owned(Party.objects.kept().advertisers(), self.person))

    def owner_id(self) -> int | None:
        advertiser: Party | None = self.cleaned_data.get("advertiser")
        return advertiser.organisation_id if advertiser else None

    def is_stopped(self) -> bool:
        return self.cleaned_data.get("status") != Campaign.Status.LIVE

    def clean_labels(self) -> list[str]:
        """Keeps labels in the order given, each once."""
        given = (label.strip() for label in self.cleaned_data["labels"])
        return list(dict.fromkeys(label for label in given if label))

    def clean_starts_at(self) -> datetime | None:
        return self.keep_seconds("starts_at")

    def clean_ends_at(self) -> datetime | None:
        return self.keep_seconds("ends_at")

    def keep_seconds(self, name: str) -> datetime | None:
        """Keeps the seconds of a minute that was left alone: the picker knows minutes only."""
        given: datetime | None = self.cleaned_data[name]
        before: datetime | None = getattr(self.instance, name)
        if given and before and given == before.replace(second=0, microsecond=0):
            return before
        return given


class BookingForm(SavingForm):
    """A new booking takes its path by itself; one can be pinned when both ends are known."""

    campaign = CampaignPicker(
        widget=forms.TextInput(attrs={"placeholder": "Type a part of the campaign's name"})
    )
    pins = forms.TypedChoiceField(
        label="Exactly this path",
        required=False,
        coerce=lambda text: [int(edge_id) for edge_id in text.split(",")],
        help_text="The cheapest ones first. Used only with “Exactly this path”.",
    )

    class Meta:
        model = Booking
        fields = ["campaign", "publisher", "policy", "hop_limit", "is_active"]
        field_classes = {"publisher": NamedChoice}
        labels = {
            "policy": "Path",
            "hop_limit": "Most hops",
            "is_active": "Active: served as soon as it is saved",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "publisher", Party.objects.kept().publishers())
        campaigns = owned(Campaign.objects.kept().with_advertiser(), self.person)
        cast("CampaignPicker", self.fields["campaign"]).campaigns = campaigns
        for name in ("policy", "hop_limit"):
            self.fields[name].required = False  # the quick form of a campaign's page has neither
        if self.instance.pk:
            self.keep_pair()
        else:
            self.offer_new()

    def keep_pair(self) -> None:
        """Fixes campaign and publisher: a booking is the pair; another pair is another booking."""
        self.fields["campaign"].disabled = self.fields["publisher"].disabled = True
        self.initial["campaign"] = self.instance.campaign
        pins = cast("forms.TypedChoiceField", self.fields["pins"])
        pins.choices = [("", "Choose a path"), *offer_pins(self.instance, self.person)]
        self.initial["pins"] = ",".join(map(str, self.instance.pinned_edges))

    def offer_new(self) -> None:
        policy = cast("forms.TypedChoiceField", self.fields["policy"])
        choices = cast("list[tuple[str, str]]", policy.choices)
        policy.choices = [choice for choice in choices if choice[0] != Booking.Policy.PINNED]
        del self.fields["pins"]

    def clean_policy(self) -> str:
        return self.cleaned_data["policy"] or str(self.instance.policy)

    def clean_hop_limit(self) -> int:
        return self.cleaned_data["hop_limit"] or int(self.instance.hop_limit)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if "pins" in self.fields:
            self.instance.pinned_edges = self.cleaned_data.get("pins") or []
            if self.cleaned_data.get("policy") == Booking.Policy.PINNED:
                self.require_pins()
        return cleaned

    def require_pins(self) -> None:
        if not self.instance.pinned_edges and "pins" not in self.errors:
            self.add_error("pins", "Choose the path that the booking shall be pinned to.")
