"""Progress on a terminal is one moving line; in a log it is a line for every tenth."""

from __future__ import annotations

from io import StringIO

from django.core.management.base import OutputWrapper

from exchange.demo.progress import ProgressLines


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: StringIO, total: int) -> str:
    report = ProgressLines(OutputWrapper(stream))
    for done in range(1, total + 1):
        report("campaigns", done, total)
    return stream.getvalue()


def test_a_terminal_shows_one_line_that_ends_when_all_is_done() -> None:
    text = shown(Terminal(), 40)
    assert text.count("\n") == 1
    assert text.endswith("[##############################] 40 of 40 campaigns\n")


def test_a_log_gets_a_line_for_every_tenth() -> None:
    lines = shown(StringIO(), 1_000).splitlines()
    assert lines[0] == "1 of 1,000 campaigns"
    assert lines[-1] == "1,000 of 1,000 campaigns"
    assert len(lines) == 11
