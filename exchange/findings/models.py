"""Keeps what was found about bookings: facts, not words, because readers may see different
parts."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q


class BookingFinding(models.Model):
    """One kind of trouble of one booking, as of `checked_at`. Replaced whole by every check.

    `edge_ids` are the edges that it is about, in path order; `conditions` are pairs of an edge's id
    (None: the campaign) and a condition. Findings of the same `cause` would go with one change.
    """

    class Kind(models.TextChoices):
        NO_PATH = "no_path", "No path"
        BROKEN_PATH = "broken_path", "Broken path"
        CONTRADICTION = "contradiction", "Contradiction"
        CYCLE = "cycle", "Cycle"
        NEVER_MATCHED = "never_matched", "Never matched"
        QUARANTINED = "quarantined", "Does not compile"
        OLDER_FORM = "older_form", "Serves as it was"

    booking = models.ForeignKey(
        "market.Booking", on_delete=models.CASCADE, related_name="findings", db_index=False
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    edge_ids = ArrayField(models.BigIntegerField(), default=list)
    party_ids = ArrayField(models.BigIntegerField(), default=list)
    conditions = models.JSONField(default=list)
    cause = models.CharField(max_length=240, default="")
    checked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["booking", "kind"], name="finding_once_per_kind"),
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        "no_path",
                        "broken_path",
                        "contradiction",
                        "cycle",
                        "never_matched",
                        "quarantined",
                        "older_form",
                    ]
                ),
                name="finding_kind_is_known",
            ),
        ]
        indexes = [
            models.Index(fields=["kind", "-id"], name="finding_by_kind"),
            models.Index(fields=["cause", "-id"], name="finding_by_cause"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: booking {self.booking_id}"


# With one of these a booking is never eligible; the others are advice.
BLOCKING = (
    BookingFinding.Kind.NO_PATH,
    BookingFinding.Kind.BROKEN_PATH,
    BookingFinding.Kind.CONTRADICTION,
    BookingFinding.Kind.QUARANTINED,
)


class BlockedCampaign(models.Model):
    """A live campaign without one booking that could be eligible, and what blocks its first one.

    It follows from bookings and their findings, and is kept so that a list of a million campaigns
    finds them by an index: whoever checks bookings writes it (`services.note_blocked`).
    """

    NOT_BOOKED = "not_booked"

    campaign = models.OneToOneField(
        "market.Campaign", on_delete=models.CASCADE, primary_key=True, related_name="blocked"
    )
    kind = models.CharField(max_length=16)

    def __str__(self) -> str:
        return f"campaign {self.campaign_id}: {self.kind}"


class OwnerQuestion(models.Model):
    """Somebody whose booking an edge keeps visits from asks the edge's owner about it; the owner
    finds it on Today until it is settled. `visits` a day are what the edge alone keeps out, counted
    when it was asked; None where that was not known. One of a booking and an edge is open at a
    time."""

    edge = models.ForeignKey("market.Edge", on_delete=models.PROTECT, related_name="questions")
    booking = models.ForeignKey("market.Booking", on_delete=models.PROTECT, related_name="+")
    text = models.CharField(max_length=500, blank=True)
    visits = models.PositiveBigIntegerField(null=True, blank=True)
    asked_by = models.ForeignKey("accounts.User", on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    settled_by = models.ForeignKey(
        "accounts.User", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["edge", "booking"],
                condition=Q(settled_at=None),
                name="owner_question_open_once",
            )
        ]

    def __str__(self) -> str:
        return f"question about edge {self.edge_id}"


class CheckedUpTo(models.Model):
    """The moment of the market up to which changes were looked at: one row, moved on after the
    check, by the one sweep that holds the lock. Times are None until then."""

    position = models.TextField(help_text="A database snapshot, as Postgres names it.")
    swept_at = models.DateTimeField(null=True, help_text="When changes were last looked at.")
    first_asked_at = models.DateTimeField(null=True, help_text="Of the first check of everything.")
    all_checked_at = models.DateTimeField(null=True, help_text="When everything last was.")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_checked_up_to")]

    def __str__(self) -> str:
        return self.position
