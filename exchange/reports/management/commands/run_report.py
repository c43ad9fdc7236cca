"""`manage.py run_report`: counts eligible visits now, in this process, and says how it goes."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import date

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from exchange.reports import services
from exchange.reports.job import JobDone
from exchange.reports.models import ReportRun


class Command(BaseCommand):
    help = "Counts eligible visits per campaign and publisher for days of the visit log."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--first-day", type=date.fromisoformat, help="default: of the log")
        parser.add_argument("--last-day", type=date.fromisoformat, help="default: of the log")

    def handle(self, *, first_day: date | None, last_day: date | None, **_: object) -> None:
        logged = services.logged_days()
        if not logged:
            raise CommandError("The visit log is empty: there is nothing to count.")
        try:
            queued = services.create_run(
                first_day=first_day or logged[0], last_day=last_day or logged[-1]
            )
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        done = services.run(run_id=queued.pk, on_day=self.show)
        self.conclude(done)

    def show(self, day: JobDone) -> None:
        counted = f"{day.input['visits']:,} visits" if day.has_log else "not in the log"
        self.stdout.write(f"{day.day}  {counted}  ({day.seconds:.1f} s)")

    def conclude(self, run: ReportRun) -> None:
        if run.status == ReportRun.Status.QUEUED:
            raise CommandError("Another report is running; this one starts when that ends.")
        if run.status == ReportRun.Status.FAILED:
            raise CommandError(run.error)
        self.stdout.write(f"Done: {run.visits_counted:,} visits with snapshot {run.snapshot_id}.")
