"""Writes, reads and checks the section ROUTES: see route_section.pxd."""
from itertools import pairwise

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.routes.routes cimport MOST_HOPS, WHOLE, RouteHop, RouteNode, RouteTables
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport STRING


cdef int set_labels(RouteSpec* spec, uint32_t attribute, list labels, list sources) except -1:
    cdef bytes label
    cdef size_t i
    spec.attribute = attribute
    for i in range(<size_t>len(labels)):
        label = labels[i]
        spec.tables.nodes[i].label = <uint32_t>spec.bytes.size()
        spec.tables.nodes[i].label_length = <uint32_t>len(label)
        spec.bytes.insert(spec.bytes.end(), <const char*>label, <const char*>label + len(label))
    spec.sources = sorted(sources, key=labels.__getitem__)
    for first, second in pairwise(spec.sources):
        if labels[first] == labels[second]:
            raise ValueError(f"two publishers are called {labels[first].decode()}")
    return 0


cdef void add_reach(
    RouteSpec* spec, uint32_t definition, int64_t party, uint32_t node, uint32_t hops
) noexcept nogil:
    cdef Reach reach
    reach.party = party
    reach.node = node
    reach.hops = hops
    spec.reaches.push_back(reach)
    spec.reach_definitions.push_back(definition)


# Writing.

cdef void put(vector[char]* made, const void* source, size_t size) noexcept nogil:
    cdef const char* start = <const char*>source
    if size:
        made.insert(made.end(), start, start + size)


cdef void put_hops(
    vector[char]* made, const vector[RouteHop]* hops, const vector[uint32_t]* atoms
) noexcept nogil:
    cdef RouteHop hop
    cdef size_t i
    for i in range(hops.size()):
        hop = hops[0][i]
        hop.atom = atoms[0][hop.edge]
        put(made, &hop, sizeof(hop))


cdef void write_routes(
    const RouteSpec* spec, const vector[uint32_t]* atoms, uint32_t first_reach, vector[char]* made
) noexcept nogil:
    cdef const RouteTables* tables = &spec.tables
    cdef RouteHeader header
    cdef size_t i
    memset(&header, 0, sizeof(header))
    header.nodes = <uint32_t>tables.nodes.size() - 1
    header.reaches = <uint32_t>spec.reaches.size()
    header.edges = <uint32_t>tables.edge_ids.size()
    header.sales = <uint32_t>tables.sales.size()
    header.purchases = <uint32_t>tables.purchases.size()
    header.sources = <uint32_t>spec.sources.size()
    header.bytes = <uint32_t>spec.bytes.size()
    header.attribute = spec.attribute
    header.first_reach = first_reach
    for i in range(spec.reaches.size()):
        header.max_hops = max(header.max_hops, spec.reaches[i].hops)
    put(made, &header, sizeof(header))
    put(made, tables.nodes.data(), tables.nodes.size() * sizeof(RouteNode))
    put(made, spec.reaches.data(), spec.reaches.size() * sizeof(Reach))
    put(made, tables.edge_ids.data(), tables.edge_ids.size() * sizeof(int64_t))
    if tables.edge_ids.size() % 2:
        put(made, &header.unused, sizeof(int64_t))      # keeps the next array aligned
    put_hops(made, &tables.sales, atoms)
    put_hops(made, &tables.purchases, atoms)
    put(made, spec.sources.data(), spec.sources.size() * sizeof(uint32_t))
    put(made, spec.bytes.data(), spec.bytes.size())


# Reading.

cdef const char* read_routes(const char* section, uint64_t size, RoutePlan* plan) noexcept nogil:
    cdef const RouteHeader* header = <const RouteHeader*>section
    cdef uint64_t edge_room
    memset(plan, 0, sizeof(plan[0]))
    if size == 0:
        return NULL
    if size < sizeof(RouteHeader):
        return b"its graph is cut short"
    edge_room = (<uint64_t>header.edges + 1) // 2 * 2
    section += sizeof(RouteHeader)
    plan.routes.nodes = <const RouteNode*>section
    section += (<uint64_t>header.nodes + 1) * sizeof(RouteNode)
    plan.reaches = <const Reach*>section
    section += <uint64_t>header.reaches * sizeof(Reach)
    plan.routes.edge_ids = <const int64_t*>section
    section += edge_room * sizeof(int64_t)
    plan.routes.sales = <const RouteHop*>section
    section += <uint64_t>header.sales * sizeof(RouteHop)
    plan.routes.purchases = <const RouteHop*>section
    section += <uint64_t>header.purchases * sizeof(RouteHop)
    plan.sources = <const uint32_t*>section
    section += <uint64_t>header.sources * sizeof(uint32_t)
    plan.bytes = section
    section += header.bytes
    if <uint64_t>(section - <const char*>header) != size:
        return b"its graph is not as long as it says"
    plan.routes.node_count = header.nodes
    plan.routes.max_hops = header.max_hops
    plan.reach_count = header.reaches
    plan.source_count = header.sources
    plan.attribute = header.attribute
    plan.first_reach = header.first_reach
    return NULL


