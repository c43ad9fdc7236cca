"""Writes the rows of a question as CSV, streamed, and as a Parquet file: redacted as the page is.

CSV is for spreadsheets: names stand beside numbers, users that are too few read "< 10". Parquet is
for notebooks: the table's own columns and types; such users are null, `users_below` says below
which number they are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from exchange.reports.exports import UTF8_MARK, plain, write_lines
from exchange.reports.night.asking import Question, Row, is_below, list_columns, read_rows
from exchange.reports.night.shapes import Column, Kind
from exchange.reports.night.tables import Night, read_schema
from exchange.reports.night.wording import Names, look_up_names

ROWS_PER_PIECE = 4_000
# Kinds that say a number of ours, and the name of the column that says what it is called.
SPELLED = {
    Kind.CAMPAIGN: "campaign",
    Kind.PUBLISHER: "publisher_name",
    Kind.EDGE: "edge_name",
    Kind.STEP: "step_name",
    Kind.NAMED: "meant",
}


def stream_csv(question: Question, night: Night) -> Iterator[str]:
    columns = list_columns(question.person, question.report, night)
    yield UTF8_MARK + write_lines([list_heads(columns)])
    for batch in read_rows(question, night):
        for first in range(0, batch.num_rows, ROWS_PER_PIECE):
            rows = batch.slice(first, ROWS_PER_PIECE).to_pylist()
            names = look_up_names(rows, columns, question.person)
            yield write_lines([write_row(row, columns, names) for row in rows])


def list_heads(columns: Sequence[Column]) -> list[str]:
    return [head for each in columns for head in (each.name, SPELLED.get(each.kind)) if head]


def write_row(row: Row, columns: Sequence[Column], names: Names) -> list[Any]:
    cells: list[Any] = []
    for column in columns:
        below = is_below(row, column.name)
        cells.append(f"< {below}" if below else as_cell(row.get(column.name)))
        if column.kind in SPELLED:
            cells.append(plain(names.write_cell(row, column).text))
    return cells


def as_cell(value: Any) -> Any:
    if isinstance(value, list):
        return plain(" > ".join(map(str, value)))
    return plain(value) if isinstance(value, str) else value


def write_parquet(question: Question, night: Night) -> IO[bytes]:
    """Writes the rows into a file aside, because the file's end says where everything is; the file
    is gone when it is closed."""
    file = tempfile.TemporaryFile()  # noqa: SIM115, whoever sends it closes it
    schema = find_schema(question, night)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in read_rows(question, night):
            writer.write_batch(batch.cast(schema))
    file.seek(0)
    return file


def find_schema(question: Question, night: Night) -> pa.Schema:
    """Gives the schema that rows come with, also if there are none: the columns that the person
    sees, and what says that users are not told."""
    whole = read_schema(night, question.report.table)
    first = next(read_rows(question, night), None)
    if first is not None:
        return first.schema.remove_metadata()
    names = [each.name for each in list_columns(question.person, question.report, night)]
    return pa.schema([whole.field(name) if whole else (name, pa.null()) for name in names])


def name_file(question: Question, night: Night, ending: str) -> str:
    return f"{question.report.slug}_{night.day}.{ending}"
