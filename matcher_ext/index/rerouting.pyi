from collections.abc import Iterable, Mapping

from matcher_ext.index.snapshot import Snapshot

def replace_routes(
    below: Snapshot,
    names: Mapping[int, str],
    links: Iterable[tuple[int, int, int, int]],
    labels: Mapping[int, str],
    sources: Iterable[int],
    *,
    most_relisted: int = ...,
) -> Snapshot: ...
