"""The visit log as servers write it: what is in it, whose visits, how long, what a kill costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.conf import settings
from pyarrow import parquet

from exchange.demo.visit_table import visit_schema
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.kept import Retention, remove_old_files
from exchange.serving.openrtb import read_impressions, read_sources
from exchange.serving.visit_log import VisitLog
from targeting.visit_log import (
    SALT,
    USER,
    USER_BEFORE,
    VISIT_ID,
    WEIGHT,
    WRONG_VALUES,
    Salts,
    incoming_folder,
)
from tests.serving.bid_requests import bid_request
from tests.serving.logging_visits import (
    CATALOG,
    SECRET,
    ask,
    ask_batch,
    by_place,
    logging_server,
    read_log,
)
from tests.serving.published import publish
from tests.waiting import wait_until

VISIT: dict[str, Any] = {
    "geo.country": "USA",
    "geo.location": {"lat": 37.7, "lon": -122.4},
    "geo.utc_offset": -480,
    "device.ip": "203.0.113.9",
    "user.id": "u-7",
    "user.segments": ["cars", "boats"],
    "user.consent": True,
    "imp.floor": 2,
    "regs.gpp_sections": [7, 2],
}
OF_THE_LOG = {VISIT_ID, "time", "local_time", WEIGHT, SALT, USER_BEFORE, WRONG_VALUES}


def visit(place: str, **said: Any) -> dict[str, Any]:
    return {"visit": {**VISIT, "imp.placement_id": place, **said}}


def hashed(user: str, day: date) -> str:
    return Salts(SECRET.encode()).of(day).hash(user)


def test_what_was_asked_is_logged_in_every_way_of_asking(tmp_path: Path) -> None:
    began = datetime.now(UTC).replace(microsecond=0)
    request = bid_request()
    request["imp"][1]["tagid"] = "herald/clip"
    with logging_server(tmp_path, TREELINE_VISIT_LOG_ONE_IN="1") as server:
        ask(server, [visit("a general"), visit("b compiled"), {"bid_request": request}])
        ask_batch(server, [visit("c of a batch"), {"bid_request": request}])
        # Said twice, so the general way has to answer it amid the others.
        ask_batch(server, [visit("d"), visit("e twice", geo={"country": "USA"}), visit("f")])
    log = read_log(incoming_folder(tmp_path / "visits"))
    rows = by_place(log.to_pylist())
    day = rows[0]["time"].date()
    plain = {
        **VISIT,
        "publisher.id": "herald",
        "device.ip": "203.0.113.0",
        "user.id": hashed("u-7", day),
        "imp.floor": 2.0,
    }
    places = ["a general", "b compiled", "c of a batch", "d", "e twice", "f"]
    said = [{k: v for k, v in row.items() if k not in OF_THE_LOG} for row in rows]
    assert said[:6] == [{**plain, "imp.placement_id": place} for place in places]
    imps = read_impressions(request, read_sources(CATALOG.to_json()))
    expected = [
        {
            **imp.visit,
            "publisher.id": "herald",
            "device.ip": "203.0.113.0",
            "user.id": hashed("u-1", day),
        }
        for imp in (imps[1], imps[1], imps[0], imps[0])
    ]
    assert said[6:] == expected
    assert all(began <= row["time"] == row["local_time"] <= datetime.now(UTC) for row in rows)
    assert len({row[VISIT_ID] for row in rows}) == len(rows) == 10
    assert {row[WEIGHT] for row in rows} == {1}
    assert log.column("publisher.id").to_pylist() == ["herald"] * 10


def test_types_are_those_of_the_catalogue_and_of_the_demos_log(tmp_path: Path) -> None:
    with logging_server(tmp_path, TREELINE_VISIT_LOG_ONE_IN="1") as server:
        ask(server, [visit("a")])
    schema = read_log(incoming_folder(tmp_path / "visits")).schema
    demo = visit_schema()
    assert schema.names[: len(demo.names)] == demo.names
    assert [schema.field(name).type for name in demo.names] == demo.types
    rest = {name: schema.field(name).type for name in schema.names[len(demo.names) :]}
    assert rest == {
        WEIGHT: pa.int64(),
        SALT: pa.string(),
        USER_BEFORE: pa.string(),
        WRONG_VALUES: pa.list_(pa.string()),
    }


def fnv_then_splitmix(user: str) -> int:
    """Computes what any machine must come to, written down once more."""
    value = 0xCBF29CE484222325
    for byte in user.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def test_a_user_is_there_with_all_visits_or_none(tmp_path: Path) -> None:
    users = [f"user-{number}" for number in range(60)]
    with logging_server(tmp_path, TREELINE_VISIT_LOG_ONE_IN="4") as server:
        for way in (ask, ask_batch):
            way(server, [visit("x", **{"user.id": user}) for user in users])
        twice = [visit("x", **{"user.id": user}, geo={"country": "USA"}) for user in users]
        ask(server, twice)
        ask(server, [{"bid_request": bid_request_of(user)} for user in users])
    log = read_log(incoming_folder(tmp_path / "visits"))
    day = log.column("time")[0].as_py().date()
    chosen = [user for user in users if fnv_then_splitmix(user) <= (2**64 - 1) // 4]
    assert 5 < len(chosen) < 30
    assert Counter(log.column(USER).to_pylist()) == {hashed(user, day): 5 for user in chosen}
    assert set(log.column(WEIGHT).to_pylist()) == {4}


def bid_request_of(user: str) -> dict[str, Any]:
    """Makes a request of two imps."""
    request = bid_request()
    request["user"]["id"] = user
    return request


def test_visits_without_a_user_are_chosen_one_by_one(tmp_path: Path) -> None:
    request = bid_request()
    del request["user"]["id"]
    request["imp"] *= 10
    with logging_server(tmp_path, TREELINE_VISIT_LOG_ONE_IN="2") as server:
        ask_batch(server, [{"bid_request": request} for _ in range(20)])
        ask(server, [{"visit": {"user.id": 7}} for _ in range(200)])  # no text, so nobody
    log = read_log(incoming_folder(tmp_path / "visits"))
    kinds = Counter(wrong == [USER] for wrong in log.column(WRONG_VALUES).to_pylist())
    assert 120 < kinds[False] < 280  # of 400; half of them but for one in ten thousand million
    assert 50 < kinds[True] < 150  # of 200
    assert log.column(USER).null_count == log.num_rows == log.column(SALT).null_count


def test_nothing_is_logged_unless_it_is_asked_for(tmp_path: Path) -> None:
    with logging_server(tmp_path) as server:
        ask(server, [visit("a"), visit("b")])
    assert not (tmp_path / "visits").exists()
    assert not (tmp_path / "var" / "visit-log-salt").exists()


def test_wrong_values_are_missing_and_named(service: EligibilityService, tmp_path: Path) -> None:
    log = open_log(service, tmp_path)
    wrong = {"geo.country": 5, "user.age": "old", "device.ip": "nowhere", "user.segments": [1]}
    service.answer("herald", {**wrong, "imp.floor": 1.5, "shoe.size": 43})
    log.flush(at_once=True)
    (row,) = read_log(incoming_folder(tmp_path / "visits")).to_pylist()
    assert [row[name] for name in wrong] == [None] * 4
    assert sorted(row[WRONG_VALUES]) == sorted(wrong)
    assert row["imp.floor"] == 1.5
    assert "shoe.size" not in row


def test_people_can_be_counted_over_days_of_two_windows() -> None:
    salts = Salts(SECRET.encode())
    first = date(1970, 1, 1) + timedelta(days=28 * 740)
    last_of_before = first - timedelta(days=1)
    assert salts.of(first) != salts.of(last_of_before)
    # A row of the new window has its user under the salt that rows of the old one have.
    assert salts.before(first) == salts.of(last_of_before)
    assert salts.of(first) == salts.of(first + timedelta(days=27))
    assert salts.before(first + timedelta(days=27)) == salts.of(first - timedelta(days=28))
    assert salts.of(first).id == f"{first}.{salts.of(last_of_before).id.split('.')[1]}"
    assert Salts(b"another").of(first).id != salts.of(first).id


def test_rows_have_their_user_under_both_salts(service: EligibilityService, tmp_path: Path) -> None:
    log = open_log(service, tmp_path)
    service.answer("herald", {"user.id": "u-7"})
    log.flush(at_once=True)
    (row,) = read_log(incoming_folder(tmp_path / "visits")).to_pylist()
    day, salts = row["time"].date(), Salts(SECRET.encode())
    assert row[USER] == salts.of(day).hash("u-7")
    assert row[USER_BEFORE] == salts.before(day).hash("u-7")
    assert row[SALT] == salts.of(day).id
    assert "u-7" not in str(row)


def test_many_imps_of_many_requests_are_told_apart(tmp_path: Path) -> None:
    requests = [bid_request_of(f"user-{number}") for number in range(3)]
    for number, request in enumerate(requests):
        request["imp"] = [{"id": str(n), "tagid": f"{number}/{n:02}"} for n in range(20)]
    with logging_server(tmp_path, TREELINE_VISIT_LOG_ONE_IN="1") as server:
        ask(server, [{"bid_request": requests[0]}, {"bid_request": requests[1]}])
        ask_batch(server, [visit("x"), {"bid_request": requests[2]}, visit("y")])
    rows = by_place(read_log(incoming_folder(tmp_path / "visits")).to_pylist())
    day = rows[0]["time"].date()
    expected = [
        (f"{number}/{n:02}", hashed(f"user-{number}", day))
        for number in range(3)
        for n in range(20)
    ]
    expected += [("x", hashed("u-7", day)), ("y", hashed("u-7", day))]
    assert [(row["imp.placement_id"], row[USER]) for row in rows] == expected


@pytest.fixture
def service(tmp_path: Path) -> EligibilityService:
    publish(SnapshotDirectory(tmp_path / "snapshots"), {3: "true"}, catalog=CATALOG)
    return EligibilityService(tmp_path / "snapshots")


def open_log(service: EligibilityService, root: Path, **options: Any) -> VisitLog:
    log = VisitLog(root / "visits", one_in=1, salts=Salts(SECRET.encode()), **options)
    service.log_visits(log)
    return log


def test_a_minute_is_written_when_it_is_over(service: EligibilityService, tmp_path: Path) -> None:
    log = open_log(service, tmp_path)
    service.answer("herald", {})
    log.flush()
    assert not (tmp_path / "visits").exists()
    log._due_at = time.monotonic()  # a minute later
    log.flush()
    assert read_log(incoming_folder(tmp_path / "visits")).num_rows == 1


def test_visits_go_to_the_day_of_their_own_stamp(
    service: EligibilityService, tmp_path: Path
) -> None:
    log = open_log(service, tmp_path)
    midnight = datetime(2026, 11, 16, tzinfo=UTC)
    for moment in (midnight - timedelta(milliseconds=1), midnight):
        service.answer("herald", {}, at=moment)
    log.flush(at_once=True)
    folders = sorted(path.name for path in incoming_folder(tmp_path / "visits").iterdir())
    assert folders == ["dt=2026-11-15", "dt=2026-11-16"]


def test_a_full_disk_costs_the_log_never_an_answer(
    service: EligibilityService, tmp_path: Path
) -> None:
    log = open_log(service, tmp_path)
    (tmp_path / "visits").write_text("a file where the folder should be")
    assert service.answer("herald", {}).count == 1
    log.flush(at_once=True)
    assert service.answer("herald", {}).count == 1


def test_retention_is_of_the_whole_log_compacted_or_not(tmp_path: Path) -> None:
    log, incoming = tmp_path, incoming_folder(tmp_path)
    for path in (
        log / "dt=2026-10-01" / "part-served-a.parquet",
        incoming / "dt=2026-10-02" / "0512-a.parquet",
        log / "dt=2026-11-10" / "part-served-b.parquet",
        incoming / "dt=2026-11-11" / "0512-b.parquet",
        incoming / "dt=2026-11-11" / "0513-c.parquet",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(100))
    now = datetime(2026, 11, 12, tzinfo=UTC)
    assert remove_old_files([incoming, log], Retention(days=35), now) == 2
    left = sorted(path.name for path in log.rglob("*.parquet"))
    assert left == ["0512-b.parquet", "0513-c.parquet", "part-served-b.parquet"]
    assert not (log / "dt=2026-10-01").exists()
    assert not (incoming / "dt=2026-10-02").exists()
    assert remove_old_files([incoming, log], Retention(days=35, most_bytes=150), now) == 2
    assert [path.name for path in log.rglob("*.parquet")] == ["0513-c.parquet"]


def test_who_writes_also_removes(service: EligibilityService, tmp_path: Path) -> None:
    old = tmp_path / "visits" / "dt=2020-01-01" / "part-00000.parquet"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    log = open_log(service, tmp_path)
    service.answer("herald", {})
    log.flush(at_once=True)
    assert not old.parent.exists()


WRITER = """
import sys
from pathlib import Path
from exchange.serving.eligibility import EligibilityService
from exchange.serving.visit_log import VisitLog
from targeting.visit_log import Salts

