"""On the demo exchange three judges agree: the API, the live index and the plain evaluator."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.demo_exchange import (
    DEMO_GRAPH,
    KEY,
    SEED,
    ExchangeSize,
    draw_questions,
    make_market,
    write_exchange,
    write_keys,
)
from bench.questions import Question
from exchange.demo.graph import build_graph
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.visits import stamp_milliseconds
from exchange.snapshots.composing import Composer, Entry
from exchange.snapshots.texts import Compiled, read_tree
from matcher_ext import LiveIndex
from targeting import Expression, ExpressionError
from tests.serving.calling import post

SIZE = ExchangeSize("small demo", DEMO_GRAPH, campaigns=240)
TREES: dict[str, Expression] = {}  # by text: each is made once


@dataclass(frozen=True, slots=True)
class Judges:
    composer: Composer = field(repr=False)
    entries: list[Entry] = field(repr=False)
    endpoint: EligibilityEndpoint
    index: LiveIndex
    questions: list[Question] = field(repr=False)
    values: dict[str, list[Any]] = field(repr=False)

    def ask_api(self, question: Question) -> tuple[set[int], int]:
        """Gives the answer, and the moment that the server stamped at the latest."""
        reply = post(
            self.endpoint, {"publisher": question.publisher, "visit": question.visit}, key=KEY
        )
        assert reply.status == 200, reply.body
        return set(reply.booking_ids()), int(time.time() * 1000)

    def ask_index(self, flat: dict[str, object]) -> set[int]:
        return set(self.index.match(flat))

    def evaluate(self, flat: dict[str, object]) -> set[int]:
        at = datetime.fromtimestamp(int(str(flat["time"])) / 1000, UTC)
        publisher_id = self.composer.party_ids[str(flat["publisher.id"])]
        allows = cache(lambda edge_id: is_true(self.composer.edges[edge_id], flat))
        walk = partial(self.composer.graph.cheapest_paths, publisher_id, allows=allows)
        reach = cache(lambda hops: walk(max_hops=hops))
        eligible = set()
        for entry in self.entries:
            row = self.composer.market.campaigns[entry.row.campaign_id]
            is_on = row.starts_at <= at and (row.ends_at is None or at < row.ends_at)
            if entry.row.publisher != flat["publisher.id"] or not is_on:
                continue
            if entry.reach is None:
                has_path = all(map(allows, entry.edge_ids))
            else:
                advertiser_id, hops = entry.reach
                has_path = advertiser_id in reach(hops)
            if has_path and is_true(self.composer.campaigns[entry.row.campaign_id], flat):
                eligible.add(entry.row.booking_id)
        return eligible


def is_true(compiled: Compiled, flat: dict[str, object]) -> bool:
    if isinstance(compiled, ExpressionError):
        return False
    if compiled.text not in TREES:
        TREES[compiled.text] = read_tree(compiled)
    return TREES[compiled.text].evaluate(flat) is True


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Judges:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("demo"))
    graph = build_graph(SEED, SIZE.graph)
    market = make_market(graph, SIZE, datetime.now(UTC).date())
    snapshot_id = write_exchange(directory, market)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=market.read_at)
    write_keys(directory, graph)
    service = EligibilityService(directory.root)
    questions = draw_questions(SIZE, count=200)
    values: dict[str, list[Any]] = {}
    for question in questions:
        for name, value in question.visit.items():
            values.setdefault(name, []).append(value)
    index = LiveIndex(service.require_live().index.snapshot)
    composer = Composer(market)
    entries = list(composer.entries())
    return Judges(composer, entries, EligibilityEndpoint(service), index, questions, values)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_api_index_and_plain_evaluator_agree_on_the_demo(
    judges: Judges, data: st.DataObject
) -> None:
    """Draws a visit of the demo, with some attributes left out and some taken from other visits."""
    drawn = data.draw(st.sampled_from(judges.questions))
    visit = dict(drawn.visit)
    for name in data.draw(st.sets(st.sampled_from(sorted(judges.values)), max_size=4)):
        value = data.draw(st.none() | st.sampled_from(judges.values[name]))
        visit.pop(name, None)
        if value is not None:
            visit[name] = value
    question = Question(drawn.publisher, visit)
    by_api, moment = judges.ask_api(question)
    flat: dict[str, object] = dict(visit)
    stamp_milliseconds(flat, question.publisher, moment)
    assert by_api == judges.ask_index(flat) == judges.evaluate(flat)


def test_the_demo_has_something_to_disagree_about(judges: Judges) -> None:
    found = [len(judges.ask_api(question)[0]) for question in judges.questions]
    assert sum(found) > len(found)
