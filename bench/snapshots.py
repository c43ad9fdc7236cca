"""Measures a large exchange in a real Postgres: a build, and a change until it is served.

It loads the demo exchange into servers of its own, 20,000 campaigns, or 500,000 for a million
bookings with --full; or it uses the servers that DATABASE_URL, REDIS_URL and TREELINE_VAR name.
A change takes the writer's time, then that of the server processes, which take it up side by side.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.management import call_command

if TYPE_CHECKING:
    from exchange.serving.eligibility import EligibilityService

CAMPAIGNS = 500_000 if os.environ.get("TREELINE_BENCH_FULL") else 20_000
MOVED = 10_000
ROUNDS = 3


def main() -> None:
    with ExitStack() as stack:
        if "DATABASE_URL" not in os.environ:
            from exchange.launcher.servers import running_servers

            var = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            os.environ["TREELINE_VAR"] = var
            os.environ.update(stack.enter_context(running_servers(var=Path(var))))
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
        django.setup()
        call_command("migrate", verbosity=0)
        with Path(os.devnull).open("w") as nowhere:
            call_command("load_demo", campaigns=CAMPAIGNS, days=1, stdout=nowhere)
        measure()


def measure() -> None:
    from django.conf import settings

    from exchange.serving.eligibility import EligibilityService

    tell_build()
    server = EligibilityService(settings.SNAPSHOT_DIR)
    print(
        "\n| change | bookings inserted again | written in s | taken up in s |\n|---|---|---|---|"
    )
    for name, change in changes().items():
        tell_change(name, change, server)


def tell_build() -> None:
    from exchange.snapshots.build_requests import request_build
    from exchange.snapshots.services import run_build

    used, started, build = time.process_time(), time.perf_counter(), request_build()
    assert run_build(build_id=build.pk)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    build.refresh_from_db()
    print("# Builds and deltas\n")
    print("The demo's generator: a third of the bookings under each policy, its audiences, lists;")
    print("truth rates from 200 whole visits of its log.\n")
    print(
        f"{build.booking_count:,} bookings, {build.size_bytes / 1e6:,.0f} MB: live after", end=" "
    )
    print(f"{seconds:.1f} s, {processor:.1f} s of it processor time of the build.\n")
    print("| phase | s |\n|---|---|")
    for phase, spent in build.phase_seconds.items():
        print(f"| {phase} | {spent:.1f} |")


def changes() -> dict[str, Callable[[int], object]]:
    """Lists the changes by name; each is made several times, and differs each time."""
    from exchange.market.models import Campaign, Edge

    ids = list(Campaign.objects.live().order_by("id").values_list("id", flat=True)[:1_000])
    edge_id, behind = find_edge()
    fee = Edge.objects.get(pk=edge_id).fee_percent

    def bid(count: int, turn: int) -> object:
        return Campaign.objects.filter(pk__in=ids[:count]).update(bid_cpm=Decimal(100 + turn) / 100)

    def charge(turn: int) -> object:
        new = fee + Decimal("0.01") * (1 + turn)
        return Edge.objects.filter(pk=edge_id).update(fee_percent=new)

    return {
        "1 campaign, the first change after the build": lambda turn: bid(1, turn),
        "1 campaign": lambda turn: bid(1, turn + 10),
        "100 campaigns": lambda turn: bid(100, turn + 20),
        "1,000 campaigns": lambda turn: bid(1_000, turn + 30),
        f"a fee on the cheapest path of {behind:,}": charge,
    }


def find_edge() -> tuple[int, int]:
    """Finds the edge that is on the cheapest path of about `MOVED` bookings, and counts them."""
    from django.db.models import Count

    from exchange.market.models import Booking, Edge, Party
    from exchange.routing import Graph
    from exchange.snapshots.market import live_bookings

    rows = live_bookings().filter(policy=Booking.Policy.CHEAPEST).order_by()
    booked = rows.values_list("publisher_id", "advertiser_id").annotate(count=Count("id"))
    graph = Graph(Edge.objects.active().as_links(), dict(Party.objects.values_list("id", "name")))
    paths = {row[0]: graph.cheapest_paths(row[0]) for row in booked}
    behind: Counter[int] = Counter()
    for publisher_id, advertiser_id, count in booked:
        if path := paths[publisher_id].get(advertiser_id):
            behind.update(dict.fromkeys(path.edge_ids, count))
    return min(behind.items(), key=lambda item: abs(item[1] - MOVED))


def tell_change(name: str, change: Callable[[int], object], server: EligibilityService) -> None:
    from exchange.snapshots.deltas import write_changes
    from exchange.snapshots.models import DeltaLog

    rounds = 1 if "first" in name else ROUNDS
    written, taken, inserted = [], [], 0
    for turn in range(rounds):
        change(turn)
        before = DeltaLog.objects.get().reinserted_count
        started = time.perf_counter()
        write_changes()
        written.append(time.perf_counter() - started)
        inserted = DeltaLog.objects.get().reinserted_count - before
        started = time.perf_counter()
        server.refresh()
        taken.append(time.perf_counter() - started)
    spans = [f"{min(spent):.2f} to {max(spent):.2f}" for spent in (written, taken)]
    print(f"| {name} | {inserted:,} | {' | '.join(spans)} |", flush=True)


if __name__ == "__main__":
    main()
