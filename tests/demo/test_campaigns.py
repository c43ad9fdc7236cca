"""Demo campaigns: deterministic, uniquely named, booked one to five times, and all parse."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path

import pytest

from exchange.demo.campaigns import Campaign, stream_campaigns
from exchange.demo.graph import Graph, build_graph, reachable_advertisers
from exchange.market.seed import read_attributes
from targeting import Catalog, parse

TODAY = date(2026, 11, 16)
MIDNIGHT = datetime(2026, 11, 16, tzinfo=UTC)

OPERATORS = (
    "xor", "xnor", "not", "is missing", "is present", "is empty", "one of", "all of", "none of",
    "only of", "count(", "between", "not in", "starts with", "ends with", "like", "not like",
    "under", "in network", "within", "inside polygon", "during", "<=", ">=", "!=",
)  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> Graph:
    return build_graph(1)


@pytest.fixture(scope="module")
def campaigns(graph: Graph) -> list[Campaign]:
    return list(stream_campaigns(graph, 1, TODAY, 3_000))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.of(**{row["name"]: row["type"] for row in read_attributes()})


def test_the_same_seed_and_date_give_the_same_campaigns(
    graph: Graph, campaigns: list[Campaign]
) -> None:
    assert list(stream_campaigns(graph, 1, TODAY, 3_000)) == campaigns
    other = list(stream_campaigns(graph, 2, TODAY, 3_000))
    assert [c.expression for c in other] != [c.expression for c in campaigns]


PRINT_DIGEST = """
import hashlib
from datetime import date
from exchange.demo.campaigns import stream_campaigns
from exchange.demo.graph import build_graph
graph = build_graph(1)
made = [graph, *stream_campaigns(graph, 1, date(2026, 11, 16), 400)]
print(hashlib.sha256(repr(made).encode()).hexdigest())
"""


def test_another_process_makes_the_same_campaigns() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(digests) == 1


def test_a_larger_set_starts_with_the_smaller_one(graph: Graph, campaigns: list[Campaign]) -> None:
    assert list(islice(stream_campaigns(graph, 1, TODAY, 1_000_000), 500)) == campaigns[:500]


def test_every_campaign_expression_parses(campaigns: list[Campaign], catalog: Catalog) -> None:
    for campaign in campaigns:
        parse(campaign.expression, catalog)


@pytest.mark.parametrize("seed", range(1, 6))
def test_every_edge_rule_parses(seed: int, catalog: Catalog) -> None:
    for expression in {edge.expression for edge in build_graph(seed).edges}:
        parse(expression, catalog)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_demo_uses_every_part_of_the_language(
    operator: str, graph: Graph, campaigns: list[Campaign]
) -> None:
    texts = [c.expression for c in campaigns] + [e.expression for e in graph.edges]
    assert any(f" {operator}" in text or text.startswith(operator) for text in texts)


def test_names_are_unique_per_advertiser_and_fit_the_column(campaigns: list[Campaign]) -> None:
    assert len({(c.advertiser, c.name) for c in campaigns}) == len(campaigns)
    assert max(len(c.name) for c in campaigns) <= 160


def test_campaigns_are_booked_one_to_five_times_mostly_where_a_path_exists(
    graph: Graph, campaigns: list[Campaign]
) -> None:
    counts = Counter(len(c.publishers) for c in campaigns)
    assert set(counts) == {1, 2, 3, 4, 5}
    assert 2.3 < sum(n * times for n, times in counts.items()) / len(campaigns) < 2.7
    assert all(len(set(c.publishers)) == len(c.publishers) for c in campaigns)
    reached = reachable_advertisers(graph)
    lost = sum(c.advertiser not in reached[p] for c in campaigns for p in c.publishers)
    assert 0 < lost < 0.02 * 2.5 * len(campaigns)


def test_flights_end_after_they_start_and_most_are_under_way(campaigns: list[Campaign]) -> None:
    assert all(c.ends_at is None or c.ends_at > c.starts_at for c in campaigns)
    under_way = [
        c
        for c in campaigns
        if c.starts_at <= MIDNIGHT and (c.ends_at is None or c.ends_at > MIDNIGHT)
    ]
    assert 0.75 < len(under_way) / len(campaigns) < 0.95
    assert set(Counter(c.status for c in campaigns)) == {"live", "paused", "draft"}


def test_expressions_go_from_small_to_large_and_share_their_parts(
    campaigns: list[Campaign],
) -> None:
    sizes = sorted(len(c.expression) for c in campaigns)
    assert sizes[len(sizes) // 20] < 120
    assert sizes[-1] > 4_000
    parts = Counter(part for c in campaigns for part in set(c.expression.split(" and ")))
    assert parts.most_common(50)[-1][1] > 20
