"""What is sent to the endpoint under load is what the demo's log holds, whole."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.questions import BATCHES, BID_REQUESTS, VISITS, Kind, make_kinds, read_log
from exchange.demo.publishers import PUBLISHERS
from exchange.demo.visit_log import VisitLog, write_missing_days
from exchange.serving.requests import batch_decoder, decode, request_decoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = VisitLog(tmp_path_factory.mktemp("visits"), 1, 3_200, 1, date(2026, 3, 3))
    write_missing_days(log, lambda *_: None)
    return log.folder


@pytest.fixture(scope="module")
def kinds(folder: Path) -> dict[str, Kind]:
    return {kind.name: kind for kind in make_kinds(read_log(folder), b'{"visit":{}}')}


def visits_of(kind: Kind) -> list[dict[str, Any]]:
    return [decode(request_decoder, body).visit or {} for body in kind.bodies]


def test_all_visits_of_a_day_are_asked_for_as_their_own_publishers(folder: Path) -> None:
    questions = read_log(folder)
    assert len(questions) >= 3_000
    assert {each.publisher for each in questions} == {each.seller_id for each in PUBLISHERS}
    unlike = [each for each in questions if each.visit.get("publisher.id") != each.publisher]
    assert unlike  # the log has visits without one
    assert not any("publisher.id" in each.visit for each in unlike)


def test_visits_are_sent_as_they_were_logged(kinds: dict[str, Kind]) -> None:
    visits = visits_of(kinds[VISITS])
    assert len(set(kinds[VISITS].bodies)) >= 3_000
    assert all("visit_id" in visit and "time" in visit for visit in visits)
    assert any(isinstance(visit.get("geo.location"), dict) for visit in visits)
    sent = {(name, str(value)) for visit in visits for name, value in visit.items()}
    assert sent & {("device.type", text) for text in ("toaster", "7", "Phone ")}
    assert sent & {("user.age", "-1"), ("user.age", "1900")}
    assert sent & {("geo.location", str({"lat": None, "lon": 0.0}))}  # which was not a number


def test_bodies_are_written_in_two_ways(kinds: dict[str, Kind]) -> None:
    bodies = kinds[VISITS].bodies
    assert any("Nordvåg".encode() in body for body in bodies)
    assert any(rb"Nordv\u00e5g" in body for body in bodies)
    assert b'": ' in bodies[1]
    assert b'": ' not in bodies[0]


def test_every_visit_has_its_bid_request_and_its_place_in_a_batch(kinds: dict[str, Kind]) -> None:
    visits, bids = kinds[VISITS], kinds[BID_REQUESTS]
    assert len(bids.bodies) == len(visits.bodies)
    assert all(decode(request_decoder, body).bid_request for body in bids.bodies)
    batches = [decode(batch_decoder, body).requests for body in kinds[BATCHES].bodies]
    assert {len(each) for each in batches} == {100}
    assert len(batches) == len(visits.bodies) // 100
    first = msgspec.json.decode(batches[0][0])
    assert first == msgspec.json.decode(visits.bodies[0])
