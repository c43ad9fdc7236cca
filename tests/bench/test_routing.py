"""The program that measures routing policies prints a column for each, over the same bookings."""

import pytest

from bench import exchange_graph, routing
from bench.exchange_graph import Size


def test_measures_every_policy_and_the_change_of_an_edge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(exchange_graph.SIZES, "tiny", Size(90, 3, (3, 3, 2), 6, 3))
    assert routing.main(["tiny"]) == 0
    printed = capsys.readouterr().out
    assert "| | pinned | cheapest | any | all three | pinned, written out |" in printed
    assert "| bookings | 30 | 30 | 30 | 90 | 30 |" in printed
    assert "| bookings behind the edge | 90 |" in printed
