"""A snapshot with another exchange graph: the arrays are made anew in memory, all else is shared."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.arena cimport NOTHING
from matcher_ext.graph cimport find_plan_definition
from matcher_ext.plan cimport SLOTS, section_count
from matcher_ext.route_section cimport (
    RouteSpec,
    add_reach,
    check_routes,
    read_routes,
    set_labels,
    write_routes,
)
from matcher_ext.routes cimport make_tables
from matcher_ext.snapshot cimport Snapshot, make_snapshot

from matcher_ext.refusals import UnknownDefinitionError


cdef class RouteMemory:
    """Keeps the arrays, and the snapshot that everything else is in."""
    cdef vector[char] section
    cdef Snapshot below


def replace_routes(Snapshot below, names, links, labels, sources):
    """The same index over another graph: see ATree.set_routes. Every edge must be one that the
    index was given, or has a spare definition for; whom it may be asked to reach stays the same."""
    cdef RouteMemory memory = RouteMemory()
    cdef RouteSpec spec
    if below.plan.routes.routes.nodes == NULL:
        return below        # it has no graph, so nobody asks for one
    parties = sorted(names, key=lambda party: (names[party], party))
    nodes = {party: node for node, party in enumerate(parties)}
    links = sorted(links)
    make_tables(&spec.tables, parties, links)
    set_labels(
        &spec, below.plan.routes.attribute, [labels[party].encode() for party in parties],
        [nodes[party] for party in sources],
    )
    copy_reaches(below, &spec, nodes)
    cdef vector[uint32_t] atoms = find_atoms(below, links)
    memory.below = below
    write_routes(&spec, &atoms, below.plan.routes.first_reach, &memory.section)
    return make_rerouted(below, memory)


cdef int copy_reaches(Snapshot below, RouteSpec* spec, dict nodes) except -1:
    cdef uint32_t i
    for i in range(below.plan.routes.reach_count):
        party = below.plan.routes.reaches[i].party
        add_reach(spec, NOTHING, party, nodes[party], below.plan.routes.reaches[i].hops)
    return 0


cdef list find_atoms(Snapshot below, list links):
    cdef uint32_t definition, slot
    atoms = []
    for link in links:
        definition = find_plan_definition(&below.plan, f"edge.{link[0]}".encode())
        slot = NOTHING
        if definition != NOTHING:
            slot = below.plan.definition_slots[2 * <size_t>definition]
        # Behind the reaches lie slots that the walk may not ask for.
        if slot >= below.plan.routes.first_reach:
            raise UnknownDefinitionError(f"@edge.{link[0]} has no place in this graph")
        atoms.append(below.plan.totals.leaves + slot)
    return atoms


cdef Snapshot make_rerouted(Snapshot below, RouteMemory memory):
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
    return made
