"""All jobs of a night on a small exchange, run once, against plain Python and the plain evaluator.

Two days in one session, the log in several files and partitions; the same visits judged by
`targeting` alone are the truth that every table must equal.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from matcher_ext import Snapshot
from pipelines import (
    data_quality,
    eligibility,
    forecast,
    quarantine,
    reach,
    sample,
    schain_audit,
    truth_rates,
)
from pipelines.day_jobs import JobDone, run_jobs, run_orders
from targeting import parse
from targeting.report_tables import read_manifest
from targeting.visit_log import Salts
from tests.pipelines.history import CATALOG, DAY, NEXT_DAY, NOON, Entry, History

pytestmark = pytest.mark.spark

JOBS = [
    job.JOB
    for job in (
        quarantine,
        eligibility,
        reach,
        truth_rates,
        schain_audit,
        data_quality,
        forecast,
        sample,
    )
]
HERALD, ADNET = "herald.example/daily-herald", "adnet.example/adnet"
CHAINS = [None, [], [HERALD], [HERALD, ADNET], [ADNET, HERALD], [HERALD, "stranger.example/7"]]
GRAPH = {
    "parties": [
        {"seller_id": "daily-herald", "domain": "herald.example"},
        {"seller_id": "adnet", "domain": "adnet.example"},
    ],
    "edges": [["daily-herald", "adnet"]],
}
EDGES = {"edge.1": "geo.country != 'FRA'", "edge.2": "user.age >= 18"}
SALTS = Salts(b"a secret of its own")
CONDITIONS = [
    "geo.country = 'USA'",
    "geo.country not in ('USA', 'FRA')",
    "user.age between 18 and 35",
    "user.segments one of ('cars', 'garden')",
    "imp.floor <= 0.5",
    "user.consent",
    "geo.location within 50 km of (48.85, 2.35)",
    "time >= '2026-11-01T12:00:00Z'",
    "geo.country in ('USA', 'ATA')",
]
NOWHERE = "geo.country = 'ATA'"
LISTED = "list_values"
PUBLISHERS = ("daily-herald", "evening-gazette")


@dataclass(frozen=True)
class Night:
    """What was logged, and what the jobs made of it."""

    history: History
    visits: Mapping[date, list[dict[str, Any]]]
    entries: list[Entry]
    snapshot: Path
    done: list[JobDone]

    def table(self, job: str, name: str, day: date = NEXT_DAY) -> list[dict[str, Any]]:
        return self.history.table(name, day, job)

    @cached_property
    def eligible(self) -> dict[date, dict[Entry, list[dict[str, Any]]]]:
        """Finds the visits of each entry by the plain evaluator."""
        found: dict[date, dict[Entry, list[dict[str, Any]]]] = {}
        for day, rows in self.visits.items():
            found[day] = {
                entry: [row for row in rows if is_true(entry.text, row)] for entry in self.entries
            }
        return found


def is_true(text: str, row: Mapping[str, Any]) -> bool:
    return judge(text, row) is True


def judge(text: str, row: Mapping[str, Any]) -> bool | None:
    """Judges a text with its edges written out."""
    for name, edge in EDGES.items():
        text = text.replace(f"@{name}", f"({edge})")
    stamp = row["time"].isoformat()
    flat = {key: value for key, value in row.items() if key in CATALOG and value is not None}
    return parse(text, CATALOG).evaluate(flat | {"time": stamp, "local_time": stamp})


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    history, random = History(tmp_path_factory.mktemp("night")), Random(11)
    visits = {
        day: [make_visit(random, f"{day}-{number}", day) for number in range(150)]
        for day in (DAY, NEXT_DAY)
    }
    for day, rows in visits.items():
        history.log(day, rows[:70], part=0)  # a boundary in the middle of a publisher
        history.log(day, [*rows[70:], rows[3], rows[3] | {"visit_id": None}], part=1)
    entries = [make_entry(random, number) for number in range(1, 25)]
    snapshot = history.snapshot(entries, definitions=EDGES)
    (snapshot / "graph.json").write_text(json.dumps(GRAPH))
    options = {"truth_rates": history.root / "rates.json", "sample_visits": 100}
    before = [eligibility.JOB, data_quality.JOB]
    done = [
        *run_jobs(spark, history.order(snapshot, DAY, **options), before),
        *run_jobs(spark, history.order(snapshot, NEXT_DAY, **options), JOBS),
    ]
    return Night(history, visits, entries, snapshot, done)


def make_visit(random: Random, visit_id: str, day: date) -> dict[str, Any]:
    moment = NOON + (day - DAY) + timedelta(minutes=random.randrange(-700, 700))
    user = random.choice([None, *(f"user-{number}" for number in range(40))])
    return {
        "visit_id": visit_id,
        "time": moment,
        "publisher.id": random.choice(PUBLISHERS),
        "geo.country": random.choice(["USA", "DEU", "FRA", None]),
        "geo.location": random.choice([{"lat": 48.85, "lon": 2.35}, None]),
        "device.type": random.choice(["phone", "ctv", None]),
        "user.age": random.choice([*range(12, 60), None]),
        "user.segments": random.choice([[], ["cars"], ["cars", "boats"], None]),
        "imp.floor": random.choice([0.1, 0.5, 2.0, None]),
        "user.consent": random.choice([True, False, None]),
        "source.schain_sellers": random.choice(CHAINS),
        "source.schain_complete": random.choice([True, True, False, None]),
        "user.id": user and SALTS.of(moment.date()).hash(user),
        "visit_salt": user and SALTS.of(moment.date()).id,
        "visit_user_before": user and SALTS.before(moment.date()).hash(user),
        "visit_weight": 2,
        "visit_wrong_values": random.choice([[], ["user.age"]]),
    }


def make_entry(random: Random, number: int) -> Entry:
    publisher = PUBLISHERS[number % 2]
    one, two = random.sample(CONDITIONS, 2)
    text = f"publisher.id = '{publisher}' and @edge.{1 + number % 2} and ({one} or not ({two}))"
    if number == 24:
        text = f"publisher.id = '{publisher}' and {NOWHERE}"
    return Entry(number, 100 + number, publisher, text)


def test_every_job_is_done(night: Night) -> None:
    assert {(one.job, one.day, one.status) for one in night.done} == {
        *((job.name, str(NEXT_DAY), "done") for job in JOBS),
        *((name, str(DAY), "done") for name in ("eligibility", "data_quality")),
    }


def test_a_manifest_says_what_the_run_was_made_of(night: Night) -> None:
    manifest = read_manifest(str(night.history.root / "reports"), "eligibility", NEXT_DAY)
    assert manifest is not None
    assert manifest["snapshot_id"] == night.snapshot.name
    assert len(manifest["input"]["files"]) == 2
    assert manifest["input"]["rows"] == {
        "visits": 300,
        "malformed": 2,
        "duplicates": 2,
        "late": 0,
    }
    assert manifest["tables"]["by_publisher"]["rows"] == len(night.entries)
    assert manifest["code_version"]


def test_rows_that_do_not_count_are_in_quarantine(night: Night) -> None:
    rows = night.table("quarantine", "rows")
    assert Counter(row["reason"] for row in rows) == {"duplicate": 1, "no_visit_id": 1}
    assert {row["source_file"].rpartition("/")[2] for row in rows} == {"part-00001.parquet"}


@pytest.mark.parametrize("day", [DAY, NEXT_DAY])
def test_eligible_visits_are_those_of_the_plain_evaluator(night: Night, day: date) -> None:
    rows = night.table("eligibility", "by_publisher", day)
    found = {(row["campaign_id"], row["publisher"]): row["eligible_visits"] for row in rows}
    assert found == {
        (entry.campaign_id, entry.publisher): 2 * len(visits)
        for entry, visits in night.eligible[day].items()
    }
    assert sum(count > 0 for count in found.values()) > 10
    assert 0 in found.values()


def test_detail_is_by_country_and_device(night: Night) -> None:
    expected = Counter(
        (entry.campaign_id, entry.publisher, visit["geo.country"], visit["device.type"])
        for entry, visits in night.eligible[NEXT_DAY].items()
        for visit in visits
    )
    found = {
        tuple(row.values())[:4]: row["eligible_visits"]
        for row in night.table("eligibility", "detail")
    }
    assert found == {key: 2 * count for key, count in expected.items()}


def test_people_of_two_days_are_united_within_the_sketches_error(night: Night) -> None:
    """Compares exactly: at 40 users a sketch has no error."""
    people: dict[tuple[int, int], set[str]] = defaultdict(set)
    visits: Counter[tuple[int, int]] = Counter()
    for length, days in ((1, [NEXT_DAY]), (7, [DAY, NEXT_DAY])):
        for day in days:
            for entry, rows in night.eligible[day].items():
                users = [row["visit_user_before"] for row in rows if row["user.id"]]
                people[entry.campaign_id, length] |= set(users)
                visits[entry.campaign_id, length] += 2 * len(users)
    rows = [row for row in night.table("reach", "reach", NEXT_DAY) if row["window_days"] < 28]
    found = {(row["campaign_id"], row["window_days"]): row for row in rows}
    assert {key: row["users"] for key, row in found.items()} == {
        key: 2 * len(users) for key, users in people.items() if users
    }
    assert {key: row["visits"] for key, row in found.items()} == {
        key: count for key, count in visits.items() if count
    }


def test_truths_are_those_of_the_plain_evaluator(night: Night) -> None:
    rows = night.table("truth_rates", "conditions")
    assert {row["condition"] for row in rows if row["kind"] == "edge"} == {"1", "2"}
    for row in rows:
        text = f"@edge.{row['condition']}" if row["kind"] == "edge" else row["condition"]
        truths = Counter(judge(text, visit) for visit in night.visits[NEXT_DAY])
        found = (row["true_visits"], row["false_visits"], row["unknown_visits"])
        assert found == (2 * truths[True], 2 * truths[False], 2 * truths[None]), text


def test_values_of_lists_are_seen_as_often_as_the_plain_evaluator_sees_them(night: Night) -> None:
    found = {row["condition"]: row["true_visits"] for row in night.table("truth_rates", LISTED)}
    segments, countries = ("cars", "garden"), ("ATA", "FRA", "USA")
    texts = [
        *(f"user.segments one of ('{each}')" for each in segments),
        *(f"geo.country in ('{each}')" for each in countries),
    ]
    assert found == {
        text: 2 * sum(is_true(text, visit) for visit in night.visits[NEXT_DAY]) for text in texts
    }
    dead = {row["name"] for row in night.table("forecast", "dead") if row["kind"] == "value"}
    assert dead == {text for text in texts if not found[text]}
    assert dead == {"user.segments one of ('garden')", "geo.country in ('ATA')"}


def test_the_next_build_gets_the_rates_of_the_last_day(night: Night) -> None:
    written = json.loads((night.history.root / "rates.json").read_text())
    assert written["day"] == str(NEXT_DAY)
    text = 'geo.country = "USA"'
    is_usa = [visit["geo.country"] == "USA" for visit in night.visits[NEXT_DAY]]
    assert written["rates"][text] == sum(is_usa) / len(is_usa)


def test_attributes_are_as_full_as_they_were_logged(night: Night) -> None:
    rows = {row["attribute"]: row for row in night.table("data_quality", "attributes")}
    visits = night.visits[NEXT_DAY]
    for name in ("geo.country", "user.segments", "imp.floor", "geo.location", "user.id"):
        filled = sum(visit[name] is not None for visit in visits)
        assert rows[name]["filled"] == 2 * filled, name
        assert rows[name]["fill_rate"] == pytest.approx(filled / len(visits))
        before = sum(visit[name] is not None for visit in night.visits[DAY]) / len(visits)
        assert rows[name]["fill_rate_before"] == pytest.approx(before)
        assert rows[name]["drift"] == pytest.approx(filled / len(visits) - before)
    wrong = sum("user.age" in visit["visit_wrong_values"] for visit in visits)
    assert rows["user.age"]["wrong_type"] == 2 * wrong
    users = {visit["user.id"] for visit in visits} - {None}
    assert rows["user.id"]["distinct_values"] == len(users)
    assert rows["geo.utc_offset"]["filled"] == 0


def test_top_values_are_counted_by_visits(night: Night) -> None:
    rows = night.table("data_quality", "top_values")
    found = {(row["attribute"], row["value"]): row["visits"] for row in rows}
    segments = Counter(
        one for visit in night.visits[NEXT_DAY] for one in visit["user.segments"] or ()
    )
    assert found["user.segments", "cars"] == 2 * segments["cars"]
    consents = Counter(visit["user.consent"] for visit in night.visits[NEXT_DAY])
    assert found["user.consent", "true"] == 2 * consents[True]
    assert "user.id" not in {name for name, _ in found}


def test_the_log_s_rows_are_counted_by_what_became_of_them(night: Night) -> None:
    rows = {row["fate"]: row["visits"] for row in night.table("data_quality", "rows")}
    assert rows == {"counted": 300, "duplicate": 2, "no_visit_id": 2}


def test_what_nothing_matched_is_listed_as_dead(night: Night) -> None:
    rows = {(row["kind"], row["name"]) for row in night.table("forecast", "dead", NEXT_DAY)}
    assert ("campaign", "124") in rows
    assert ("predicate", 'geo.country = "ATA"') in rows
    dead = {
        str(entry.campaign_id)
        for entry in night.entries
        if not any(night.eligible[day][entry] for day in night.visits)
    }
    assert {name for kind, name in rows if kind == "campaign"} == dead


def test_the_next_week_is_expected_at_the_adjusted_level(night: Night) -> None:
    totals = {day: sum(map(len, night.eligible[day].values())) for day in night.visits}
    mean = sum(totals.values()) / 2
    factors = {day.weekday(): total / mean for day, total in totals.items()}
    rows = night.table("forecast", "expected", NEXT_DAY)
    assert len(rows) == 7 * len(night.entries)
    for row in rows:
        (entry,) = [each for each in night.entries if each.campaign_id == row["campaign_id"]]
        levels = [
            2 * len(night.eligible[day][entry]) / factors[day.weekday()] for day in night.visits
        ]
        factor = factors.get(row["target_day"].weekday(), 1.0)
        assert row["expected"] == pytest.approx(sum(levels) / 2 * factor)
        assert row["low"] <= row["expected"] <= row["high"]
        assert row["days_used"] == 2


def test_predicates_that_cannot_be_read_again_are_left_out(night: Night) -> None:
    snapshot = Snapshot.open(night.snapshot / "index.atree")
    conditions = truth_rates.list_conditions(snapshot)
    assert {each.kind for each in conditions} == {"predicate", "edge"}
    assert len({each.text for each in conditions}) == len(conditions)


def test_chains_are_held_against_the_graph(night: Night) -> None:
    rows = night.table("schain_audit", "chains")
    found = Counter({tuple(tell_chain(row)): row["visits"] for row in rows})
    expected: Counter[tuple[object, ...]] = Counter()
    for visit in night.visits[NEXT_DAY]:
        chain, is_complete = visit["source.schain_sellers"], visit["source.schain_complete"]
        if chain:
            key = (visit["publisher.id"], " > ".join(chain), is_complete is not False)
            expected[(*key, expect_verdict(visit["publisher.id"], chain, is_complete))] += 2
    assert found == expected
    (edge,) = night.table("schain_audit", "edges")
    assert (edge["seller"], edge["buyer"]) == ("adnet", "daily-herald")


def tell_chain(row: Mapping[str, Any]) -> Iterator[object]:
    yield from (row["publisher"], " > ".join(row["chain"]), row["is_complete"], row["verdict"])


def expect_verdict(publisher: str, chain: list[str], is_complete: bool | None) -> str:
    if is_complete is False:
        return "incomplete"
    if "stranger.example/7" in chain:
        return "unknown_hop"
    is_sold = chain in ([HERALD], [HERALD, ADNET])
    return "known" if is_sold and publisher == "daily-herald" else "unauthorised"


def test_the_sample_has_users_with_all_of_their_visits(night: Night) -> None:
    rows = night.table("sample", "visits", NEXT_DAY)
    visits = [visit for day in night.visits.values() for visit in day]
    assert 30 < len(rows) < 200, "about 100 were wanted"
    taken = {row["visit_id"] for row in rows}
    users = {visit["user.id"] for visit in visits if visit["visit_id"] in taken} - {None}
    assert {visit["visit_id"] for visit in visits if visit["user.id"] in users} == {
        visit["visit_id"] for visit in visits if visit["visit_id"] in taken and visit["user.id"]
    }
    for publisher in PUBLISHERS:
        weights = [row["sample_weight"] for row in rows if row["publisher.id"] == publisher]
        logged = [visit for visit in visits if visit["publisher.id"] == publisher]
        assert sum(weights) == pytest.approx(2 * len(logged))
    assert [row["publisher.id"] for row in rows] == sorted(row["publisher.id"] for row in rows)


def test_the_documents_examples_read_the_tables(night: Night) -> None:
    page = (Path(__file__).parents[2] / "docs" / "report_tables.md").read_text()
    example = page.partition("With pandas")[2].partition("```python")[2].partition("```")[0]
    names: dict[str, Any] = {"OUT": str(night.history.root / "reports"), "DAY": NEXT_DAY}
    exec(example, names)  # noqa: S102 - it is our own
    most = max(len(visits) for visits in night.eligible[NEXT_DAY].values())
    assert names["best"].iloc[0] == 2 * most
    example = page.partition("With DuckDB")[2].partition("```python")[2].partition("```")[0]
    exec(example, names | {"duckdb": duckdb})  # noqa: S102 - likewise


def test_an_empty_day_and_one_of_only_bad_rows_are_counted_as_such(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Counts day after day; what looks back runs for the last."""
    history = History(tmp_path)
    good = make_visit(Random(1), "a", DAY)
    history.log(DAY, [])
    history.log(
        NEXT_DAY,
        [
            good | {"publisher.id": None, "visit_weight": 1},
            good | {"time": None, "visit_weight": 1},
        ],
    )
    snapshot = history.snapshot()
    orders = [history.order(snapshot, day) for day in (DAY, NEXT_DAY)]
    done = list(run_orders(spark, orders, [eligibility.JOB, data_quality.JOB, forecast.JOB]))
    assert [(one.job, one.day, one.error) for one in done] == [
        *((job, str(DAY), "") for job in ("eligibility", "data_quality")),
        *((job, str(NEXT_DAY), "") for job in ("eligibility", "data_quality", "forecast")),
    ]
    for day in (DAY, NEXT_DAY):
        (row,) = history.table("by_publisher", day)
        assert (row["campaign_id"], row["visits"], row["eligible_visits"]) == (10, 0, 0)
        assert history.table("detail", day) == history.table("people", day) == []
        described = history.table("attributes", day, "data_quality")
        (country,) = [row for row in described if row["attribute"] == "geo.country"]
        assert (country["visits"], country["filled"], country["fill_rate"]) == (0, 0, None)
    fates = history.table("rows", NEXT_DAY, "data_quality")
    assert {row["fate"]: row["visits"] for row in fates} == {"no_publisher": 1, "no_time": 1}
