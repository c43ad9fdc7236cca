"""The face of every published matcher, and what all of them take from the product.

    text --parser--> normal form --_read--> what the engine needs --_add--> its structure
    visit --predicate stage--> true predicates (`found`) --_match--> slots that match --> ids

The dictionary is a store of shared nodes (nodes/store.pxd): each distinct predicate has one number,
and so has each conjunction that an engine asks for. The predicate stage is the product's: the
predicates are frozen as an index of their own, and a match of it says which are true. An engine
that asks predicates one by one (`_ask`) has no such stage; each is asked at most once per visit.

An entry has a *slot*, a small number that is used again after a delete. Three-valued logic needs
nothing more: a normal form has no negation, so what is true follows from what is true.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.tree cimport Tree

cdef extern from * nogil:
    """
    #ifndef TREELINE_ENGINE_BYTES
    #define TREELINE_ENGINE_BYTES
    #include <cstddef>
    // Bytes of a vector, and of a vector of vectors with all that is in it.
    template <class V> static inline size_t bytes_of(const V& v) {
        return v.capacity() * sizeof(typename V::value_type);
    }
    template <class V> static inline size_t nested_bytes_of(const V& v) {
        size_t bytes = bytes_of(v);
        for (const auto& inner : v) bytes += bytes_of(inner);
        return bytes;
    }
    #endif
    """
    size_t bytes_of[V](const V& v)
    size_t nested_bytes_of[V](const V& v)

# Nanoseconds of this thread's processor time.
cdef uint64_t read_clock() noexcept nogil

cdef class Engine:
    """For one thread. What matching needs is made anew after changes, at the next match."""
    cdef readonly CompiledCatalog catalog
    cdef NodeStore store
    cdef unordered_map[int64_t, uint32_t] slots
    cdef vector[int64_t] ids                # by slot
    cdef vector[uint32_t] free_slots
    cdef vector[vector[uint32_t]] held      # by slot: nodes that it owns a use of
    cdef vector[uint32_t] always            # slots of `true`, in no order
    cdef Tree tree
    cdef NormalForm form                    # of the text that is inserted
    cdef bint asks                          # no predicate stage: predicates are asked one by one
    cdef bint is_stale
    cdef Snapshot stage
    cdef ScratchHolder holder               # of the stage; its visit is the one that is matched
    cdef vector[int64_t] truths
    # Holds what is known of the visit that is matched: whatever has its signature.
    cdef uint32_t signature
    cdef vector[uint32_t] found             # true predicates
    cdef vector[uint32_t] true_at           # by node of the store: the signature, if it is true
    cdef vector[uint32_t] asked_at          # by node: the signature, if it was asked
    cdef vector[uint32_t] matched_at        # by slot: the signature, if it matched
    cdef vector[uint32_t] matched           # slots
    # Counts work, over all visits.
    cdef uint64_t visits
    cdef uint64_t tested                    # predicates that were asked one by one
    cdef uint64_t visited                   # nodes, list entries or expressions, by engine

    # Names what an engine does. `_read` looks at the form and may add conjunctions to it, or raises
    # EngineLimitError; then `_add` links the form; if that raises, `_remove` is not called.
    cdef int _read(self, uint32_t root) except -1
    cdef int _add(self, uint32_t slot, uint32_t root) except -1
    cdef int _remove(self, uint32_t slot) except -1
    cdef int _prepare(self) except -1
    cdef void _match(self) noexcept nogil
    cdef size_t _count_nodes(self) noexcept nogil
    cdef size_t _count_bytes(self) noexcept nogil
    cdef int _describe(self, dict stats) except -1

    # Serves the engines: what they may use.
    cdef uint32_t _hold(self, uint32_t slot, uint32_t form_node) noexcept nogil
    cdef bint _ask(self, uint32_t predicate) noexcept nogil
    cdef uint32_t _join(self, const vector[uint32_t]* predicates) noexcept nogil

    cdef void _share_predicates(self) noexcept nogil
    cdef uint32_t _take_slot(self, int64_t entry_id) except? 0
    cdef int _release(self, uint32_t slot) except -1
    cdef int _freeze_predicates(self) except -1
    cdef void _find_predicates(self) noexcept nogil

cdef inline void emit(Engine engine, uint32_t slot) noexcept nogil:
    """Says that an entry matches; may be said more than once."""
    if engine.matched_at[slot] != engine.signature:
        engine.matched_at[slot] = engine.signature
        engine.matched.push_back(slot)

cdef inline bint is_true(Engine engine, uint32_t node) noexcept nogil:
    return engine.true_at[node] == engine.signature
