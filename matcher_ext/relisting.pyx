"""One publisher after another (relisting.pxd)."""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.arena cimport NOTHING
from matcher_ext.asking cimport last_atom
from matcher_ext.filling cimport find_text
from matcher_ext.partitions cimport Listing, comes_before, measure_hops
from matcher_ext.plan cimport (
    PARTITIONS,
    RECORD_LENGTH,
    RECORD_MANY,
    RECORD_ONE,
    LastHop,
    Partition,
    Plan,
    Seller,
    section_count,
)
from matcher_ext.route_section cimport Reach
from matcher_ext.routes cimport RouteHop, RouteNode


cdef inline uint32_t after_record(const Plan* plan, uint32_t at) noexcept nogil:
    cdef uint32_t header = plan.records[at + 1]
    at += 2 + (header & RECORD_LENGTH)
    return at + (1 if header & RECORD_ONE else (2 if header & RECORD_MANY else 0))


cdef bint find_publishers(
    const Plan* plan, const vector[uint8_t]* is_rerouted, vector[uint32_t]* publishers
) noexcept nogil:
    """By partition the node of its publisher, if it is concerned. False: too many records."""
    cdef const RouteNode* node
    cdef uint32_t i, rank, words = 0
    publishers.assign(section_count(plan, PARTITIONS), NOTHING)
    for i in range(plan.routes.source_count):
        node = &plan.routes.routes.nodes[plan.routes.sources[i]]
        rank = find_text(
            plan, &plan.attributes[plan.routes.attribute], plan.routes.bytes + node.label,
            node.label_length,
        )
        if is_rerouted[0][plan.routes.sources[i]] and rank + 1 < publishers.size():
            publishers[0][rank] = plan.routes.sources[i]
            words += plan.partitions[rank + 1].records - plan.partitions[rank].routed
    return words <= MOST_RELISTED * <uint32_t>16


cdef void list_sellers(
    const Plan* plan, uint32_t source, uint32_t record, const vector[uint8_t]* hops,
    vector[Listing]* listings,
) noexcept nogil:
    cdef const Reach* reach = &plan.routes.reaches[
        last_atom(plan.records + record + 1) - plan.totals.leaves - plan.routes.first_reach
    ]
    cdef const RouteHop* hop
    cdef Listing listing
    cdef uint32_t i
    if reach.node == source:
        return
    for i in range(
        plan.routes.routes.nodes[reach.node].purchases,
        plan.routes.routes.nodes[reach.node + 1].purchases,
    ):
        hop = &plan.routes.routes.purchases[i]
        if hops[0][hop.node] < reach.hops:      # NO_WAY is more than any limit
            listing.seller = hop.node
            listing.hops = reach.hops - 1
            listing.atom = hop.atom
            listing.member = record
            listings.push_back(listing)


cdef void relist_partition(
    const Plan* plan, const Partition* partition, uint32_t source, Relisted* made
) noexcept nogil:
    cdef vector[uint8_t] hops
    cdef vector[Listing] listings
    cdef vector[uint32_t] turns         # by record
    cdef uint32_t at = partition.routed, before
    measure_hops(&plan.routes, source, &hops)
    turns.assign(partition[1].records - at, NOTHING)
    while at < partition[1].records:
        before = <uint32_t>listings.size()
        list_sellers(plan, source, at, &hops, &listings)
        if listings.size() > before + 1:
            turns[at - partition.routed] = made.totals.turns
            made.totals.turns += 1
        at = after_record(plan, at)
    sort(listings.begin(), listings.end(), comes_before)
    put_listings(&listings, partition.routed, &turns, made)


cdef void put_listings(
    const vector[Listing]* listings, uint32_t first, const vector[uint32_t]* turns, Relisted* made
) noexcept nogil:
    cdef const Listing* listing
    cdef LastHop hop
    cdef size_t i
    for i in range(listings.size()):
        listing = &listings[0][i]
        if i == 0 or listings[0][i - 1].seller != listing.seller or (
            listings[0][i - 1].hops != listing.hops
        ):
            add_seller(made, listing.seller, listing.hops)
        hop.atom = listing.atom
        hop.record = listing.member
        hop.turn = turns[0][listing.member - first]
        made.last_hops.push_back(hop)


cdef void add_seller(Relisted* made, uint32_t node, uint32_t hops) noexcept nogil:
    cdef Seller seller
    seller.node = node
    seller.hops = hops
    seller.first = <uint32_t>made.last_hops.size()
    made.sellers.push_back(seller)


cdef void copy_sellers(
    const Plan* plan, const Partition* partition, Relisted* made
) noexcept nogil:
    cdef const Seller* seller
    cdef uint32_t i
    for i in range(partition.sellers, partition[1].sellers):
        seller = &plan.sellers[i]
        add_seller(made, seller.node, seller.hops)
        made.last_hops.insert(
            made.last_hops.end(), plan.last_hops + seller.first, plan.last_hops + seller[1].first
        )


cdef bint relist_sellers(
    Plan* plan, const vector[uint8_t]* is_rerouted, Relisted* made
) noexcept nogil:
    cdef uint32_t count = <uint32_t>section_count(plan, PARTITIONS)
    cdef vector[uint32_t] publishers
    cdef uint32_t i
    if count == 0 or plan.totals.partition != plan.routes.attribute:
        return True
    if not find_publishers(plan, is_rerouted, &publishers):
        return False
    made.totals = plan.totals[0]
    for i in range(count):
        made.partitions.push_back(plan.partitions[i])
        made.partitions[i].sellers = <uint32_t>made.sellers.size()
        if i + 1 == count:
            break
        if publishers[i] == NOTHING:
            copy_sellers(plan, &plan.partitions[i], made)
        else:
            relist_partition(plan, &plan.partitions[i], publishers[i], made)
    add_seller(made, NOTHING, 0)
    plan.partitions = made.partitions.data()
    plan.sellers = made.sellers.data()
    plan.last_hops = made.last_hops.data()
    plan.totals = &made.totals
    return True
