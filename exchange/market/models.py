"""The exchange graph and what is sold over it: parties, edges, campaigns, bookings, attributes.

Expressions are kept as the text that a person wrote; services check them before they are saved.
Who may stand at which end of an edge, campaign or booking is also enforced by triggers.
"""

from __future__ import annotations

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from exchange.market.querysets import (
    BookingQuerySet,
    CampaignQuerySet,
    EdgeQuerySet,
    PartyQuerySet,
)

ATTRIBUTE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z"
# Seller ids are quoted into expressions, logs and file names: nothing that needs escaping.
SELLER_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]*\Z"
DOMAIN = r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]*[a-z0-9])\Z"


class Attribute(models.Model):
    """One entry of the attribute catalogue: what a visit may carry and expressions may ask."""

    class Type(models.TextChoices):
        BOOLEAN = "boolean"
        INTEGER = "integer"
        FLOAT = "float"
        TIMESTAMP = "timestamp"
        TIMESTAMP_LOCAL = "timestamp local"
        STRING = "string"
        STRING_SET = "string set"
        INTEGER_SET = "integer set"
        IP = "ip"
        GEO = "geo"

    name = models.CharField(max_length=80, unique=True, validators=[RegexValidator(ATTRIBUTE_NAME)])
    type = models.CharField(max_length=20, choices=Type.choices)
    values = models.JSONField(
        default=list, blank=True, help_text="The closed domain; empty = open."
    )
    is_required = models.BooleanField(
        default=False, help_text="A visit without it is eligible for nothing."
    )
    is_personal = models.BooleanField(
        default=False, help_text="About a person: masked in samples, left out of exports."
    )
    description = models.CharField(max_length=300, blank=True)
    openrtb_path = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(name__regex=ATTRIBUTE_NAME), name="attribute_name_is_dotted"
            ),
            models.CheckConstraint(
                condition=Q(
                    type__in=[
                        "boolean",
                        "integer",
                        "float",
                        "timestamp",
                        "timestamp local",
                        "string",
                        "string set",
                        "integer set",
                        "ip",
                        "geo",
                    ]
                ),
                name="attribute_type_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Party(models.Model):
    """A node of the graph. Its kind never changes: edges, campaigns and bookings rely on it."""

    class Kind(models.TextChoices):
        PUBLISHER = "publisher", "Publisher"
        INTERMEDIARY = "intermediary", "Intermediary"
        ADVERTISER = "advertiser", "Advertiser"

    kind = models.CharField(max_length=12, choices=Kind.choices)
    name = models.CharField(max_length=120, unique=True)
    seller_id = models.CharField(
        max_length=64,
        unique=True,
        validators=[
            RegexValidator(
                SELLER_ID, "Use letters, digits, dots, dashes, underscores or colons, no spaces."
            )
        ],
        help_text="As in sellers.json; visits name their publisher by it.",
    )
    domain = models.CharField(
        max_length=253,
        blank=True,
        validators=[RegexValidator(DOMAIN, "Write the bare domain, such as example.com.")],
    )
    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="parties"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = PartyQuerySet.as_manager()

    # Filled by `with_counts` only.
    edge_count: int
    campaign_count: int
    booking_count: int

    class Meta:
        verbose_name_plural = "parties"
        ordering = ["name"]
        indexes = [models.Index(fields=["kind", "name"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["publisher", "intermediary", "advertiser"]),
                name="party_kind_is_known",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="party_has_a_name"),
            models.CheckConstraint(
                condition=Q(seller_id__regex=SELLER_ID), name="party_seller_id_is_plain"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        before = Party.objects.filter(pk=self.pk).values_list("kind", flat=True).first()
        if before is not None and before != self.kind:
            label = Party.Kind(before).label.lower()
            raise ValidationError(
                {"kind": f"{self.name} was created as {label} and stays one. Create a new party."}
            )


class Edge(models.Model):
    """Seller sells visits to buyer, but only those that satisfy the expression."""

    seller = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="sales",
        limit_choices_to={"kind__in": [Party.Kind.PUBLISHER, Party.Kind.INTERMEDIARY]},
        error_messages={"invalid": "Only a publisher or an intermediary can sell. Choose one."},
    )
    buyer = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="purchases",
        limit_choices_to={"kind__in": [Party.Kind.INTERMEDIARY, Party.Kind.ADVERTISER]},
        error_messages={"invalid": "Only an intermediary or an advertiser can buy. Choose one."},
    )
    expression = models.TextField(default="true")
    fee_percent = models.DecimalField(
        max_digits=5,
        decimal_places=2,
        default=Decimal("0"),
        validators=[
            MinValueValidator(Decimal(0), "A fee cannot be negative."),
            MaxValueValidator(Decimal("99.99"), "A fee must stay below 100 percent."),
        ],
        help_text="The seller's share of what passes, from 0 to below 100 percent.",
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = EdgeQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["seller", "buyer"],
                name="edge_once_per_pair",
                violation_error_message="This seller already sells to this buyer. Edit that edge.",
            ),
            models.CheckConstraint(
                condition=~Q(seller=F("buyer")),
                name="edge_not_to_itself",
                violation_error_message="A party cannot sell to itself. Choose another buyer.",
            ),
            models.CheckConstraint(
                condition=Q(fee_percent__gte=0) & Q(fee_percent__lt=100),
                name="edge_fee_below_100",
                violation_error_message="A fee goes from 0 to below 100 percent.",
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
        error_messages={"invalid": "Only an advertiser can have a campaign. Choose one."},
    )
    name = models.CharField(max_length=160)
    expression = models.TextField()
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.DRAFT)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True, blank=True)
    bid_cpm = models.DecimalField(
        max_digits=9,
        decimal_places=2,
        default=Decimal("1.00"),
        validators=[MinValueValidator(Decimal(0), "A bid cannot be negative.")],
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CampaignQuerySet.as_manager()

    booking_count: int  # filled by `with_booking_count` only

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["advertiser", "name"],
                name="campaign_name_per_advertiser",
                violation_error_message="This advertiser already has a campaign of that name.",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "live", "paused"]),
                name="campaign_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                name="campaign_ends_after_start",
                violation_error_message="The campaign must end after it starts.",
            ),
            models.CheckConstraint(
                condition=Q(bid_cpm__gte=0),
                name="campaign_bid_not_negative",
                violation_error_message="A bid cannot be negative.",
            ),
        ]
        indexes = [models.Index(fields=["status", "-id"])]

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        return self.status == Campaign.Status.LIVE

    def clean(self) -> None:
        """Also a constraint, but here the message lands at the field."""
        if self.starts_at and self.ends_at and self.ends_at <= self.starts_at:
            raise ValidationError({"ends_at": "The campaign must end after it starts."})


class Booking(models.Model):
    """A campaign booked with a publisher; eligible over the cheapest path between the two."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="bookings")
    publisher = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="bookings",
        limit_choices_to={"kind": Party.Kind.PUBLISHER},
        error_messages={"invalid": "Only a publisher takes bookings. Choose one."},
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = BookingQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "publisher"],
                name="booking_once_per_pair",
                violation_error_message="This campaign is already booked with this publisher.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign} at {self.publisher}"
