"""Builds a snapshot now, in this process, and shows how far it is."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from exchange.snapshots.build_requests import request_build
from exchange.snapshots.models import Phase, SnapshotBuild
from exchange.snapshots.services import has_readable_snapshot, run_build

BAR_WIDTH = 30
REDRAW_SECONDS = 0.1


class Command(BaseCommand):
    help = "Build a snapshot of the market and make it live."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--if-needed",
            action="store_true",
            help="Only if no snapshot that this version can read is live: after an upgrade.",
        )

    def handle(self, *_args: Any, if_needed: bool = False, **_options: Any) -> None:
        if if_needed and has_readable_snapshot():
            self.stdout.write("The live snapshot can be read; nothing to do.")
            return
        build = request_build()
        bar = ProgressBar(self)
        while not build.is_over and not run_build(build_id=build.pk, listener=bar.show):
            # A worker was quicker, or another build must end first: show how far it is.
            time.sleep(REDRAW_SECONDS)
            build.refresh_from_db()
            bar.show(Phase(build.phase or Phase.READING), build.rows_done, build.rows_total)
        build.refresh_from_db()
        bar.finish()
        if build.status == SnapshotBuild.Status.FAILED:
            raise CommandError(f"The build failed: {build.error}")
        self.report(build)

    def report(self, build: SnapshotBuild) -> None:
        megabytes = build.size_bytes / 1_000_000
        self.stdout.write(
            f"Snapshot {build.snapshot_id} is live: {build.booking_count:,} bookings, "
            f"{megabytes:.1f} MB, {build.skipped_count:,} left out."
        )
        for row in build.skipped_reasons[:5]:
            self.stdout.write(f"  left out: {row['bookings']:,} bookings: {row['reason']}")


class ProgressBar:
    """A moving bar on a terminal; one line per phase where the output goes to a file."""

    def __init__(self, command: BaseCommand) -> None:
        self._out = command.stdout
        self._moves = self._out.isatty()
        self._phase: Phase | None = None
        self._drawn_at = 0.0

    def show(self, phase: Phase, rows_done: int, rows_total: int) -> None:
        is_new = phase is not self._phase
        self._phase = phase
        if not self._moves:
            if is_new:
                self._out.write(f"{phase.label} ..")
            return
        if is_new or time.monotonic() - self._drawn_at > REDRAW_SECONDS:
            self._draw(phase, rows_done, rows_total)

    def finish(self) -> None:
        if self._moves:
            self._out.write("")

    def _draw(self, phase: Phase, rows_done: int, rows_total: int) -> None:
        build = SnapshotBuild(
            status=SnapshotBuild.Status.BUILDING,
            phase=phase,
            rows_done=rows_done,
            rows_total=rows_total,
        )
        filled = "█" * (BAR_WIDTH * build.percent // 100)
        rows = f"{rows_done:,} of {rows_total:,}" if rows_total else ""
        line = f"\r{phase.label:<24} {filled:<{BAR_WIDTH}} {build.percent:>3} % {rows:<24}"
        self._out.write(line, ending="")
        self._out.flush()
        self._drawn_at = time.monotonic()
