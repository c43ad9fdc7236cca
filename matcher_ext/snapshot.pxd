"""A frozen index: immutable, so any number of threads and processes may match on it at once."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.filling cimport Meaning, Scratch
from matcher_ext.graph cimport GraphScratch
from matcher_ext.plan cimport Plan
from matcher_ext.thaw cimport Graph

cdef class ScratchHolder:
    """One thread's memory at a time; taken from the snapshot's pool and given back."""
    cdef Scratch scratch
    cdef vector[int64_t] ids
    cdef GraphScratch graph

cdef class Overlay:
    """What a LiveIndex lays over a snapshot: dead entries, and definitions that were replaced.

    Immutable once it is in use; `definitions` is a snapshot with the new meanings.
    """
    cdef Snapshot definitions
    cdef vector[uint64_t] dead
    cdef readonly int64_t dead_count
    cdef vector[uint32_t] replaced      # slots of the snapshot below ..
    cdef vector[Meaning] meanings       # .. and what they mean in `definitions`
    cdef vector[uint32_t] meaning_of    # by slot: 1 + its place in meanings, or 0
    cdef vector[uint32_t] wanted        # reaches of the snapshot below ..
    cdef vector[uint32_t] lent          # .. and the slots of `definitions` that they answer for

    # Before it is in use.
    cdef void replace_slot(self, uint32_t slot, uint32_t root, bint negated)

cdef class Snapshot:
    cdef Plan plan
    cdef vector[char] owned         # the buffer of a frozen index, or empty
    cdef object mapping             # the memoryview of an opened file, or None
    cdef readonly CompiledCatalog catalog
    cdef list pool                  # of ScratchHolder, idle
    cdef object sorted_ids          # numpy, made when first asked for
    cdef object id_order
    cdef list counters              # of CounterHolder (batching.pyx), idle
    cdef Graph graph                # what _thaw made
    cdef bint is_thawed
    cdef object lock                # of the making
    cdef object circuit             # a CircuitHolder, made when first asked for
    cdef readonly tuple answers     # SlotAnswers: definitions that code answers (answers.pxd)
    cdef vector[uint32_t] answered_by   # by slot: 1 + place in `answers`, or 0
    cdef dict definition_numbers    # by name, where there are answers

    # Before anything that reads nodes, expressions, definitions or predicates of the plan.
    cdef int _thaw(self) except -1
    cdef ScratchHolder _take(self)
    cdef ScratchHolder _match(self, visit, Overlay overlay, answers=*, bint wants_paths=*)
    cdef void _run(
        self, ScratchHolder holder, const vector[uint64_t]* dead, bint is_preset, bint is_begun
    ) noexcept nogil
    cdef object _lend(self, ScratchHolder holder, answers)
    cdef int _preset(self, ScratchHolder holder, Overlay overlay, answers) except -1
    cdef object _match_lent(self, visit, Overlay overlay, ScratchHolder below)
    cdef object _copy_matched(self, ScratchHolder holder)

cdef Snapshot make_snapshot()
cdef Snapshot freeze_buffer(CompiledCatalog catalog, vector[char]* buffer)
