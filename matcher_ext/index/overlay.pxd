"""What is laid over a frozen index when it is matched: dead entries, definitions that were
replaced, and reaches that it answers for the entries beside it."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.match.scratch cimport Meaning
from matcher_ext.plan.plan_buffer cimport PlanBuffer

cdef class Overlay:
    """Immutable once it is made; `definitions` is a snapshot with the new meanings."""
    cdef PlanBuffer below               # whose entries and slots these are
    cdef PlanBuffer definitions
    cdef vector[uint64_t] dead          # bits by entry of the snapshot below
    cdef readonly int64_t dead_count
    cdef vector[uint32_t] replaced      # slots of the snapshot below ..
    cdef vector[Meaning] meanings       # .. and what they mean in `definitions`
    cdef vector[uint32_t] meaning_of    # by slot: 1 + its place in meanings, or 0
    cdef vector[uint32_t] wanted        # reaches of the snapshot below ..
    cdef vector[uint32_t] lent          # .. and the slots of `definitions` that they answer for

    # Raises unless it was made for this index, or for one over the same plan: with other answers by
    # code, or another graph.
    cdef int check_below(self, PlanBuffer index) except -1

    # Fill it while it is made.
    cdef int _bury(self, PlanBuffer below, object dead) except -1
    cdef int _borrow(self, PlanBuffer below, bytes name) except -1
    cdef int _replace(self, PlanBuffer below, bytes name) except -1
    cdef void _replace_slot(self, uint32_t slot, uint32_t root, bint negated) noexcept
