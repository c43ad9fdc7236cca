"""What an ad servers' process is told: the answer log's salt is its own, and the same for all."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exchange.environment import SettingError
from exchange.serving.configuration import read_configuration


@pytest.fixture(autouse=True)
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREELINE_VAR", str(tmp_path / "var"))
    monkeypatch.delenv("TREELINE_ANSWER_LOG_DIR", raising=False)
    monkeypatch.delenv("TREELINE_ANSWER_LOG_EVERY", raising=False)
    return tmp_path / "var"


def test_the_salt_is_made_once_and_kept_from_others(var: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        salts = set(threads.map(lambda _: read_configuration().answers_salt, range(32)))
    assert len(salts) == 1
    assert len(salts.pop()) >= 32
    kept = var / "answer-log-salt"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert list(var.iterdir()) == [kept]  # nothing aside, and not among the answers


def test_the_key_of_sessions_has_no_part_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_configuration().answers_salt
    monkeypatch.setenv("TREELINE_SECRET_KEY", "another" * 10)
    monkeypatch.setenv("TREELINE_MODE", "production")
    assert read_configuration().answers_salt == before


def test_several_machines_share_it_by_the_setting(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_ANSWER_LOG_SALT", "s" * 32)
    assert read_configuration().answers_salt == "s" * 32
    assert not var.exists()


def test_where_nothing_is_logged_no_salt_is_made(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_ANSWER_LOG_EVERY", "0")
    assert read_configuration().answers_salt == ""
    assert not var.exists()


def test_a_folder_that_takes_no_salt_is_named(var: Path) -> None:
    var.write_text("a file where the folder should be")
    with pytest.raises(SettingError, match="set TREELINE_ANSWER_LOG_SALT"):
        read_configuration()


def test_visits_are_logged_only_where_they_are_asked_for(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_ANSWER_LOG_EVERY", "0")
    monkeypatch.setenv("TREELINE_MODE", "production")
    assert (read_configuration().visits_one_in, read_configuration().visits_salt) == (0, "")
    assert not var.exists()


def test_the_visit_log_has_a_salt_of_its_own(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_VISIT_LOG_ONE_IN", "100")
    monkeypatch.setenv("TREELINE_ANSWER_LOG_SALT", "s" * 32)
    salt = read_configuration().visits_salt
    assert len(salt) >= 32
    assert salt == (var / "visit-log-salt").read_text() == read_configuration().visits_salt
    monkeypatch.setenv("TREELINE_VISIT_LOG_SALT", "short")
    with pytest.raises(SettingError, match="TREELINE_VISIT_LOG_SALT must be"):
        read_configuration()


def test_less_than_no_users_cannot_be_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_VISIT_LOG_ONE_IN", "-1")
    with pytest.raises(SettingError, match="TREELINE_VISIT_LOG_ONE_IN must be 0"):
        read_configuration()


def test_a_server_that_logs_visits_needs_a_folder_of_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TREELINE_VAR", str(tmp_path))
    monkeypatch.setenv("TREELINE_VISIT_LOG_DIR", "s3a://bucket/visits")
    assert read_configuration().visits_one_in == 0
    monkeypatch.setenv("TREELINE_VISIT_LOG_ONE_IN", "100")
    with pytest.raises(SettingError, match="TREELINE_VISIT_LOG_DIR must be a folder"):
        read_configuration()
    monkeypatch.setenv("TREELINE_VISIT_LOG_DIR", f"file://{tmp_path}/visits")
    assert read_configuration().visits_dir == tmp_path / "visits"
