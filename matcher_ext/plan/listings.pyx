"""Finds the sellers of routed records and writes them down (listings.pxd)."""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport LastHop, Seller
from matcher_ext.routes.route_section cimport Reach, RoutePlan
from matcher_ext.routes.routes cimport RouteHop


cdef void measure_hops(
    const RoutePlan* plan, uint32_t source, vector[uint8_t]* hops
) noexcept nogil:
    cdef vector[uint32_t] found
    cdef size_t at = 0
    cdef uint32_t node, i
    hops.assign(plan.routes.node_count, <uint8_t>NO_WAY)
    hops[0][source] = 0
    found.push_back(source)
    while at < found.size():
        node = found[at]
        at += 1
        if hops[0][node] >= plan.routes.max_hops:
            return
        for i in range(plan.routes.nodes[node].sales, plan.routes.nodes[node + 1].sales):
            if hops[0][plan.routes.sales[i].node] == NO_WAY:
                hops[0][plan.routes.sales[i].node] = hops[0][node] + 1
                found.push_back(plan.routes.sales[i].node)


cdef uint32_t list_sellers(
    const RoutePlan* plan, const vector[uint8_t]* hops, uint32_t source, const Reach* reach,
    uint32_t member, vector[Listing]* listings,
) noexcept nogil:
    cdef size_t before = listings.size()
    cdef const RouteHop* hop
    cdef Listing listing
    cdef uint32_t i
    if reach.node == source:
        return 0
    for i in range(
        plan.routes.nodes[reach.node].purchases, plan.routes.nodes[reach.node + 1].purchases
    ):
        hop = &plan.routes.purchases[i]
        if hops[0][hop.node] < reach.hops:      # NO_WAY is more than any limit
            listing.seller = hop.node
            listing.hops = reach.hops - 1
            listing.atom = hop.atom
            listing.member = member
            listings.push_back(listing)
    return <uint32_t>(listings.size() - before)


cdef bint comes_before(const Listing& a, const Listing& b) noexcept nogil:
    if a.seller != b.seller:
        return a.seller < b.seller
    return a.hops < b.hops if a.hops != b.hops else a.member < b.member


cdef void sort_listings(vector[Listing]* listings) noexcept nogil:
    sort(listings.begin(), listings.end(), comes_before)


cdef void put_listings(
    const vector[Listing]* listings, const vector[uint32_t]* records, const vector[uint32_t]* turns,
    vector[Seller]* sellers, vector[LastHop]* last_hops,
) noexcept nogil:
    cdef const Listing* listing
    cdef const Listing* before = NULL
    cdef LastHop hop
    cdef size_t i
    for i in range(listings.size()):
        listing = &listings[0][i]
        if before == NULL or before.seller != listing.seller or before.hops != listing.hops:
            add_seller(sellers, listing.seller, listing.hops, last_hops)
        before = listing
        hop.atom = listing.atom
        hop.record = records[0][listing.member]
        hop.turn = turns[0][listing.member]
        last_hops.push_back(hop)


cdef void add_seller(
    vector[Seller]* sellers, uint32_t node, uint32_t hops, const vector[LastHop]* last_hops
) noexcept nogil:
    cdef Seller seller
    seller.node = node
    seller.hops = hops
    seller.first = <uint32_t>last_hops.size()
    sellers.push_back(seller)
