from collections.abc import Iterable, Mapping, Sequence

Row = tuple[str, str, Sequence[str | int] | None, bool, bool]
Lists = Mapping[str, Sequence[str] | Sequence[int]]

class CompiledCatalog:
    rows: tuple[Row, ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    numbers: dict[str, int]
    list_names: tuple[str, ...]
    lists: Lists | None
    def __init__(self, rows: Iterable[Row], lists: Lists | None = None) -> None: ...
    def __len__(self) -> int: ...
    def with_lists(self, lists: Lists) -> CompiledCatalog: ...
