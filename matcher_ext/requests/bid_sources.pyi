from collections.abc import Callable, Collection, Iterable, Mapping

from matcher_ext.values.catalog import CompiledCatalog

READERS: Mapping[str, int]

class BidReader:
    catalog: CompiledCatalog
    def __init__(
        self,
        catalog: CompiledCatalog,
        sources: Iterable[tuple[str, str, Iterable[Iterable[str]], Mapping[int | str, str]]],
        countries: dict[str, str],
        name_country: Callable[[str], str],
        deprecated: Iterable[str],
        stamped: Collection[str],
    ) -> None: ...
