"""The bar of every benchmark: each expression tested by itself, one after another, no index.

Carefully written all the same: flat short-circuit programs of 32-bit words, values coded by rank
(so that every comparison is one of small integers), predicates before subexpressions.

    leaf:   test | attribute << 8, operands ..        inner: SCAN_AND | SCAN_OR, end, children ..
"""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.snapshot cimport Snapshot

cdef enum ScanTest:
    SCAN_EQUAL
    SCAN_UNEQUAL
    SCAN_UP_TO
    SCAN_ABOVE
    SCAN_BELOW
    SCAN_FROM
    SCAN_BETWEEN
    SCAN_OUTSIDE
    SCAN_MEMBER                 # count, values
    SCAN_STRANGER
    SCAN_OTHER                  # leaf: tested by test_predicate
    SCAN_NODE                   # a reference or a constant: evaluated by graph.pyx
    SCAN_AND
    SCAN_OR

cdef class Scan:
    """The expressions of a snapshot, ready to be scanned. For one thread."""
    cdef Snapshot snapshot
    cdef vector[int32_t] code
    cdef vector[uint32_t] starts        # by expression
    cdef vector[int32_t] values         # of the visit, by attribute: 2 * rank + exact, or MISSING
    cdef object holder

    cdef int _emit(self, uint32_t node) except -1
    cdef int _emit_leaf(self, uint32_t leaf) except -1
