"""Brings database, demo exchange, first snapshot and first report to where a run can start.

Every step does nothing when it was done before. Run as a process of its own by the supervisor.
"""

import argparse
import io
import json
import os
import time
from dataclasses import asdict

import django
from django.core.management import CommandError, call_command

from exchange.launcher.welcome import WELCOME_FILE, Welcome


def main() -> None:
    arguments = _read_arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
    django.setup()
    migrate()
    load_demo(arguments)
    build_first_snapshot()
    if arguments.first_report:
        request_first_report()
    write_welcome(arguments.port)


def migrate() -> None:
    with _step("migrating the database"):
        call_command("migrate", verbosity=0, interactive=False)


def load_demo(arguments: argparse.Namespace) -> None:
    from django.conf import settings

    if settings.DEMO_LOGINS:
        with _step("loading the demo exchange, unless it is there"):
            call_command("load_demo", campaigns=arguments.campaigns, visits=arguments.visits)


def build_first_snapshot() -> None:
    """Builds the first snapshot, or the first that this version can read."""
    from exchange.snapshots.services import has_readable_snapshot

    if not has_readable_snapshot():
        with _step("building the first snapshot"):
            call_command("build_snapshot")


def request_first_report() -> None:
    """Asks for the first report in the background: the worker takes it as soon as it runs."""
    from exchange.celery import app
    from exchange.reports.models import ReportRun

    if not ReportRun.objects.filter(status=ReportRun.Status.DONE).exists():
        app.send_task("reports.run_nightly")
        print("  the first report of eligible visits will be counted in the background", flush=True)


def write_welcome(port: int) -> None:
    """Writes what the launcher shows at the end: demo logins, a line to paste with an API key."""
    from django.conf import settings

    welcome = Welcome(_demo_logins(), _demo_curl(port)) if settings.DEMO_LOGINS else Welcome({}, "")
    file = settings.VAR_DIR / "run" / WELCOME_FILE
    file.touch(mode=0o600)
    file.write_text(json.dumps(asdict(welcome)))


def _demo_logins() -> dict[str, str]:
    from exchange.accounts.models import User

    users = User.objects.filter(is_demo=True, is_active=True).select_related("organisation")
    return {user.username: user.post for user in users.order_by("pk")}


def _demo_curl(port: int) -> str:
    """Writes the line; empty if every campaign of the demo was ended: nothing can be asked."""
    if kept := _kept_curl(port):
        return kept
    line = io.StringIO()
    try:
        call_command("load_demo", print_curl=True, port=port, stdout=line)
    except CommandError as problem:
        print(f"  no example request: {problem}", flush=True)
    return line.getvalue().strip()


def _kept_curl(port: int) -> str:
    """Finds the last run's line, if its key still works: finding a telling visit takes seconds."""
    from django.conf import settings

    from exchange.demo.access import read_key

    try:
        line = Welcome.read(settings.VAR_DIR).curl
    except (OSError, ValueError, TypeError):
        return ""
    key = read_key()
    return line.replace(_port_of(line), f":{port}/", 1) if key and key in line else ""


def _port_of(line: str) -> str:
    return line.partition("127.0.0.1")[2].partition("/")[0] + "/"


class _step:  # noqa: N801  (reads as a verb: with _step("..."))
    """Says what is going on, and how long it took when a person would have noticed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> None:
        print(f"  {self.text}", flush=True)
        self.started_at = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if (seconds := time.monotonic() - self.started_at) > 2:
            print(f"  {self.text}: {seconds:.1f} s", flush=True)


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--first-report", action="store_true")
    parser.add_argument("--campaigns", type=int, default=3000)
    parser.add_argument("--visits", type=int, default=20000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
