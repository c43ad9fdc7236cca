"""Waits for a state, never for a moment."""

import time
from collections.abc import Callable

# Far more than anything takes, even on a busy machine: what takes longer hangs.
PATIENCE_SECONDS = 120.0


def wait_until(
    is_so: Callable[[], bool],
    *,
    why: Callable[[], object] = lambda: "",
    seconds: float = PATIENCE_SECONDS,
    look_every: float = 0.05,
) -> None:
    """Waits until it is so; fails with `why` if that takes too long."""
    give_up = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < give_up, why() or f"not so after {seconds:.0f} s"
        time.sleep(look_every)
