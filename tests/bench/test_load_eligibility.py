"""The program that loads the endpoint sends every kind of request to real servers, and none of them
is refused."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench import load_eligibility
from bench.demo_exchange import DEMO_GRAPH, KEY, SEED, ExchangeSize, make_market, open_exchange
from bench.in_process import Process
from bench.questions import BATCHES, BID_REQUESTS, VISITS, Kind
from exchange.demo.graph import build_graph

TINY = ExchangeSize("tiny", DEMO_GRAPH, campaigns=150)


def test_the_bookings_are_under_all_policies_in_the_demo_s_shares() -> None:
    size = ExchangeSize("small", DEMO_GRAPH, campaigns=900)
    market = make_market(build_graph(SEED, size.graph), size, datetime.now(UTC).date())
    policies = Counter(booking.policy for booking in market.bookings)
    assert set(policies) == {"pinned", "cheapest", "any"}
    assert min(policies.values()) > 0.28 * len(market.bookings)
    assert all(bool(each.pinned_edges) == (each.policy == "pinned") for each in market.bookings)
    assert any("@brand_safe" in campaign.expression for campaign in market.campaigns.values())


def test_every_kind_is_measured_beside_hello_and_in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load_eligibility, "QUESTIONS", 200)
    monkeypatch.setattr(load_eligibility, "ROUNDS", 1)
    load_eligibility.measure_large(TINY, 1, tmp_path)
    printed = capsys.readouterr().out
    for kind in (VISITS, BID_REQUESTS, BATCHES):
        for server in ("hello", "eligibility"):
            assert f"| {kind} | {server} | " in printed
    assert "| visits | 200 | " in printed
    assert "Parts of bid requests, tiny: " in printed


def test_in_process_a_request_is_answered_as_by_the_server(tmp_path: Path) -> None:
    root = open_exchange(TINY, tmp_path).root
    process = Process(root, KEY, tmp_path / "answers")
    publisher = "harbor-post"
    plain = b'{"publisher":"%b","visit":{"geo.country":"USA"},"limit":1}' % publisher.encode()
    odd = b'{"publisher":"%b","visit":{"never.heard.of":1}}' % publisher.encode()
    for body in (plain, odd):
        kind = Kind(VISITS, "/", [body])
        (request,) = process.requests(kind)
        assert process.answer(request).startswith(b'{"snapshot_id":')
    assert 0 <= process.share_in_one_call(Kind(VISITS, "/", [plain, odd])) <= 1
    assert process.share_in_one_call(Kind(BATCHES, "/", [b"{}"])) == 0
