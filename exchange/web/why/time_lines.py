"""Draws the time line of a booking: a bar for each day, a mark for each change.

Widths are in percent and heights in pixels, so it fits any window and no text is stretched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exchange.reading.time_line import Day, Mark, TimeLine
from exchange.reports.charts import nice_step, short_number

TOP, HIGH = 26, 112
LEAST_HIGH = 2  # a day without a visit is a line, not a gap
STEPS = 4
BAR_SHARE = 0.72
MARKS_APART = 2.4  # percent; nearer ones would cover each other
SHAPES = {"campaign": "square", "booking": "square", "edge": "circle"}


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    width: float
    y: float
    height: float
    title: str
    css: str


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str
    is_minor: bool = False


@dataclass(frozen=True, slots=True)
class DrawnMark:
    mark: Mark
    x: float
    shape: str


@dataclass(frozen=True, slots=True)
class Drawing:
    bars: list[Bar]
    levels: list[Tick]
    days: list[Tick]
    marks: list[DrawnMark]
    bottom: int = TOP + HIGH


def draw_time_line(line: TimeLine) -> Drawing:
    step = 100 / len(line.days)
    most = max((day.eligible or 0 for day in line.days), default=0)
    rise = nice_step(most / STEPS)
    ceiling = rise * max(1, -(-most // rise))
    return Drawing(
        bars=[
            draw_bar(day, number * step, step, ceiling)
            for number, day in enumerate(line.days)
            if day.eligible is not None
        ],
        levels=[
            Tick(level(value, ceiling), short_number(value))
            for value in range(0, ceiling + 1, rise)
        ],
        days=draw_days(line.days, step),
        marks=list(draw_marks(line, step)),
    )


def draw_bar(day: Day, x: float, step: float, ceiling: int) -> Bar:
    eligible = day.eligible or 0
    high = max(HIGH * eligible / ceiling, LEAST_HIGH)
    return Bar(
        x=round(x + step * (1 - BAR_SHARE) / 2, 2),
        width=round(step * BAR_SHARE, 2),
        y=round(TOP + HIGH - high, 1),
        height=round(high, 1),
        title=f"{day.day:%a %-d %b}: {eligible:,} eligible of {day.visits or 0:,} visits",
        css="day" if eligible else "day none",
    )


def level(value: float, ceiling: int) -> float:
    return round(TOP + HIGH - HIGH * value / ceiling, 1)


def draw_days(days: Sequence[Day], step: float) -> list[Tick]:
    """Mondays; every second one is left out where the window is narrow."""
    return [
        Tick(
            round((number + 0.5) * step, 2),
            f"{day.day:%-d %b}",
            is_minor=bool(day.day.isocalendar().week % 2),
        )
        for number, day in enumerate(days)
        if day.day.weekday() == 0
    ]


def draw_marks(line: TimeLine, step: float) -> Sequence[DrawnMark]:
    """Draws each mark where its moment is, or just behind the one before."""
    found: list[DrawnMark] = []
    first = line.days[0].day
    for mark in line.marks:
        days = (mark.at.date() - first).days + mark.at.hour / 24
        x = min(days * step, 100.0)
        if found and x - found[-1].x < MARKS_APART:
            x = found[-1].x + MARKS_APART
        found.append(DrawnMark(mark, round(x, 2), SHAPES.get(mark.kind, "diamond")))
    return found
