"""Brings graph and reaches into a dynamic index (reaches.pxd)."""
from libc.stdint cimport uint32_t

from matcher_ext.index.dynamic_state cimport DynamicState
from matcher_ext.index.given_texts cimport read_texts
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.nodes.definitions cimport add_definition, find_definition
from matcher_ext.nodes.shared_nodes cimport begin_form, intern
from matcher_ext.routes.route_section cimport RouteSpec, add_reach, set_labels
from matcher_ext.routes.routes cimport MOST_HOPS, make_tables
from matcher_ext.values.normal_form cimport NORMAL_REFERENCE, NormalNode
from matcher_ext.values.spans cimport Span

from matcher_ext.values.refusals import UnknownDefinitionError


cdef int give_routes(DynamicState index, names, links, labels, sources, spare, attribute) except -1:
    cdef RouteSpec spec
    cdef uint32_t definition
    cdef bytes encoded
    parties = sorted(names, key=lambda party: (names[party], party))
    nodes = {party: node for node, party in enumerate(parties)}
    links = sorted(links)
    make_tables(&spec.tables, parties, links)
    for edge_id in [*(link[0] for link in links), *spare]:
        encoded = f"edge.{edge_id}".encode()
        definition = find_definition(&index.store, encoded, len(encoded))
        if definition == NOTHING:
            raise UnknownDefinitionError(f"@edge.{edge_id} has no definition")
        spec.edge_definitions.push_back(definition)
    set_labels(
        &spec,
        find_text_attribute(index, attribute),
        [labels[party].encode() for party in parties],
        [nodes[party] for party in sources],
    )
    for name, (party, hops) in index.reaches.items():
        encoded = name.encode()
        definition = find_definition(&index.store, encoded, len(encoded))
        add_reach(&spec, definition, party, nodes[party], hops)
    index.spec = spec
    index.nodes = nodes
    return 0


cdef object find_text_attribute(DynamicState index, name):
    number = index.catalog.numbers.get(name)
    if number is None or index.catalog.types[number] != "string":
        raise ValueError(f"{name} is no attribute that holds a text")
    return number


cdef str find_reach(DynamicState index, party, hops):
    if index.nodes is None:
        raise ValueError("there is no graph to reach anybody in: set_routes comes first")
    if not 1 <= hops <= MOST_HOPS:
        raise ValueError(f"hops must be from 1 to {MOST_HOPS}, not {hops}")
    if party not in index.nodes:
        raise ValueError(f"party {party} is not in the graph")
    return f"reach.{party}.{hops}"


cdef int add_reach_of(DynamicState index, str name, party, hops) except -1:
    add_reach(&index.spec, add_false(index, name), party, index.nodes[party], hops)
    index.reaches[name] = party, hops
    return 0


cdef uint32_t add_false(DynamicState index, str name) except? 0:
    cdef bytes encoded = name.encode()
    cdef uint32_t definition
    if find_definition(&index.store, encoded, len(encoded)) != NOTHING:
        raise ValueError(f"@{name} has a definition already")
    read_texts(index, ["false"])
    begin_form(&index.store, &index.form)
    definition = add_definition(
        &index.store, encoded, len(encoded),
        intern(&index.store, &index.form, index.form.roots[0]),
    )
    if index.is_reach.size() <= definition:
        index.is_reach.resize(definition + 1, 0)
    index.is_reach[definition] = 1
    return definition


cdef int check_reaches(DynamicState index, bint within_definition) except -1:
    cdef const NormalNode* node
    cdef uint32_t definition
    cdef size_t i
    cdef Span name
    if index.is_reach.empty() or index.form.names.empty():
        return 0
    for i in range(index.form.nodes.size()):
        node = &index.form.nodes[i]
        if node.kind != NORMAL_REFERENCE or not (node.negated or within_definition):
            continue
        name = index.form.names[node.first]
        definition = find_definition(
            &index.store, index.form.bytes.data() + name.offset, name.length
        )
        if definition < index.is_reach.size() and index.is_reach[definition]:
            said = "be used in a definition" if within_definition else "be negated"
            raise ValueError(f"what the graph answers cannot {said}")
    return 0
