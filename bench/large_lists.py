"""Measures a list of a million values in the demo exchange: saving, analysis, deltas, build, pages.

It loads the demo exchange into servers of its own, 20,000 campaigns, and lets one campaign, then a
hundred, use a list. It gives the seconds of the step, of the writer and of each server process, as
`snapshots` does, with processor seconds of Python in brackets; what has nothing to do with the list
is measured before and after.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.management import call_command

if TYPE_CHECKING:
    from exchange.accounts.models import User
    from exchange.market.models import Campaign, ValueList
    from exchange.serving.eligibility import EligibilityService

CAMPAIGNS = int(os.environ.get("TREELINE_BENCH_CAMPAIGNS", "20000"))
VALUES = 1_000_000
USERS = 100  # campaigns that use the list in the end
ROUNDS = 2
Span = tuple[float, float]


def main() -> None:
    with ExitStack() as stack:
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

    print("# A list of a million texts\n")
    print(f"The demo exchange with {CAMPAIGNS:,} campaigns, a third of the bookings under each")
    print("policy; no visits are matched.\n")
    print("| step | s | written in s | taken up in s |\n|---|---|---|---|")
    build("build without the list")
    server = EligibilityService(settings.SNAPSHOT_DIR)
    bench = ListBench(server)
    bench.tell("another campaign, before", bench.bid)
    bench.tell("the list is saved", bench.save_list, rounds=1)
    bench.tell("a campaign that uses it is saved, the first", bench.use_list, rounds=1)
    bench.tell("another campaign", bench.bid)
    bench.tell("the list is saved with other values", bench.save_list)
    bench.tell("another campaign", bench.bid)
    bench.tell("a booking of it is analysed with its path", bench.analyse)
    bench.tell(f"{USERS} campaigns that use it", bench.use_in_many, rounds=1)
    bench.tell(f"findings of those {USERS} campaigns", bench.check_many)
    bench.tell_pages()
    build("build with the list")
    bench.tell("another campaign, the first change after the build", bench.bid, rounds=1)
    bench.tell("a campaign that uses the list", bench.bid_of_user)
    bench.tell("the list is saved with other values", bench.save_list)
    bench.tell("another campaign", bench.bid)


def build(name: str) -> None:
    from exchange.snapshots.build_requests import request_build
    from exchange.snapshots.services import run_build

    row = request_build()
    span = measure_span(lambda: run_build(build_id=row.pk))
    row.refresh_from_db()
    assert row.status == row.Status.LIVE, row.error
    print(f"| {name}, {row.size_bytes / 1e6:,.0f} MB | {say([span])} | | |", flush=True)


def measure_span(work: Callable[[], object]) -> Span:
    started, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - used


def say(spans: list[Span]) -> str:
    seconds, processor = zip(*spans, strict=True)
    return f"{min(seconds):.2f} to {max(seconds):.2f} ({min(processor):.2f})"


class ListBench:
    """The steps, each of which makes another change each time."""

    def __init__(self, server: EligibilityService) -> None:
        from exchange.accounts.models import Organisation, User
        from exchange.market.models import Campaign, ValueList

        self.server = server
        live = Campaign.objects.live().select_related("advertiser__organisation").order_by("id")
        self.campaigns: list[Campaign] = list(live[: USERS + 1])
        operator = Organisation.objects.get(is_operator=True)
        self.user: User = User.objects.get(username="admin")
        self.list: ValueList = ValueList(organisation=operator, name="million")
        self.saves = 0

    def tell(self, name: str, step: Callable[[], object], *, rounds: int = ROUNDS) -> None:
        """Times the step, then the writer and a server, as far as something changed."""
        from exchange.snapshots.deltas import write_changes

        self.server.refresh()
        spans: list[list[Span]] = [[], [], []]
        for _ in range(rounds):
            for spent, work in zip(spans, (step, write_changes, self.server.refresh), strict=True):
                spent.append(measure_span(work))
        print(f"| {name} | {' | '.join(map(say, spans))} |", flush=True)

    def bid(self) -> object:
        return self._bid(self.campaigns[-1])

    def bid_of_user(self) -> object:
        return self._bid(self.campaigns[0])

    def _bid(self, campaign: Campaign) -> object:
        self.saves += 1
        bid = Decimal(100 + self.saves) / 100
        return type(campaign).objects.filter(pk=campaign.pk).update(bid_cpm=bid)

    def save_list(self) -> object:
        from exchange.market.services.value_lists import save_value_list

        self.saves += 1
        values = [f"place-{number:07}" for number in range(self.saves, self.saves + VALUES)]
        return save_value_list(value_list=self.list, values=values, by=self.user)

    def use_list(self) -> object:
        from exchange.market.services.campaigns import save_campaign

        campaign = self.campaigns[0]
        campaign.expression = f"geo.city in $million and ({campaign.expression}\n)"
        return save_campaign(campaign=campaign, by=self.user, confirmed=True)

    def use_in_many(self) -> object:
        from exchange.market.models import Campaign

        for campaign in self.campaigns[1:USERS]:
            campaign.expression = f"geo.city in $million and ({campaign.expression}\n)"
        return Campaign.objects.bulk_update(self.campaigns[1:USERS], ["expression"])

    def analyse(self) -> object:
        return self._check(self.campaigns[:1])

    def check_many(self) -> object:
        return self._check(self.campaigns[:USERS])

    def _check(self, campaigns: list[Campaign]) -> object:
        from exchange.findings.services import check_some
        from exchange.market.models import Booking

        ids = Booking.objects.filter(campaign__in=campaigns).values_list("pk", flat=True)
        return check_some(booking_ids=ids)

    def tell_pages(self) -> None:
        from django.test import Client
        from django.urls import reverse

        from exchange.market.models import Booking

        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(self.user)
        campaign = self.campaigns[0]
        booking = Booking.objects.filter(campaign=campaign).first()
        assert booking is not None
        pages = {
            "the campaign's page": reverse("campaign-detail", args=[campaign.pk]),
            "its history": reverse("campaign-history", args=[campaign.pk]),
            "the list's page": reverse("value-list-detail", args=[self.list.pk]),
            "the list's history": reverse("value-list-history", args=[self.list.pk]),
            "the booking's page": reverse("booking-detail", args=[booking.pk]),
        }
        for name, address in pages.items():
            assert client.get(address).status_code == 200, address
            span = measure_span(partial(client.get, address))
            print(f"| {name} | {say([span])} | | |", flush=True)


if __name__ == "__main__":
    main()
