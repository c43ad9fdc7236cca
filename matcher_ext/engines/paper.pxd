"""The A-Tree as the paper has it (a-tree, SIGMOD 2021), with a switch for each of its ideas.

The nodes are those of any index (store.pxd: the paper's algorithms 1 to 5); matching is its
algorithm 6, level by level over linked nodes, kept for what the frozen index cannot show: how much
sharing, many children a node, reorganisation, self-adjustment, zero suppression and propagation
on demand each bring (the paper's figures 8 to 10).

Predicates are tested one by one, but only those on attributes that the visit carries.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.tree cimport Tree
from matcher_ext.visits.visit cimport Visit

cdef struct PaperNode:          # by node of the store
    uint32_t parents            # the first of `parents`; up to the next node's
    uint32_t entries            # the first of `entries`; up to the next node's
    uint32_t access             # the child that finds an AND
    uint32_t level              # 1: a predicate; 0: not known yet
    uint32_t signature          # of the visit whose truth it holds ..
    uint32_t queued             # .. or that it was queued for
    uint8_t truth

cdef class PaperTree:
    """For one thread. What matching needs is made anew after changes, at the next match."""
    cdef readonly CompiledCatalog catalog
    cdef readonly bint binary           # two children a node, for comparison
    cdef readonly bint zero_suppression  # false is not propagated, section 5.2.1
    cdef readonly bint on_demand        # only the access child finds an AND, section 5.2.2
    cdef NodeStore store
    cdef unordered_map[int64_t, uint32_t] roots
    cdef Tree tree
    cdef NormalForm form
    cdef bint is_stale
    cdef vector[PaperNode] nodes        # and one more
    cdef vector[uint32_t] parents
    cdef vector[int64_t] entries
    cdef vector[vector[uint32_t]] leaves        # by attribute; the last: `is present`, of any
    cdef vector[uint32_t] always                # the constant true, if it is a root
    cdef Visit visit
    cdef uint32_t signature
    cdef vector[vector[uint32_t]] queues        # by level
    cdef vector[int64_t] matched
    cdef uint64_t visits                        # counted work, of all visits
    cdef uint64_t tested                        # predicates
    cdef uint64_t visited                       # nodes that were evaluated

    cdef void _prepare(self) noexcept nogil
    cdef void _link_parents(self) noexcept nogil
    cdef void _list_entries(self) noexcept nogil
    cdef uint32_t _find_level(self, uint32_t node) noexcept nogil
    cdef void _choose_access(self, uint32_t node) noexcept nogil
    cdef void _match(self) noexcept nogil
    cdef void _queue_leaves(self, const vector[uint32_t]* leaves) noexcept nogil
    cdef uint8_t _evaluate(self, uint32_t node) noexcept nogil
    cdef void _process(self, uint32_t node) noexcept nogil
