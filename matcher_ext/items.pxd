"""Ready texts of entries, each with its place in the order of answers.

    by_entry   place and row of each entry     made once, so that a match leads there without a search
    offsets    row r's text is content[offsets[r] : offsets[r + 1]]     lent by the caller
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.overlay cimport Overlay
from matcher_ext.snapshot cimport Snapshot

cdef struct Place:
    double rank                     # the smallest comes first; no two are the same
    uint32_t row

cdef struct Chosen:
    double rank
    const char* text
    size_t length

cdef class Frame:
    """What stands around the items of a whole answer. Immutable."""
    cdef bytes heading              # then the age in seconds ..
    cdef bytes opening              # .. then the items ..
    cdef bytes closing              # .. then their number ..
    cdef bytes ending

# See answer_visit.
cdef tuple answer(
    Snapshot snapshot, Items below, Items beside, Overlay overlay, object visit, size_t limit,
    bint keeps_ids, Frame frame, double age_seconds,
)

cdef class Items:
    """Immutable, so any number of threads may read it; keeps the memory alive that it was lent."""
    cdef readonly Snapshot snapshot
    cdef vector[Place] by_entry
    cdef const int64_t[::1] ids     # ascending
    cdef const int64_t[::1] offsets
    cdef const unsigned char[::1] content
    cdef const char* bytes          # where the content begins

    cdef int _choose(self, uint32_t entry, vector[Chosen]* chosen) except -1
    cdef int _choose_id(self, int64_t entry_id, vector[Chosen]* chosen) except -1
