"""Keeps runs of the Spark reports and the summaries that pages and downloads read."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class ReportRun(models.Model):
    """One run of the eligible-visits report over some days of the visit log.

    Only one may run at a time: claimed by compare-and-set on `status`, guarded by a constraint, and
    given up when its heartbeat stops. The counters say what became of the log's rows.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    first_day = models.DateField()
    last_day = models.DateField()
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.QUEUED)
    phase = models.CharField(max_length=60, blank=True)
    days_done = models.PositiveIntegerField(default=0)
    stages = models.PositiveIntegerField(default=0, help_text="Of Spark, at this moment.")
    tasks_done = models.PositiveIntegerField(default=0, help_text="Of Spark, at this moment.")
    tasks = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    start_after = models.DateTimeField(null=True, blank=True, help_text="A retry waits till then.")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    snapshot_id = models.CharField(max_length=64, blank=True)
    days_without_log = models.PositiveIntegerField(default=0)
    visits_counted = models.PositiveBigIntegerField(default=0)
    visits_late = models.PositiveBigIntegerField(
        default=0, help_text="Counted, but of an earlier day."
    )
    visits_malformed = models.PositiveBigIntegerField(default=0)
    visits_duplicate = models.PositiveBigIntegerField(default=0)
    visits_unknown_publisher = models.PositiveBigIntegerField(default=0)
    values_of_wrong_type = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(last_day__gte=models.F("first_day")), name="report_days_in_order"
            ),
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="running"), name="one_report_at_a_time"
            ),
            models.UniqueConstraint(
                fields=["first_day", "last_day"],
                condition=Q(status="queued"),
                name="report_days_wait_once",
            ),
        ]

    def __str__(self) -> str:
        return f"report {self.first_day} to {self.last_day} ({self.status})"

    @property
    def day_count(self) -> int:
        return (self.last_day - self.first_day).days + 1

    @property
    def is_open(self) -> bool:
        return self.status in {self.Status.QUEUED, self.Status.RUNNING}

    @property
    def failed_jobs(self) -> list[JobRun]:
        """Lists jobs that failed, which need not fail the run."""
        return [job for job in self.jobs.all() if job.status == JobRun.Status.FAILED]

    @property
    def headline(self) -> str:
        """Gives the first line of the error: what happened and what to do."""
        return self.error.partition("\n")[0]


# Words for jobs whose own name says little to those who read reports.
JOB_WORDS = {
    "eligibility": "eligible visits",
    "funnel": "where visits are lost",
    "parity": "answers given again",
    "quarantine": "rows set aside",
    "reach": "people over days",
    "truth_rates": "how often conditions hold",
    "schain_audit": "supply chains",
    "load": "loading the numbers",
}


class RunLog(models.Model):
    """What the jobs of a run wrote beside their results: the end of it, for who has to look."""

    run = models.OneToOneField(ReportRun, on_delete=models.CASCADE, related_name="log")
    text = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"log of {self.run}"


class JobRun(models.Model):
    """What became of one job of one day in a run: one of the night's, or loading its numbers."""

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        NO_LOG = "no_log", "No log"
        FAILED = "failed", "Failed"

    run = models.ForeignKey(ReportRun, on_delete=models.CASCADE, related_name="jobs")
    day = models.DateField()
    job = models.CharField(max_length=40)
    status = models.CharField(max_length=8, choices=Status.choices)
    seconds = models.FloatField(default=0)
    rows_read = models.PositiveBigIntegerField(default=0)
    rows_written = models.PositiveBigIntegerField(default=0)
    snapshot_id = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "day", "job"], name="job_once_per_run_and_day")
        ]

    def __str__(self) -> str:
        return f"{self.job} of {self.day} ({self.status})"

    @property
    def name(self) -> str:
        return JOB_WORDS.get(self.job, self.job.replace("_", " "))

    @property
    def headline(self) -> str:
        return self.error.partition("\n")[0]


class DaySnapshot(models.Model):
    """What a day was last counted with; `read_at` is when the market was read for it."""

    day = models.DateField(unique=True)
    snapshot_id = models.CharField(max_length=64)
    read_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.day}: {self.snapshot_id}"


class EligibleVisits(models.Model):
    """How many logged visits of a day a campaign was eligible for, at one publisher."""

    day = models.DateField()
    campaign = models.ForeignKey(
        "market.Campaign", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    publisher = models.ForeignKey("market.Party", on_delete=models.PROTECT, related_name="+")
    eligible_visits = models.PositiveBigIntegerField()
    run = models.ForeignKey(ReportRun, on_delete=models.PROTECT, related_name="rows")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["day", "campaign", "publisher"], name="eligible_visits_once_per_day"
            )
        ]
        indexes = [
            # Cover all that is summed up of some campaigns, or of a publisher.
            models.Index(
                fields=["campaign", "day"],
                include=["publisher", "eligible_visits"],
                name="eligible_of_campaign",
            ),
            models.Index(
                fields=["publisher", "day"],
                include=["campaign", "eligible_visits"],
                name="eligible_at_publisher",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.campaign_id}: {self.eligible_visits}"


class EligibleSums(models.Model):
    """Eligible visits over all campaigns, kept by triggers, for charts of the whole exchange.
    `changes` only grows: whatever was found out about a day holds while it stays the same."""

    day = models.DateField()
    publisher = models.ForeignKey(
        "market.Party", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    eligible_visits = models.BigIntegerField()
    changes = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["day", "publisher"], name="eligible_sums_once_per_day")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.publisher_id}: {self.eligible_visits}"


class KeptCampaigns(models.Model):
    """The first campaigns of the whole exchange over some days, in some order, and how many there
    are: counted once for each state of those days, which `key` names."""

    key = models.CharField(max_length=100, unique=True)
    count = models.PositiveBigIntegerField()
    first = models.JSONField()

    def __str__(self) -> str:
        return self.key


class DailyVisits(models.Model):
    """How many visits the log held on a day at one publisher: the whole that shares refer to."""

    day = models.DateField()
    publisher = models.ForeignKey("market.Party", on_delete=models.PROTECT, related_name="+")
    visits = models.PositiveBigIntegerField()
    run = models.ForeignKey(ReportRun, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["day", "publisher"], name="daily_visits_once_per_day")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.publisher_id}: {self.visits}"