cdef int compare_texts(
    const char* a, uint32_t a_length, const char* b, uint32_t b_length
) noexcept nogil:
    cdef int found = memcmp(a, b, min(a_length, b_length))
    if found:
        return found
    return (a_length > b_length) - (a_length < b_length)


cdef uint32_t find_source(const RoutePlan* plan, const char* text, uint32_t length) noexcept nogil:
    cdef uint32_t low = 0, high = plan.source_count, middle
    cdef const RouteNode* node
    cdef int order
    while low < high:
        middle = (low + high) // 2
        node = &plan.routes.nodes[plan.sources[middle]]
        order = compare_texts(plan.bytes + node.label, node.label_length, text, length)
        if order == 0:
            return plan.sources[middle]
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return NOTHING


# Checking.

cdef const RouteHeader* header_of(const RoutePlan* plan) noexcept nogil:
    return <const RouteHeader*>plan.routes.nodes - 1


cdef const char* check_hops(
    const RoutePlan* plan, const RouteHop* hops, uint32_t count, uint32_t leaves
) noexcept nogil:
    cdef const RouteHeader* header = header_of(plan)
    cdef uint32_t i
    for i in range(count):
        if hops[i].node >= header.nodes or hops[i].edge >= header.edges:
            return b"its graph leads to a party or an edge that is not there"
        if not 1 <= hops[i].numerator <= WHOLE:
            return b"a fee of its graph is out of range"
        # Behind the leaves and before the reaches: asking an edge never leads to a walk.
        if not leaves <= hops[i].atom < leaves + header.first_reach:
            return b"an edge of its graph names a slot that it may not ask"
    return NULL


cdef const char* check_nodes(const RoutePlan* plan) noexcept nogil:
    cdef const RouteHeader* header = header_of(plan)
    cdef const RouteNode* nodes = plan.routes.nodes
    cdef uint32_t i
    if nodes[0].sales or nodes[0].purchases:
        return b"its graph is out of order"
    for i in range(header.nodes):
        if nodes[i].sales > nodes[i + 1].sales or nodes[i].purchases > nodes[i + 1].purchases:
            return b"its graph is out of order"
        if nodes[i].rank >= header.nodes:
            return b"its graph is out of order"
        if nodes[i].label > header.bytes or nodes[i].label_length > header.bytes - nodes[i].label:
            return b"a party's label lies outside of the file"
    if nodes[header.nodes].sales != header.sales or (
        nodes[header.nodes].purchases != header.purchases
    ):
        return b"its graph is miscounted"
    return NULL


cdef const char* check_ends(const RoutePlan* plan, uint32_t slots) noexcept nogil:
    """Checks reaches and sources."""
    cdef const RouteHeader* header = header_of(plan)
    cdef const RouteNode* before = NULL
    cdef const RouteNode* node
    cdef uint32_t i
    if header.edges != header.purchases:
        return b"its graph is miscounted"
    if header.max_hops > MOST_HOPS or header.first_reach > slots or (
        header.reaches > slots - header.first_reach
    ):
        return b"its graph asks for too much"
    for i in range(header.reaches):
        if plan.reaches[i].node >= header.nodes or not (
            1 <= plan.reaches[i].hops <= header.max_hops
        ):
            return b"a reach is malformed"
    for i in range(header.sources):
        if plan.sources[i] >= header.nodes:
            return b"a publisher of its graph is not there"
        node = &plan.routes.nodes[plan.sources[i]]
        if i and compare_texts(
            plan.bytes + before.label, before.label_length, plan.bytes + node.label,
            node.label_length,
        ) >= 0:
            return b"the publishers of its graph are out of order"
        before = node
    return NULL


cdef const char* check_routes(
    const RoutePlan* plan, const CatalogTable* table, uint32_t leaves, uint32_t slots
) noexcept nogil:
    cdef const char* wrong
    if plan.routes.nodes == NULL:
        return NULL
    if plan.attribute >= table.attributes.size() or (
        table.attributes[plan.attribute].type != STRING
    ):
        return b"its graph begins at an attribute that is no text"
    wrong = check_nodes(plan)
    if wrong == NULL:
        wrong = check_ends(plan, slots)
    if wrong == NULL:
        wrong = check_hops(plan, plan.routes.sales, header_of(plan).sales, leaves)
    if wrong == NULL:
        wrong = check_hops(plan, plan.routes.purchases, header_of(plan).purchases, leaves)
    return wrong
