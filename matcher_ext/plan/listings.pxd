"""Lists routed records by the sellers that they can be reached from (SELLERS and LAST_HOPS).

A booking on any path matches if a seller of its party is reached and the last edge is true. Which
sellers that can be follows from the graph alone: those that the publisher reaches in time, whatever
the expressions of the edges say. Made when an index is frozen (partitions.pxd) and anew for another
graph (relisting.pxd).
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport LastHop, Seller
from matcher_ext.routes.route_section cimport Reach, RoutePlan

cdef enum:
    NO_WAY = 0xFF

cdef struct Listing:
    uint32_t seller
    uint32_t hops
    uint32_t atom
    uint32_t member         # index among the partition's routed records

# Counts the hops from a source to each node; NO_WAY where it is not reached.
cdef void measure_hops(const RoutePlan* plan, uint32_t source, vector[uint8_t]* hops) noexcept nogil
# Lists a member by each of its sellers that is near enough; returns how many they are.
cdef uint32_t list_sellers(
    const RoutePlan* plan, const vector[uint8_t]* hops, uint32_t source, const Reach* reach,
    uint32_t member, vector[Listing]* listings,
) noexcept nogil
# Sorts by seller, then by the hops that it may be away, then by member.
cdef void sort_listings(vector[Listing]* listings) noexcept nogil
# Writes listings that are sorted; `records` and `turns` are by member.
cdef void put_listings(
    const vector[Listing]* listings, const vector[uint32_t]* records, const vector[uint32_t]* turns,
    vector[Seller]* sellers, vector[LastHop]* last_hops,
) noexcept nogil
# Begins the last hops of a seller.
cdef void add_seller(
    vector[Seller]* sellers, uint32_t node, uint32_t hops, const vector[LastHop]* last_hops
) noexcept nogil
