"""An ad server that follows and matches by itself: it answers as the endpoint does, goes on while
the platform is away, and takes up nothing that is damaged or half."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exchange.serving.directory import Manifest, SnapshotDirectory
from matcher_ext.following import (
    DownloadError,
    FolderInUseError,
    Follower,
    NoStateError,
    StaleStateError,
)
from matcher_ext.visits import VisitError
from tests.serving.asking import Client
from tests.serving.conftest import (
    EligibilityServer,
    running_server,
)
from tests.serving.damaging import Damage, DamagingProxy
from tests.serving.history import flip_a_bit
from tests.serving.published import HERALD_KEY, SNAPSHOT_KEY, publish, store
from tests.serving.test_swaps import Changing
from tests.waiting import PATIENCE_SECONDS, wait_until

EVERYONE = {1: "publisher.id = 'herald'", 2: "publisher.id = 'herald' and geo.country = 'USA'"}
AMERICAN = {"geo": {"country": "USA"}}


@pytest.fixture
def server(directory: SnapshotDirectory) -> Iterator[EligibilityServer]:
    publish(directory, EVERYONE)
    with running_server(directory) as server:
        yield server


@pytest.fixture
def follower(server: EligibilityServer, tmp_path: Path) -> Iterator[Follower]:
    """Follows no faster than it is told to: see `refresh`."""
    follower = follow(server.port, tmp_path)
    yield follower
    follower.stop()


def follow(port: int, tmp_path: Path, **options: float | None) -> Follower:
    folder = tmp_path / "followed"
    return Follower(f"http://127.0.0.1:{port}", SNAPSHOT_KEY, folder, **options)  # type: ignore[arg-type]


def ids_of(follower: Follower, visit: dict[str, object] | None = None) -> list[int]:
    return [each["booking_id"] for each in follower.eligible("herald", visit or {})]


def wait_for(is_so: Callable[[], bool], follower: Follower) -> None:
    wait_until(is_so, why=follower.status, look_every=0.02)


def wait_for_server(server: EligibilityServer, snapshot_id: str, delta: int = 0) -> None:
    client = Client(server.port)
    server.wait_for(snapshot_id, client, delta=delta)
    client.close()


def test_fetches_opens_and_answers(follower: Follower) -> None:
    with pytest.raises(NoStateError):
        follower.eligible("herald", {})
    follower.refresh()
    assert ids_of(follower) == [1]
    assert ids_of(follower, {"geo": {"country": "USA"}}) == [1, 2]
    assert ids_of(follower, {"geo.country": "USA"}) == [1, 2]
    assert follower.eligible("herald", AMERICAN, limit=1)[0]["booking_id"] == 1
    assert follower.eligible("tribune", AMERICAN) == []
    status = follower.status()
    assert (status.bookings, status.failures, status.last_error) == (2, 0, None)


def test_refuses_what_the_endpoint_refuses(follower: Follower) -> None:
    follower.refresh()
    with pytest.raises(VisitError):
        follower.eligible("herald", {"user.segments": ["x"] * 10_001})
    with pytest.raises(ValueError, match="limit"):
        follower.eligible("herald", {}, limit=0)


def test_visits_cannot_say_when_or_where_they_are(follower: Follower) -> None:
    """Stamps visits as the endpoint does."""
    follower.refresh()
    lies = {"publisher.id": "tribune", "time": 0, "geo.country": "USA"}
    assert [each["booking_id"] for each in follower.eligible("herald", lies)] == [1, 2]


def test_follows_changes_and_new_snapshots_in_its_thread(
    server: EligibilityServer, tmp_path: Path
) -> None:
    changing = Changing(server.directory)
    changing.swap()
    with follow(server.port, tmp_path, poll_seconds=0.05) as follower:
        for _ in range(2):
            state, expected = list(changing.expected.items())[-1]
            wait_for(lambda state=state: state_of(follower) == state, follower)  # type: ignore[misc]
            assert set(ids_of(follower)) == expected
            changing.change()
            changing.change()
            state, expected = list(changing.expected.items())[-1]
            wait_for(lambda state=state: state_of(follower) == state, follower)  # type: ignore[misc]
            assert set(ids_of(follower)) == expected
            changing.swap()


def state_of(follower: Follower) -> tuple[str | None, int]:
    status = follower.status()
    return status.snapshot_id, status.delta


def test_no_answer_is_of_half_a_state(server: EligibilityServer, tmp_path: Path) -> None:
    """Shows that every answer is that of one of the states that were ever live, whole."""
    changing = Changing(server.directory)
    changing.swap()
    seen: set[frozenset[int]] = set()
    with follow(server.port, tmp_path, poll_seconds=0.01) as follower:
        wait_for(lambda: bool(state_of(follower)[0]), follower)
        until = time.monotonic() + PATIENCE_SECONDS
        while len(seen) < 8:
            assert time.monotonic() < until, seen
            if changing.number % 4 == 3:
                changing.swap()
            changing.change()
            pause = time.monotonic() + 0.3
            while time.monotonic() < pause:
                answered = frozenset(ids_of(follower))
                known = {frozenset(ids) for ids in changing.expected.values()}
                assert answered in known | {frozenset({1})}
                seen.add(answered)


def test_goes_on_while_the_platform_is_away_and_follows_when_it_is_back(
    directory: SnapshotDirectory, tmp_path: Path
) -> None:
    publish(directory, EVERYONE)
    with running_server(directory) as server:
        options = {"poll_seconds": 0.05, "most_pause_seconds": 0.2}
        follower = follow(server.port, tmp_path, **options)
        assert follower.start(wait_seconds=PATIENCE_SECONDS)
    try:
        wait_for(lambda: follower.status().failures > 2, follower)
        assert ids_of(follower) == [1]
        assert "away" in (follower.status().last_error or "")
        snapshot_id = publish(directory, {3: "publisher.id = 'herald'"})
        with running_server(directory, port=server.port):
            wait_for(lambda: state_of(follower)[0] == snapshot_id, follower)
            wait_for(lambda: follower.status().failures == 0, follower)
            assert ids_of(follower) == [3]
    finally:
        follower.stop()


def test_starts_from_what_it_kept_with_every_change(
    server: EligibilityServer, follower: Follower, tmp_path: Path
) -> None:
    changing = Changing(server.directory)
    changing.swap()
    for _ in range(2):  # one is fetched with the snapshot, one is added to what is kept
        changing.change()
        state, expected = list(changing.expected.items())[-1]
        wait_for_server(server, *state)
        follower.refresh()
    follower.stop()
    server.running.stop()
    again = follow(server.port, tmp_path)
    try:
        assert again.start()
        assert state_of(again) == state
        assert set(ids_of(again)) == expected
        assert (again.status().unconfirmed_seconds or 0) > 0
    finally:
        again.stop()


@pytest.mark.parametrize(
    "pattern",
    [
        "state.json",
        "*/index.atree",
        "*/bookings.jsonl",
        "*/terms.npy",
        "*/hashes.json",
        "*/changes-*",
    ],
)
def test_what_it_kept_and_is_damaged_is_not_used(
    server: EligibilityServer, follower: Follower, tmp_path: Path, pattern: str
) -> None:
    changing = Changing(server.directory)
    changing.swap()
    changing.change()
    wait_for_server(server, *list(changing.expected)[-1])
    follower.refresh()
    follower.stop()
    (damaged,) = (tmp_path / "followed").glob(pattern)
    flip_a_bit(damaged)
    again = follow(1, tmp_path)
    try:
        assert not again.start()
        assert again.status().last_error
        with pytest.raises(NoStateError):
            again.eligible("herald", {})
    finally:
        again.stop()
    healed = follow(server.port, tmp_path)
    try:
        assert healed.start(wait_seconds=PATIENCE_SECONDS)
        assert state_of(healed) == list(changing.expected)[-1]
    finally:
        healed.stop()


def flip(part: str) -> Damage:
    """Flips one bit in the middle of what has this in its path."""

    def damage(path: str, body: bytes) -> bytes:
        middle = len(body) // 2
        if part not in path or not body:
            return body
        return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]

    return damage


def cut(part: str) -> Damage:
    return lambda path, body: body[: len(body) // 2] if part in path else body


FILES = ["live", "hashes.json", "index.atree", "bookings.jsonl", "terms.npy", "deltas.jsonl"]


@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize("file", FILES)
def test_takes_up_nothing_that_comes_damaged(
    server: EligibilityServer, tmp_path: Path, file: str, damage: Callable[[str], Damage]
) -> None:
    """Shows that what it had goes on answering, and that the next whole download is taken."""
    with DamagingProxy(server.port).standing() as proxy:
        follower = Follower(proxy.url, SNAPSHOT_KEY, tmp_path / "followed")
        follower.refresh()
        changing = Changing(server.directory)
        changing.swap()
        changing.change()
        wait_for_server(server, *list(changing.expected)[-1])
        proxy.damage = damage(file)
        with pytest.raises((DownloadError, ValueError)):
            follower.refresh()
        assert ids_of(follower) == [1]
        proxy.damage = flip("nothing of this name")
        follower.refresh()
        state, expected = list(changing.expected.items())[-1]
        assert (state_of(follower), set(ids_of(follower))) == (state, expected)
        follower.stop()


def test_a_file_that_rots_at_the_platform_is_not_taken(
    server: EligibilityServer, follower: Follower
) -> None:
    """Shows that the snapshot's name tells: its server answers from memory and does not know."""
    follower.refresh()
    snapshot_id = publish(server.directory, {5: "publisher.id = 'herald'"})
    wait_for_server(server, snapshot_id)
    flip_a_bit(server.directory.folder(snapshot_id) / "index.atree")
    with pytest.raises(DownloadError, match="hashes"):
        follower.refresh()
    assert ids_of(follower) == [1]


