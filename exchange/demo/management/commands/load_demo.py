"""Loads the demo exchange once, or prints a curl line that asks it for eligible campaigns."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from exchange.demo import access
from exchange.demo.loading import ForeignMarketError, Market
from exchange.demo.progress import ProgressLines
from exchange.demo.service import Outcome, load_demo
from exchange.demo.visit_log import VisitLog
from exchange.market.models import Booking, Campaign, Edge, Party


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


class Command(BaseCommand):
    help = "Loads a believable exchange and its visit log; does nothing when it is already there."
    # Checks import every page; `make run` has them run elsewhere and wants this call to be quick.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--campaigns", type=positive, default=3_000)
        parser.add_argument("--visits", type=positive, default=20_000, help="Visits per day.")
        parser.add_argument(
            "--days", type=positive, default=14, help="Days of visits, up to yesterday."
        )
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--print-curl", action="store_true", help="Load nothing, print a request."
        )
        parser.add_argument("--port", type=positive, default=8000, help="Where the server listens.")

    def handle(self, *_: Any, **options: Any) -> None:
        if not settings.DEMO_LOGINS:
            raise CommandError(
                "Demo logins are switched off (TREELINE_DEMO_LOGINS): not loading them."
            )
        if options["print_curl"]:
            self._print_curl(options["port"])
        else:
            self._load(options)

    def _load(self, options: dict[str, Any]) -> None:
        today = timezone.now().date()
        market = Market(options["seed"], options["campaigns"], today)
        folder = Path(settings.VISIT_LOG_DIR)
        log = VisitLog(folder, options["seed"], options["visits"], options["days"], today)
        started = time.monotonic()
        try:
            outcome = load_demo(market=market, log=log, report=ProgressLines(self.stdout))
        except ForeignMarketError as error:
            raise CommandError(f"{error} The demo is for an empty exchange.") from error
        self.stdout.write(self._summary(outcome, time.monotonic() - started))

    def _summary(self, outcome: Outcome, seconds: float) -> str:
        if outcome.did_nothing:
            return f"The demo is already loaded: {Campaign.objects.count():,} campaigns."
        parts = []
        if outcome.loaded_market:
            parts.append(
                f"{Party.objects.count():,} parties, {Edge.objects.count():,} edges,"
                f" {Campaign.objects.count():,} campaigns, {Booking.objects.count():,} bookings"
            )
        if outcome.days_written:
            parts.append(f"{outcome.days_written} days of visits")
        if outcome.made_key:
            parts.append(f"an API key in {access.key_file()}")
        return f"Loaded {'; '.join(parts)} in {seconds:.1f} s."

    def _print_curl(self, port: int) -> None:
        from exchange.demo import curl  # slow to import, and rarely wanted

        key = access.read_key()
        if key is None:
            raise CommandError("There is no demo API key. Run manage.py load_demo first.")
        try:
            request = curl.choose_request(folder=Path(settings.VISIT_LOG_DIR), now=timezone.now())
        except curl.NoVisitError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(curl.write_curl(request, port=port, key=key))
