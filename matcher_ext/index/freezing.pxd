"""Freezes what a dynamic index is matched on: all of it, or the changes since the last freeze.

    few changes to a large index:  last freeze, with an overlay  +  what changed, frozen beside it
    otherwise:                     a new freeze

Whoever calls holds the index's lock.
"""
from matcher_ext.index.dynamic_state cimport DynamicState
from matcher_ext.index.snapshot cimport Snapshot

cdef enum:
    PATCH_FROM = 5000   # entries of an index that is not frozen anew after each change

# Freezes all of it; returns the same snapshot until something changes.
cdef Snapshot freeze_index(DynamicState index)
# Returns (snapshot, what to lay over it, snapshot beside it): together, the present state. The last
# two may be None.
cdef tuple view_index(DynamicState index)
