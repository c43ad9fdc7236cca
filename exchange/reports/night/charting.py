"""Turns an answer into the rows of its chart: which parts, which names, what is said of each."""

from __future__ import annotations

from collections.abc import Sequence

from exchange.reports.night import bars
from exchange.reports.night.asking import COUNTED, Answer, Row, is_below
from exchange.reports.night.shapes import Bars, Column, Kind, NightReport
from exchange.reports.night.wording import Names, write_plain

PICTURE_BARS = 4
COUNT = Column(COUNTED, "Rows", "how many")


def chart_rows(answer: Answer, names: Names) -> list[bars.Row]:
    """Makes none where a table has no chart, or there is nothing to draw."""
    report = answer.question.report
    if report.bars is None:
        return []
    rows = [chart_row(row, report, report.bars, answer, names) for row in answer.bars]
    return [row for row in rows if row.value]


def chart_row(row: Row, report: NightReport, chart: Bars, answer: Answer, names: Names) -> bars.Row:
    labels = [each for each in map(report.column, chart.labels) if each is not None]
    label = names.tell(row, labels)
    parts = [(part, report.column(part.column) or COUNT) for part in chart.parts]
    measures = [
        bars.Measure(amount_of(row, column), part.colour, tell_part(label, column, row))
        for part, column in parts
    ]
    if not measures:
        measures = [bars.Measure(row[COUNTED], "main", tell_part(label, COUNT, row))]
    is_whole = chart.is_summed and not answer.question.is_of_one_campaign
    has_interval = bool(chart.low) and not is_whole
    return bars.Row(
        label,
        measures,
        tell_bar(row, [column for _, column in parts] or [COUNT]),
        row.get(chart.low) if has_interval else None,
        row.get(chart.high) if has_interval else None,
    )


def amount_of(row: Row, column: Column) -> float:
    """Users that are not told are drawn as if there were none."""
    return float(row.get(column.name) or 0)


def tell_bar(row: Row, columns: Sequence[Column]) -> str:
    """Writes the figure beside a bar: its first part, and the whole if there are several."""
    first = tell_value(row, columns[0])
    if len(columns) == 1:
        return first
    whole = sum(amount_of(row, column) for column in columns)
    return f"{first} of {whole:,.0f}"


def tell_value(row: Row, column: Column) -> str:
    if below := is_below(row, column.name):
        return f"< {below}"
    value = row.get(column.name)
    if value is None:
        return ""
    is_whole = isinstance(value, float) and column.kind == Kind.COUNT
    return write_plain(round(value) if is_whole else value, column.kind)


def tell_part(label: str, column: Column, row: Row) -> str:
    return f"{label}: {tell_value(row, column)} {column.label.lower()}"


def legend_of(report: NightReport) -> list[tuple[str, str]]:
    """Lists the colours of a bar with several parts, each with its name."""
    parts = report.bars.parts if report.bars else ()
    found = [(part.colour, report.column(part.column)) for part in parts]
    named = [(colour, column.label) for colour, column in found if column is not None]
    return named if len(named) > 1 else []
