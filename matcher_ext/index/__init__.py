"""Owns the classes that Python meets: the dynamic index, the snapshot, what changes beside it."""

from matcher_ext.index.atree import ATree
from matcher_ext.index.folding import fold_definitions
from matcher_ext.index.live import LiveIndex, State
from matcher_ext.index.overlay import Overlay
from matcher_ext.index.predicate_texts import list_predicates
from matcher_ext.index.rerouting import replace_routes
from matcher_ext.index.snapshot import Snapshot

__all__ = [
    "ATree",
    "LiveIndex",
    "Overlay",
    "Snapshot",
    "State",
    "fold_definitions",
    "list_predicates",
    "replace_routes",
]
