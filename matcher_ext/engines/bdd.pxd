"""A binary decision diagram for all expressions (Campailla et al., after a-tree, SIGMOD 2021,
section 2): shared nodes, reduced, one order of variables.

A variable is a predicate; its number in the dictionary is its place in the order. A node asks one
variable and goes on to `low` or `high`; 0 and 1 are the answers.

    (P1 or P2) and P3         P1 --high--> P3 --high--> 1
                               |            '----low--> 0
                               '-----low--> P2 --high-> P3
                                            '----low--> 0

A normal form has no negation, so "not true" is the low edge, be it false or undefined. A match
follows one path from each distinct root; what a node answered is remembered for the visit, so what
roots share is walked once.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.engines.face cimport Engine

cdef struct BddNode:
    uint32_t variable           # NOTHING: an answer, or free
    uint32_t low
    uint32_t high

cdef class Bdd(Engine):
    cdef readonly uint32_t max_nodes        # that one expression may make
    cdef vector[BddNode] nodes
    cdef vector[uint32_t] table             # open addressing by content: node or NOTHING
    cdef vector[uint32_t] free_nodes
    cdef size_t live
    cdef size_t swept                       # live nodes after the last sweep
    cdef size_t made                        # by the expression that is inserted
    cdef unordered_map[uint64_t, uint32_t] memo     # of one operation: pair of nodes -> node
    cdef vector[uint32_t] root_of           # by slot, or NOTHING
    cdef bint has_garbage
    cdef vector[uint32_t] answered_at       # by node: the signature ..
    cdef vector[uint8_t] answers            # .. and the answer
    cdef vector[uint32_t] path

    cdef uint32_t _make(self, uint32_t variable, uint32_t low, uint32_t high) noexcept nogil
    cdef uint32_t _apply(self, uint32_t left, uint32_t right, bint is_and) noexcept nogil
    cdef void _fill_table(self) noexcept nogil
    cdef void _sweep(self) noexcept nogil
    cdef void _mark(self, uint32_t node, vector[uint8_t]* marks) noexcept nogil
    cdef bint _walk(self, uint32_t root) noexcept nogil
