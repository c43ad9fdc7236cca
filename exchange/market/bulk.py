"""Loads very many rows at once: what Postgres checks and sorts row by row is done at the end.

For a load that owns its tables until its transaction ends: they are locked against everyone else.
Triggers stay: they run once per statement, and without them the rows would have no history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

Report = Callable[[str, int, int], None]

# Two builds of an index at a time share a core each; more memory saves them a merge on disk.
ROOM = """
    SET LOCAL maintenance_work_mem = '512MB';
    SET LOCAL max_parallel_maintenance_workers = 2
"""
FIND_INDEXES = """
    SELECT format('DROP INDEX %%s', indexrelid::regclass), pg_get_indexdef(indexrelid)
    FROM pg_index WHERE indrelid = ANY (%(tables)s::regclass[])
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    ORDER BY indexrelid
"""
FIND_FOREIGN_KEYS = """
    SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
        format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname,
            pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = ANY (%(tables)s::regclass[]) AND contype = 'f'
    ORDER BY oid
"""


@contextmanager
def build_indexes_last(tables: list[str], report: Report) -> Iterator[None]:
    """Takes indexes and foreign keys of the tables away and puts them back, as they were, over all
    rows at once. What breaks a rule is refused then, and the transaction with it."""
    with connection.cursor() as cursor:
        # An event that waits for the transaction's end would stand in the way of the change.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        parts: list[tuple[str, str]] = []
        for find in (FIND_INDEXES, FIND_FOREIGN_KEYS):
            cursor.execute(find, {"tables": tables})
            parts += cursor.fetchall()
        for drop, _ in reversed(parts):
            cursor.execute(drop)
    yield
    with connection.cursor() as cursor:
        cursor.execute(ROOM)
        for number, (_, create) in enumerate(parts, 1):
            cursor.execute(create)
            report("indexes and foreign keys", number, len(parts))
