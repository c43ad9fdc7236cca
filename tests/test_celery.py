"""The workers' own words: JSON lines on standard error, as of all other processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exchange.celery import app
from exchange.launcher.supervisor import WORKERS
from tests.conftest import environment_of_the_tests

# Written by the handler of the signal, past all logging.
FAREWELL = "worker: Warm shutdown (MainProcess)"


@pytest.mark.django_db(transaction=True)
def test_a_worker_writes_nothing_but_json_lines() -> None:
    checks = next(worker for worker in WORKERS if worker.name == "checks")
    program, *arguments = checks.argv()
    worker = subprocess.Popen(
        [Path(sys.executable).with_name(program), *arguments],
        env=environment_of_the_tests(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        give_up = time.monotonic() + 120
        while not app.control.ping(timeout=0.5):
            assert time.monotonic() < give_up
            assert worker.poll() is None
        app.send_task("findings.check_changed")
        time.sleep(3)
    finally:
        worker.terminate()
        out, err = worker.communicate(timeout=60)
    lines = [json.loads(line) for line in err.splitlines()]
    assert out.strip() == FAREWELL
    assert {"time", "level", "logger", "message"} <= lines[0].keys()
    said = [line["message"] for line in lines]
    assert any("findings.check_changed" in message and "received" in message for message in said)
