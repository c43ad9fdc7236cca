"""Lays out a chart of lying bars; the template turns it into SVG.

Pure geometry in SVG units. A chart is drawn for one width, so that its text is readable at it; its
name stands above each bar, so that names may be long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ROW_HEIGHT, BAR_HEIGHT, BAR_TOP, BASELINE = 40, 14, 20, 14
LETTER_WIDTH = 7.0  # about, of a small text
VALUE_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Measure:
    """One part of a bar: how much, in which colour, and what is said when it is pointed at."""

    amount: float
    colour: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A bar: its name, its parts, the figure beside it, and an interval if it has one."""

    label: str
    measures: Sequence[Measure]
    value: str
    low: float | None = None
    high: float | None = None

    @property
    def length(self) -> float:
        return max(sum(each.amount for each in self.measures), self.high or 0)


@dataclass(frozen=True, slots=True)
class Piece:
    x: float
    width: float
    colour: str
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    whole_label: str
    value: str
    top: float
    baseline: float
    bar_top: float
    value_x: float
    pieces: list[Piece]
    low_x: float | None
    high_x: float | None
    middle: float


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    bars: list[Bar]


def draw_bars(rows: Sequence[Row], *, width: int) -> Drawing:
    longest = max((row.length for row in rows), default=0) or 1
    scale = (width - VALUE_WIDTH) / longest
    bars = [draw_bar(row, number * ROW_HEIGHT, scale, width) for number, row in enumerate(rows)]
    return Drawing(width, len(rows) * ROW_HEIGHT + 4, bars)


def draw_bar(row: Row, top: float, scale: float, width: int) -> Bar:
    pieces, x = [], 0.0
    for each in row.measures:
        length = each.amount * scale
        if length > 0:
            pieces.append(Piece(round(x, 1), round(max(length, 1), 1), each.colour, each.title))
        x += length
    is_interval = row.low is not None and row.high is not None
    return Bar(
        label=shorten(row.label, int(width / LETTER_WIDTH)),
        whole_label=row.label,
        value=row.value,
        top=top,
        baseline=top + BASELINE,
        bar_top=top + BAR_TOP,
        value_x=round(row.length * scale + 6, 1),
        pieces=pieces,
        low_x=round((row.low or 0) * scale, 1) if is_interval else None,
        high_x=round((row.high or 0) * scale, 1) if is_interval else None,
        middle=top + BAR_TOP + BAR_HEIGHT / 2,
    )


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
