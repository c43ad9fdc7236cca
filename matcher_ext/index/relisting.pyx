"""Lists the routed records of one publisher after another (relisting.pxd)."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.leaf_bits cimport find_text
from matcher_ext.plan.listings cimport (
    Listing, add_seller, list_sellers, measure_hops, put_listings, sort_listings,
)
from matcher_ext.plan.plan cimport PARTITIONS, Partition, Plan, Seller, section_count
from matcher_ext.plan.record_format cimport after_record, last_atom, program_of
from matcher_ext.routes.route_section cimport Reach
from matcher_ext.routes.routes cimport RouteNode


cdef uint64_t find_publishers(
    const Plan* plan, const vector[uint8_t]* is_rerouted, vector[uint32_t]* publishers
) noexcept nogil:
    """Finds by partition the node of its publisher, if it is concerned; returns the words of their
    routed records."""
    cdef const RouteNode* node
    cdef uint64_t words = 0
    cdef uint32_t i, rank
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
    return words


cdef void relist_partition(
    const Plan* plan, const Partition* partition, uint32_t source, Relisted* made
) noexcept nogil:
    cdef vector[uint8_t] hops
    cdef vector[Listing] listings
    cdef vector[uint32_t] records, turns
    cdef uint32_t at = partition.routed, first_reach = plan.totals.leaves + plan.routes.first_reach
    cdef const Reach* reach
    measure_hops(&plan.routes, source, &hops)
    while at < partition[1].records:
        reach = &plan.routes.reaches[last_atom(program_of(plan.records + at)) - first_reach]
        turns.push_back(NOTHING)
        if list_sellers(
            &plan.routes, &hops, source, reach, <uint32_t>records.size(), &listings
        ) > 1:
            turns[records.size()] = made.totals.turns
            made.totals.turns += 1
        records.push_back(at)
        at = <uint32_t>after_record(plan.records, at)
    sort_listings(&listings)
    put_listings(&listings, &records, &turns, &made.sellers, &made.last_hops)


cdef void copy_sellers(
    const Plan* plan, const Partition* partition, Relisted* made
) noexcept nogil:
    cdef const Seller* seller
    cdef uint32_t i
    for i in range(partition.sellers, partition[1].sellers):
        seller = &plan.sellers[i]
        add_seller(&made.sellers, seller.node, seller.hops, &made.last_hops)
        made.last_hops.insert(
            made.last_hops.end(), plan.last_hops + seller.first, plan.last_hops + seller[1].first
        )


cdef bint relist_sellers(
    Plan* plan, const vector[uint8_t]* is_rerouted, uint64_t most_words, Relisted* made
) noexcept nogil:
    cdef uint32_t count = <uint32_t>section_count(plan, PARTITIONS)
    cdef vector[uint32_t] publishers
    cdef uint32_t i
    if count == 0 or plan.totals.partition != plan.routes.attribute:
        return True
    if find_publishers(plan, is_rerouted, &publishers) > most_words:
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
    add_seller(&made.sellers, NOTHING, 0, &made.last_hops)
    plan.partitions = made.partitions.data()
    plan.sellers = made.sellers.data()
    plan.last_hops = made.last_hops.data()
    plan.totals = &made.totals
    return True
