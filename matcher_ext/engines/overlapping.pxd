"""Conjunctions of expensive predicates (overlapping-subscriptions, DEBS 2007): which to ask first.

A predicate is asked at most once per visit, and its answer counts for every conjunction that has
it: one that is not true decides them all at once.

    S1: P1 P2     naive: S1, then S2, ..; each up to its first predicate that is not true
    S2: P2 P3     sequential (algorithm 1): any undecided one, all of its predicates that an
    S3: P3 P4       undecided one has; at most d times the least possible, d the longest conjunction
                  suborder (section 4.2): linked chains, each by ascending selectivity, in an order
                    of chains that follows the cost of each two that share a predicate

Selectivities are learned from visits; without that each is one half. Costs are by attribute, 1 if
not said otherwise, and multiply a predicate's share as in section 4.3. The graph of chains has an
edge between neighbours in a predicate's list, up to PAIRS of them: the paper's complete graph over
20,000 chains would have 200 million. Variables and their bindings are not part of our language,
and left out.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.engines.conjunctions cimport Conjunctive

cdef struct Saving:             # of asking one chain before another
    float amount
    uint32_t before
    uint32_t after

cdef class Naive(Conjunctive):
    cdef vector[float] costs                    # by attribute
    cdef vector[uint32_t] seen                  # by predicate: learned visits ..
    cdef vector[uint32_t] held_true             # .. and those that it was true of
    cdef double cost                            # of all visits
    cdef vector[uint32_t] order                 # conjunctions, as they are asked
    cdef vector[vector[uint32_t]] chains        # by conjunction: predicates, as they are asked
    cdef vector[vector[uint32_t]] users         # by predicate: conjunctions
    # Holds what is known of the visit.
    cdef vector[uint8_t] is_decided             # by conjunction
    cdef vector[uint32_t] open_users            # by predicate: undecided conjunctions
    cdef vector[uint32_t] left                  # by conjunction: predicates that were not asked

    cdef float _selectivity(self, uint32_t predicate) noexcept nogil
    cdef float _cost_of(self, uint32_t predicate) noexcept nogil
    cdef void _shuffle(self, uint32_t number) noexcept nogil
    cdef bint _pay(self, uint32_t predicate) noexcept nogil
    cdef void _decide(self, uint32_t number) noexcept nogil
    cdef void _ask_for_all(self, uint32_t predicate) noexcept nogil
    cdef void _open_visit(self) noexcept nogil

cdef class Sequential(Naive):
    pass

cdef class Suborder(Naive):
    cdef void _sort_chain(self, uint32_t number) noexcept nogil
    cdef float _compare(self, uint32_t left, uint32_t right) noexcept nogil
    cdef float _chance_before(self, const vector[uint32_t]* chain, size_t place) noexcept nogil
    cdef float _cost_before(
        self, const vector[uint32_t]* chain, size_t place, const vector[uint32_t]* other
    ) noexcept nogil
    cdef void _collect_savings(self, vector[Saving]* savings) noexcept nogil
    cdef void _join_chains(self, const vector[Saving]* savings) noexcept nogil
    cdef void _follow_paths(
        self, const vector[uint32_t]* before, const vector[uint32_t]* after
    ) noexcept nogil
