"""Turns what a match leaves behind into ids: bits of direct terminals (plan.pxd), entries of all
else.

The bits are the answer's larger part where expressions are ORs. They stay where matching set them
until the next visit, so that ids are written once, straight into the caller's memory.
"""
from libc.stdint cimport int64_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan

# Lists the entries of terminals that have several; clears their bits.
cdef void emit_shared(const Plan* plan, Scratch* scratch) noexcept nogil
# Counts the bits of direct terminals.
cdef void keep_direct(const Plan* plan, Scratch* scratch) noexcept nogil
# Clears the bits of direct terminals, before the next visit.
cdef void forget_direct(const Plan* plan, Scratch* scratch) noexcept nogil
# Leaves out the entries with a bit in `dead`.
cdef void drop_dead(
    const Plan* plan, Scratch* scratch, const vector[uint64_t]* dead
) noexcept nogil
# Puts all entries into scratch.matched, instead of copy_ids.
cdef void list_entries(const Plan* plan, Scratch* scratch) noexcept nogil
# Copies the ids of all that matched, count_matched of them.
cdef void copy_ids(const Plan* plan, const Scratch* scratch, int64_t* target) noexcept nogil

cdef inline size_t count_matched(const Scratch* scratch) noexcept nogil:
    return scratch.matched.size() + scratch.direct
