"""Disables conditions of an expression: they stay in its text as notes, and are never evaluated."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from targeting.printer import print_line
from targeting.tree import And, Node, Note, walk


def disable(root: And, places: Collection[int]) -> Node:
    """Disables the children at these places; at least one stays. A disabled condition is a note of
    the next one that stays, with its own comments before it; of the last one if none follows."""
    kept: list[Node] = []
    waiting: list[Note] = []
    for place, child in enumerate(root.children):
        if place in places:
            waiting += [note for below in walk(child) for note in below.notes]
            waiting.append(Note(print_line(child), disabled=True))
        else:
            kept.append(replace(child, notes=(*waiting, *child.notes)))
            waiting = []
    kept[-1] = replace(kept[-1], notes=(*kept[-1].notes, *waiting))
    if len(kept) > 1:
        return replace(root, children=tuple(kept))
    return replace(kept[0], notes=(*root.notes, *kept[0].notes))
