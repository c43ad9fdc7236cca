"""Waits for a state, never for a moment."""

import time
from collections.abc import Callable


def wait_until(
    is_so: Callable[[], bool], *, seconds: float, why: Callable[[], str] = lambda: ""
) -> None:
    """Fails with `why` if it is not so in time."""
    give_up = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < give_up, why() or f"not so after {seconds:.0f} s"
        time.sleep(0.05)
