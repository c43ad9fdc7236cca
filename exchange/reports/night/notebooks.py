"""Writes code that opens a report in a notebook: the cell that its page shows, and a notebook with
it."""

from __future__ import annotations

from typing import Any

from exchange.reports.night.asking import Question
from exchange.reports.night.downloads import name_file
from exchange.reports.night.tables import Night

FILE_CELL = """import pandas as pd

rows = pd.read_parquet("{file}")
{look}"""
TABLE_CELL = """import os
from datetime import date

from targeting.report_tables import read_table

out = os.environ["TREELINE_REPORT_DIR"]
rows = read_table(out, "{job}", "{table}", date({year}, {month}, {day})).to_pandas()
{look}"""
NOTEBOOK_FORMAT, NOTEBOOK_MINOR = 4, 5


def write_cell(question: Question, night: Night) -> str:
    """Opens what the page's Parquet button saves: its rows, with its filters."""
    return FILE_CELL.format(file=name_file(question, night, "parquet"), look=write_look(question))


def write_table_cell(question: Question, night: Night) -> str:
    """Opens the whole table where it lies, for those who may read the reports' folder."""
    report, day = question.report, night.day
    return TABLE_CELL.format(
        job=report.job,
        table=report.table,
        year=day.year,
        month=day.month,
        day=day.day,
        look=write_look(question),
    )


def write_look(question: Question) -> str:
    """Shows the rows that the page shows first."""
    sort = question.sort or question.report.sort
    if not sort:
        return "rows.head(10)"
    is_ascending = not sort.startswith("-")
    return f'rows.sort_values("{sort.removeprefix("-")}", ascending={is_ascending}).head(10)'


def write_notebook(question: Question, night: Night) -> dict[str, Any]:
    report = question.report
    about = [f"# {report.title}, {night.day}\n", "\n", f"{report.about}\n"]
    columns = [f"- `{each.name}`: {each.meaning}\n" for each in report.columns]
    return {
        "nbformat": NOTEBOOK_FORMAT,
        "nbformat_minor": NOTEBOOK_MINOR,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {
                "id": "about",
                "cell_type": "markdown",
                "metadata": {},
                "source": [*about, "\n", *columns],
            },
            {
                "id": "rows",
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": write_cell(question, night).splitlines(keepends=True),
            },
        ],
    }
