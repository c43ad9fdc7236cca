"""A log that is larger than the memory is prepared and asked in pieces."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

# Other allocators take addresses by the gigabyte, which the limit counts.
PLAIN_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
# 60 pieces of some 3 MB each, and what making them takes, within 160 MB.
PROGRAM = """
    import resource, sys
    import numpy as np
    import pyarrow as pa
    from matcher_ext import ATree, VisitTable
    from targeting import Catalog

    def draw(piece):
        rng = np.random.default_rng(piece)
        columns = {f"a{i}": rng.integers(0, 1000, ROWS) for i in range(40)}
        return pa.table(columns | {"publisher.id": ["a", "b"] * (ROWS // 2)})

    ROWS, PIECES, ROOM = 20_000, 60, 160 << 20
    catalog = Catalog.of(**{f"a{i}": "integer" for i in range(40)} | {"publisher.id": "string"})
    index = ATree(catalog)
    index.insert_many([1, 2], ["publisher.id = 'a' and a0 < 500 and a1 < 500", "a2 >= 900"])
    snapshot = index.freeze()
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    found, expected, size = np.zeros(2, np.int64), np.zeros(2, np.int64), 0
    for piece in range(PIECES):
        visits = draw(piece)
        table = VisitTable.from_arrow(visits, catalog)
        size += table.stats()["bytes"]
        found += table.count(snapshot)
        a = {f"a{i}": visits[f"a{i}"].to_numpy() for i in range(3)}
        is_first = np.arange(ROWS) % 2 == 0
        expected += (is_first & (a["a0"] < 500) & (a["a1"] < 500)).sum(), (a["a2"] >= 900).sum()
        del table, visits
    assert found.tolist() == expected.tolist(), (found, expected)
    print(size > ROOM)
"""


def test_visits_that_do_not_fit_the_memory_are_asked_in_pieces() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env=os.environ | PLAIN_MEMORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["True"]
