"""Makes the states of the market again that sampled answers were given with, from what was kept.

    ANSWERS/_states/<snapshot_id>/index.atree          the snapshot
    ANSWERS/_states/deltas/<log_id>/<number>.json      a line with a checksum, then what changed

Owns which bookings can be compared: not those with a condition on what the log leaves out
(addresses) or hashes (users).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from matcher_ext import ATree, LiveIndex, Snapshot, VisitTable
from matcher_ext.index import list_predicates
from matcher_ext.index.live import REFERENCE, RouteTable
from pipelines.matching import INDEX_FILE
from targeting.visit_log import PUBLISHER, USER

STATES, DELTAS = "_states", "deltas"
EDGE, REACH = "edge.", "reach."


class DamagedDeltaError(ValueError):
    """A kept record is not what was written."""


@dataclass(slots=True)
class Masked:
    """Finds texts whose truth the log of answers cannot tell."""

    pattern: re.Pattern[str]
    definitions: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Masked:
        names = [row[0] for row in snapshot.catalog_rows if row[1] == "ip" or row[0] == USER]
        either = "|".join(map(re.escape, names)) or "(?!)"
        return cls(re.compile(rf"(?<![\w.])(?:{either})(?![\w.])"))

    def uses(self, text: str) -> bool:
        """Says whether a text, or what it refers to, has a condition on what is masked. A path that
        may be any may lead over every edge."""
        if self.pattern.search(text):
            return True
        names = set(REFERENCE.findall(text))
        is_any = any(name.startswith(REACH) for name in names)
        return bool(names & self.definitions) or (
            is_any and any(name.startswith(EDGE) for name in self.definitions)
        )

    def read(self, snapshot: Snapshot) -> None:
        """Looks through the definitions, if any predicate uses what is masked."""
        if any(map(self.pattern.search, list_predicates(snapshot))):
            for name in snapshot.definition_names():
                if not name.startswith(REACH) and self._is_using(snapshot, name):
                    self.definitions.add(name)

    def _is_using(self, snapshot: Snapshot, name: str) -> bool:
        alone = ATree(snapshot.catalog)
        alone.copy_definition(snapshot, name)
        alone.insert(1, f"@{name}")
        return any(map(self.pattern.search, list_predicates(alone.freeze())))


class AnswerState:
    """A snapshot that changes are laid over, number by number. Not thread-safe."""

    def __init__(self, folder: Path, snapshot_id: str, log_id: str, number: int) -> None:
        snapshot = Snapshot.open(folder / snapshot_id / INDEX_FILE)
        self._log = folder / DELTAS / log_id
        self._number = number
        self._index = LiveIndex(snapshot)
        self._masked = Masked.of(snapshot)
        self._masked.read(snapshot)
        self.left_out = self._find_left_out(snapshot)

    def _find_left_out(self, snapshot: Snapshot) -> set[int]:
        if not any(map(self._masked.pattern.search, list_predicates(snapshot))):
            return set()
        nothing = pa.table({PUBLISHER: pa.array([], pa.string())})
        table = VisitTable.from_arrow(nothing, snapshot.catalog, users=None)
        found = table.sole_blockers(snapshot)
        return {
            booking
            for booking, conditions in found.items()
            if any(self._masked.uses(each.condition) for each in conditions)
        }

    def advance(self, number: int) -> bool:
        """Applies what changed up to a number; says whether all of it was kept."""
        while self._number < number:
            path = self._log / f"{self._number + 1:012}.json"
            if not path.exists():
                return False
            self._apply(read_record(path))
            self._number += 1
        return self._number == number

    def _apply(self, record: Mapping[str, Any]) -> None:
        entries = {each["row"]["booking_id"]: each["text"] for each in record["entries"]}
        routes = record["routes"]
        self._index.apply(
            definitions=record["definitions"].items(),
            dead=record["dead"],
            entries=entries,
            routes=None if routes is None else RouteTable.of(routes),
            lent=record["lent"].items(),
        )
        using = [name for name, text in record["definitions"].items() if self._masked.uses(text)]
        self._masked.definitions.update(using)
        self.left_out.difference_update(record["dead"])
        for booking, text in entries.items():
            (self.left_out.add if self._masked.uses(text) else self.left_out.discard)(booking)

    def match(self, visit: Mapping[str, Any]) -> list[int]:
        return self.compare_by(self._index.match(visit))

    def compare_by(self, bookings: Iterable[int]) -> list[int]:
        """Leaves out what cannot be compared."""
        return sorted(set(bookings) - self.left_out)


def read_record(path: Path) -> dict[str, Any]:
    found, _, content = path.read_bytes().partition(b"\n")
    if found != hashlib.sha256(content).hexdigest().encode():
        raise DamagedDeltaError(f"{path} is damaged: its checksum is wrong")
    record: dict[str, Any] = json.loads(content)
    return record