def test_the_same_snapshot_with_another_log_begins_again(
    server: EligibilityServer, follower: Follower
) -> None:
    """Goes back: what had changed beside the snapshot is taken back."""
    changing = Changing(server.directory)
    changing.swap()
    snapshot_id, _ = next(iter(changing.expected))
    changing.change()
    wait_for_server(server, *list(changing.expected)[-1])
    follower.refresh()
    before = set(ids_of(follower))
    now = datetime.now(UTC)
    server.directory.publish(
        Manifest(snapshot_id=snapshot_id, read_at=now, activated_at=now, delta=7, log_id="ab" * 8)
    )
    wait_for_server(server, snapshot_id, 7)
    follower.refresh()
    assert state_of(follower) == (snapshot_id, 7)
    assert set(ids_of(follower)) == next(iter(changing.expected.values())) != before


def test_does_not_go_back_to_what_a_late_server_still_has(
    server: EligibilityServer, follower: Follower
) -> None:
    follower.refresh()
    then = datetime.now(UTC) - timedelta(hours=1)
    snapshot_id = store(server.directory, {9: "publisher.id = 'herald'"})
    late = Manifest(snapshot_id=snapshot_id, read_at=then, activated_at=then)
    server.directory.publish(late)
    wait_for_server(server, snapshot_id)
    with pytest.raises(DownloadError, match="older"):
        follower.refresh()
    assert ids_of(follower) == [1]
    server.directory.publish(
        Manifest(snapshot_id=snapshot_id, read_at=then, activated_at=datetime.now(UTC))
    )
    wait_for(lambda: is_fresh(follower, snapshot_id), follower)
    assert ids_of(follower) == [9]


