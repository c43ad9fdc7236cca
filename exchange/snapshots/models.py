"""Keeps builds of the index, one row each; what changed in the market; how far the deltas are."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class Phase(models.TextChoices):
    """What a running build is doing, in this order."""

    READING = "reading", "Reading the market"
    INDEXING = "indexing", "Building the index"
    FREEZING = "freezing", "Laying out the index"
    WRITING = "writing", "Writing the snapshot"
    CHECKING = "checking", "Checking the snapshot"
    ACTIVATING = "activating", "Going live"


# A phase's begin and end on the progress bar, in percent: roughly its share of the time.
PHASE_SPAN = {
    Phase.READING: (0, 20),
    Phase.INDEXING: (20, 65),
    Phase.FREEZING: (65, 75),
    Phase.WRITING: (75, 90),
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
        READY = "ready", "Ready"
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
    reason = models.CharField(max_length=200, blank=True, help_text="Why it was asked for.")
    requested_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(
        null=True, blank=True, help_text="The moment of the market that the snapshot holds."
    )
    position = models.TextField(
        blank=True, help_text="The database snapshot that was read: changes it sees are in it."
    )
    snapshot_id = models.CharField(max_length=64, blank=True)
    booking_count = models.PositiveIntegerField(default=0)
    skipped = models.JSONField(
        default=list, blank=True, help_text="The first bookings left out, each with its reason."
    )
    skipped_count = models.PositiveIntegerField(
        default=0, help_text="How many were left out in all."
    )
    skipped_reasons = models.JSONField(
        default=list, blank=True, help_text="Why, the most frequent ones with their counts."
    )
    size_bytes = models.PositiveBigIntegerField(default=0)
    phase_seconds = models.JSONField(default=dict, blank=True, help_text="Where the time went.")
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
        """Says how far the whole build is; it never moves backwards from phase to phase."""
        if self.status in {self.Status.READY, self.Status.LIVE, self.Status.REPLACED}:
            return 100
        if not self.phase:
            return 0
        first, last = PHASE_SPAN[Phase(self.phase)]
        share = min(self.rows_done / self.rows_total, 1) if self.rows_total else 0
        return first + int((last - first) * share)


class TransactionIdField(models.Field):  # type: ignore[type-arg]  # not subscriptable
    """Postgres' 64-bit transaction ids, which never wrap around."""

    def db_type(self, connection: object) -> str:  # noqa: ARG002  (Django's signature)
        return "xid8"


class ChangeKind(models.TextChoices):
    """Tables whose changes reach what is served."""

    ATTRIBUTE = "attribute"
    AUDIENCE = "audience"
    BOOKING = "booking"
    CAMPAIGN = "campaign"
    EDGE = "edge"
    ORGANISATION = "organisation"
    PARTY = "party"
    VALUE_LIST = "value list"


class Change(models.Model):
    """A row of the market that was inserted or changed, by whatever hand: triggers write this, once
    per statement. Without an object: too many rows at once to name them."""

    kind = models.CharField(max_length=12, choices=ChangeKind.choices)
    object_id = models.BigIntegerField(null=True)
    xid = TransactionIdField()
    former = models.JSONField(null=True, help_text="The row before, of what paths depend on.")

    class Meta:
        indexes = [models.Index(fields=["xid"], name="change_by_transaction")]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id or '(many)'}"


class DeltaLog(models.Model):
    """How far the log of the live snapshot is written: one row, replaced by whoever activates.

    The files are the truth; a record that was written before its writer died is taken over from
    there. Writers lock the whole table, readers need no lock.
    """

    log_id = models.CharField(max_length=32, help_text="The folder that the records are in.")
    snapshot_id = models.CharField(max_length=64)
    number = models.BigIntegerField(default=0, help_text="Of the last record; never used again.")
    position = models.TextField(help_text="The database snapshot that is served.")
    reinserted_count = models.PositiveIntegerField(
        default=0, help_text="Bookings that lie beside the snapshot, each time counted."
    )
    deferred_count = models.PositiveIntegerField(
        default=0, help_text="Bookings whose change waits for the next build."
    )
    deferred = models.JSONField(default=list, blank=True, help_text="Why, the first ones.")
    defined = models.JSONField(default=list, blank=True, help_text="Names that records define.")
    is_held = models.BooleanField(
        default=False, help_text="Rolled back: what changed since is held back."
    )
    written_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_delta_log")]

    def __str__(self) -> str:
        return f"change {self.number} of {self.snapshot_id[:8]}"


class Quarantined(models.Model):
    """An expression that no longer compiles. Its last good form goes on being served, if it has
    one; builds and deltas add and remove rows."""

    kind = models.CharField(max_length=12, choices=ChangeKind.choices)
    object_id = models.BigIntegerField()
    reason = models.TextField()
    has_good_form = models.BooleanField(default=False)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "quarantined"
        ordering = ["kind", "object_id"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "object_id"], name="quarantined_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}: {self.reason}"
