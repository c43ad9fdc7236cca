"""Snapshots swapped and deltas applied all the time, while ad servers ask: nothing fails, and no
answer mixes two states."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

import pytest

from exchange.serving.deltas import Delta, DeltaEntry, DeltaLogFolder
from exchange.serving.directory import Manifest, SnapshotDirectory
from tests.serving.asking import Client, Reply
from tests.serving.conftest import EligibilityServer
from tests.serving.published import publish, row, store
from tests.serving.readers import Readers
from tests.waiting import PATIENCE_SECONDS, wait_until

BOOKINGS = 60
DELTAS = 6
State = tuple[str, int]


class Changing:
    """Makes states one after the other; what each must answer is known before it is published."""

    def __init__(self, directory: SnapshotDirectory) -> None:
        self._directory = directory
        self._turn = 0
        self.number = 0
        self.expected: dict[State, set[int]] = {}

    def swap(self) -> None:
        self._turn += 1
        self._ids = set(range(self._turn * 1000, self._turn * 1000 + BOOKINGS))
        self._snapshot_id = store(self._directory, dict.fromkeys(self._ids, "true"))
        self._log_id = secrets.token_hex(8)
        self.expected[self._snapshot_id, self.number] = set(self._ids)
        now = datetime.now(UTC)
        self._directory.publish(
            Manifest(
                snapshot_id=self._snapshot_id,
                read_at=now,
                activated_at=now,
                delta=self.number,
                log_id=self._log_id,
            )
        )

    def change(self) -> None:
        """Ends one booking, adds another, and keeps a third under a new text."""
        self.number += 1
        gone, kept = sorted(self._ids)[:2]
        added = max(self._ids) + 1
        self._ids = (self._ids - {gone}) | {added}
        self.expected[self._snapshot_id, self.number] = set(self._ids)
        entries = [DeltaEntry(row(key), "time >= '2020-01-01T00:00:00Z'") for key in (kept, added)]
        DeltaLogFolder(self._directory, self._log_id).write(
            Delta(
                log_id=self._log_id,
                number=self.number,
                position="",
                read_at=datetime.now(UTC),
                entries=tuple(entries),
                dead=(gone, kept),
            )
        )

    def is_right(self, reply: Reply) -> bool:
        document = reply.document()
        state = (document["snapshot_id"], document["delta"])
        return set(reply.booking_ids()) == self.expected.get(state)


def swap_under_load(server: EligibilityServer, *, snapshots: int, states: int) -> Readers:
    """Swaps until the readers have seen so many."""
    changing = Changing(server.directory)
    changing.swap()
    client = Client(server.port)

    def is_up_to_date() -> bool:
        reply = client.ask({})
        return reply.status == 200 and changing.is_right(reply)

    wait_until(is_up_to_date, why=lambda: server.running.last_lines(40), look_every=0.02)
    client.close()
    readers = Readers(server.port, changing.is_right)
    with readers.reading():
        until = time.monotonic() + 10 * PATIENCE_SECONDS
        while not readers.wrong and not readers.have_seen(snapshots=snapshots, states=states):
            assert time.monotonic() < until, readers.states
            changing.swap()
            for _ in range(DELTAS):
                time.sleep(0.12)
                changing.change()
            time.sleep(0.4)
    return readers


def test_swaps_and_deltas_fail_no_request_and_mix_no_states(
    eligibility_server: EligibilityServer,
) -> None:
    assert not swap_under_load(eligibility_server, snapshots=4, states=8).wrong


@pytest.mark.soak
@pytest.mark.faults
def test_a_minute_of_swaps_and_deltas(eligibility_server: EligibilityServer) -> None:
    assert not swap_under_load(eligibility_server, snapshots=40, states=100).wrong


def test_a_manifest_that_comes_again_changes_nothing(
    eligibility_server: EligibilityServer, client: Client
) -> None:
    """Readers keep their snapshot while the same one is published over and over."""
    snapshot_id = publish(eligibility_server.directory, {1: "true"})
    eligibility_server.wait_for(snapshot_id, client)
    readers = Readers(eligibility_server.port, lambda reply: reply.booking_ids() == [1], count=1)
    with readers.reading():
        for _ in range(10):
            publish(eligibility_server.directory, {1: "true"})
            time.sleep(0.05)
    assert not readers.wrong
    assert set(readers.states) == {(snapshot_id, 0)}
