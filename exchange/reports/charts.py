"""Lays out the chart of eligible visits per day; the template turns it into SVG.

Pure geometry in SVG units. A chart is drawn for one width, so that its text is readable at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from exchange.reports.queries import DayTally

HEIGHT = 260
TOP, RIGHT, BOTTOM, LEFT = 12, 16, 28, 48
LABEL_WIDTH = 52
BAR_SHARE = 0.72
Y_STEPS = 5


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One day: its slot takes the pointer, the bar shows eligible visits, the shade all visits."""

    slot_x: float
    slot_width: float
    x: float
    width: float
    y: float
    height: float
    shade_y: float
    shade_height: float
    title: str
    is_reported: bool


@dataclass(frozen=True, slots=True)
class Chart:
    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    bars: list[Bar]
    y_ticks: list[Tick]
    x_ticks: list[Tick]
    has_shade: bool


def draw_chart(days: Sequence[DayTally], *, width: int, has_shade: bool) -> Chart:
    """Draws a chart. `has_shade`: show all visits behind the eligible ones; only right for a single
    campaign."""
    highest = max((peak(day, has_shade) for day in days), default=0)
    step = nice_step(highest / Y_STEPS)
    ceiling = step * max(1, ceil(highest / step))
    slot = (width - LEFT - RIGHT) / max(1, len(days))
    bars = [
        draw_bar(day, LEFT + slot * place, slot, ceiling, has_shade)
        for place, day in enumerate(days)
    ]
    return Chart(
        width=width,
        height=HEIGHT,
        left=LEFT,
        right=width - RIGHT,
        top=TOP,
        bottom=HEIGHT - BOTTOM,
        bars=bars,
        y_ticks=[
            Tick(level(value, ceiling), short_number(value))
            for value in range(0, ceiling + 1, step)
        ],
        x_ticks=day_ticks(days, slot),
        has_shade=has_shade,
    )


def peak(day: DayTally, has_shade: bool) -> int:
    return max(day.eligible, (day.visits or 0) if has_shade else 0)


def nice_step(least: float) -> int:
    """Finds the smallest of 1, 2, 5, 10, 20, 50, .. that is not below `least`."""
    if least <= 1:
        return 1
    power = 10 ** floor(log10(least))
    return int(next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least))


def level(value: float, ceiling: int) -> float:
    """Finds where a value lies, from the bottom of the chart upwards."""
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / ceiling, 1)


def draw_bar(day: DayTally, x: float, slot: float, ceiling: int, has_shade: bool) -> Bar:
    bottom = HEIGHT - BOTTOM
    top = level(day.eligible, ceiling)
    shade = level(day.visits or 0, ceiling) if has_shade else bottom
    width = slot * BAR_SHARE
    return Bar(
        slot_x=round(x, 1),
        slot_width=round(slot, 1),
        x=round(x + (slot - width) / 2, 1),
        width=round(width, 1),
        y=top,
        height=round(bottom - top, 1),
        shade_y=shade,
        shade_height=round(bottom - shade, 1),
        title=describe_day(day, has_shade),
        is_reported=day.visits is not None,
    )


def describe_day(day: DayTally, has_shade: bool) -> str:
    said = f"{day.day:%a} {day.day}: "
    if day.visits is None:
        return said + "no report yet"
    said += f"{day.eligible:,} eligible"
    if has_shade:
        return said + f" of {day.visits:,} visits ({day.percent or 0:.1f} %)"
    return said + f", {day.visits:,} visits"


def day_ticks(days: Sequence[DayTally], slot: float) -> list[Tick]:
    """Marks as many days as their labels have room, counted back from the newest."""
    every = max(1, ceil(LABEL_WIDTH / slot))
    last = len(days) - 1
    return [
        Tick(round(LEFT + slot * (place + 0.5), 1), f"{day.day:%b} {day.day.day}")
        for place, day in enumerate(days)
        if (last - place) % every == 0
    ]


def short_number(value: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return str(value)
