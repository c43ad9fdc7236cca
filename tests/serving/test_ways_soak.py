"""Long runs over both ways of answering, with bodies and exchanges by chance (`fuzzed_bodies`)."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.bid_requests import draw_bid_requests
from bench.demo_exchange import draw_rows
from bench.questions import as_sent
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService, Pace
from matcher_ext.serving import Counts, Desk
from tests.serving.bid_requests import BID_REQUEST
from tests.serving.fuzzed_bodies import Bodies
from tests.serving.fuzzed_markets import ChanceMarket
from tests.serving.published import BOTH_KEY, HERALD_KEY
from tests.serving.ways import AGE, Compared, Ways

BODIES = 6_000
CHANGES = 300
CHANGE_RATE, BATCH_RATE = 0.002, 0.06

pytestmark = [pytest.mark.soak, pytest.mark.fuzzing]


@pytest.fixture(scope="module")
def visits() -> list[dict[str, Any]]:
    """Draws visits of the demo's log."""
    return [as_sent(row) for row in draw_rows(400)]


@pytest.fixture(scope="module")
def bid_requests(visits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    drawn = [BID_REQUEST, *draw_bid_requests(visits[:200])]
    return [msgspec.json.decode(msgspec.json.encode(each)) for each in drawn]


class Fuzzer:
    """A market and bodies for it."""

    def __init__(
        self, seed: int, folder: Path, visits: list[dict[str, Any]], bids: list[dict[str, Any]]
    ) -> None:
        self.chance = random.Random(seed)
        self.market = ChanceMarket(SnapshotDirectory(folder), seed, visits, is_odd=seed % 4 == 3)
        for _ in range(self.chance.choice((0, 1, 3, 8))):
            self.market.change()
        publishers = ["herald"] * 9 + ["tribune"]
        campaigns = self.market.campaigns
        self.bodies = Bodies(seed, self.market.types, visits, bids, publishers, campaigns)
        self.ways = Ways(self.market.service)
        self.kinds: Counter[str] = Counter()

    def compare(self, compare: Callable[[bytes, str], Compared], body: bytes) -> None:
        """Compares again where they differ: a flight may begin or end between the two answers, and
        such a difference does not stay."""
        key = self.chance.choice((HERALD_KEY, HERALD_KEY, BOTH_KEY))
        compared = compare(body, key)
        if compared.difference:
            time.sleep(0.01)
            compared = compare(body, key)
        assert not compared.difference, (body, compared.difference)
        self.kinds[compared.kind] += 1

    def go_on(self) -> None:
        if self.chance.random() < CHANGE_RATE:
            self.market.change()
        if self.chance.random() < BATCH_RATE:
            self.compare(self.ways.compare_batch, self.bodies.draw_batch())
        else:
            for body in self.bodies.draw():
                self.compare(self.ways.compare, body)


@pytest.mark.parametrize("seed", range(8))
def test_both_ways_say_count_and_keep_the_same(
    tmp_path: Path, visits: list[dict[str, Any]], bid_requests: list[dict[str, Any]], seed: int
) -> None:
    fuzzer = Fuzzer(seed, tmp_path, visits, bid_requests)
    while fuzzer.kinds.total() < BODIES:
        fuzzer.go_on()
    assert min(fuzzer.kinds[kind] for kind in ("compiled", "given back 200", "batch 200")) > 100


def test_a_body_that_breaks_off_anywhere_is_read_as_nothing_else(
    tmp_path: Path, visits: list[dict[str, Any]], bid_requests: list[dict[str, Any]]
) -> None:
    fuzzer = Fuzzer(0, tmp_path, visits, bid_requests)
    for document in ({"visit": visits[0]}, {"bid_request": bid_requests[1]}):
        for one in (document, {"requests": [document, {"visit": {}}]}):
            is_batch = "requests" in one
            compare = fuzzer.ways.compare_batch if is_batch else fuzzer.ways.compare
            body = msgspec.json.encode(one)
            for end in range(len(body)):
                fuzzer.compare(compare, body[:end])
    assert fuzzer.kinds.keys() == {"given back 400", "batch 400"}


def test_every_answer_is_of_one_state_while_states_change(
    tmp_path: Path, visits: list[dict[str, Any]], bid_requests: list[dict[str, Any]]
) -> None:
    fuzzer = Fuzzer(1, tmp_path, visits, bid_requests)
    documents = [{"visit": each} for each in visits[:40]]
    documents += [{"bid_request": each} for each in bid_requests[:40]]
    bodies = [msgspec.json.encode({"publisher": "herald", **each}) for each in documents]
    desk = Desk(fuzzer.ways.compiled._buckets.by_key, Counts([1.0]))
    errors: list[object] = []
    is_over = threading.Event()

    def ask() -> None:
        while not (is_over.is_set() or errors):
            for body in bodies:
                if not are_equal(fuzzer.market.service, desk, body):
                    errors.append(body)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(CHANGES):
        fuzzer.market.change()
    is_over.set()
    for thread in threads:
        thread.join()
    assert not errors


def are_equal(service: EligibilityService, desk: Desk, body: bytes) -> bool:
    """Compares answers of one state, whichever is live then; a flight may begin or end between the
    two."""
    header = f"Api-Key {HERALD_KEY}"
    caller = service.admit(header)
    for _ in range(2):
        live = service.require_live()
        found = desk.answer(live.answers, service.passes, header, body)
        assert found is not None
        steps = service.answer_one_of_many(live, caller, body, time.time(), Pace())
        try:
            while True:
                next(steps)
        except StopIteration as done:
            part: bytes = done.value[0]
        heading, _, rest = AGE.sub(b"", found).partition(b",,")
        if heading + b"," == AGE.sub(b"", live.heading + b"0") and b"{" + rest == part:
            return True
    return False
