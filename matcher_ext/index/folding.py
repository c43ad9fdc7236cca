"""Several records of what changed, as one: what comes late need not read what was replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def fold_definitions(records: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Returns the definitions in their order, without the former values of lists, each of which may
    be megabytes: a text that refers to nothing can stand wherever an earlier one of its name
    did."""
    every = [pair for definitions in records for pair in definitions.items()]
    last = dict(every)
    folded, seen = [], set()
    for name, text in every:
        if "@" in last[name]:
            folded.append((name, text))
        elif name not in seen:
            folded.append((name, last[name]))
        seen.add(name)
    return folded
