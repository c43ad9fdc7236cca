"""Matches any expression by counting (BoP: Bittner and Hinze; a-tree, SIGMOD 2021, section 2).

Each expression is one row of words, and the least number of true predicates that it needs: 1 for a
predicate, the sum over an `and`, the least over an `or`. Each true predicate counts for the
expressions that have it; only those that reach their number are evaluated, from their words.

    (P1 or P2 or P3) and P4 and (P5 or P6)     needs 3

    Conj 3 | Disj 3 | Leaf 1 | Leaf 2 | Leaf 3 | Leaf 4 | Disj 2 | Leaf 5 | Leaf 6

A predicate that stands in several places of an expression counts for each of them.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.engines.face cimport Engine

cdef struct Posting:
    uint32_t slot
    uint32_t places             # of the expression that have this predicate

cdef class Bop(Engine):
    cdef readonly uint32_t max_words
    cdef vector[vector[uint32_t]] words         # by slot
    cdef vector[uint32_t] needs                 # by slot
    cdef vector[vector[Posting]] postings       # by predicate
    cdef vector[uint32_t] counted_at            # by slot: the signature of ..
    cdef vector[uint32_t] counts                # .. the visit that was counted
    cdef vector[uint32_t] candidates
    cdef uint64_t evaluated

    cdef uint32_t _encode(
        self, uint32_t node, uint32_t slot, vector[uint32_t]* node_of
    ) noexcept nogil
    cdef void _count_place(self, uint32_t predicate, uint32_t slot) noexcept nogil
    cdef bint _evaluate(self, const uint32_t* words, uint32_t* at) noexcept nogil
