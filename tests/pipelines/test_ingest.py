"""Ingesting on a real Spark session: lines become the visits that servers would have matched."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from exchange.serving.directory import SnapshotDirectory, write_catalog
from exchange.serving.eligibility import EligibilityService
from exchange.serving.requests import EligibilityRequest
from exchange.serving.visit_log import VisitLog
from pipelines.__main__ import main
from pipelines.ingest import Ingested, Job, run
from pipelines.session import EXIT_UNABLE
from targeting.report_tables import read_table
from targeting.visit_log import USER, VISIT_ID, WEIGHT, Salts, incoming_folder
from tests.serving.bid_requests import bid_request
from tests.serving.logging_visits import CATALOG, SECRET, read_log
from tests.serving.published import publish

pytestmark = pytest.mark.spark

DAY = date(2026, 11, 16)
TIME = "2026-11-16T05:12:00Z"
MOMENT = datetime(2026, 11, 16, 5, 12, tzinfo=UTC)
SALTS = Salts(SECRET.encode())
OF_THE_SERVER = [VISIT_ID, "time", "local_time"]  # its own number, its own clock


def job(root: Path, *inputs: Path, **options: Any) -> Job:
    log = str(root / "log")
    return Job(
        DAY, [str(path) for path in inputs], log, f"{log}/_quarantine", CATALOG, SALTS, **options
    )


def line(publisher: str | None = "herald", **changes: Any) -> dict[str, Any]:
    request = {**bid_request(), **changes}
    return {"time": TIME, "bid_request": request} | ({"publisher": publisher} if publisher else {})


def write_lines(path: Path, lines: Sequence[object]) -> Path:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    content = "".join(f"{text}\n" for text in texts).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def rows_of(root: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_log(root / "log").sort_by(VISIT_ID).to_pylist()
    return rows


def refused_in(root: Path) -> list[dict[str, Any]]:
    found = read_table(str(root / "log" / "_quarantine"), "lines", "lines", DAY)
    rows: list[dict[str, Any]] = [] if found is None else found.to_pylist()
    return rows


def serve(root: Path, requests: Sequence[dict[str, Any]]) -> pa.Table:
    """Gives what a server would have logged of the same bid requests."""
    publish(SnapshotDirectory(root / "snapshots"), {1: "true"}, catalog=CATALOG)
    service = EligibilityService(root / "snapshots")
    log = VisitLog(root / "served", one_in=1, salts=SALTS)
    service.log_visits(log)
    for request in requests:
        for _ in service.answer_bid_request("herald", EligibilityRequest(bid_request=request)):
            pass
    log.flush(at_once=True)
    return read_log(incoming_folder(root / "served"))


def strange_requests() -> list[dict[str, Any]]:
    """Makes requests with values of wrong types, without a user, with a position that nobody
    has."""
    empty: dict[str, Any] = {"id": "empty", "imp": [{}]}
    wrong = bid_request()
    wrong["id"], wrong["device"]["geo"]["lat"], wrong["device"]["os"] = "wrong", 123.4, 7
    app = {"id": "app", "imp": [{"id": "1", "video": {"startdelay": -1}}], "app": {"bundle": "b"}}
    return [bid_request(), empty, wrong, app]


def test_good_lines_are_the_visits_that_servers_log(spark: SparkSession, tmp_path: Path) -> None:
    requests = strange_requests()
    lines = [{"time": TIME, "publisher": "herald", "bid_request": each} for each in requests]
    done = run(spark, job(tmp_path, write_lines(tmp_path / "a.jsonl", lines)))
    assert done == Ingested(str(DAY), visits=6, quarantined=0, reasons={})
    served, ingested = serve(tmp_path, requests), read_log(tmp_path / "log")
    assert ingested.schema.equals(served.schema)
    assert Counter(describe(served)) == Counter(describe(ingested))
    assert set(ingested.column("time").to_pylist()) == {MOMENT}
    assert ingested.column("local_time").equals(ingested.column("time"))
    assert sorted(ingested.column(VISIT_ID).to_pylist()) == [
        f"{bid_request()['id']}/1",
        f"{bid_request()['id']}/2",
        "app/1",
        "empty/1",
        "wrong/1",
        "wrong/2",
    ]


def describe(log: pa.Table) -> list[str]:
    """Describes rows without what each log says of its own; users of one day have the salt of that
    day."""
    windows = [USER, "visit_user_before", "visit_salt"]
    known = [user is not None for user in log.column(USER).to_pylist()]
    rows = log.drop_columns([*OF_THE_SERVER, *windows]).to_pylist()
    return [repr((row, user)) for row, user in zip(rows, known, strict=True)]


def test_users_are_hashed_with_the_salt_of_their_day(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, job(tmp_path, write_lines(tmp_path / "a.jsonl", [line()]), weight=3))
    for row in rows_of(tmp_path):
        assert row[USER] == SALTS.of(DAY).hash("u-1")
        assert row["visit_user_before"] == SALTS.before(DAY).hash("u-1")
        assert row["device.ip"] == "203.0.113.0"
        assert row[WEIGHT] == 3


def test_bad_lines_are_in_quarantine_with_their_reasons(
    spark: SparkSession, tmp_path: Path
) -> None:
    nobody = line(None)
    del nobody["bid_request"]["site"]
    bad = {
        "{not json": "invalid_json",
        '{"time": NaN}': "invalid_json",
        "[1, 2]": "no_bid_request",
        json.dumps({"time": TIME, "bid_request": 5}): "no_bid_request",
        json.dumps({"bid_request": bid_request()}): "no_time",
        json.dumps({**line(), "time": "yesterday"}): "invalid_time",
        json.dumps({**line(), "time": "2026-11-17T00:00:00Z"}): "later_day",
        json.dumps(line(imp=[])): "invalid_bid_request",
        json.dumps(line(imp=[{}] * 101)): "invalid_bid_request",
        json.dumps(nobody): "no_publisher",
        json.dumps(line(site={**bid_request()["site"], "cat": ["x"] * 10_001})): "invalid_visit",
        json.dumps(line(bcat=["x" * 300_000])): "too_large",
        "[" * 100_000: "invalid_json",
    }
    source = write_lines(tmp_path / "a.jsonl", [line(), *bad, "", line(id="second")])
    done = run(spark, job(tmp_path, source))
    assert (done.visits, done.quarantined) == (4, len(bad))
    assert done.reasons == dict(Counter(bad.values()))
    refused = refused_in(tmp_path)
    assert {row["line"]: row["reason"] for row in refused} == bad
    assert all(row["source_file"].endswith("/a.jsonl") for row in refused)
    assert all(row["detail"] for row in refused)


def test_a_bare_bid_request_names_its_time_and_publisher(
    spark: SparkSession, tmp_path: Path
) -> None:
    bare = {**bid_request(), "time": int(MOMENT.timestamp() * 1000)}
    late = {**bare, "id": "late", "time": "2026-11-14T23:00:00Z"}
    run(spark, job(tmp_path, write_lines(tmp_path / "a.jsonl", [bare, late])))
    rows = rows_of(tmp_path)
    assert {row["publisher.id"] for row in rows} == {"somebody-else"}
    assert Counter(row["time"].day for row in rows) == {16: 2, 14: 2}


def test_gzip_and_parquet_say_the_same_as_lines(spark: SparkSession, tmp_path: Path) -> None:
    good = [line(), line(id="second")]
    lines = [good[0], "broken", good[1]]
    tables = []
    texts = [json.dumps(each["bid_request"]) for each in good]
    columns = {
        "request": [texts[0], "broken", texts[1]],
        "time": pa.array([MOMENT] * 3, pa.timestamp("us", "UTC")),
        "publisher": ["herald"] * 3,
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    sources = [
        write_lines(tmp_path / "a.jsonl", lines),
        write_lines(tmp_path / "a.jsonl.gz", lines),
        tmp_path / "a.parquet",
    ]
    for number, source in enumerate(sources):
        root = tmp_path / str(number)
        done = run(spark, job(root, source))
        assert (done.visits, done.reasons) == (4, {"invalid_json": 1})
        tables.append(rows_of(root))
    assert tables[0] == tables[1] == tables[2]


def test_an_empty_input_is_an_empty_day(spark: SparkSession, tmp_path: Path) -> None:
    done = run(spark, job(tmp_path, write_lines(tmp_path / "a.jsonl", [])))
    assert done == Ingested(str(DAY))
    log = read_log(tmp_path / "log")
    assert log.num_rows == 0
    assert log.schema.field("geo.country").type == pa.string()


def test_again_replaces_its_own_and_leaves_what_others_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    others = tmp_path / "log" / f"dt={DAY}" / "part-00000.parquet"
    others.parent.mkdir(parents=True)
    parquet.write_table(pa.table({VISIT_ID: ["of others"]}), others)
    source = write_lines(tmp_path / "a.jsonl", [line(), "broken"])
    run(spark, job(tmp_path, source))
    write_lines(source, [line(id="other")])
    done = run(spark, job(tmp_path, source))
    assert (done.visits, done.quarantined) == (2, 0)
    files = sorted(others.parent.iterdir())
    assert others in files
    ids = [row for file in files for row in parquet.read_table(file).column(VISIT_ID).to_pylist()]
    assert sorted(ids) == ["of others", "other/1", "other/2"]
    assert refused_in(tmp_path) == []


@pytest.mark.usefixtures("spark")
def test_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    write_catalog(folder, CATALOG.to_json())
    source = write_lines(tmp_path / "a.jsonl", [line(), "broken"])
    options = ["--date", str(DAY), "--input", str(source), "--out", str(tmp_path / "log")]
    command = ["ingest", *options, "--snapshot", str(folder)]
    monkeypatch.delenv("TREELINE_VISIT_LOG_SALT", raising=False)
    with pytest.raises(SystemExit) as without:
        main(command)
    assert without.value.code == EXIT_UNABLE
    assert "TREELINE_VISIT_LOG_SALT" in capsys.readouterr().err
    (tmp_path / "salt").write_text(SECRET)
    assert main([*command, "--salt-file", str(tmp_path / "salt")]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "day": str(DAY),
        "visits": 2,
        "quarantined": 1,
        "reasons": {"invalid_json": 1},
    }
    assert {row[USER] for row in rows_of(tmp_path)} == {SALTS.of(DAY).hash("u-1")}
