"""Keeps the intervals of predicates in DEXIN's arrays of slots, by their bounds (dexin.pxd).

An array cuts the range of its bounds into slots of one width; more of them as bounds become more. A
slot is sorted when a visit first needs it, in the place of the paper's red-black tree.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.values.predicate cimport Predicate

cdef struct Constraint:
    uint32_t attribute
    int64_t low                 # INT64_MIN: unlimited
    int64_t high                # INT64_MAX: unlimited

cdef struct Bounded:
    int64_t bound
    uint32_t subscription

cdef cppclass BoundArray:
    vector[vector[Bounded]] slots
    vector[uint8_t] is_sorted           # by slot
    vector[uint32_t] sums               # by slot: items of those before; and one more
    int64_t first                       # bound of the first slot ..
    double width                        # .. and how wide each is
    size_t count

# Says whether a predicate is true of intervals.
cdef bint is_ordered(const Predicate* predicate) noexcept nogil
# Lists what makes an ordered predicate true: one interval, two, or none.
cdef void list_intervals(
    const Predicate* predicate, const int64_t* words, vector[Constraint]* intervals
) noexcept nogil
# Adds an interval, or cuts the attribute's one by it; False: nothing is left.
cdef bint narrow(vector[Constraint]* taken, const Constraint* interval) noexcept nogil
cdef size_t find_slot(const BoundArray* array, int64_t bound) noexcept nogil
cdef void put_bound(
    BoundArray* array, int64_t bound, uint32_t subscription, size_t most
) noexcept nogil
cdef void drop_bound(BoundArray* array, int64_t bound, uint32_t subscription) noexcept nogil
cdef void sort_slot(BoundArray* array, size_t slot) noexcept nogil
# Counts the items before each slot.
cdef void sum_slots(BoundArray* array) noexcept nogil
