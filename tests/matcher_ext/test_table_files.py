"""Mutated files of visits are refused, or answer: they never harm the process."""

from __future__ import annotations

import random
from pathlib import Path

from matcher_ext import SnapshotError, VisitTable
from matcher_ext.tables.visit_table import seal_table
from tests.matcher_ext.test_batch import freeze
from tests.matcher_ext.test_visit_table import MANY_TEXTS, draw_many, prepare

NUMBERS = (0, 1, 255, 2**16 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)


def test_a_mutated_file_is_refused_or_answers(tmp_path: Path) -> None:
    chosen = random.Random(20)
    prepare(draw_many(120), groups=("country",)).save(tmp_path / "day.visits")
    content = (tmp_path / "day.visits").read_bytes()
    snapshot = freeze(list(MANY_TEXTS))
    refused = 0
    for _ in range(600):
        mutated = bytearray(content)
        for _ in range(chosen.randrange(1, 3)):
            width = chosen.choice((1, 2, 4, 8))
            # Headers, columns and blocks lie in front, parts behind them.
            end = chosen.choice((300, 3000, len(content)))
            at = chosen.randrange(0, end) // width * width
            value = chosen.choice(NUMBERS) % 256**width
            mutated[at : at + width] = value.to_bytes(width, "little")
        seal_table(mutated)
        path = tmp_path / "mutated.visits"
        path.write_bytes(mutated)
        try:
            table = VisitTable.open(path, recheck=True)
        except SnapshotError:
            refused += 1
            continue
        table.count(snapshot, groups=True)
        table.bitmap(MANY_TEXTS[0])
    assert refused > 60
