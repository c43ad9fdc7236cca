"""Builds of the index: one row per build, from request to live or failed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class Phase(models.TextChoices):
    """What a running build is doing, in this order."""

    READING = "reading", "Reading the market"
    INDEXING = "indexing", "Building the index"
    WRITING = "writing", "Writing the snapshot"
    CHECKING = "checking", "Checking the snapshot"
    ACTIVATING = "activating", "Going live"


# Where a phase begins and ends on the progress bar, in percent: roughly its share of the time.
PHASE_SPAN = {
    Phase.READING: (0, 25),
    Phase.INDEXING: (25, 80),
    Phase.WRITING: (80, 90),
    Phase.CHECKING: (90, 98),
    Phase.ACTIVATING: (98, 100),
}


class SnapshotBuild(models.Model):
    """One build of a snapshot. Only one may run at a time: claimed by compare-and-set on `status`,
    guarded by a constraint, and given up when its heartbeat stops. At most one waits: a build that
    has not started yet reads every change that was saved before it starts."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        BUILDING = "building", "Building"
        LIVE = "live", "Live"
        REPLACED = "replaced", "Replaced"
        FAILED = "failed", "Failed"

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    phase = models.CharField(max_length=10, choices=Phase.choices, blank=True)
    attempt = models.PositiveSmallIntegerField(
        default=1, help_text="Above 1: a build is tried again after its worker was lost."
    )
    rows_done = models.PositiveIntegerField(default=0, help_text="Rows of the current phase.")
    rows_total = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(
        null=True, blank=True, help_text="The moment of the market that the snapshot holds."
    )
    snapshot_id = models.CharField(max_length=64, blank=True)
    booking_count = models.PositiveIntegerField(default=0)
    skipped = models.JSONField(
        default=list, blank=True, help_text="The first bookings left out, each with its reason."
    )
    skipped_count = models.PositiveIntegerField(
        default=0, help_text="How many were left out in all."
    )
    size_bytes = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="building"), name="one_build_at_a_time"
            ),
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="queued"), name="one_build_waiting"
            ),
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="live"), name="one_live_snapshot"
            ),
        ]

    def __str__(self) -> str:
        return f"build {self.pk} ({self.status})"

    @property
    def is_over(self) -> bool:
        return self.status not in {self.Status.QUEUED, self.Status.BUILDING}

    @property
    def percent(self) -> int:
        """How far the whole build is; it never moves backwards from phase to phase."""
        if self.status in {self.Status.LIVE, self.Status.REPLACED}:
            return 100
        if not self.phase:
            return 0
        first, last = PHASE_SPAN[Phase(self.phase)]
        share = min(self.rows_done / self.rows_total, 1) if self.rows_total else 0
        return first + int((last - first) * share)
