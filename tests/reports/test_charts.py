from datetime import date, timedelta
from itertools import pairwise

import pytest

from exchange.reports.charts import draw_chart, nice_step, short_number
from exchange.reports.queries import DayTally

DAY = date(2026, 11, 1)


def tallies(*numbers: tuple[int, int | None]) -> list[DayTally]:
    return [
        DayTally(eligible, visits, DAY + timedelta(days=place))
        for place, (eligible, visits) in enumerate(numbers)
    ]


@pytest.mark.parametrize(
    ("least", "step"), [(0, 1), (0.3, 1), (1.2, 2), (2.1, 5), (7, 10), (11, 20), (4200, 5000)]
)
def test_steps_are_round_numbers(least: float, step: int) -> None:
    assert nice_step(least) == step


def test_the_highest_bar_stays_below_the_top_tick() -> None:
    chart = draw_chart(tallies((30, 100), (45, 150)), width=400, has_shade=False)
    assert [tick.label for tick in chart.y_ticks] == ["0", "10", "20", "30", "40", "50"]
    assert min(bar.y for bar in chart.bars) > chart.top
    assert chart.bars[1].height == pytest.approx(chart.bars[0].height * 1.5, abs=0.2)


def test_all_visits_stand_behind_the_eligible_ones() -> None:
    chart = draw_chart(tallies((30, 100)), width=400, has_shade=True)
    (bar,) = chart.bars
    assert bar.shade_height == pytest.approx(bar.height / 0.3, abs=0.3)
    assert bar.title == "Sun 2026-11-01: 30 eligible of 100 visits (30.0 %)"


def test_a_day_without_a_report_is_not_drawn_as_zero() -> None:
    chart = draw_chart(tallies((0, None), (0, 5)), width=400, has_shade=False)
    assert [bar.is_reported for bar in chart.bars] == [False, True]
    assert chart.bars[0].title == "Sun 2026-11-01: no report yet"


def test_labels_never_overlap_and_the_newest_day_always_has_one() -> None:
    chart = draw_chart(tallies(*[(1, 1)] * 60), width=350, has_shade=False)
    places = [tick.at for tick in chart.x_ticks]
    assert all(after - before >= 50 for before, after in pairwise(places))
    assert chart.x_ticks[-1].label == "Dec 30"


def test_nothing_at_all_still_has_axes() -> None:
    chart = draw_chart([], width=400, has_shade=False)
    assert [tick.label for tick in chart.y_ticks] == ["0", "1"]


def test_large_numbers_are_short() -> None:
    assert [short_number(n) for n in (950, 1500, 2_000_000)] == ["950", "1.5 k", "2 M"]
