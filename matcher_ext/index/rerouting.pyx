"""Gives a snapshot another exchange graph: makes its arrays anew in memory, shares all else.

Parties keep their numbers and new ones come behind them, so that what the file lists by seller
(LAST_HOPS) stays right wherever no edge came, went or got other ends: a fee or a name moves nobody
into reach or out of it. Publishers that such an edge is downstream of get lists of their own
(relisting.pxd); if that were too many records, theirs are asked one by one.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.index.relisting cimport MOST_RELISTED, Relisted, relist_sellers
from matcher_ext.index.snapshot cimport Snapshot, make_snapshot
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport SLOTS, section_count
from matcher_ext.routes.route_section cimport (
    RouteSpec, add_reach, check_routes, read_routes, set_labels, write_routes,
)
from matcher_ext.routes.routes cimport Routes, make_tables

from matcher_ext.values.refusals import UnknownDefinitionError

ctypedef unordered_map[int64_t, uint64_t] Ends      # by edge id: seller and buyer


cdef class RouteMemory:
    """Keeps the arrays, and the snapshot that everything else is in."""
    cdef vector[char] section
    cdef vector[uint8_t] is_rerouted    # by node
    cdef Relisted relisted
    cdef Snapshot below


def replace_routes(
    Snapshot below, names, links, labels, sources, *, uint64_t most_relisted=MOST_RELISTED
):
    """Makes the same index over another graph: see ATree.set_routes. Every edge must be one that
    the index was given, or has a spare definition for; whom it may be asked to reach stays the
    same. Publishers with more than `most_relisted` words of records get no lists of their own."""
    cdef RouteMemory memory = RouteMemory()
    cdef RouteSpec spec
    cdef uint32_t rank
    if below.plan.routes.routes.nodes == NULL:
        return below        # it has no graph, so nobody asks for one
    parties = list_parties(below, names)
    nodes = {party: node for node, party in enumerate(parties)}
    links = sorted(links)
    make_tables(&spec.tables, parties, links)
    ranked = sorted(parties, key=lambda party: (names.get(party, ""), party))
    for rank in range(<uint32_t>len(ranked)):
        spec.tables.nodes[<uint32_t>nodes[ranked[rank]]].rank = rank
    set_labels(
        &spec, below.plan.routes.attribute,
        [labels.get(party, "").encode() for party in parties],
        [nodes[party] for party in sources],
    )
    copy_reaches(below, &spec, nodes)
    cdef vector[uint32_t] atoms = find_atoms(below, links)
    memory.below = below
    write_routes(&spec, &atoms, below.plan.routes.first_reach, &memory.section)
    return make_rerouted(below, memory, most_relisted)


cdef list list_parties(Snapshot below, names):
    """Lists the parties of the snapshot by their numbers, then new ones."""
    cdef uint32_t i
    parties = [
        below.plan.routes.routes.nodes[i].party
        for i in range(below.plan.routes.routes.node_count)
    ]
    return parties + sorted(names.keys() - set(parties))


cdef int copy_reaches(Snapshot below, RouteSpec* spec, dict nodes) except -1:
    cdef uint32_t i
    for i in range(below.plan.routes.reach_count):
        party = below.plan.routes.reaches[i].party
        add_reach(spec, NOTHING, party, nodes[party], below.plan.routes.reaches[i].hops)
    return 0


cdef list find_atoms(Snapshot below, list links):
    cdef uint32_t slot
    definitions = {name: place for place, name in enumerate(below.definition_names())}
    atoms = []
    for link in links:
        place = definitions.get(f"edge.{link[0]}")
        slot = NOTHING
        if place is not None:
            slot = below.plan.definition_slots[2 * <size_t>place]
        # Behind the reaches lie slots that the walk may not ask for.
        if slot >= below.plan.routes.first_reach:
            raise UnknownDefinitionError(f"@edge.{link[0]} has no place in this graph")
        atoms.append(below.plan.totals.leaves + slot)
    return atoms


# Publishers that an edge which came or went may concern.

cdef void find_ends(const Routes* routes, Ends* ends) noexcept nogil:
    cdef uint32_t node, i
    for node in range(routes.node_count):
        for i in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
            ends[0][routes.edge_ids[routes.purchases[i].edge]] = (
                <uint64_t>routes.purchases[i].node << 32 | node
            )


cdef void find_sellers(Ends* ends, Ends* others, vector[uint32_t]* found) noexcept nogil:
    """Finds the sellers of edges that the others do not have, or have between other parties."""
    for item in ends[0]:
        if others.count(item.first) == 0 or others[0][item.first] != item.second:
            found.push_back(<uint32_t>(item.second >> 32))


cdef void mark_upstream(
    const Routes* routes, vector[uint32_t]* waiting, vector[uint8_t]* marks
) noexcept nogil:
    """Marks those who wait, and all that lead to them."""
    cdef uint32_t node, i
    marks.assign(routes.node_count, 0)
    while not waiting.empty():
        node = waiting.back()
        waiting.pop_back()
        if marks[0][node]:
            continue
        marks[0][node] = 1
        for i in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
            waiting.push_back(routes.purchases[i].node)


cdef void mark_rerouted(
    const Routes* before, const Routes* after, vector[uint8_t]* marks
) noexcept nogil:
    """Marks who leads to an edge that came or went. Whoever led to one that went still leads to its
    seller, or to that of another such edge."""
    cdef Ends old, new
    cdef vector[uint32_t] sellers
    find_ends(before, &old)
    find_ends(after, &new)
    find_sellers(&old, &new, &sellers)
    find_sellers(&new, &old, &sellers)
    mark_upstream(after, &sellers, marks)


cdef Snapshot make_rerouted(Snapshot below, RouteMemory memory, uint64_t most_relisted):
    cdef Snapshot made = make_snapshot()
    cdef const char* wrong
    with below.lock:
        made.plan = below.plan
        made.is_thawed = below.is_thawed
    made.mapping = memory           # keeps both
    made.catalog = below.catalog
    made.answers = below.answers
    made.answered_by = below.answered_by
    made.definition_numbers = below.definition_numbers
    made.sorted_ids, made.id_order = below.ids, below.id_order
    wrong = read_routes(memory.section.data(), memory.section.size(), &made.plan.routes)
    if wrong == NULL:
        wrong = check_routes(
            &made.plan.routes, &made.catalog.table, made.plan.totals.leaves,
            <uint32_t>section_count(&made.plan, SLOTS),
        )
    if wrong != NULL:
        raise ValueError(f"the graph cannot be used: {wrong.decode()}")
    with nogil:
        mark_rerouted(
            &below.plan.routes.routes, &made.plan.routes.routes, &memory.is_rerouted
        )
    if not relist_sellers(&made.plan, &memory.is_rerouted, most_relisted, &memory.relisted):
        made.plan.routes.is_rerouted = memory.is_rerouted.data()
    return made
