"""The workers' own words: JSON lines on standard error, as of all other processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exchange.celery import app
from exchange.launcher.supervisor import WORKERS
from tests.conftest import environment_of_the_tests
from tests.waiting import PATIENCE_SECONDS, wait_until

# Written by the handler of the signal, past all logging.
FAREWELL = "worker: Warm shutdown (MainProcess)"
HAS_SUCCEEDED = re.compile(r"findings\.check_changed\[[^]]*\] succeeded")


@pytest.mark.django_db(transaction=True)
def test_a_worker_writes_nothing_but_json_lines(tmp_path: Path) -> None:
    checks = next(worker for worker in WORKERS if worker.name == "checks")
    program, *arguments = checks.argv()
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as standard_output, err.open("w") as standard_error:
        worker = subprocess.Popen(
            [Path(sys.executable).with_name(program), *arguments],
            env=environment_of_the_tests(),
            stdout=standard_output,
            stderr=standard_error,
        )
    try:
        wait_until(lambda: is_up(worker), why=err.read_text)
        app.send_task("findings.check_changed")
        wait_until(lambda: HAS_SUCCEEDED.search(err.read_text()) is not None, why=err.read_text)
    finally:
        worker.terminate()
        worker.wait(PATIENCE_SECONDS)
    lines = [json.loads(line) for line in err.read_text().splitlines()]
    assert out.read_text().strip() == FAREWELL
    assert {"time", "level", "logger", "message"} <= lines[0].keys()
    said = [line["message"] for line in lines]
    assert any("findings.check_changed" in message and "received" in message for message in said)


def is_up(worker: subprocess.Popen[bytes]) -> bool:
    assert worker.poll() is None
    return bool(app.control.ping(timeout=0.5))
