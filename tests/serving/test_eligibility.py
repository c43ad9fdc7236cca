"""The eligibility service in process: what it answers, and how it takes up new snapshots."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

import pytest

from exchange.keys.services import hash_api_key
from exchange.serving.answers import Options, Order, Paths
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KEYS_FILE,
    MANIFEST_FILE,
    SnapshotDirectory,
    hash_key,
)
from exchange.serving.eligibility import EligibilityService, service_for
from exchange.serving.problems import ProblemError
from tests.serving.published import (
    BOTH_KEY,
    EXPIRED_KEY,
    HERALD_KEY,
    REPORTS_KEY,
    publish,
)
from tests.waiting import wait_until


def ask(
    service: EligibilityService,
    visit: dict[str, object],
    publisher: str = "herald",
    at: datetime | None = None,
    **options: Any,
) -> dict[str, Any]:
    return service.answer(publisher, visit, Options(**options), at).document()


def booking_ids(document: dict[str, Any]) -> list[int]:
    return [item["booking_id"] for item in document["eligible"]]


def test_answers_with_what_is_eligible(directory: SnapshotDirectory) -> None:
    snapshot_id = publish(directory, {1: "geo.country = 'USA'", 2: "geo.country = 'DEU'"})
    answer = EligibilityService(directory.root).answer("herald", {"geo": {"country": "USA"}})
    document = json.loads(answer.body)
    assert document.pop("snapshot_age_seconds") < 60
    assert document == {
        "snapshot_id": snapshot_id,
        "delta": 0,
        "eligible": [
            {
                "campaign_id": 10,
                "campaign": "Campaign 1",
                "advertiser": "Globex",
                "booking_id": 1,
                "net_cpm": 1.0,
                "fee_percent": 12.5,
                "path": ["herald", "adnet", "globex"],
            }
        ],
        "count": 1,
        "warnings": [],
    }


def test_best_price_first_and_count_tells_of_all(directory: SnapshotDirectory) -> None:
    publish(directory, dict.fromkeys(range(1, 6), "true"), prices={2: 3.5, 4: 2.5})
    service = EligibilityService(directory.root)
    assert booking_ids(ask(service, {})) == [2, 4, 1, 3, 5]
    limited = ask(service, {}, limit=2)
    assert (booking_ids(limited), limited["count"]) == ([2, 4], 5)


def test_order_by_id_restriction_and_paths_are_the_callers_choice(
    directory: SnapshotDirectory,
) -> None:
    publish(directory, dict.fromkeys(range(1, 6), "true"), prices={2: 3.5, 4: 2.5})
    service = EligibilityService(directory.root)
    assert booking_ids(ask(service, {}, order=Order.CAMPAIGN_ID, limit=3)) == [1, 2, 3]
    some = ask(service, {}, campaigns=[40, 10, 999], limit=1)
    assert (booking_ids(some), some["count"]) == ([4], 2)
    items = ask(service, {}, paths=Paths.NONE)["eligible"]
    assert [item["booking_id"] for item in items] == [2, 4, 1, 3, 5]
    assert not any("path" in item for item in items)
    assert ask(service, {}, campaigns=[])["eligible"] == []


def test_publisher_is_stamped_whatever_the_visit_says(directory: SnapshotDirectory) -> None:
    publish(directory, {1: "publisher.id = 'herald'", 2: "publisher.id = 'tribune'"})
    service = EligibilityService(directory.root)
    assert booking_ids(ask(service, {"publisher.id": "tribune"})) == [1]
    assert booking_ids(ask(service, {"publisher": {"id": "herald"}}, "tribune")) == [2]


def test_time_is_the_servers_whatever_the_visit_says(directory: SnapshotDirectory) -> None:
    publish(directory, {1: "time < '2021-01-01T00:00:00Z'", 2: "time >= '2021-01-01T00:00:00Z'"})
    service = EligibilityService(directory.root)
    assert booking_ids(ask(service, {"time": "2020-06-01T00:00:00Z"})) == [2]
    assert booking_ids(ask(service, {}, at=datetime(2020, 6, 1, tzinfo=UTC))) == [1]


def test_position_is_read_as_one_value(directory: SnapshotDirectory) -> None:
    publish(directory, {1: "geo.location within 5 km of (48.85, 2.35)"})
    service = EligibilityService(directory.root)
    assert booking_ids(ask(service, {"geo": {"location": {"lat": 48.86, "lon": 2.35}}})) == [1]


def test_warns_of_names_and_never_of_values(directory: SnapshotDirectory) -> None:
    publish(directory, {1: "true"})
    visit: dict[str, object] = {"user": {"age": "secret", "shoe": 43}, "geo.country": "USA"}
    answer = EligibilityService(directory.root).answer("herald", visit)
    assert json.loads(answer.body)["warnings"] == [
        {"code": "malformed_attribute", "attribute": "user.age"},
        {"code": "unknown_attribute", "attribute": "user.shoe"},
    ]
    assert b"secret" not in answer.body


def test_without_a_snapshot_it_asks_to_try_again(directory: SnapshotDirectory) -> None:
    service = EligibilityService(directory.root)
    with pytest.raises(ProblemError) as refused:
        service.answer("herald", {})
    assert refused.value.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "Retry-After" in refused.value.headers


def test_key_decides_on_publishers(directory: SnapshotDirectory) -> None:
    service = EligibilityService(directory.root)
    assert service.admit(f"Api-Key {HERALD_KEY}").publishers == {"herald"}
    assert service.admit(f"Api-Key {BOTH_KEY}").publishers == {"herald", "tribune"}


@pytest.mark.parametrize("key", ["", "tl_unknown", EXPIRED_KEY])
def test_unknown_or_expired_key_is_refused(directory: SnapshotDirectory, key: str) -> None:
    with pytest.raises(ProblemError) as refused:
        EligibilityService(directory.root).admit(f"Api-Key {key}")
    assert refused.value.status == HTTPStatus.UNAUTHORIZED


def test_a_key_without_the_scope_is_refused(directory: SnapshotDirectory) -> None:
    service = EligibilityService(directory.root)
    with pytest.raises(ProblemError) as refused:
        service.admit(f"Api-Key {REPORTS_KEY}")
    assert (refused.value.status, refused.value.code) == (HTTPStatus.FORBIDDEN, "scope_missing")
    assert service.admit(f"Api-Key {REPORTS_KEY}", "reports:read").publishers == frozenset()


def test_keys_are_hashed_as_accounts_hashes_them() -> None:
    assert hash_key(HERALD_KEY) == hash_api_key(HERALD_KEY)


def test_refresh_takes_up_a_new_snapshot_and_new_keys(directory: SnapshotDirectory) -> None:
    publish(directory, {1: "true"})
    service = EligibilityService(directory.root)
    second = publish(directory, {2: "true"})
    directory.write_keys({})
    assert booking_ids(ask(service, {})) == [1]
    assert service.refresh()
    assert ask(service, {})["snapshot_id"] == second
    with pytest.raises(ProblemError):
        service.admit(f"Api-Key {HERALD_KEY}")
    assert not service.refresh()


def test_same_snapshot_activated_again_is_younger(directory: SnapshotDirectory) -> None:
    snapshot_id = publish(directory, {1: "true"})
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=hour_ago)
    service = EligibilityService(directory.root)
    assert ask(service, {})["snapshot_age_seconds"] >= 3600
    directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))
    service.refresh()
    assert ask(service, {})["snapshot_age_seconds"] < 60


def truncate_index(directory: SnapshotDirectory) -> None:
    manifest = directory.read_manifest()
    assert manifest is not None
    index = directory.folder(manifest.snapshot_id) / INDEX_FILE
    index.write_bytes(index.read_bytes()[:-1])


def flip_bit_of_bookings(directory: SnapshotDirectory) -> None:
    """Flips a bit in the middle of the fragments, where no structure of the file would tell."""
    manifest = directory.read_manifest()
    assert manifest is not None
    bookings = directory.folder(manifest.snapshot_id) / BOOKINGS_FILE
    content = bytearray(bookings.read_bytes())
    content[content.index(b"Globex")] ^= 1
    bookings.write_bytes(content)


def damage_manifest(directory: SnapshotDirectory) -> None:
    (directory.root / MANIFEST_FILE).write_text("{")


def remove_manifest(directory: SnapshotDirectory) -> None:
    (directory.root / MANIFEST_FILE).unlink()


@pytest.mark.parametrize(
    "damage", [truncate_index, flip_bit_of_bookings, damage_manifest, remove_manifest]
)
def test_damaged_directory_leaves_the_old_snapshot_in_service(
    directory: SnapshotDirectory, damage: Callable[[SnapshotDirectory], None]
) -> None:
    publish(directory, {1: "true"})
    service = EligibilityService(directory.root)
    publish(directory, {2: "true"})
    damage(directory)
    service.refresh()
    assert booking_ids(ask(service, {})) == [1]
    publish(directory, {3: "true"})
    service.refresh()
    assert booking_ids(ask(service, {})) == [3]


def test_damaged_keys_leave_the_old_keys_in_service(directory: SnapshotDirectory) -> None:
    service = EligibilityService(directory.root)
    (directory.root / KEYS_FILE).write_text("[]")
    service.refresh()
    assert service.admit(f"Api-Key {HERALD_KEY}").publishers == {"herald"}


def test_watching_service_follows_the_directory(directory: SnapshotDirectory) -> None:
    service = service_for(directory.root)
    assert service is service_for(directory.root)
    snapshot_id = publish(directory, {1: "true"})
    wait_until(lambda: service.live is not None)
    assert ask(service, {})["snapshot_id"] == snapshot_id


def test_no_answer_mixes_two_snapshots(directory: SnapshotDirectory) -> None:
    """Alternates odd and even bookings; an answer must hold one kind, as its snapshot says."""
    sets = [dict.fromkeys(range(parity, 200, 2), "true") for parity in (1, 2)]
    ids = [publish(directory, expressions) for expressions in sets]
    service = EligibilityService(directory.root)
    wrong: list[str] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            document = ask(service, {})
            expected = sorted(sets[ids.index(document["snapshot_id"])])
            if sorted(booking_ids(document)) != expected:
                wrong.append(document["snapshot_id"])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        directory.write_manifest(snapshot_id=ids[turn % 2], read_at=datetime.now(UTC))
        service.refresh()
    is_over.set()
    for reader in readers:
        reader.join()
    assert not wrong
