"""Mutated files of visits are refused, or answer: they never harm the process."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from matcher_ext import SnapshotError, VisitTable
from matcher_ext.tables.visit_table import seal_table
from tests.matcher_ext.test_batch import freeze
from tests.matcher_ext.test_visit_table import MANY_TEXTS, draw_many, prepare

NUMBERS = (0, 1, 255, 2**16 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)


def alter(content: bytes, chosen: random.Random) -> bytearray:
    """Overwrites a number or two."""
    altered = bytearray(content)
    for _ in range(chosen.randrange(1, 3)):
        width = chosen.choice((1, 2, 4, 8))
        # Headers, columns and blocks lie in front, parts behind them.
        end = chosen.choice((300, 3000, len(content)))
        at = chosen.randrange(0, end) // width * width
        value = chosen.choice(NUMBERS) % 256**width
        altered[at : at + width] = value.to_bytes(width, "little")
    return altered


def mutate_tables(folder: Path, *, rounds: int, seed: int) -> int:
    """Opens altered files and asks what opens; returns how many were refused."""
    chosen = random.Random(seed)
    prepare(draw_many(120), groups=("country",), users="country").save(folder / "day.visits")
    content = (folder / "day.visits").read_bytes()
    snapshot = freeze(list(MANY_TEXTS))
    refused = 0
    path = folder / "mutated.visits"
    for _ in range(rounds):
        altered = alter(content, chosen)
        seal_table(altered)
        path.write_bytes(altered)
        try:
            table = VisitTable.open(path, recheck=True)
        except SnapshotError:
            refused += 1
            continue
        table.count(snapshot, groups=True)
        table.users(snapshot)
        dict(table.funnel(snapshot))
        table.bitmap(chosen.choice(MANY_TEXTS))
        ask_visits(table)
    return refused


def ask_visits(table: VisitTable) -> None:
    """Reads rows back; bytes of a text that are no text any more are the reader's to refuse."""
    try:
        for _ in table.visits():
            pass
    except UnicodeDecodeError:
        pass


def test_a_mutated_file_is_refused_or_answers(tmp_path: Path) -> None:
    assert mutate_tables(tmp_path, rounds=400, seed=20) > 40


def test_a_file_that_is_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    prepare(draw_many(40)).save(tmp_path / "day.visits")
    content = (tmp_path / "day.visits").read_bytes()
    path = tmp_path / "short.visits"
    for end in sorted({*range(0, 600, 24), *range(0, len(content), len(content) // 60)}):
        path.write_bytes(content[:end])
        with pytest.raises(SnapshotError):
            VisitTable.open(path, recheck=True)
        short = bytearray(content[:end])
        if end > 400:
            seal_table(short)
            path.write_bytes(short)
            with pytest.raises(SnapshotError):
                VisitTable.open(path, recheck=True)
