"""Finds which way visits of bookings on any path take, and which edges they cannot do without.

The cheapest way of a visit is found by the walk that matching takes (routes.pxd), so that ties go
as they go there. Rows of a block that satisfy the same edges take the same ways: one walk for all
of them, a *class*.

A *bottleneck* is an edge without which no path is open, all else being as the booking asks:
whatever the edge itself says, the visit is eligible if it is open, and is not if it is closed.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.map cimport map
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.routes.routes cimport Walk
from matcher_ext.tables.asking cimport Asker

cdef cppclass AnyPath:
    """Bookings that ask for one reach each."""
    vector[uint32_t] entries
    vector[uint32_t] reaches            # of the question, by booking

cdef cppclass Ways:
    """Ways that were found, and how many visits of each booking take them."""
    map[vector[uint32_t], uint32_t] numbers         # edges of the graph -> way
    vector[vector[uint32_t]] edges                  # by way
    unordered_map[uint64_t, int64_t] visits         # booking << 32 | way
    # Holds what is known of the present block.
    vector[uint32_t] class_of                       # by row
    vector[uint32_t] firsts                         # by class: a row
    unordered_map[uint64_t, uint32_t] taken         # class << 32 | reach -> way
    Walk walk

cdef cppclass Bottlenecks:
    vector[int64_t] depending           # by booking and edge of the graph: the edge is open ..
    vector[int64_t] blocked             # .. or it is not

cdef int find_ways(Asker* asker, const AnyPath* bookings, Ways* ways) except -1 nogil
cdef int find_bottlenecks(
    Asker* asker, const AnyPath* bookings, Bottlenecks* found
) except -1 nogil
