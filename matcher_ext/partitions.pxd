"""Writes the records that one value finds (plan.pxd), below guards or by seller.

A guard is worth its test when several records need the same definition. References are taken by
how many of the partition's records need them, the commonest first: edges near the publisher come
out above those near the advertiser, without anybody saying what a path is.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.layout cimport Layout
from matcher_ext.route_section cimport RoutePlan

cdef enum:
    NO_WAY = 0xFF

cdef struct Listing:
    uint32_t seller
    uint32_t hops
    uint32_t atom
    uint32_t member         # or its record

cdef void put_partitions(Layout* layout) noexcept nogil
# From the source to each node, whatever the expressions say; NO_WAY: not reached.
cdef void measure_hops(const RoutePlan* plan, uint32_t source, vector[uint8_t]* hops) noexcept nogil
# The order of listings.
cdef bint comes_before(const Listing& a, const Listing& b) noexcept nogil
