"""Says how far a load is: a bar that moves on a terminal, elsewhere a line for every tenth."""

from __future__ import annotations

from django.core.management.base import OutputWrapper

BAR_WIDTH = 30


class ProgressLines:
    """A `Report` on a command's output."""

    def __init__(self, out: OutputWrapper) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._last: tuple[str, int] | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._is_terminal:
            bar = ("#" * (BAR_WIDTH * done // total)).ljust(BAR_WIDTH)
            end = "\n" if done == total else ""
            self._out.write(f"\r[{bar}] {done:,} of {total:,} {what}", ending=end)
        elif (what, tenth := done * 10 // total) != self._last:
            self._last = (what, tenth)
            self._out.write(f"{done:,} of {total:,} {what}", ending="\n")
        self._out.flush()
