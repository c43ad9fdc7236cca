"""Makes a large exchange in a Postgres of its own: 1,000,000 bookings, 57,000 edges.

The demo's generator with a larger graph; each campaign is then repeated with its bookings, which
Postgres does in a fraction of the time. Beside it a day's visits, four weeks of reported visits,
a night's tables and findings. Loading takes minutes, so the folder is used again by the next run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import django

from bench.night_tables import write_nights

SEED = 1
REPORTED_DAYS = 28
REPEAT_CAMPAIGNS = """
INSERT INTO market_campaign (id, advertiser_id, name, expression, status, starts_at, ends_at,
    bid_cpm, priority, labels, uses, uses_digest, created_at, updated_at)
SELECT id + %(step)s * %(wave)s, advertiser_id, left(name, 140) || ' again ' || %(wave)s,
    expression, status, starts_at, ends_at, bid_cpm, priority, labels, uses, uses_digest,
    created_at, updated_at
FROM market_campaign WHERE id <= %(step)s ORDER BY id
"""
REPEAT_BOOKINGS = """
INSERT INTO market_booking (campaign_id, advertiser_id, publisher_id, is_active, policy, hop_limit,
    pinned_edges, created_at, updated_at)
SELECT campaign_id + %(step)s * %(wave)s, advertiser_id, publisher_id, is_active, policy, hop_limit,
    pinned_edges, created_at, updated_at
FROM market_booking WHERE campaign_id <= %(step)s ORDER BY id
"""
GO_ON_COUNTING = """
SELECT setval(pg_get_serial_sequence('market_campaign', 'id'), max(id)) FROM market_campaign
"""
# What nightly runs leave: a tenth of the live bookings had eligible visits on a day, and one in
# fifty bookings has a finding.
FILL_REPORTS = """
INSERT INTO reports_reportrun (first_day, last_day, status, phase, days_done, stages, tasks_done,
    tasks, attempt, requested_at, snapshot_id, days_without_log, visits_counted, visits_late,
    visits_malformed, visits_duplicate, visits_unknown_publisher, values_of_wrong_type, error)
VALUES (current_date - %(days)s, current_date - 1, 'done', '', %(days)s, 0, 0, 0, 1, now(), 'a', 0,
    1000000, 0, 0, 0, 0, 0, '');
INSERT INTO reports_dailyvisits (day, publisher_id, visits, run_id)
SELECT current_date - step, party.id, 100000 + party.id %% 1000, run.id
FROM market_party AS party, generate_series(1, %(days)s) AS step, reports_reportrun AS run
WHERE party.kind = 'publisher';
INSERT INTO reports_eligiblevisits (day, campaign_id, publisher_id, eligible_visits, run_id)
SELECT current_date - step, booking.campaign_id, booking.publisher_id, 1 + booking.id %% 997, run.id
FROM market_booking AS booking JOIN market_campaign AS campaign ON campaign.id = campaign_id,
    generate_series(1, %(days)s) AS step, reports_reportrun AS run
WHERE campaign.status = 'live' AND (booking.id + step) %% 10 = 0;
INSERT INTO findings_bookingfinding (booking_id, kind, edge_ids, party_ids, conditions, cause,
    checked_at)
SELECT id, 'no_path', '{}', '{}', '[]', 'no_path:' || publisher_id || '-' || advertiser_id, now()
FROM market_booking WHERE id %% 50 = 0;
"""


@dataclass(frozen=True, slots=True)
class MarketSize:
    """How many different campaigns there are, and how often each is repeated (`waves`), with its
    bookings or without; `parties` are as in the demo's `GraphSize`."""

    campaigns: int
    waves: int
    parties: dict[str, int]
    repeats_bookings: bool = True


Step = Callable[[MarketSize], None]


LARGE = MarketSize(
    campaigns=50_000,
    waves=8,
    parties={
        "publishers": 300,
        "ssps": 400,
        "exchanges": 160,
        "resellers": 240,
        "dsps": 400,
        "advertisers": 20_500,
    },
)


@contextmanager
def large_market(
    folder: Path, size: MarketSize = LARGE, steps: Sequence[Step] | None = None
) -> Iterator[None]:
    """Runs the market's servers, with Django set up on them, for as long as the block runs. `steps`
    fill it, each once."""
    from exchange.launcher.servers import running_servers

    folder.mkdir(parents=True, exist_ok=True)
    os.environ["TREELINE_VAR"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "exchange.settings"
    # One process answers a query, so that its processor time is the whole of it.
    os.environ["PGOPTIONS"] = "-c max_parallel_workers_per_gather=0"
    with running_servers(var=folder) as addresses:
        os.environ.update(addresses)
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        for step in steps or (load_market, repeat_campaigns, fill_reports, fill_nights):
            done = folder / f"{step.__name__}.done"
            if not done.exists():
                step(size)
                done.touch()
        yield


def load_market(size: MarketSize) -> None:
    from django.conf import settings
    from django.utils import timezone

    from exchange.demo.graph import GraphSize
    from exchange.demo.loading import Market
    from exchange.demo.service import load_demo
    from exchange.demo.visit_log import VisitLog

    today = timezone.now().date()
    market = Market(SEED, size.campaigns, today, GraphSize(**size.parties))
    log = VisitLog(Path(settings.VISIT_LOG_DIR), SEED, 20_000, 1, today)
    load_demo(market=market, log=log, report=tell_progress)


def repeat_campaigns(size: MarketSize) -> None:
    from django.db import connection, transaction

    from exchange.demo.loading import FILLED
    from exchange.market.bulk import build_indexes_last
    from exchange.market.models import Campaign

    statements = [REPEAT_CAMPAIGNS, REPEAT_BOOKINGS][: 1 + size.repeats_bookings]
    step = Campaign.objects.order_by("-pk").values_list("pk", flat=True)[0]
    with transaction.atomic(), build_indexes_last(FILLED, tell_progress):
        for wave in range(1, size.waves):
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement, {"step": step, "wave": wave})
            tell_progress("waves", wave, size.waves - 1)
    with connection.cursor() as cursor:
        cursor.execute(GO_ON_COUNTING)


def fill_reports(_: MarketSize) -> None:
    from django.db import connection, transaction

    from exchange.market.bulk import build_indexes_last

    filled = ["reports_eligiblevisits", "findings_bookingfinding"]
    with (
        transaction.atomic(),
        build_indexes_last(filled, tell_progress),
        connection.cursor() as cursor,
    ):
        cursor.execute(FILL_REPORTS, {"days": REPORTED_DAYS})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def fill_nights(_: MarketSize) -> None:
    """Tables of one night, about every campaign."""
    from django.conf import settings
    from django.utils import timezone

    from exchange.market.models import Campaign, Party

    ids = list(Campaign.objects.order_by("pk").values_list("pk", flat=True))
    publishers = list(Party.objects.publishers().values_list("seller_id", flat=True))
    day = timezone.now().date() - timedelta(days=1)
    write_nights(Path(settings.REPORT_DIR), day, ids, publishers)


def tell_progress(what: str, done: int, total: int) -> None:
    print(f"{what}: {done:,} of {total:,}", file=sys.stderr)
