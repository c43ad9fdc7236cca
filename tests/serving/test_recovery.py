"""A server that cannot load what is live: it answers from the newest whole state that is left,
without anything that was stopped since, says so, and asks for a build."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import pytest

from exchange.serving import following
from exchange.serving.directory import KEYS_FILE, SnapshotDirectory
from exchange.serving.downloads import SnapshotDownloads
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.instruments import FAILED_SWAPS, RECOVERED
from exchange.serving.live import Opened
from exchange.serving.problems import ProblemError
from exchange.serving.recovery import REQUEST_FILE, read_build_request
from matcher_ext.serving import PREFIX
from tests.serving.calling import call, post
from tests.serving.history import (
    SNAPSHOT_DAMAGES,
    Damage,
    History,
    damage_manifest,
    damage_stops,
    flip_a_bit,
    remove_manifest,
    remove_stops,
    truncate,
)
from tests.serving.published import HERALD_KEY, SNAPSHOT_KEY, publish_keys

WARNING = {"code": "recovered_state", "attribute": ""}


@pytest.fixture
def history(directory: SnapshotDirectory) -> History:
    return History(directory)


def ask(service: EligibilityService, visit: dict[str, object] | None = None) -> list[int]:
    document = service.answer("herald", visit or {}).document()
    return sorted(item["booking_id"] for item in document["eligible"])


def is_down(service: EligibilityService) -> bool:
    try:
        service.answer("herald", {})
    except ProblemError as problem:
        return problem.status is HTTPStatus.SERVICE_UNAVAILABLE
    return False


@pytest.mark.parametrize("damage", SNAPSHOT_DAMAGES.values(), ids=SNAPSHOT_DAMAGES)
def test_an_older_snapshot_is_served_without_what_ended_since(
    history: History, damage: Damage
) -> None:
    older = history.build(dict.fromkeys(range(1, 7), "true"))
    history.change(ended=(1,))
    history.build(dict.fromkeys((3, 4, 5, 6), "true"))  # 2 ended with this build
    history.change(ended=(3,), changed={4: "geo.country = 'USA'"})
    damage(history.directory)
    service = EligibilityService(history.directory.root)
    document = service.answer("herald", {}).document()
    assert [item["booking_id"] for item in document["eligible"]] == [5, 6]
    assert document["snapshot_id"] == older
    assert document["warnings"] == [WARNING]
    assert service.recovery


def test_a_damaged_record_leaves_the_records_before_it(history: History) -> None:
    history.build(dict.fromkeys((1, 2, 3, 4), "true"))
    history.change(changed={5: "true"})
    history.change(ended=(2,))
    history.change(changed={3: "geo.country = 'USA'"})
    flip_a_bit(history.log.path(history.number - 1))
    service = EligibilityService(history.directory.root)
    assert ask(service) == [1, 4, 5]
    assert service.live is not None
    assert service.live.delta == history.number - 2


@pytest.mark.parametrize(
    "lose",
    [
        lambda log: log.path(log.last_number() - 1).unlink(),
        lambda log: log.path(log.last_number()).unlink(),
        lambda log: shutil.rmtree(log.folder),
        lambda log: truncate(log.path(log.last_number())),
    ],
    ids=["one between", "the last", "all", "half of the last"],
)
def test_missing_records_are_noticed(history: History, lose: Callable[[Any], None]) -> None:
    history.build(dict.fromkeys((1, 2, 3, 4), "true"))
    history.change(ended=(1,))
    history.change(ended=(2,))
    history.change(ended=(3,))
    lose(history.log)
    service = EligibilityService(history.directory.root)
    assert ask(service) == [4]
    assert service.recovery


def test_an_edge_is_as_open_as_it_is_now(history: History) -> None:
    """Tries edges that were closed since, closed and opened again, narrowed, and one that the older
    state cannot read."""
    texts = {key: f"@edge.{key}" for key in (1, 2, 3, 4)}
    history.build(texts, edges=dict.fromkeys((1, 2, 3, 4), "true"))
    history.change(edges={1: "false", 2: "false"})
    history.build(texts, edges={1: "false", 2: "false", 3: "true", 4: "true"})
    history.change(edges={2: "true", 3: "geo.country = 'USA'", 4: "shoe_size = 43"})
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    service = EligibilityService(history.directory.root)
    assert ask(service) == [2]
    assert ask(service, {"geo.country": "USA"}) == [2, 3]


@pytest.mark.parametrize("spoil", [damage_stops, remove_stops])
def test_without_what_was_stopped_nothing_is_served(history: History, spoil: Damage) -> None:
    history.build({1: "true"})
    history.build({2: "true"})
    spoil(history.directory)
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    service = EligibilityService(history.directory.root)
    assert is_down(service)
    assert service.recovery


def test_a_snapshot_that_the_stops_do_not_name_is_never_gone_back_to(history: History) -> None:
    history.build({1: "true"})
    history.store({7: "true"}, {})
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    assert is_down(EligibilityService(history.directory.root))


@pytest.mark.parametrize("damage", [damage_manifest, remove_manifest])
def test_a_lost_manifest_costs_nothing_but_a_warning(history: History, damage: Damage) -> None:
    snapshot_id = history.build({1: "true", 2: "true"})
    history.change(ended=(1,), changed={3: "true"})
    damage(history.directory)
    service = EligibilityService(history.directory.root)
    document = service.answer("herald", {}).document()
    assert sorted(item["booking_id"] for item in document["eligible"]) == [2, 3]
    assert (document["snapshot_id"], document["delta"]) == (snapshot_id, history.number)
    assert document["warnings"] == [WARNING]


def test_what_is_stopped_while_recovered_is_stopped(history: History) -> None:
    history.build(dict.fromkeys((1, 2, 3), "true"))
    history.build(dict.fromkeys((1, 2, 3, 4), "true"))
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    service = EligibilityService(history.directory.root)
    assert ask(service) == [1, 2, 3]
    history.change(ended=(2,))
    assert service.refresh()
    assert ask(service) == [1, 3]
    history.change(ended=(3,))
    service.refresh()
    assert ask(service) == [1]


def test_a_running_server_that_cannot_follow_stops_what_is_stopped(history: History) -> None:
    history.build(dict.fromkeys((1, 2, 3), "true"))
    service = EligibilityService(history.directory.root)
    history.change(ended=(1,))
    flip_a_bit(history.log.path(history.number))
    service.refresh()
    assert ask(service) == [2, 3]
    assert service.recovery
    history.build(dict.fromkeys((3, 4), "true"))
    flip_a_bit(history.directory.folder(history.manifest.snapshot_id) / "index.atree")
    service.refresh()
    assert ask(service) == [3]


def test_the_next_build_ends_it(history: History) -> None:
    history.build({1: "true"})
    history.build({1: "true", 2: "true"})
    SNAPSHOT_DAMAGES["index truncated"](history.directory)
    service = EligibilityService(history.directory.root)
    assert ask(service) == [1]
    assert RECOVERED._value.get() == 1
    service.refresh()
    request = read_build_request(history.directory)
    assert request is not None
    assert request.snapshot_id == history.manifest.snapshot_id
    assert str(history.directory.root) not in request.reason
    history.build({3: "true"})
    service.refresh()
    document = service.answer("herald", {}).document()
    assert [item["booking_id"] for item in document["eligible"]] == [3]
    assert document["warnings"] == []
    assert service.recovery is None
    assert RECOVERED._value.get() == 0
    assert not (history.directory.root / REQUEST_FILE).exists()


def test_every_kind_of_answer_says_so(history: History) -> None:
    history.build({1: "true"})
    history.build({1: "true", 2: "true"})
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    service = EligibilityService(history.directory.root)
    endpoint = EligibilityEndpoint(service)
    for _ in range(3):  # the first by the general way, the others at the desk
        assert post(endpoint, {"visit": {}}).document()["warnings"] == [WARNING]
    malformed = {"code": "malformed_attribute", "attribute": "user.age"}
    bad = post(endpoint, {"visit": {"user.age": "old"}}).document()
    assert bad["warnings"] == [WARNING, malformed]
    other = post(endpoint, {"visit": {}, "order": "id"}).document()
    assert other["warnings"] == [WARNING]
    body = {"bid_request": {"id": "1", "imp": [{"id": "a"}], "site": {"domain": "x.example"}}}
    (imp,) = post(endpoint, body).document()["imps"]
    assert imp["warnings"][0] == WARNING
    batch = json.dumps({"requests": [{"visit": {}}, {"visit": {"user.age": "old"}}]}).encode()
    answers = call(endpoint.batch, batch).document()["answers"]
    assert [answer["warnings"][0] for answer in answers] == [WARNING, WARNING]


def test_nobody_downloads_a_state_that_lacks_its_stops(history: History) -> None:
    history.build({1: "true"})
    history.build({2: "true"})
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    service = EligibilityService(history.directory.root)
    downloads = SnapshotDownloads(service, history.directory.root)
    reply = call(downloads, b"", method="GET", path=f"{PREFIX}live", key=SNAPSHOT_KEY)
    assert (reply.status, reply.document()["code"]) == (503, "recovered_state")


def test_a_damaged_directory_is_not_read_over_and_over(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.build({1: "true"})
    history.build({2: "true", 1: "true"})
    SNAPSHOT_DAMAGES["index truncated"](history.directory)
    service = EligibilityService(history.directory.root)
    service.refresh()  # the second try, in case something was just on its way
    tried = FAILED_SWAPS._value.get()
    with monkeypatch.context() as patch:
        patch.delattr(Opened, "open")
        for _ in range(20):
            service.refresh()
    assert FAILED_SWAPS._value.get() == tried
    monkeypatch.setattr(following, "RETRY_SECONDS", 0.0)
    time.sleep(0.001)
    service.refresh()
    assert FAILED_SWAPS._value.get() == tried + 1
    assert ask(service) == [1]


def test_a_folder_that_is_put_back_is_taken_up(history: History) -> None:
    history.build({1: "true"})
    live = history.directory.folder(history.build({1: "true", 2: "true"}))
    aside = live.with_name("aside")
    live.rename(aside)
    service = EligibilityService(history.directory.root)
    assert ask(service) == [1]
    aside.rename(live)
    service.refresh()
    assert ask(service) == [1, 2]
    assert service.recovery is None


def test_after_going_back_nothing_newer_is_taken(history: History) -> None:
    """Shows that nobody is led back to what somebody fled from."""
    first = history.build({1: "true", 2: "true"})
    history.change(ended=(2,))
    history.build({1: "true", 3: "true"})
    history.go_back(first)
    assert ask(EligibilityService(history.directory.root)) == [1, 2], "as it was built"
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    assert is_down(EligibilityService(history.directory.root))


@pytest.mark.parametrize("text", ["", "{", None], ids=["emptied", "damaged", "removed"])
def test_lost_keys_let_nobody_in_and_revoke_nobody(
    directory: SnapshotDirectory, text: str | None
) -> None:
    running = EligibilityService(directory.root)
    if text is None:
        (directory.root / KEYS_FILE).unlink()
    else:
        (directory.root / KEYS_FILE).write_text(text)
    restarted = EligibilityService(directory.root)
    with pytest.raises(ProblemError) as refused:
        restarted.admit(f"Api-Key {HERALD_KEY}")
    assert (refused.value.status, refused.value.code) == (HTTPStatus.SERVICE_UNAVAILABLE, "no_keys")
    running.refresh()
    assert running.admit(f"Api-Key {HERALD_KEY}").publishers == {"herald"}
    publish_keys(directory)
    restarted.refresh()
    assert restarted.admit(f"Api-Key {HERALD_KEY}").publishers == {"herald"}
