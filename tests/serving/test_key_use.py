"""When keys were used: noted by requests, written by processes, read by the keeper of the keys."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from exchange.serving.key_use import (
    FOLDER,
    STALE_SECONDS,
    KeyUse,
    read_key_use,
    remove_stale_files,
)

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOON_SECONDS = NOON.timestamp()


def test_the_newest_time_of_all_processes_counts(tmp_path: Path) -> None:
    one, other = KeyUse(tmp_path), KeyUse(tmp_path)
    one.note("a", NOON_SECONDS)
    one.note("a", NOON_SECONDS + 5)
    other.note("a", NOON_SECONDS)
    other.note("b", NOON_SECONDS)
    assert one.flush()
    assert other.flush()
    assert read_key_use(tmp_path) == {"a": NOON + timedelta(seconds=5), "b": NOON}


def test_nothing_is_written_without_a_use_or_before_its_time(tmp_path: Path) -> None:
    use = KeyUse(tmp_path)
    assert not use.flush()
    assert not (tmp_path / FOLDER).exists()
    use.note("a", NOON_SECONDS)
    assert not use.flush()  # a moment after the last look
    assert use.flush(at_once=True)
    assert not use.flush(at_once=True)


def test_a_folder_that_cannot_be_written_troubles_nobody(tmp_path: Path) -> None:
    use = KeyUse(tmp_path)
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    use.note("a", NOON_SECONDS)
    assert not use.flush(at_once=True)
    (tmp_path / FOLDER).unlink()
    assert use.flush(at_once=True)
    assert read_key_use(tmp_path) == {"a": NOON}


def test_a_damaged_file_hides_no_other(tmp_path: Path) -> None:
    use = KeyUse(tmp_path)
    use.note("a", NOON_SECONDS)
    use.flush()
    (tmp_path / FOLDER / "half.json").write_text('{"b": "2026-')
    assert read_key_use(tmp_path) == {"a": NOON}


def test_files_of_dead_processes_go(tmp_path: Path) -> None:
    dead, alive = KeyUse(tmp_path), KeyUse(tmp_path)
    for use, name in ((dead, "a"), (alive, "b")):
        use.note(name, NOON_SECONDS)
        use.flush()
    [old] = [path for path in (tmp_path / FOLDER).iterdir() if b'"a"' in path.read_bytes()]
    long_ago = time.time() - STALE_SECONDS - 1
    os.utime(old, (long_ago, long_ago))
    remove_stale_files(tmp_path)
    assert read_key_use(tmp_path) == {"b": NOON}
    dead.note("a", NOON_SECONDS)
    dead.note("c", NOON_SECONDS)
    assert dead.flush(at_once=True)
    assert read_key_use(tmp_path) == {"a": NOON, "b": NOON, "c": NOON}


def test_a_directory_without_any_use_is_read_as_none(tmp_path: Path) -> None:
    assert read_key_use(tmp_path) == {}
    remove_stale_files(tmp_path)