def is_fresh(follower: Follower, snapshot_id: str) -> bool:
    """Tells whether the follower has it, once the server has seen the manifest."""
    try:
        follower.refresh()
    except DownloadError:
        return False
    return state_of(follower)[0] == snapshot_id


def test_what_is_not_confirmed_for_too_long_is_not_answered(
    server: EligibilityServer, tmp_path: Path
) -> None:
    """Fails closed; None goes on for ever."""
    for limit, answers in ((0.0, False), (None, True)):
        follower = follow(server.port, tmp_path, serve_for_seconds=limit)
        follower.refresh()
        follower.stop()
        if answers:
            assert ids_of(follower) == [1]
        else:
            wait_for(lambda f=follower: (f.status().unconfirmed_seconds or 0) > 0, follower)  # type: ignore[misc]
            with pytest.raises(StaleStateError):
                follower.eligible("herald", {})


def test_one_process_has_a_folder(follower: Follower, tmp_path: Path) -> None:
    follower.refresh()
    with pytest.raises(FolderInUseError):
        follow(1, tmp_path).start()
    follower.stop()
    other = follow(1, tmp_path)
    assert other.start()
    other.stop()


def test_a_key_without_the_scope_is_told_so(server: EligibilityServer, tmp_path: Path) -> None:
    follower = Follower(f"http://127.0.0.1:{server.port}", HERALD_KEY, tmp_path / "followed")
    with pytest.raises(DownloadError, match="403"):
        follower.refresh()
    follower.stop()


def test_the_key_is_not_sent_where_a_redirect_points(
    server: EligibilityServer, tmp_path: Path
) -> None:
    with DamagingProxy(server.port).standing() as elsewhere:
        with DamagingProxy(server.port).standing() as platform:
            platform.redirect_to = elsewhere.url
            follower = Follower(platform.url, SNAPSHOT_KEY, tmp_path / "followed")
            with pytest.raises(DownloadError, match="302"):
                follower.refresh()
            follower.stop()
        assert (len(platform.asked), elsewhere.asked) == (1, [])


def test_follows_addresses_of_http_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="HTTP"):
        Follower(tmp_path.as_uri(), SNAPSHOT_KEY, tmp_path)


def test_a_change_that_cannot_be_kept_is_answered_and_ends_what_was_kept(
    server: EligibilityServer, follower: Follower, tmp_path: Path
) -> None:
    """Ends what was kept: a start without the platform would answer with what it stopped."""
    changing = Changing(server.directory)
    changing.swap()
    wait_for_server(server, *list(changing.expected)[-1])
    follower.refresh()
    (log,) = (tmp_path / "followed").glob("*/changes-*")
    log.unlink()
    log.mkdir()  # nobody can write there
    changing.change()
    state, expected = list(changing.expected.items())[-1]
    wait_for_server(server, *state)
    with pytest.raises(OSError, match="directory"):
        follower.refresh()
    assert set(ids_of(follower)) == expected
    follower.stop()
    again = follow(1, tmp_path)
    assert not again.start()
    again.stop()
