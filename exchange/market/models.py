"""The exchange graph and what is sold over it: parties, edges, campaigns, bookings, attributes.

Expressions are kept as the text that a person wrote; services check them before they are saved.
"""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.utils import timezone


class Attribute(models.Model):
    """One entry of the attribute catalogue: what a visit may carry and expressions may ask."""

    name = models.CharField(max_length=80, unique=True)
    type = models.CharField(max_length=20)
    values = models.JSONField(
        default=list, blank=True, help_text="The closed domain; empty = open."
    )
    is_required = models.BooleanField(default=False)
    is_personal = models.BooleanField(default=False)
    description = models.CharField(max_length=300, blank=True)
    openrtb_path = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Party(models.Model):
    """A node of the graph."""

    class Kind(models.TextChoices):
        PUBLISHER = "publisher", "Publisher"
        INTERMEDIARY = "intermediary", "Intermediary"
        ADVERTISER = "advertiser", "Advertiser"

    kind = models.CharField(max_length=12, choices=Kind.choices)
    name = models.CharField(max_length=120, unique=True)
    seller_id = models.CharField(
        max_length=64,
        unique=True,
        help_text="As in sellers.json; visits name their publisher by it.",
    )
    domain = models.CharField(max_length=253, blank=True)
    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="parties"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "parties"
        ordering = ["name"]
        indexes = [models.Index(fields=["kind", "name"])]

    def __str__(self) -> str:
        return self.name


class Edge(models.Model):
    """Seller sells visits to buyer, but only those that satisfy the expression."""

    seller = models.ForeignKey(Party, on_delete=models.PROTECT, related_name="sales")
    buyer = models.ForeignKey(Party, on_delete=models.PROTECT, related_name="purchases")
    expression = models.TextField(default="true")
    fee_percent = models.DecimalField(
        max_digits=5,
        decimal_places=2,
        default=Decimal("0"),
        help_text="The seller's share of what passes, from 0 to below 100 percent.",
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["seller", "buyer"], name="edge_once_per_pair"),
            models.CheckConstraint(condition=~Q(seller=F("buyer")), name="edge_not_to_itself"),
            models.CheckConstraint(
                condition=Q(fee_percent__gte=0) & Q(fee_percent__lt=100), name="edge_fee_below_100"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seller} → {self.buyer}"


class Campaign(models.Model):
    """What an advertiser wants to show, to which visits, and when (flight: half open, UTC)."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        LIVE = "live", "Live"
        PAUSED = "paused", "Paused"

    advertiser = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="campaigns",
        limit_choices_to={"kind": Party.Kind.ADVERTISER},
    )
    name = models.CharField(max_length=160)
    expression = models.TextField()
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.DRAFT)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True, blank=True)
    bid_cpm = models.DecimalField(max_digits=9, decimal_places=2, default=Decimal("1.00"))
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["advertiser", "name"], name="campaign_name_per_advertiser"
            ),
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                name="campaign_ends_after_start",
            ),
            models.CheckConstraint(condition=Q(bid_cpm__gte=0), name="campaign_bid_not_negative"),
        ]
        indexes = [models.Index(fields=["status", "-id"])]

    def __str__(self) -> str:
        return self.name


class Booking(models.Model):
    """A campaign booked with a publisher; eligible over the cheapest path between the two."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="bookings")
    publisher = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="bookings",
        limit_choices_to={"kind": Party.Kind.PUBLISHER},
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "publisher"], name="booking_once_per_pair")
        ]

    def __str__(self) -> str:
        return f"{self.campaign} at {self.publisher}"
