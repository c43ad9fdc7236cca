"""Servers as processes over a directory that is damaged: they start, answer and say what is wrong,
also when the damage is what killed them."""

from __future__ import annotations

import os
from http.client import HTTPException

import pytest

from exchange.serving.directory import INDEX_FILE, SnapshotDirectory
from exchange.serving.instruments import RECOVERED
from exchange.serving.recovery import REQUEST_FILE
from tests.serving.asking import Client
from tests.serving.conftest import running_server
from tests.serving.history import (
    SNAPSHOT_DAMAGES,
    Damage,
    History,
    damage_manifest,
    flip_a_bit,
    live_folder,
)
from tests.waiting import wait_until

WARNING = {"code": "recovered_state", "attribute": ""}


@pytest.fixture
def history(directory: SnapshotDirectory) -> History:
    """Builds so that 1 is in both snapshots, 2 ended between them, 3 since the second."""
    history = History(directory)
    history.build({1: "true", 2: "true", 3: "true"})
    history.build({1: "true", 3: "true", 4: "true"})
    history.change(ended=(3,))
    return history


def flip_the_record(directory: SnapshotDirectory) -> None:
    history = History(directory)
    flip_a_bit(history.log.path(history.log.last_number()))


DAMAGES: dict[str, Damage] = {
    "folder removed": SNAPSHOT_DAMAGES["folder removed"],
    "bookings truncated": SNAPSHOT_DAMAGES["bookings truncated"],
    "bit of a record": flip_the_record,
    "manifest damaged": damage_manifest,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_server_that_starts_over_damage_answers_until_it_is_mended(
    history: History, damage: Damage
) -> None:
    damage(history.directory)
    with running_server(history.directory) as server:
        client = Client(server.port)
        reply = client.ask({})
        assert reply.status == 200, server.running.last_lines(40)
        assert 1 in reply.booking_ids()
        assert not {2, 3} & set(reply.booking_ids())
        assert reply.document()["warnings"] == [WARNING]
        ready = client.send(None, method="GET", path="/readyz")
        assert (ready.status, ready.document()["status"]) == (200, "degraded")
        assert ready.document()["parts"]["snapshot"] != "ok"
        assert is_counted_as_recovered(client) is True
        wait_until((history.directory.root / REQUEST_FILE).exists)
        if damage is damage_manifest:
            return
        built = history.build({1: "true", 5: "true"})
        manifest = history.directory.read_manifest()
        assert manifest is not None
        server.wait_for(built, client, delta=manifest.delta)
        reply = client.ask({})
        assert sorted(reply.booking_ids()) == [1, 5]
        assert reply.document()["warnings"] == []
        wait_until(lambda: is_said_to_be_ok(client) and not is_counted_as_recovered(client))
        client.close()


def is_said_to_be_ok(client: Client) -> bool:
    ready = client.send(None, method="GET", path="/readyz").document()
    return bool(ready["parts"]["snapshot"] == "ok")


def is_counted_as_recovered(client: Client) -> bool:
    metrics = client.send(None, method="GET", path="/metrics").body.decode()
    (line,) = [line for line in metrics.splitlines() if line.startswith(RECOVERED._name)]
    return float(line.split()[-1]) == 1


def test_a_file_truncated_under_a_server_costs_one_restart(history: History) -> None:
    with running_server(history.directory) as server:
        client = Client(server.port)
        assert sorted(client.ask({}).booking_ids()) == [1, 4]
        os.truncate(live_folder(history.directory) / INDEX_FILE, 0)
        with pytest.raises((OSError, HTTPException)):
            client.ask({})
        client.close()
    with running_server(history.directory) as server:
        client = Client(server.port)
        for _ in range(20):
            reply = client.ask({})
            assert reply.booking_ids() == [1], server.running.last_lines(40)
            assert reply.document()["warnings"] == [WARNING]
        client.close()
