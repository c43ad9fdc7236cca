"""Makes sketches of users in the bytes that Spark reads and writes: sets that are estimated, and
merged.

Users are added as texts, whose bytes Spark hashes in the same way. A sketch that Spark made and one
of ours over the same users count them once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy
from numpy.typing import NDArray

Codes = NDArray[numpy.int64]
Kind = Literal["hll", "theta"]


def gather_users(
    ids: Codes, entries: Codes, lists: Sequence[Codes], keys: Mapping[int, int] | None
) -> Iterator[tuple[int, Codes]]:
    """Yields (key, users) of all that have any. An id without a key is left out."""
    found: dict[int, set[int]] = defaultdict(set)
    for entry_id, entry in zip(ids.tolist(), entries.tolist(), strict=True):
        key = entry_id if keys is None else keys.get(entry_id)
        if key is not None and entry >= 0 and len(lists[entry]):
            found[key].add(entry)
    for key, of_key in found.items():
        yield key, numpy.unique(numpy.concatenate([lists[entry] for entry in of_key]))


def make_sketches(
    users: Iterable[tuple[int, Codes]], names: Sequence[str], kind: Kind, lg_k: int
) -> dict[int, bytes]:
    make = {"hll": sketch_hll, "theta": sketch_theta}.get(kind)
    if make is None:
        raise ValueError(f"a sketch is of the kind hll or theta, not {kind}")
    return {key: make([names[code] for code in codes.tolist()], lg_k) for key, codes in users}


def sketch_hll(users: Iterable[str], lg_k: int) -> bytes:
    # The engine goes without it where nobody asks for sketches.
    from datasketches import hll_sketch, tgt_hll_type

    sketch = hll_sketch(lg_k, tgt_hll_type.HLL_8)
    for user in users:
        sketch.update(user)
    return bytes(sketch.serialize_updatable())


def sketch_theta(users: Iterable[str], lg_k: int) -> bytes:
    from datasketches import update_theta_sketch

    sketch = update_theta_sketch(lg_k)
    for user in users:
        sketch.update(user)
    return bytes(sketch.compact().serialize())
