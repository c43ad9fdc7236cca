"""Asks one state of an exchange in both ways, the compiled and the general one, and compares bytes.

The state has bookings on any path and one for each attribute, so that what is read of a visit shows
in its answer; it is asked as built, with changes beside it, and recovered.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace as replace_field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from msgspec.structs import replace

from exchange.market.seed import seeded_catalog
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
from exchange.serving.http.messages import Request
from exchange.serving.live import LiveSnapshot
from exchange.serving.problems import ProblemError
from matcher_ext import ATree
from matcher_ext.match import path_key
from tests.serving.calling import write
from tests.serving.published import BOTH_KEY, HERALD_KEY, LATER, SCOPES, row

CATALOG = seeded_catalog()
TYPES = {each["name"]: each["type"] for each in CATALOG.to_json()["attributes"]}
HERALD, TRIBUNE, ADNET, GLOBEX, INITECH = 1, 2, 3, 4, 5
AGE = re.compile(rb'"snapshot_age_seconds":[\d.]+')
bounded = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def any_row(booking_id: int, party: int, bid_cpm: float) -> BookingRow:
    named = row(booking_id, net_cpm=round(bid_cpm * 0.7, 4))
    return replace(named, reach=path_key(party, 4), bid_cpm=bid_cpm, campaign='Say "any"')


def make_snapshot(directory: SnapshotDirectory) -> None:
    """Makes bookings on any path, whose order depends on the visit, among others that have their
    own; an entry for each attribute, so that what is read of a visit shows in its answer."""
    index = ATree(CATALOG)
    rules = ("geo.country = 'FRA' or user.age > 30", "device.type != 'ctv'", "true", "true", "true")
    for number, rule in enumerate(rules, 1):
        index.define(f"edge.{number}", rule)
    index.set_routes(
        {
            HERALD: "Herald",
            TRIBUNE: "Tribune",
            ADNET: "Adnet",
            GLOBEX: "Globex",
            INITECH: "Initech",
        },
        [
            (1, HERALD, ADNET, 9_137),
            (2, ADNET, GLOBEX, 8_755),
            (3, HERALD, GLOBEX, 5_005),
            (4, ADNET, INITECH, 9_999),
            (5, TRIBUNE, ADNET, 10_000),
        ],
        {
            HERALD: "herald",
            TRIBUNE: "tribune",
            ADNET: 'ad"net',
            GLOBEX: "glöbex",
            INITECH: "initech",
        },
        [HERALD, TRIBUNE],
    )
    rows = []
    for booking_id, party, bid in ((1, GLOBEX, 10.0), (2, INITECH, 3.3333), (3, GLOBEX, 0.0004)):
        index.insert(booking_id, f"@{index.define_reach(party, 4)}")
        rows.append(any_row(booking_id, party, bid))
    for booking_id, name in enumerate(TYPES, 10):
        index.insert(booking_id, f"{name} is present")
        rows.append(row(booking_id, net_cpm=booking_id % 7 / 4))
    with directory.stage() as staged:
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, rows)
        write_catalog(staged, CATALOG.to_json())
        snapshot_id = directory.adopt(staged)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))


def make_delta() -> Delta:
    """Makes a delta in which some bookings changed, ended and came; one of them takes any path. One
    edge has closed."""
    entries = (
        DeltaEntry(any_row(4, GLOBEX, 20.0), "@reach.4.4 and geo.country is present"),
        DeltaEntry(row(12, net_cpm=4.5), "true"),
        DeltaEntry(row(500, net_cpm=1.0), "user.age >= 18"),
    )
    return Delta(
        log_id="x",
        number=1,
        position="",
        read_at=datetime.now(UTC),
        definitions={"edge.3": "geo.country = 'FRA'"},
        entries=entries,
        dead=(11, 13),
        deferred=0,
    )


class BothWays:
    """One state, asked either way."""

    def __init__(self, service: EligibilityService) -> None:
        self.service = service
        self.endpoint = EligibilityEndpoint(service, 1e9)
        self.general = EligibilityEndpoint(service, 1e9)
        for key in (HERALD_KEY, BOTH_KEY):
            service.admit(f"Api-Key {key}")
            self.endpoint._buckets.take(hash_key(key))

    @property
    def live(self) -> LiveSnapshot:
        return self.service.require_live()

    def is_compiled(self, body: bytes, key: str = HERALD_KEY) -> bool:
        """Tells whether the compiled way answered; if so, the general way must say the same."""
        header = f"Api-Key {key}"
        desk = self.endpoint._desk
        found = desk.answer(self.live.answers, self.service.passes, header, body)
        expected = self.answer_in_general(header, body)
        assert found is None or AGE.sub(b"", found) == AGE.sub(b"", expected)
        return found is not None

    def answer_in_general(self, header: str, body: bytes) -> bytes:
        try:
            return write(self.general._answer_any(header, body, time.perf_counter())).body
        except ProblemError as problem:
            return problem.body()

    def is_compiled_batch(self, requests: list[Any]) -> bool:
        request = Request(self.endpoint.batch)
        request.authorization, request.body = (
            f"Api-Key {HERALD_KEY}",
            encode({"requests": requests}),
        )
        caller = self.service.admit(request.authorization)
        expected = write(self.general.batch._answer_any(caller, request.body)).body
        found = write(self.endpoint.batch.answer(request)).body
        assert AGE.sub(b"", found) == AGE.sub(b"", expected)
        live = self.live
        batch = self.endpoint.batch._desk.open_batch(
            live.answers, caller, request.body, most=1000, most_bytes=256 * 1024
        )
        return batch is not None and batch.go_on(60) is None


@pytest.fixture(scope="module", params=["as built", "with changes", "recovered"])
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> BothWays:
    """Makes each of the three states once for a module."""
    directory = SnapshotDirectory(tmp_path_factory.mktemp("ways"))
    make_snapshot(directory)
    directory.write_keys(
        {
            hash_key(HERALD_KEY): KeyEntry(("herald",), LATER, SCOPES),
            hash_key(BOTH_KEY): KeyEntry(("herald", "tribune"), LATER, SCOPES),
        }
    )
    service = EligibilityService(directory.root)
    live = service.require_live()
    if request.param != "as built":
        live = live.apply([make_delta()])
    if request.param == "recovered":
        live = replace_field(live, stopped_after=1)
    service._following.live = live
    return BothWays(service)


def encode(document: object, **options: Any) -> bytes:
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, **options).encode()
    except ValueError:
        assume(condition=False)
        raise
