"""The launcher is killed at random moments, again and again; nothing may be left, nothing lost."""

import random
import signal
import time
from pathlib import Path

import pytest

from exchange.launcher.state import RunRecord
from exchange.launcher.valkey import find_free_port
from tests.launcher.test_run import Launched, eventually_gone

ROUNDS = 12
ENDS = (signal.SIGHUP, signal.SIGKILL, signal.SIGTERM)


@pytest.mark.soak
@pytest.mark.faults
def test_survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    moments = random.Random(7)
    # Under nohup the launcher shall ignore the first of them.
    heeded = [number for number in ENDS if signal.getsignal(number) != signal.SIG_IGN]
    for _ in range(ROUNDS):
        launched = Launched(tmp_path, "--port", str(find_free_port()))
        time.sleep(moments.uniform(0.2, 12))
        state = RunRecord(tmp_path).read_live()
        launched.end(moments.choice(heeded))
        assert state is None or eventually_gone(state)
    launched = Launched(tmp_path, "--port", str(find_free_port()))
    launched.read_until("Ctrl-C ends everything")
    state = launched.state()
    assert launched.end(signal.SIGINT) == 0
    assert eventually_gone(state, seconds=0)
    assert not Path(state.run_folder).exists()
