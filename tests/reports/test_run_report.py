from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from exchange.reports.models import ReportRun
from tests.reports.summaries import FIRST, SECOND, make_run


def run_report(**options: object) -> str:
    output = StringIO()
    call_command("run_report", stdout=output, **options)
    return output.getvalue()


def test_an_empty_log_is_said_plainly(db: None, visit_log: Path) -> None:
    with pytest.raises(CommandError, match="The visit log is empty"):
        run_report()


def test_days_in_the_wrong_order_are_refused(db: None, visit_log: Path) -> None:
    (visit_log / f"dt={FIRST}").mkdir(parents=True)
    with pytest.raises(CommandError, match="before the first"):
        run_report(first_day=SECOND, last_day=FIRST)


def test_the_reason_of_a_failed_run_is_the_commands_error(
    db: None, visit_log: Path, tmp_path: Path, settings: Settings
) -> None:
    settings.SNAPSHOT_DIR = tmp_path / "none"
    (visit_log / f"dt={FIRST}").mkdir(parents=True)
    with pytest.raises(CommandError, match="no live snapshot"):
        run_report()


def test_while_another_report_runs_the_command_only_queues(db: None, visit_log: Path) -> None:
    (visit_log / f"dt={FIRST}").mkdir(parents=True)
    make_run(status=ReportRun.Status.RUNNING, heartbeat_at=timezone.now())
    with pytest.raises(CommandError, match="Another report is running"):
        run_report()
    assert ReportRun.objects.filter(status=ReportRun.Status.QUEUED).count() == 1
