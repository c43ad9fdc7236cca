"""Gives the product's index, the compiled scan and the paper's tree the face of all engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from matcher_ext.engines.paper import PaperTree
from matcher_ext.engines.scan import Scan
from matcher_ext.index.atree import ATree
from matcher_ext.index.snapshot import Snapshot


class FrozenATree:
    """The product's index. It is frozen at the first match after a change."""

    def __init__(self, catalog: Any, **options: Any) -> None:
        self._index = ATree(catalog, **options)
        self._visits = 0

    def __len__(self) -> int:
        return len(self._index)

    def insert(self, entry_id: int, expression: Any) -> None:
        self._index.insert(entry_id, expression)

    def insert_many(self, ids: Iterable[int], expressions: Iterable[Any]) -> None:
        self._index.insert_many(ids, expressions)

    def delete(self, entry_id: int) -> None:
        self._index.delete(entry_id)

    def prepare(self) -> None:
        self._index.freeze()

    def learn_truth_rates(self, visits: Iterable[Mapping[str, Any]]) -> None:
        self._index.learn_truth_rates(visits)

    def match(self, visit: Mapping[str, Any]) -> list[int]:
        self._visits += 1
        return self._index.freeze().match(visit)

    def stats(self) -> dict[str, int]:
        frozen = self._index.freeze().stats()
        sizes = {"nodes": frozen["nodes"], "bytes": frozen["bytes"], "visits": self._visits}
        work = {"tested": frozen["tested"], "visited": frozen["answered"]}
        return {"entries": len(self._index), **work, **sizes}


class FlatScan(FrozenATree):
    """Runs one flat program per expression, one after another: what every benchmark compares to."""

    _scanned: tuple[Snapshot, Scan] | None = None

    def prepare(self) -> None:
        snapshot = self._index.freeze()
        if self._scanned is None or self._scanned[0] is not snapshot:
            self._scanned = snapshot, Scan(snapshot)

    def match(self, visit: Mapping[str, Any]) -> list[int]:
        self.prepare()
        assert self._scanned is not None  # noqa: S101
        self._visits += 1
        return sorted(self._scanned[1].match_ids(visit).tolist())

    def stats(self) -> dict[str, int]:
        self.prepare()
        assert self._scanned is not None  # noqa: S101
        bytes_ = self._scanned[1].program_bytes()
        return {**super().stats(), "bytes": bytes_, "visited": self._visits * len(self)}


class PaperATree(PaperTree):
    """The A-Tree as its paper describes it, with its options to switch on and off."""

    def insert_many(self, ids: Iterable[int], expressions: Iterable[Any]) -> None:
        done: list[int] = []
        try:
            for entry_id, expression in zip(ids, expressions, strict=True):
                self.insert(entry_id, getattr(expression, "text", expression))
                done.append(entry_id)
        except BaseException:
            for entry_id in done:
                self.delete(entry_id)
            raise

    def prepare(self) -> None:
        super().stats()
