"""Measures what somebody waits for who works on one campaign: live impact, offers, test bench,
paths and why-not; and who works on an edge: the rehearsal.

100,000 campaigns over 57,000 edges in a Postgres of its own, and a night's sample of 200,000
visits, so that every figure is counted. Times are those of `pages`: processor time of this process
and of its connection's in Postgres. An impact is asked for the first time, and again after one
condition was changed, as it is while somebody builds. `--folder` names where the exchange is kept.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.large_market import LARGE, large_market
from bench.pages import describe_market, read_clock, send

if TYPE_CHECKING:
    from django.test import Client

    from bench.page_questions import Question

SIZE = replace(LARGE, campaigns=25_000, waves=4)
SAMPLED = 200_000
CAMPAIGNS = 20
EDGES = 5
PAGES = ("campaign-bookings", "campaign-tests", "campaign-paths", "campaign-edit", "campaign-why")
VIEWS = 3
CHANGES = ("user.age >= 21", "device.type in ('phone')", "geo.city is present")
READERS = {"operator": "admin", "advertiser": "advertiser"}


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds: of the first time that each was asked, and of later times."""

    what: str
    first: list[float]
    later: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kept = Path(tempfile.gettempdir()) / "treeline-editing"
    parser.add_argument("--folder", type=Path, default=kept)
    options = parser.parse_args()
    with large_market(options.folder, SIZE):
        keep_sample()
        print("# Working on one campaign\n")
        print(f"{describe_market()[:-1]}, a sample of {SAMPLED:,} visits.\n")
        print("Milliseconds of processor time; later: again, an impact with one more condition.\n")
        print("| what | for | first: median | most | later: median | most | asked |")
        print("|---|---|---|---|---|---|---|")
        for reader, login in READERS.items():
            for times in measure(login):
                tell(times, reader)


def tell(times: Times, reader: str) -> None:
    cells = [
        f"{figure:,.0f}"
        for figures in (times.first, times.later)
        for figure in (median(figures), max(figures))
    ]
    print(f"| {times.what} | {reader} | {' | '.join(cells)} | {len(times.first)} |", flush=True)


def keep_sample() -> None:
    """Repeats the log's day until there are enough, each time with people of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from django.conf import settings

    from targeting.visit_log import find_newest_part

    part = find_newest_part(Path(settings.VISIT_LOG_DIR))
    if part is None:
        raise SystemExit("there is no log")
    day = pq.read_table(part, partitioning=None)
    night = part.parent.name.removeprefix("dt=")
    folder = Path(settings.REPORT_DIR) / "sample" / f"dt={night}"
    if folder.exists():
        return
    folder.mkdir(parents=True)
    rounds = -(-SAMPLED // len(day))
    whole = pa.concat_tables([repeat(day, number) for number in range(rounds)]).slice(0, SAMPLED)
    pq.write_table(whole, folder / "visits.parquet")
    manifest = {"format": 1, "tables": {"visits": {"files": ["visits.parquet"]}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def repeat(day: Any, number: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from django.utils import timezone

    for name in ("visit_id", "user.id"):
        if name in day.column_names:
            place = day.column_names.index(name)
            named = pc.binary_join_element_wise(day[name], f"-{number}", "")
            day = day.set_column(place, name, named)
    logged_on = timezone.now().date() - timedelta(days=1 + number % 7)
    day = day.append_column("sample_weight", pa.array([3.0] * len(day)))
    return day.append_column("logged_on", pa.array([logged_on] * len(day), pa.date32()))


def measure(login: str) -> Iterator[Times]:
    from django.test import Client

    from exchange.accounts.models import User
    from exchange.accounts.permissions import may_edit
    from exchange.market.models import Campaign
    from exchange.market.visibility import visible

    person = User.objects.select_related("organisation").get(username=login)
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    booked = visible(Campaign.objects.filter(bookings__is_active=True), person).distinct()
    campaigns = list(booked.order_by("-pk")[: CAMPAIGNS * 40 : 40]) or list(booked[:CAMPAIGNS])
    yield measure_impact(campaigns, client)
    for name in PAGES:
        yield measure_pages(name, campaigns, client)
    yield measure_matrix(campaigns, client)
    if may_edit(person, "edge"):
        yield measure_rehearsal(client)


def measure_impact(campaigns: list[Any], client: Client) -> Times:
    from django.urls import reverse

    from bench.page_questions import Question

    times = Times("live impact", [], [])
    address = reverse("expression-impact")
    for campaign in campaigns:
        for number, changed in enumerate(("", *CHANGES)):
            text = f"({campaign.expression}\n) and {changed}" if changed else campaign.expression
            data = {"text": text, "campaign": campaign.pk, "party": str(campaign.advertiser_id)}
            question = Question("expression-impact", "", address, data, is_json=True)
            (times.later if number else times.first).append(time_of(question, client))
    return times


def measure_pages(name: str, campaigns: list[Any], client: Client) -> Times:
    from django.urls import reverse

    from bench.page_questions import Question

    times = Times(name, [], [])
    for campaign in campaigns:
        question = Question(name, "", reverse(name, args=[campaign.pk]))
        times.first.append(time_of(question, client))
        times.later.extend(time_of(question, client) for _ in range(VIEWS))
    return times


def measure_matrix(campaigns: list[Any], client: Client) -> Times:
    """Measures every hour of 25 days with 24 values of a text that the campaign asks for."""
    from django.urls import reverse

    from bench.page_questions import Question
    from exchange.market.catalog import load_catalog

    catalog = load_catalog()
    times = Times("a matrix of 14,400 visits", [], [])
    moments = ", ".join(
        f"2026-11-{day:02} {hour:02}:30" for day in range(1, 26) for hour in range(24)
    )
    for campaign in campaigns[:5]:
        address = reverse("campaign-tests", args=[campaign.pk])
        asked = re.findall(r'name="v-([^"]+)"', client.get(address).text)
        texts = [name for name in asked if catalog[name].type == "string"]
        data = {"tab": "form", "do": "try", "zone": "UTC", "time": moments}
        if texts:
            data[f"v-{texts[0]}"] = ", ".join(f"value {number}" for number in range(24))
        question = Question("campaign-tests", "matrix", address, data)
        times.first.append(time_of(question, client))
        times.later.append(time_of(question, client))
    return times


def measure_rehearsal(client: Client) -> Times:
    """Times edges between intermediaries that many buy over, with one condition more each."""
    from django.db.models import Count
    from django.urls import reverse

    from bench.page_questions import Question
    from exchange.market.models import Edge

    times = Times("rehearsal of an edge", [], [])
    inner = Edge.objects.active().filter(seller__kind="intermediary", buyer__kind="intermediary")
    busiest = inner.annotate(size=Count("buyer__sales")).order_by("-size", "pk")
    for edge in busiest[:EDGES]:
        address = reverse("edge-rehearse", args=[edge.pk])
        for number, changed in enumerate(CHANGES):
            data = {"seller": edge.seller_id, "buyer": edge.buyer_id, "is_active": "on"}
            data |= {"fee_percent": edge.fee_percent, "expected_version": edge.version}
            data |= {"expression": f"({edge.expression}\n) and {changed}"}
            question = Question("edge-rehearse", "", address, data)
            (times.later if number else times.first).append(time_of(question, client))
    return times


def time_of(question: Question, client: Client) -> float:
    started = read_clock()
    send(question, client)
    return 1_000 * (read_clock() - started)


if __name__ == "__main__":
    main()
