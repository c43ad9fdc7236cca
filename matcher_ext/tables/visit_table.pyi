from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol

import numpy
from numpy.typing import ArrayLike, NDArray

from matcher_ext.tables.parts import Tabled
from matcher_ext.tables.results import Blocker, Bottleneck, Funnel, Impact, Way
from matcher_ext.tables.sketches import Kind
from matcher_ext.values.catalog import CompiledCatalog

class HasText(Protocol):
    @property
    def text(self) -> str: ...

class HasCompiled(Protocol):
    @property
    def compiled(self) -> CompiledCatalog: ...

class VisitTable:
    catalog: CompiledCatalog
    groups: tuple[tuple[Any, ...], ...]
    @staticmethod
    def from_arrow(
        batches: object,
        catalog: CompiledCatalog | HasCompiled,
        *,
        by: str | None = "publisher.id",
        groups: Sequence[str] | NDArray[numpy.integer[Any]] = (),
        weights: ArrayLike | None = None,
        users: str | None = "user.id",
    ) -> VisitTable: ...
    @staticmethod
    def open(
        path: str | PathLike[str],
        *,
        catalog: CompiledCatalog | HasCompiled | None = None,
        recheck: bool = False,
    ) -> VisitTable: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def by(self) -> str | None: ...
    @property
    def weights(self) -> NDArray[numpy.int64]: ...
    def rows(self, bitmap: ArrayLike) -> NDArray[numpy.int64]: ...
    def visits(self) -> Iterator[tuple[dict[str, Any], int, int]]: ...
    def stats(self) -> dict[str, Any]: ...
    def bitmap(
        self, expression: str | HasText, index: Tabled | None = None
    ) -> tuple[NDArray[numpy.uint8], NDArray[numpy.uint8], NDArray[numpy.uint8]]: ...
    def count(self, index: Tabled, *, groups: bool = False) -> NDArray[numpy.int64]: ...
    def funnel(self, index: Tabled, ids: Iterable[int] | None = None) -> Mapping[int, Funnel]: ...
    def sole_blockers(
        self, index: Tabled, ids: Iterable[int] | None = None
    ) -> Mapping[int, tuple[Blocker, ...]]: ...
    def cheapest(
        self, index: Tabled, ids: Iterable[int] | None = None
    ) -> dict[int, tuple[Way, ...]]: ...
    def bottlenecks(
        self, index: Tabled, ids: Iterable[int] | None = None
    ) -> dict[int, tuple[Bottleneck, ...]]: ...
    def overlap(
        self, index: Tabled, *, support: int = 20, top: int = 50
    ) -> dict[int, list[tuple[int, int]]]: ...
    def users(self, index: Tabled) -> NDArray[numpy.int64]: ...
    def user_sketches(
        self,
        index: Tabled,
        *,
        kind: Kind = "hll",
        lg_k: int = 12,
        keys: Mapping[int, int] | None = None,
    ) -> dict[int, bytes]: ...
    def impact(
        self,
        expression: str | HasText,
        *,
        bookings: Iterable[str | HasText] = (),
        index: Tabled | None = None,
    ) -> Impact: ...

def seal_table(content: bytearray) -> None: ...
