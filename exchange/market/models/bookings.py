"""Bookings: a campaign with a publisher, under a routing policy.

A booking belongs to its campaign's organisation; the publisher's organisation is the counterparty.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from exchange.market.models.campaigns import Campaign
from exchange.market.models.parties import Party
from exchange.market.models.revised import Revised, keep_revisions, while_kept
from exchange.market.querysets import BookingQuerySet

DEFAULT_HOPS = 5
MAX_HOPS = 8
OFF = Q(is_active=False)


@keep_revisions()
class Booking(Revised):
    """A campaign booked with a publisher, eligible over a path between the two.

    `advertiser` is the campaign's, kept here by triggers and a foreign key over both columns, so
    that the lists of a million bookings need no join. `pinned_edges` are ids, in path order.
    """

    class Policy(models.TextChoices):
        PINNED = "pinned", "Exactly this path"
        CHEAPEST = "cheapest", "The cheapest path"
        ANY = "any", "Any path that the visit may take"

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="bookings")
    advertiser = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,  # the index with the id serves it
        blank=True,
        editable=False,
    )
    publisher = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="bookings",
        db_index=False,  # the index with the id serves it
        limit_choices_to={"kind": Party.Kind.PUBLISHER},
        error_messages={"invalid": "Only a publisher takes bookings. Choose one."},
    )
    is_active = models.BooleanField(default=True)
    policy = models.CharField(
        max_length=8, choices=Policy.choices, default=Policy.CHEAPEST, db_default="cheapest"
    )
    hop_limit = models.PositiveSmallIntegerField(
        default=DEFAULT_HOPS,
        db_default=DEFAULT_HOPS,
        validators=[
            MinValueValidator(1, "A path has at least one hop."),
            MaxValueValidator(MAX_HOPS, "A path has at most 8 hops."),
        ],
        help_text="How many edges a path may have, from 1 to 8.",
    )
    pinned_edges = ArrayField(
        models.BigIntegerField(), default=list, db_default=[], blank=True, size=MAX_HOPS
    )

    objects = BookingQuerySet.as_manager()

    standing: str  # filled by `findings.status` only, like `blocked_by`
    blocked_by: str

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "publisher"],
                name="booking_once_per_pair",
                condition=while_kept(),
                violation_error_message="This campaign is already booked with this publisher.",
            ),
            models.CheckConstraint(
                condition=Q(policy__in=["pinned", "cheapest", "any"]),
                name="booking_policy_is_known",
            ),
            models.CheckConstraint(
                condition=Q(hop_limit__gte=1) & Q(hop_limit__lte=MAX_HOPS),
                name="booking_hops_from_1_to_8",
            ),
            models.CheckConstraint(
                condition=Q(policy="pinned", pinned_edges__len__gte=1)
                | (~Q(policy="pinned") & Q(pinned_edges=[])),
                name="booking_pins_if_pinned",
                violation_error_message="Name the edges of the path, or choose another policy.",
            ),
        ]
        indexes = [
            models.Index(fields=["publisher", "-id"], name="booking_by_publisher"),
            models.Index(fields=["advertiser", "-id"], name="booking_by_advertiser"),
            models.Index(fields=["publisher", "advertiser"], name="booking_by_pair"),
            # Covers all that deltas read of bookings whose paths move, up to 20,000 of them.
            models.Index(
                fields=["publisher", "advertiser", "policy"],
                include=["id", "campaign", "hop_limit"],
                condition=Q(is_active=True, retired_at=None),
                name="booking_between",
            ),
            models.Index(fields=["-id"], name="booking_off", condition=OFF),
            models.Index(fields=["publisher", "-id"], name="booking_off_here", condition=OFF),
            models.Index(fields=["advertiser", "-id"], name="booking_off_mine", condition=OFF),
            GinIndex(fields=["pinned_edges"], name="booking_pins", condition=Q(policy="pinned")),
        ]

    @property
    def most_hops(self) -> str:
        return f"{self.hop_limit} hop{'' if self.hop_limit == 1 else 's'}"

    def __str__(self) -> str:
        return f"{self.campaign} at {self.publisher}"
