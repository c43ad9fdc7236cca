"""Remembers that somebody did not answer, so that those who come next do not wait for it too."""

from __future__ import annotations

import time


class Circuit:
    """Open means: do not ask for a while. Thread-safe: one number, read and replaced whole."""

    def __init__(self, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        return time.monotonic() < self._open_until

    def open(self) -> None:
        self._open_until = time.monotonic() + self._pause_seconds

    def close(self) -> None:
        self._open_until = 0.0
