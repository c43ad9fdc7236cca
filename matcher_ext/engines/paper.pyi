from collections.abc import Mapping
from typing import Any

from matcher_ext.values.catalog import CompiledCatalog

class PaperTree:
    def __init__(
        self,
        catalog: Any,
        *,
        sharing: bool = True,
        binary: bool = False,
        zero_suppression: bool = True,
        on_demand: bool = True,
        reorganise: bool = False,
        self_adjust: bool = False,
        search_cap: int = 64,
    ) -> None: ...
    catalog: CompiledCatalog
    def __len__(self) -> int: ...
    def insert(self, entry_id: int, text: str) -> None: ...
    def delete(self, entry_id: int) -> None: ...
    def match(self, visit: Mapping[str, Any]) -> list[int]: ...
    def stats(self) -> dict[str, int]: ...
