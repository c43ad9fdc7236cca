"""Builds of the index: one row per build, from request to live or failed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class SnapshotBuild(models.Model):
    """One build of a snapshot. Only one may run at a time: claimed by compare-and-set on `status`,
    guarded by a constraint, and given up when its heartbeat stops."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        BUILDING = "building", "Building"
        LIVE = "live", "Live"
        REPLACED = "replaced", "Replaced"
        FAILED = "failed", "Failed"

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    phase = models.CharField(max_length=60, blank=True)
    rows_done = models.PositiveIntegerField(default=0)
    rows_total = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    snapshot_id = models.CharField(max_length=64, blank=True)
    booking_count = models.PositiveIntegerField(default=0)
    skipped = models.JSONField(default=list, help_text="Bookings left out, each with its reason.")
    size_bytes = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="building"), name="one_build_at_a_time"
            ),
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="live"), name="one_live_snapshot"
            ),
        ]

    def __str__(self) -> str:
        return f"build {self.pk} ({self.status})"

    @property
    def percent(self) -> int:
        return 100 * self.rows_done // self.rows_total if self.rows_total else 0
