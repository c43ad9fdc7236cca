"""The A-Tree as the paper has it (a-tree, SIGMOD 2021): the algorithms 1 to 6 by their names.

A dynamic tree of linked nodes, kept for what the frozen index cannot show: how much sharing,
reorganisation, self-adjustment, zero suppression and propagation on demand each bring (the
paper's figures 8 to 10). Every one of them can be switched off.

Two things differ from the paper as printed. Algorithm 2 takes only sets that lie within the
expression's own children. Uses are counted on the actual links (parents and entries), so that
algorithm 5 is right after children were moved.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.arena cimport NormalForm, Predicate, Tree
from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.visit cimport Visit

cdef cppclass TreeNode:
    vector[uint32_t] content        # and, or: the expression's children, ascending: its identity
    vector[uint32_t] children       # what it links to: the same, or reorganised
    vector[uint32_t] parents        # one per link
    vector[int64_t] entries
    uint64_t hash
    uint32_t predicate
    uint32_t access                 # the child that finds an AND
    uint32_t level                  # 1: a predicate
    uint32_t uses                   # parents and entries; 0: free
    uint32_t signature              # of the visit whose truth it holds ..
    uint32_t queued                 # .. or that it was queued for
    uint8_t kind                    # NormalKind
    uint8_t truth

cdef class PaperTree:
    """For one thread. `nodes` of a deleted expression are used again."""
    cdef readonly CompiledCatalog catalog
    cdef readonly bint sharing          # node uniqueness, algorithm 1
    cdef readonly bint binary           # two children a node, for comparison
    cdef readonly bint zero_suppression # false is not propagated, section 5.2.1
    cdef readonly bint on_demand        # only the access child finds an AND, section 5.2.2
    cdef readonly bint reorganise       # algorithm 2
    cdef readonly bint self_adjust      # algorithm 3
    cdef readonly uint32_t search_cap   # nodes that algorithms 2 and 3 look at
    cdef vector[TreeNode] nodes
    cdef vector[uint32_t] free_nodes
    cdef vector[uint32_t] table         # H_en: open addressing by hash
    cdef uint32_t live
    cdef vector[Predicate] predicates
    cdef vector[int64_t] words
    cdef vector[char] bytes
    cdef vector[vector[uint32_t]] leaves        # by attribute
    cdef unordered_map[int64_t, uint32_t] roots
    cdef vector[uint32_t] always                # roots that are the constant true
    cdef Tree tree
    cdef NormalForm form
    cdef Visit visit
    cdef uint32_t signature
    cdef vector[vector[uint32_t]] queues        # by level
    cdef vector[int64_t] matched

    cdef uint32_t _insert(self, uint32_t number) noexcept nogil
    cdef uint32_t _insert_predicate(self, uint32_t predicate, uint64_t hash) noexcept nogil
    cdef uint32_t _insert_inner(self, uint8_t kind, vector[uint32_t]* content) noexcept nogil
    cdef uint32_t _find(self, uint8_t kind, const vector[uint32_t]* content, uint64_t hash) noexcept nogil
    cdef uint32_t _new_node(self, uint8_t kind, uint64_t hash) noexcept nogil
    cdef void _place(self, uint32_t node) noexcept nogil
    cdef void _unplace(self, uint32_t node) noexcept nogil
    cdef void _link(self, uint32_t parent, uint32_t child) noexcept nogil
    cdef void _unlink(self, uint32_t parent, uint32_t child) noexcept nogil
    cdef void _choose_access(self, uint32_t node) noexcept nogil
    cdef void _raise_level(self, uint32_t node) noexcept nogil
    cdef void _reorganise(self, uint8_t kind, const vector[uint32_t]* content, vector[uint32_t]* children) noexcept nogil
    cdef void _self_adjust(self, uint32_t node) noexcept nogil
    cdef void _release(self, uint32_t node) noexcept nogil
    cdef void _match(self) noexcept nogil
    cdef void _queue_leaves(self) noexcept nogil
    cdef void _process(self, uint32_t node) noexcept nogil
