"""Makes what people add to the generated market: audiences, lists, labels, policies, test visits.

Drawn from a stream of its own, so that the campaigns themselves stay what they were.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import combinations
from math import comb

from exchange.accounts.models import Organisation
from exchange.demo.chance import Weighted, weigh
from exchange.demo.vocabulary import BLOCKED_DOMAINS, DEALS, SEGMENTS
from exchange.demo.world import CITIES
from exchange.market import models
from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.services.test_visits import run_visit
from exchange.routing import Path

LISTS: dict[str, tuple[str, Sequence[str]]] = {
    "blocked_sites": ("Websites that the exchange keeps brands away from.", BLOCKED_DOMAINS),
    "private_deals": ("Deals that are agreed in advance.", DEALS),
    "large_cities": ("Cities where people commute.", tuple({city.name for city in CITIES})),
}
AUDIENCES: dict[str, tuple[str, str]] = {
    "adults": ("Old enough for everything on sale.", "user.age >= 18"),
    "brand_safe": (
        "Nothing that a brand would not like to stand beside.",
        "(content.risk is missing or content.risk in ('low', 'medium'))"
        " and (site.domain is missing or site.domain not in $blocked_sites)",
    ),
    "consented": (
        "Where the law asks for consent, it is given.",
        "regs.gdpr is missing or not regs.gdpr or user.consent",
    ),
    "living_room": ("In front of a television.", "device.type in ('ctv', 'set_top_box')"),
    "commuters": (
        "On the way, in a large city.",
        "geo.city in $large_cities and device.type = 'phone' and not @living_room",
    ),
    "careful": ("The rules of a careful brand.", "@brand_safe and @consented"),
}
# What a campaign's own expression is joined with; most are left alone.
JOINED: Weighted[str] = weigh(
    {
        "": 84,
        "@brand_safe": 7,
        "@consented": 4,
        "@careful": 3,
        "(imp.deals is missing or imp.deals one of $private_deals)": 1,
        "(@adults or user.age is missing)": 1,
    }
)
LABELS = ("always on", "brand", "launch", "performance", "retail", "retargeting", "season", "test")
# Every choice of none to three labels.
LABEL_SETS: Weighted[tuple[str, ...]] = Weighted(
    [chosen for size in range(4) for chosen in combinations(LABELS, size)],
    [
        weight / comb(len(LABELS), size)
        for size, weight in enumerate((1, 2, 1, 1))
        for _ in range(comb(len(LABELS), size))
    ],
)
PRIORITIES: Weighted[int] = weigh({5: 60, 3: 10, 7: 12, 8: 8, 1: 5, 10: 5})
POLICIES = models.Booking.Policy.values
TESTED_CAMPAIGNS = 40
VISITS: dict[str, dict[str, object]] = {
    "Phone in San Francisco": {
        "geo": {"country": "USA", "region": "CA", "city": "San Francisco", "utc_offset": -480},
        "device": {"type": "phone", "os": "ios"},
        "user": {"age": 34, "segments": list(SEGMENTS[:6])},
        "content": {"risk": "low"},
    },
    "Television in Berlin": {
        "geo": {"country": "DEU", "city": "Berlin", "utc_offset": 60},
        "device": {"type": "ctv", "os": "android"},
        "regs": {"gdpr": True},
        "user": {"consent": True, "segments": list(SEGMENTS[6:12])},
    },
    "Nothing known but the country": {"geo": {"country": "FRA"}},
}


@dataclass(frozen=True, slots=True)
class Routing:
    policy: str
    hop_limit: int
    pinned_edges: tuple[int, ...]


def create_names(operator: Organisation) -> None:
    """Makes the exchange's own lists and audiences, for everybody to use."""
    for name, (description, values) in LISTS.items():
        row = models.ValueList.objects.create(
            organisation=operator, name=name, description=description, value_count=len(values)
        )
        models.ValueListVersion.objects.create(
            value_list=row,
            number=1,
            values=sorted(values),
            added_count=len(values),
            removed_count=0,
        )
    for name, (description, expression) in AUDIENCES.items():
        models.Audience.objects.create(
            organisation=operator, name=name, description=description, expression=expression
        )


def join_audience(expression: str, rng: random.Random) -> str:
    """Joins an audience to some expressions. A line break ends a comment in the last line."""
    joined = JOINED.draw(rng)
    if not joined:
        return expression
    end = "\n" if "#" in expression else ""
    return f"({expression}{end}) and {joined}"


def draw_routing(path: Path | None, rng: random.Random) -> Routing:
    """Draws a policy, a third each; where no path leads, there is none to pin. Only bookings that
    take any path may be kept from the cheapest one by their limit."""
    policy = POLICIES[int(rng.random() * len(POLICIES))]
    hop_limit = 3 + int(rng.random() * 4)
    if policy == "any":
        return Routing(policy, hop_limit, ())
    if path is None:
        return Routing("cheapest", hop_limit, ())
    hop_limit = max(hop_limit, len(path.edge_ids))
    return Routing(policy, hop_limit, path.edge_ids if policy == "pinned" else ())


def create_test_visits(reference: date) -> None:
    """Makes test visits of the first campaigns; they expect what is true today."""
    catalog = load_catalog()
    at = datetime.combine(reference, time(12), tzinfo=UTC).isoformat().replace("+00:00", "Z")
    rows = []
    first = models.Campaign.objects.with_advertiser().order_by("id")[:TESTED_CAMPAIGNS]
    for campaign in first:
        expression = read_expression(
            text=campaign.expression,
            catalog=catalog,
            organisation_id=campaign.advertiser.organisation_id,
        )
        for name, visit in VISITS.items():
            row = models.TestVisit(campaign=campaign, name=name, visit={**visit, "time": at})
            row.expects_eligible = run_visit(row, expression).is_eligible
            rows.append(row)
    models.TestVisit.objects.bulk_create(rows)
