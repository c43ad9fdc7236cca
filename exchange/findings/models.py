"""What was found about bookings: facts, not words, because readers may see different parts."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q


class BookingFinding(models.Model):
    """One kind of trouble of one booking, as of `checked_at`. Replaced whole by every check.

    `edge_ids` are the edges that it is about, in path order; `conditions` are pairs of an edge's id
    (None: the campaign) and a condition.
    """

    class Kind(models.TextChoices):
        NO_PATH = "no_path", "No path"
        BROKEN_PATH = "broken_path", "Broken path"
        CONTRADICTION = "contradiction", "Contradiction"
        CYCLE = "cycle", "Cycle"
        NEVER_MATCHED = "never_matched", "Never matched"

    booking = models.ForeignKey(
        "market.Booking", on_delete=models.CASCADE, related_name="findings", db_index=False
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    edge_ids = ArrayField(models.BigIntegerField(), default=list)
    party_ids = ArrayField(models.BigIntegerField(), default=list)
    conditions = models.JSONField(default=list)
    checked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["booking", "kind"], name="finding_once_per_kind"),
            models.CheckConstraint(
                condition=Q(
                    kind__in=["no_path", "broken_path", "contradiction", "cycle", "never_matched"]
                ),
                name="finding_kind_is_known",
            ),
        ]
        indexes = [models.Index(fields=["kind", "-id"], name="finding_by_kind")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: booking {self.booking_id}"


class CheckedUpTo(models.Model):
    """The moment of the market up to which changes were looked at: one row, moved on after the
    check, by the one sweep that holds the lock."""

    position = models.TextField(help_text="A database snapshot, as Postgres names it.")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_checked_up_to")]

    def __str__(self) -> str:
        return self.position
