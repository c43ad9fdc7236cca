"""A frozen index: immutable, so any number of threads and processes may match on it at once."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.index.overlay cimport Overlay
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.graph cimport GraphScratch
from matcher_ext.plan.plan_buffer cimport PlanBuffer
from matcher_ext.values.catalog cimport CompiledCatalog

cdef class ScratchHolder:
    """One thread's memory at a time; taken from the snapshot's pool and given back."""
    cdef Scratch scratch
    cdef vector[int64_t] ids
    cdef GraphScratch graph

cdef class Snapshot(PlanBuffer):
    cdef list pool                  # of ScratchHolder, idle
    cdef list counters              # of CounterHolder (batch_calls.pyx), idle
    cdef object circuit             # a CircuitHolder, made when first asked for
    cdef readonly tuple answers     # SlotAnswers: definitions that code answers (answers.pxd)
    cdef vector[uint32_t] answered_by   # by slot: 1 + place in `answers`, or 0
    cdef dict definition_numbers    # by name, where there are answers

    cdef ScratchHolder _take(self)
    cdef ScratchHolder _match(self, visit, Overlay overlay, answers=*, bint wants_paths=*)
    cdef int _match_read(
        self, ScratchHolder holder, Overlay overlay, answers=*, bint wants_paths=*
    ) except -1
    cdef void _run(
        self, ScratchHolder holder, const vector[uint64_t]* dead, bint is_preset, bint is_begun
    ) noexcept nogil
    cdef object _lend(self, ScratchHolder holder, answers)
    cdef int _preset(self, ScratchHolder holder, Overlay overlay, answers) except -1
    cdef ScratchHolder _match_beside(self, Overlay overlay, ScratchHolder below)
    cdef object _copy_matched(self, ScratchHolder holder)

# Makes an empty one that its maker fills.
cdef Snapshot make_snapshot()
# Takes over a buffer that build_plan made.
cdef Snapshot freeze_buffer(CompiledCatalog catalog, vector[char]* buffer)
