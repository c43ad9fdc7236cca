"""The bar of every benchmark: each expression tested by itself, one after another, no index.

Carefully written all the same: one flat program for all expressions, values coded by rank (so that
every comparison is one of small integers), predicates before subexpressions. Each test says how far
to go on when it is false and when it is true, so that a test of an attribute that the visit does
not carry, which nearly all are, costs two loads and no branch that depends on the expression.

    test:   kind | attribute << 8;  distance if false | distance if true << 16;  operands ..
    hit:    SCAN_HIT, expression    false jumps over it, true falls into it
"""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.index.snapshot cimport Snapshot
from matcher_ext.visits.visit cimport Visit

cdef enum ScanTest:             # up to SCAN_STRANGER as Group in plan.pxd
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
    SCAN_HIT
    SCAN_END

cdef enum:
    LONGEST = 0xFFFF            # words of a program; a longer one is a SCAN_NODE

cdef struct Jump:               # to be patched when its target is known
    uint32_t at
    bint sense

cdef class Scan:
    """The expressions of a snapshot, ready to be scanned. For one thread."""
    cdef Snapshot snapshot
    cdef vector[uint32_t] code
    cdef size_t start                   # of the expression that is written
    cdef vector[int32_t] values         # of the visit, by attribute: 2 * rank + exact, or MISSING
    cdef object holder

    cdef int _emit_word(self, uint32_t test) except -1
    cdef int _emit_expression(self, uint32_t expression) except -1
    cdef int _emit(
        self, uint32_t node, vector[Jump]* if_false, vector[Jump]* if_true
    ) except -1
    cdef int _emit_test(
        self, uint32_t test, uint32_t node, vector[Jump]* if_false, vector[Jump]* if_true
    ) except -1
    cdef int _emit_leaf(self, size_t at, uint32_t leaf) except -1
    cdef int _land(self, const vector[Jump]* jumps) except -1
    cdef void _code_values(self, const Visit* visit) noexcept nogil
