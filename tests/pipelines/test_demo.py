"""Every table of a night on the demo exchange, with all of its bookings, against plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import import_module
from itertools import combinations, pairwise
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bench.demo_exchange import DEMO, SEED, make_market, write_exchange
from exchange.demo.graph import Graph, build_graph
from exchange.demo.visit_table import make_day
from exchange.demo.visits import open_source
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots.graph_file import write_graph
from pipelines.__main__ import DAY_JOBS
from pipelines.day_jobs import run_jobs
from pipelines.overlap import SUPPORT, TOP
from tests.pipelines.history import History
from tests.pipelines.plain_exchange import PlainBooking, PlainDay

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.large]
DAY = datetime.now(UTC).date() - timedelta(days=1)
VISITS = 2_000
ONE_IN = 20  # of the predicates and of the bookings on any path is looked at
COUNTS = ("came", "passed", "lost_to_false", "lost_to_unknown")


@dataclass(frozen=True)
class DemoNight:
    history: History
    graph: Graph
    plain: PlainDay
    logged: int

    def table(self, job: str, name: str) -> list[dict[str, Any]]:
        return self.history.table(name, DAY, job)

    @cached_property
    def bookings(self) -> dict[int, PlainBooking]:
        return {each.booking_id: each for each in self.plain.bookings}


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DemoNight:
    history = History(tmp_path_factory.mktemp("demo"))
    graph = build_graph(SEED, DEMO.graph)
    market = make_market(graph, DEMO, DAY)
    directory = SnapshotDirectory(history.root / "snapshots")
    snapshot = directory.folder(write_exchange(directory, market))
    named = {n: replace(p, domain=graph.parties[n].domain) for n, p in market.parties.items()}
    write_graph(snapshot, replace(market, parties=named))
    log = make_day(open_source(SEED, VISITS), DAY).sort_by("publisher.id")
    rows, half = log.to_pylist(), log.num_rows // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        history.log(DAY, part, schema=log.schema, part=number)
    jobs = [import_module(f"pipelines.{name}").JOB for name in DAY_JOBS if name != "parity"]
    done = list(run_jobs(spark, history.order(snapshot, DAY), jobs))
    assert [(one.job, one.error) for one in done] == [(job.name, "") for job in jobs]
    return DemoNight(history, graph, PlainDay(market, rows), len(rows))


def test_eligible_visits(night: DemoNight) -> None:
    found = {
        (row["campaign_id"], row["publisher"]): (row["visits"], row["eligible_visits"])
        for row in night.table("eligibility", "by_publisher")
    }
    plain = night.plain
    assert found == {
        (each.campaign_id, each.publisher): (
            len(plain.visits[each.publisher]),
            len(plain.eligible[each]),
        )
        for each in plain.bookings
    }
    assert sum(count for _, count in found.values()) > VISITS
    assert any(step.startswith("reach.") for each in plain.bookings for step in each.steps)
    detail = Counter(
        (each.campaign_id, each.publisher, visit["geo.country"], visit["device.type"])
        for each in plain.bookings
        for visit in plain.of(each)
    )
    rows = night.table("eligibility", "detail")
    assert {tuple(row.values())[:4]: row["eligible_visits"] for row in rows} == detail


def test_people(night: DemoNight) -> None:
    """A list of up to 384 users is exact."""
    users: dict[int, set[str]] = defaultdict(set)
    visits: Counter[int] = Counter()
    for each in night.plain.bookings:
        named = [visit["user.id"] for visit in night.plain.of(each) if visit["user.id"]]
        users[each.campaign_id] |= set(named)
        visits[each.campaign_id] += len(named)
    rows = {
        row["campaign_id"]: row for row in night.table("reach", "reach") if row["window_days"] == 1
    }
    assert {pk: row["visits"] for pk, row in rows.items()} == {
        pk: count for pk, count in visits.items() if count
    }
    for pk, row in rows.items():
        assert row["users"] == pytest.approx(len(users[pk]), rel=0.06, abs=0), pk


def test_steps(night: DemoNight) -> None:
    expected = {}
    for each in night.plain.bookings:
        here = set(range(len(night.plain.visits[each.publisher])))
        steps = [*((step, f"@{step}") for step in each.steps), ("campaign", each.own)]
        for number, (name, text) in enumerate(steps if here else []):
            truths = night.plain.truths(text, each.publisher)
            met = Counter(truths[place] for place in here)
            counts = (len(here), met[True], met[False], met[None])
            expected[each.booking_id, number, name] = counts
            here = {place for place in here if truths[place] is True}
    rows = night.table("funnel", "steps")
    assert {
        (row["booking_id"], row["step"], row["name"]): tuple(row[name] for name in COUNTS)
        for row in rows
    } == expected


def test_blockers(night: DemoNight) -> None:
    """A condition that is not listed is true of all visits; so the listed ones decide."""
    conditions: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in night.table("funnel", "blockers"):
        conditions[row["booking_id"]].append(row)
    plain = night.plain
    for pk, rows in conditions.items():
        booking = night.bookings[pk]
        truths = [plain.truths(row["condition"], booking.publisher) for row in rows]
        failed = [[truth is not True for truth in visit] for visit in zip(*truths, strict=True)]
        eligible = {number for number, each in enumerate(failed) if not any(each)}
        assert eligible == plain.eligible[booking], pk
        for place, row in enumerate(rows):
            alone = sum(each[place] and sum(each) == 1 for each in failed)
            found = (row["visits"], row["visits_false"], row["visits_missing"])
            assert found == (alone, truths[place].count(False), truths[place].count(None)), row
    samples = night.table("funnel", "samples")
    assert samples
    for row in samples:
        booking = night.bookings[row["booking_id"]]
        visits = plain.visits[booking.publisher]
        (number,) = [n for n, each in enumerate(visits) if each["visit_id"] == row["visit_id"]]
        assert plain.truths(row["condition"], booking.publisher)[number] is not True


def test_edges(night: DemoNight) -> None:
    plain = night.plain
    rows = {row["edge"]: row for row in night.table("funnel", "edges")}
    reached: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for each in plain.bookings:
        for number, step in enumerate(each.steps):
            if step.startswith("edge."):
                before = plain.passing([f"@{one}" for one in each.steps[:number]], each.publisher)
                reached[step.removeprefix("edge.")] |= {(each.publisher, one) for one in before}
    for edge, met in reached.items():
        truths = Counter(plain.truths(f"@edge.{edge}", at)[number] for at, number in met)
        names = ("reached", "passed", "lost_to_false", "lost_to_unknown")
        found = tuple(rows[edge][f"visits_{name}"] for name in names) if edge in rows else (0,) * 4
        assert found == (len(met), truths[True], truths[False], truths[None]), edge


def test_bottlenecks(night: DemoNight) -> None:
    """Of some bookings, every edge by itself; then their sums by edge."""
    plain = night.plain
    rows = night.table("funnel", "bottlenecks")
    found = {(row["booking_id"], row["edge"]): (row["depending"], row["blocked"]) for row in rows}
    edges = [f"edge.{number}" for number, each in enumerate(night.graph.edges, 1) if each.is_active]
    on_any = [each for each in plain.bookings if each.steps[0].startswith("reach.")]
    for each in on_any[:: ONE_IN * 10]:
        fitting = plain.passing([each.own], each.publisher)
        for edge in edges:
            needing = [number for number in fitting if plain.decides(each, edge, number)]
            truths = plain.truths(f"@{edge}", each.publisher)
            depending = sum(truths[number] is True for number in needing)
            counts = (depending, len(needing) - depending)
            key = (each.booking_id, edge.removeprefix("edge."))
            assert found.get(key, (0, 0)) == counts, key
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        passed, lost = row["depending"], row["blocked"]
        sums[row["edge"]].update(bookings=1, harmed=int(lost > 0), passed=passed, lost=lost)
    for row in night.table("funnel", "edges"):
        for name in ("bookings", "harmed", "passed", "lost"):
            assert row[f"any_path_{name}"] == sums[row["edge"]][name]


def test_overlap(night: DemoNight) -> None:
    plain = night.plain
    alone: dict[tuple[str, int], tuple[int, int, int]] = {}
    shared: dict[tuple[str, int, int], int] = {}
    users: dict[tuple[str, int], set[str]] = {}
    for publisher, visits in plain.visits.items():
        taken = {
            each.campaign_id: plain.eligible[each]
            for each in plain.bookings
            if each.publisher == publisher and plain.eligible[each]
        }
        counts = Counter(number for numbers in taken.values() for number in numbers)
        for pk, numbers in taken.items():
            users[publisher, pk] = {visits[number]["user.id"] for number in numbers} - {None}
            exclusive = sum(counts[number] == 1 for number in numbers)
            alone[publisher, pk] = (len(numbers), exclusive, len(users[publisher, pk]))
        for one, other in combinations(taken, 2):
            both = len(taken[one] & taken[other])
            if both >= SUPPORT:
                shared[publisher, one, other] = shared[publisher, other, one] = both
    rows = night.table("overlap", "alone")
    assert {
        (row["publisher"], row["campaign_id"]): (
            row["visits"],
            row["exclusive_visits"],
            row["users"],
        )
        for row in rows
    } == alone
    partners = night.table("overlap", "partners")
    sizes = Counter((publisher, one) for publisher, one, _ in shared)
    listed = Counter((row["publisher"], row["campaign_id"]) for row in partners)
    assert listed == {key: min(count, TOP) for key, count in sizes.items()}
    for row in partners:
        publisher, one, other = row["publisher"], row["campaign_id"], row["partner_id"]
        assert row["visits_both"] == shared[publisher, one, other]
        assert row["users_both"] == len(users[publisher, one] & users[publisher, other])


def test_truths(night: DemoNight) -> None:
    plain = night.plain
    rows = night.table("truth_rates", "conditions")
    edges = [row for row in rows if row["kind"] == "edge"]
    predicates = [row for row in rows if row["kind"] == "predicate"]
    assert len(edges) > 100
    for row in [*edges[::5], *predicates[::ONE_IN]]:
        text = f"@edge.{row['condition']}" if row["kind"] == "edge" else row["condition"]
        truths = Counter(truth for at in plain.visits for truth in plain.truths(text, at))
        found = (row["true_visits"], row["false_visits"], row["unknown_visits"])
        assert found == (truths[True], truths[False], truths[None]), text
    values = night.table("truth_rates", "list_values")
    assert len(values) > 1_000
    for row in values[::ONE_IN]:
        seen = [plain.truths(row["condition"], at).count(True) for at in plain.visits]
        assert row["true_visits"] == sum(seen), row


def test_the_data_and_its_rows(night: DemoNight) -> None:
    rows = night.plain.rows
    for row in night.table("data_quality", "attributes"):
        filled = [each[row["attribute"]] for each in rows if each.get(row["attribute"]) is not None]
        assert (row["visits"], row["filled"]) == (len(rows), len(filled)), row
    for row in night.table("data_quality", "top_values"):
        carrying = [row["value"] in list_texts(each[row["attribute"]]) for each in rows]
        assert row["visits"] == sum(carrying), row
    fates = {row["fate"]: row["visits"] for row in night.table("data_quality", "rows")}
    assert fates.pop("counted") == len(rows)
    assert sum(fates.values()) == night.logged - len(rows) == len(night.table("quarantine", "rows"))
    sampled = {row["visit_id"] for row in night.table("sample", "visits")}
    assert sampled == {row["visit_id"] for row in rows}


def list_texts(value: object) -> list[str]:
    if isinstance(value, bool):
        return [str(value).lower()]
    return [str(each) for each in (value if isinstance(value, list) else [value])]


def test_supply_chains(night: DemoNight) -> None:
    parties = night.graph.parties
    nodes = {f"{each.domain}/{each.seller_id}".lower(): each.seller_id for each in parties}
    active = [each for each in night.graph.edges if each.is_active]
    edges = {(parties[each.seller].seller_id, parties[each.buyer].seller_id) for each in active}
    expected: Counter[tuple[object, ...]] = Counter()
    for row in night.plain.rows:
        chain, publisher = row["source.schain_sellers"], row["publisher.id"]
        if chain:
            hops = [nodes.get(node.lower()) for node in chain]
            is_complete = row["source.schain_complete"] is not False
            is_sold = hops[0] == publisher and all(pair in edges for pair in pairwise(hops))
            known = "known" if is_sold else "unauthorised"
            verdict = "unknown_hop" if None in hops else known
            verdict = verdict if is_complete else "incomplete"
            expected[publisher, tuple(chain), is_complete, verdict] += 1
    rows = night.table("schain_audit", "chains")
    assert expected
    assert {
        (row["publisher"], tuple(row["chain"]), row["is_complete"], row["verdict"]): row["visits"]
        for row in rows
    } == expected


def test_forecast(night: DemoNight) -> None:
    """Of one day, every day of the week is expected to be alike."""
    visits: Counter[int] = Counter()
    for each, numbers in night.plain.eligible.items():
        visits[each.campaign_id] += len(numbers)
    for row in night.table("forecast", "expected"):
        assert row["expected"] == pytest.approx(visits[row["campaign_id"]])
    dead = {row["name"] for row in night.table("forecast", "dead") if row["kind"] == "campaign"}
    assert dead == {str(pk) for pk, count in visits.items() if not count}
