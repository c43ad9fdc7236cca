"""The demo's campaigns and visits meet: a typical visit has a few dozen eligible campaigns.

Judged by the plain evaluator along the cheapest paths, without the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from statistics import mean, median
from typing import Any

import pytest

from exchange.demo.campaigns import Campaign, stream_campaigns
from exchange.demo.graph import Graph, build_graph
from exchange.demo.visit_table import make_day
from exchange.demo.visits import open_source
from exchange.market.seed import read_attributes
from exchange.routing import Link, cheapest_paths
from targeting import Catalog, parse

TODAY = date(2026, 11, 16)
YESTERDAY = date(2026, 11, 15)
VISITS = 36


def sample_visits() -> list[dict[str, Any]]:
    """Takes visits evenly spread over a day, as the API would get them."""
    table = make_day(open_source(1, 4_000), YESTERDAY)
    step = table.num_rows // VISITS
    rows = table.take(list(range(0, step * VISITS, step))).to_pylist()
    return [dict(ready(row)) for row in rows if row["publisher.id"]]


def ready(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if name in {"time", "local_time"}:
            yield name, round(value.timestamp() * 1000)
        elif value is not None and name != "visit_id":
            yield name, value


class Oracle:
    """Counts a visit's eligible campaigns the slow way."""

    def __init__(self, graph: Graph, campaigns: list[Campaign]) -> None:
        self.catalog = Catalog.of(**{row["name"]: row["type"] for row in read_attributes()})
        self.graph = graph
        self.campaigns = [campaign for campaign in campaigns if campaign.status == "live"]
        self.edges = [parse(edge.expression, self.catalog) for edge in graph.edges]
        self.ids = {graph.parties[p].seller_id: p for p in graph.publishers}
        self.links = [
            Link(number, edge.seller, edge.buyer, Fraction(edge.fee_percent) / 100)
            for number, edge in enumerate(graph.edges)
            if edge.is_active
        ]

    def count(self, visit: dict[str, Any]) -> int:
        publisher = self.ids[visit["publisher.id"]]
        paths = cheapest_paths(self.links, publisher)
        booked = [c for c in self.campaigns if publisher in c.publishers and c.advertiser in paths]
        used = {edge for c in booked for edge in paths[c.advertiser].edge_ids}
        passed = {edge for edge in used if self.edges[edge].evaluate(visit) is True}
        return sum(
            parse(campaign.expression, self.catalog).evaluate(visit) is True
            for campaign in booked
            if passed.issuperset(paths[campaign.advertiser].edge_ids)
        )


@pytest.fixture(scope="module")
def counts() -> list[int]:
    graph = build_graph(1)
    oracle = Oracle(graph, list(stream_campaigns(graph, 1, TODAY, 3_000)))
    return [oracle.count(visit) for visit in sample_visits()]


def test_a_typical_visit_has_five_to_sixty_eligible_campaigns(counts: list[int]) -> None:
    assert 10 < mean(counts) < 60
    assert 5 < median(counts) < 60
    assert sum(5 <= count <= 80 for count in counts) > 0.7 * len(counts)


def test_visits_differ_in_what_is_eligible(counts: list[int]) -> None:
    assert max(counts) > 2 * min(counts)
    assert len(set(counts)) > len(counts) // 3
