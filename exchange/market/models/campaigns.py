"""Keeps campaigns. A campaign belongs to its advertiser's organisation."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from exchange.market.aims import aim_words
from exchange.market.models.parties import Party
from exchange.market.models.revised import Revised, keep_revisions, while_kept
from exchange.market.models.uses import WithExpression, index_uses
from exchange.market.querysets import CampaignQuerySet, end_or_open
from exchange.market.words import Words

DEFAULT_PRIORITY = 5
MAX_LABELS = 20
LIVE = Q(status="live", retired_at=None)


@keep_revisions()
class Campaign(Revised, WithExpression):
    """What an advertiser wants to show, to which visits, and when (flight: half open, UTC)."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        LIVE = "live", "Live"
        PAUSED = "paused", "Paused"

    advertiser = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="campaigns",
        db_index=False,  # the index with the id serves it
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
    priority = models.PositiveSmallIntegerField(
        default=DEFAULT_PRIORITY,
        db_default=DEFAULT_PRIORITY,
        validators=[
            MinValueValidator(1, "A priority goes from 1 to 10."),
            MaxValueValidator(10, "A priority goes from 1 to 10."),
        ],
        help_text="From 1 to 10; the higher one goes first where several campaigns are eligible.",
    )
    labels = ArrayField(
        models.CharField(max_length=40), default=list, db_default=[], blank=True, size=MAX_LABELS
    )

    objects = CampaignQuerySet.as_manager()

    booking_count: int  # filled by `with_booking_count` only
    ends: datetime  # filled by `with_end` only
    standing: str  # filled by `findings.status` only, like `blocked_by`
    blocked_by: str

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["advertiser", "name"],
                name="campaign_name_per_advertiser",
                condition=while_kept(),
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
            models.CheckConstraint(
                condition=Q(priority__gte=1) & Q(priority__lte=10),
                name="campaign_priority_from_1_to_10",
            ),
        ]
        indexes = [
            models.Index(fields=["status", "-id"], name="campaign_by_status"),
            # Find what the flight decides: campaigns that have ended, and the few that are to come.
            models.Index(fields=["-ends_at", "-id"], name="campaign_by_end", condition=LIVE),
            models.Index(
                fields=["advertiser", "-ends_at", "-id"],
                name="campaign_by_end_here",
                condition=LIVE,
            ),
            models.Index(fields=["starts_at"], name="campaign_by_start", condition=LIVE),
            models.Index(fields=["advertiser", "-id"], name="campaign_by_advertiser"),
            GinIndex(fields=["labels"], name="campaign_labels"),
            GinIndex(Words("name"), name="campaign_name_words"),
            GinIndex(aim_words(), name="campaign_aim_words"),
            # Serve the columns that the list can be sorted by.
            models.Index(fields=["name", "id"], name="campaign_sort_name", condition=while_kept()),
            models.Index(
                fields=["bid_cpm", "id"], name="campaign_sort_bid", condition=while_kept()
            ),
            models.Index(end_or_open(), "id", name="campaign_sort_end", condition=while_kept()),
            *index_uses("campaign"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        return self.status == Campaign.Status.LIVE

    @property
    def is_draft(self) -> bool:
        return self.status == Campaign.Status.DRAFT

    def is_ended(self, at: datetime) -> bool:
        """Tells whether the flight is over: nobody has to end a campaign."""
        return self.ends_at is not None and self.ends_at <= at

    def clean(self) -> None:
        """Checks the flight; a constraint does too, but here the message lands at the field."""
        if self.starts_at and self.ends_at and self.ends_at <= self.starts_at:
            raise ValidationError({"ends_at": "The campaign must end after it starts."})
