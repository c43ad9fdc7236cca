from collections.abc import Iterable, Mapping

class RouteGraph:
    def __init__(
        self, names: Mapping[int, str], links: Iterable[tuple[int, int, int, int]]
    ) -> None: ...
    def find_paths(
        self,
        source: int,
        truths: Mapping[int, bool],
        hops: int = ...,
        parties: Iterable[int] | None = None,
    ) -> tuple[dict[int, tuple[tuple[int, ...], int]], dict[int, int]]: ...
