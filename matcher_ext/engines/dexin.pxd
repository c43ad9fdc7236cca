"""Matches attribute by attribute, each by exclusion or inclusion: DEXIN (dexin, FGCS 2017).

A conjunction has one interval for each attribute that it asks for. Each attribute has two arrays of
slots, by lower and by upper bound:

    low   | .. | 3 5 | 7 8 8 | ..        exclusive: of a value 7, all in slots behind are out, and
    high  | .. | 2 4 | 9 .. |              those of its own slot above it; the same from below
                                         inclusive: each that is still in is compared

Excluding costs what does not match, including what is still in. For each visit the counts of slots
say both, and the near-optimal order (algorithm 4, Low-Matching-Rate-First-Fit) takes attributes by
ascending matching rate, by exclusion as long as that is cheaper, then by inclusion. `order` may be
"optimal": all choices that observations 1 to 3 allow; `method` may be one alone.

Bounds are whole numbers, floats in their order, so that every interval is closed. `!=` and
`not between` are two intervals each, so two conjunctions. Lists, texts, sets, places, .. are no
intervals: they are asked last, of what is left. A visit may lack an attribute, as the paper's never
do: then whoever asks for it is out.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.engines.bounds cimport BoundArray, Bounded, Constraint
from matcher_ext.engines.conjunctions cimport Conjunctive

cdef struct Step:                       # an attribute of the pipeline
    double rate                         # of matching
    double excluded                     # share of what exclusion goes through
    uint32_t attribute
    uint8_t inclusive

cdef class Dexin(Conjunctive):
    cdef readonly str method
    cdef readonly str order
    cdef bint is_exclusive_alone
    cdef bint is_inclusive_alone
    cdef bint is_optimal
    cdef readonly uint32_t max_attributes       # of an optimal order
    cdef readonly uint32_t slot_count
    cdef vector[vector[Constraint]] constraints  # by subscription
    cdef vector[vector[uint32_t]] others        # by subscription: predicates that are no intervals
    cdef vector[uint32_t] conjunction_of        # by subscription, or NOTHING
    cdef vector[uint32_t] free_subscriptions
    cdef vector[vector[uint32_t]] made_of       # by conjunction: subscriptions
    cdef size_t total                           # subscriptions
    cdef vector[BoundArray] lows                # by attribute
    cdef vector[BoundArray] highs
    cdef vector[uint32_t] askers                # by attribute: subscriptions that ask for it
    cdef vector[Step] pipeline
    cdef vector[uint32_t] out_at                # by subscription: the signature, if it is out
    cdef vector[uint32_t] remaining
    cdef uint64_t planning_ns
    cdef double planned_cost
    cdef uint64_t excluded
    cdef uint64_t checked

    cdef void _expand(
        self, uint32_t number, size_t at, vector[Constraint]* taken, vector[uint32_t]* others
    ) noexcept nogil
    cdef void _subscribe(
        self, uint32_t number, const vector[Constraint]* taken, const vector[uint32_t]* others
    ) noexcept nogil
    cdef void _unsubscribe(self, uint32_t subscription) noexcept nogil
    cdef void _plan(self) noexcept nogil
    cdef Step _rate(self, uint32_t attribute) noexcept nogil
    cdef bint _read_value(self, uint32_t attribute, int64_t* value) noexcept nogil
    cdef void _plan_optimal(self) noexcept nogil
    cdef double _cost(self, uint64_t choice) noexcept nogil
    cdef void _exclude(self, uint32_t attribute) noexcept nogil
    cdef void _mark_out(
        self, const vector[Bounded]* items, size_t first, size_t end
    ) noexcept nogil
    cdef bint _meets(self, uint32_t subscription, uint32_t attribute) noexcept nogil
    cdef bint _holds(self, uint32_t subscription) noexcept nogil
