"""Taking one user out of the logs, of servers' own files."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exchange.serving.answer_log import AnswerLog
from pipelines.forget import Forgotten, forget_answers, forget_visits, main
from targeting.visit_log import Salts
from tests.pipelines.history import DAY, NOON, History, visit

SECRET = "a secret of the log's own, long enough"
SALTS = Salts(SECRET.encode())


def visit_of(visit_id: str, user: str | None, days_later: int = 0) -> dict[str, object]:
    moment = NOON + timedelta(days=days_later)
    day = moment.date()
    hashed = {
        "user.id": user and SALTS.of(day).hash(user),
        "visit_salt": user and SALTS.of(day).id,
        "visit_user_before": user and SALTS.before(day).hash(user),
    }
    return visit(visit_id, {"time": moment, **hashed})


def ids_in(path: Path) -> list[str]:
    ids: list[str] = pq.read_table(path, partitioning=None)["visit_id"].to_pylist()
    return ids


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_user_is_gone_from_every_window_and_others_stay(scheme: str, tmp_path: Path) -> None:
    history = History(tmp_path)
    later = DAY + timedelta(days=30)
    history.log(DAY, [visit_of("a", "ann"), visit_of("b", "ben"), visit_of("c", None)])
    history.log(DAY, [visit_of("d", "ben")], part=1)
    history.log(later, [visit_of("e", "ann", 30), visit_of("f", "ben", 30)])
    untouched = tmp_path / "visits" / f"dt={DAY}" / "part-00001.parquet"
    before = untouched.stat().st_mtime_ns
    log = f"{scheme}{tmp_path / 'visits'}"
    assert forget_visits(log, "ann", SALTS) == Forgotten(files=3, files_rewritten=2, rows=2)
    assert ids_in(tmp_path / "visits" / f"dt={DAY}" / "part-00000.parquet") == ["b", "c"]
    assert ids_in(tmp_path / "visits" / f"dt={later}" / "part-00000.parquet") == ["f"]
    assert untouched.stat().st_mtime_ns == before
    assert forget_visits(log, "ann", SALTS) == Forgotten(files=3)


def test_what_was_not_compacted_is_looked_through_too(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.log(DAY, [visit_of("a", "ann"), visit_of("b", "ben")])
    incoming = tmp_path / "visits" / "_incoming" / f"dt={DAY}"
    incoming.parent.mkdir()
    (tmp_path / "visits" / f"dt={DAY}").rename(incoming)
    assert forget_visits(str(tmp_path / "visits"), "ann", SALTS).rows == 1
    assert ids_in(incoming / "part-00000.parquet") == ["b"]


def test_columns_and_their_types_stay_as_they_were(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.log(DAY, [visit_of("a", "ann"), visit_of("b", "ben")])
    path = tmp_path / "visits" / f"dt={DAY}" / "part-00000.parquet"
    before = pq.read_table(path, partitioning=None)
    forget_visits(str(tmp_path / "visits"), "ann", SALTS)
    after = pq.read_table(path, partitioning=None)
    assert after.schema.equals(before.schema)
    assert after.equals(before.slice(1))


def test_sampled_answers_are_looked_through_by_their_own_salt(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, every=1, salt=b"another")
    visits = [json.dumps({"user.id": log._hash(user)}) for user in ("ann", "ben")]
    folder = tmp_path / f"dt={DAY}"
    folder.mkdir()
    pq.write_table(pa.table({"visit": visits, "delta": [1, 2]}), folder / "0512-a.parquet")
    assert forget_answers(str(tmp_path), "ann", b"another").rows == 1
    left = pq.read_table(folder / "0512-a.parquet", partitioning=None)
    assert left["visit"].to_pylist() == visits[1:]


def test_the_command_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    History(tmp_path).log(DAY, [visit_of("a", "ann")])
    monkeypatch.setenv("TREELINE_VISIT_LOG_SALT", SECRET)
    assert main(["--user", "ann", "--visits", str(tmp_path / "visits")]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert said == {"visits": {"files": 1, "files_rewritten": 1, "rows": 1}}
