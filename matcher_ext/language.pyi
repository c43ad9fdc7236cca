from collections.abc import Callable, Mapping
from typing import Any

from matcher_ext.catalog import CompiledCatalog

KEYWORDS: frozenset[str]
OPERATORS: tuple[str, ...]

def check_text(catalog: CompiledCatalog, text: str, *, composed: bool = False) -> None: ...
def read_tree(
    catalog: CompiledCatalog,
    text: str,
    constructors: Mapping[str, Callable[..., Any]],
    *,
    composed: bool = False,
) -> Any: ...
def find_references(catalog: CompiledCatalog, text: str) -> list[tuple[str, int, int]]: ...
def normalise_many(
    catalog: CompiledCatalog, texts: list[str], *, composed: bool = False
) -> tuple[int, int, int]: ...
def read_warnings(catalog: CompiledCatalog, visit: Mapping[str, Any]) -> list[str]: ...

class Normal:
    def __init__(
        self, catalog: CompiledCatalog, text: str, *, composed: bool = False
    ) -> None: ...
    def size(self) -> int: ...
    def to_json(self) -> Any: ...
    def evaluate(
        self, visit: Mapping[str, Any], references: Mapping[str, bool | None] | None = None
    ) -> bool | None: ...
