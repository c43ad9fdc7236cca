"""Counts of many visits, in the way that is faster for this index and these visits.

Bit slices (slices.pxd) win where many nodes are true of a visit, one visit at a time where an
access key finds the few that are. The first full block goes one way, the second the other, each by
the clock; the rest takes the faster. Both give the same counts.
"""
from libc.stdint cimport int64_t

from matcher_ext.catalog cimport CatalogTable
from matcher_ext.filling cimport Scratch
from matcher_ext.plan cimport Plan
from matcher_ext.slices cimport Slices
from matcher_ext.visit cimport Visit

cdef cppclass Counter:
    Slices slices
    const int64_t* groups       # by row of the block, negative: leave out; or NULL
    int64_t sliced_ns           # what a block took this way, or 0
    int64_t single_ns

cdef void open_counter(const Plan* plan, Counter* counter) noexcept nogil
cdef void exchange_visits(Visit* a, Visit* b) noexcept nogil
# Counts the rows in counter.slices and empties the block.
cdef void count_rows(
    const Plan* plan,
    const CatalogTable* table,
    Scratch* scratch,
    Counter* counter,
    int64_t* counts,
) noexcept nogil
