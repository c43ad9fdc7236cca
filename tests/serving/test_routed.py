"""Answers with bookings that take any path: each visit's own path, fee and place in the order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from exchange.serving.answers import Options, Order
from exchange.serving.answers import Paths as WithPaths
from exchange.serving.bookings import BookingRow, write_bookings
from exchange.serving.deltas import Delta, DeltaEntry
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KeyEntry,
    SnapshotDirectory,
    hash_key,
    write_catalog,
)
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from matcher_ext import ATree
from matcher_ext.match import path_key
from tests.serving.calling import post
from tests.serving.published import CATALOG, HERALD_KEY, LATER, row

HERALD, ADNET, GLOBEX = 1, 2, 3
REACH = path_key(GLOBEX, 5)
FRENCH: dict[str, object] = {"geo": {"country": "FRA"}, "user": {"age": 30}}
GERMAN: dict[str, object] = {"geo": {"country": "DEU"}, "user": {"age": 30}}


def any_row(booking_id: int, bid_cpm: float = 10.0) -> BookingRow:
    return replace(row(booking_id, net_cpm=8.1), reach=REACH, bid_cpm=bid_cpm)


@pytest.fixture
def service(tmp_path: Path) -> EligibilityService:
    """Leads over Adnet for 19 percent in France, directly for half everywhere. Booking 1 takes any
    path for a bid of 10; booking 2 has its own path and leaves 6."""
    directory = SnapshotDirectory(tmp_path)
    index = ATree(CATALOG)
    index.define("edge.1", "geo.country = 'FRA'")
    index.define("edge.2", "true")
    index.define("edge.3", "true")
    index.set_routes(
        {HERALD: "Herald", ADNET: "Adnet", GLOBEX: "Globex"},
        [(1, HERALD, ADNET, 9_000), (2, ADNET, GLOBEX, 9_000), (3, HERALD, GLOBEX, 5_000)],
        {HERALD: "herald", ADNET: "adnet", GLOBEX: "globex"},
        [HERALD],
    )
    name = index.define_reach(GLOBEX, 5)
    index.insert(1, f"publisher.id = 'herald' and @{name}")
    index.insert(2, "publisher.id = 'herald' and user.age >= 18")
    with directory.stage() as staged:
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, [any_row(1), row(2, net_cpm=6.0)])
        write_catalog(staged, CATALOG.to_json())
        snapshot_id = directory.adopt(staged)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))
    return EligibilityService(directory.root)


def ask(
    service: EligibilityService, visit: dict[str, object], options: Options | None = None
) -> list[dict[str, Any]]:
    answer = service.answer("herald", visit, options or Options()).document()
    eligible: list[dict[str, Any]] = answer["eligible"]
    return eligible


def test_names_the_path_that_is_cheapest_for_the_visit(service: EligibilityService) -> None:
    french, german = ask(service, FRENCH), ask(service, GERMAN)
    told = {item["booking_id"]: item for item in french}[1]
    assert told["path"] == ["herald", "adnet", "globex"]
    assert (told["net_cpm"], told["fee_percent"]) == (8.1, 19.0)
    assert told["campaign"] == "Campaign 1"
    told = {item["booking_id"]: item for item in german}[1]
    assert told["path"] == ["herald", "globex"]
    assert (told["net_cpm"], told["fee_percent"]) == (5.0, 50.0)


def test_the_order_goes_by_what_the_visits_own_path_leaves(service: EligibilityService) -> None:
    assert [item["booking_id"] for item in ask(service, FRENCH)] == [1, 2]
    assert [item["booking_id"] for item in ask(service, GERMAN)] == [2, 1]
    assert [item["booking_id"] for item in ask(service, GERMAN, Options(limit=1))] == [2]
    by_campaign = Options(order=Order.CAMPAIGN_ID)
    assert [item["booking_id"] for item in ask(service, GERMAN, by_campaign)] == [1, 2]


def test_without_paths_the_terms_are_still_the_visits_own(service: EligibilityService) -> None:
    items = ask(service, GERMAN, Options(paths=WithPaths.NONE, campaigns=[10]))
    assert items == [
        {
            "campaign_id": 10,
            "campaign": "Campaign 1",
            "advertiser": "Globex",
            "booking_id": 1,
            "net_cpm": 5.0,
            "fee_percent": 50.0,
        }
    ]


def test_over_http_the_terms_are_the_visits_own(
    service: EligibilityService, tmp_path: Path
) -> None:
    """Asks with the first request of a key and with those that the desk takes."""
    entry = KeyEntry(("herald",), LATER, ("eligibility:read",))
    SnapshotDirectory(tmp_path).write_keys({hash_key(HERALD_KEY): entry})
    service.refresh()
    endpoint = EligibilityEndpoint(service)
    for _ in range(2):
        for country, order in (("FRA", [1, 2]), ("DEU", [2, 1])):
            visit = {"geo.country": country, "user.age": 30}
            reply = post(endpoint, {"visit": visit, "limit": 5})
            assert reply.document()["eligible"] == ask(service, visit)
            assert reply.booking_ids() == order
            assert post(endpoint, {"visit": visit, "limit": 1}).booking_ids() == order[:1]


def test_a_changed_booking_is_lent_the_walk_of_the_snapshot(service: EligibilityService) -> None:
    """Adds booking 3 as a delta; it takes any path too, and so does its answer."""
    live = service.live
    assert live is not None
    text = "publisher.id = 'herald' and @reach.3.5 and geo.country = 'FRA'"
    delta = Delta(
        log_id="x",
        number=1,
        position="",
        read_at=datetime.now(UTC),
        definitions={},
        entries=(DeltaEntry(any_row(3, bid_cpm=20.0), text),),
        dead=(2,),
        deferred=0,
    )
    changed = live.apply([delta])
    ids, _, bookings = changed.match({"publisher.id": "herald", "geo.country": "FRA"})
    rows = bookings.best_rows(np.asarray(ids), None)
    assert ids.tolist() == [1, 3]
    assert [b'"net_cpm":16.2' in bytes(item) for item in bookings.fragments(rows)] == [True, False]
    assert changed.match({"publisher.id": "herald", "geo.country": "DEU"})[0].tolist() == [1]


def test_closing_an_edge_by_a_delta_closes_the_path(service: EligibilityService) -> None:
    live = service.live
    assert live is not None
    closed = Delta(
        log_id="x",
        number=1,
        position="",
        read_at=datetime.now(UTC),
        definitions={"edge.2": "false"},
        entries=(),
        dead=(),
        deferred=0,
    )
    _, _, bookings = live.apply([closed]).match({"publisher.id": "herald", "geo.country": "FRA"})
    assert b'"path":["herald","globex"]' in bytes(bookings.fragments([0])[0])