root = Path(sys.argv[1])
service = EligibilityService(root / "snapshots")
log = VisitLog(root / "visits", one_in=1, salts=Salts(b"s" * 32))
service.log_visits(log)
while True:
    for _ in range(50):
        service.answer("herald", {"geo.country": "USA"})
    log.flush(at_once=True)
"""


def test_a_killed_process_leaves_no_half_file_under_a_final_name(
    service: EligibilityService, tmp_path: Path
) -> None:
    incoming = incoming_folder(tmp_path / "visits")
    for round_ in range(4):
        before = len(list(incoming.glob("dt=*/*")))
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
        process = subprocess.Popen(command, cwd=settings.BASE_DIR)
        try:
            wait_until(lambda at=before: len(list(incoming.glob("dt=*/*"))) > at + 3)  # type: ignore[misc]
            time.sleep(0.003 * round_)  # somewhere else in its work
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    files = list(incoming.glob("dt=*/*"))
    assert {parquet.read_metadata(file).num_rows for file in files} == {50}
    # What a killed one left aside is removed by another, when nobody can be at it any more.
    left = incoming / ".2026-11-16-0512-left.parquet"
    left.write_bytes(b"PAR1 half")
    os.utime(left, (0, 0))
    log = open_log(service, tmp_path)
    service.answer("herald", {})
    log.flush(at_once=True)
    assert not left.exists()


def test_the_day_may_be_taken_away_while_it_is_written(
    service: EligibilityService, tmp_path: Path
) -> None:
    log, incoming = open_log(service, tmp_path), incoming_folder(tmp_path / "visits")
    for number in range(3):
        service.answer("herald", {})
        log.flush(at_once=True)
        (day,) = incoming.iterdir()
        day.rename(tmp_path / f"taken-{number}")
    assert sum(1 for _ in tmp_path.glob("taken-*/*.parquet")) == 3
