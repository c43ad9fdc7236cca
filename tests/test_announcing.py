"""A broker that hangs or is away: saves go on, and only the first one waits for it."""

from __future__ import annotations

import logging

import pytest
from django.db import transaction

from exchange.announcing import announce, silent
from exchange.broker import look_at_queues
from exchange.celery import app
from tests.services import hung

BUILDS = "snapshots.build"


@pytest.fixture(autouse=True)
def closed_circuit(services: dict[str, str]) -> None:
    silent.close()


def waiting_builds() -> bool:
    return any(queue.waiting_since for queue in look_at_queues() if queue.name == "builds")


def test_a_message_is_on_its_way() -> None:
    app.control.purge()
    assert announce(BUILDS, [0])
    assert waiting_builds()
    app.control.purge()


@pytest.mark.usefixtures("transactional_db")
def test_saves_go_on_while_the_broker_hangs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holds only with time-outs: without them the first save would wait for ever. Whoever has
    waited says so."""
    monkeypatch.setattr(silent, "_pause_seconds", 600)
    app.send_task(BUILDS, [0])  # a connection is open
    with hung("valkey"), caplog.at_level(logging.WARNING, "exchange.announcing"):
        for _ in range(20):
            with transaction.atomic():
                transaction.on_commit(lambda: announce(BUILDS, [0]), robust=True)
    assert len(caplog.records) == 1
    silent.close()
    app.control.purge()
    assert announce(BUILDS, [0])
    app.control.purge()
