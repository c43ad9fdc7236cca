"""Folds several records of changes into one, so that who comes late skips what was replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def fold_definitions(records: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Lists the definitions in their order, without the former values of lists, each of which may
    be megabytes. A text that refers to nothing may take the place of an earlier one of its name."""
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
