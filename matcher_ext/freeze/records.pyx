"""Writes slots, then records of leaves and inner nodes in the order of their bits (records.pxd)."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.bit_numbers cimport is_inner
from matcher_ext.freeze.draft cimport BY_ALL, BY_CHILD, BY_PARTITION, Draft
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.freeze.programs cimport (
    begin_slots, has_slots, number_definition, number_slots, write_program, write_slot,
)
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport Expression, LeafStream, PlanNode
from matcher_ext.plan.record_format cimport (
    RECORD_MANY, RECORD_ONE, STREAM_COUNT, STREAM_ENTRIES, STREAM_LONG, STREAM_SHIFT,
)
from matcher_ext.routes.route_section cimport RouteSpec, write_routes
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE,
)


cdef void pull_children(
    const Draft* draft, uint32_t number, uint32_t without, uint32_t other, vector[uint32_t]* pulled
) noexcept nogil:
    """Lists what a record's program tests: all children but those that found it."""
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t i, child
    pulled.clear()
    if node.kind == NORMAL_AND:
        for i in range(node.count):
            child = draft.edges[node.first + i]
            if child != without and child != other:
                pulled.push_back(child)
    elif node.kind == NORMAL_REFERENCE:
        pulled.push_back(number)


cdef void number_routes(Layout* layout, const RouteSpec* spec) noexcept nogil:
    """Numbers the slots of edges first, then of all reaches in one piece; others come behind
    them."""
    cdef const vector[uint32_t]* slots = &layout.programs.definition_slots
    cdef vector[uint32_t] atoms
    cdef uint32_t definition, first_reach
    cdef size_t i
    for i in range(spec.edge_definitions.size()):
        definition = layout.draft.definition_numbers[spec.edge_definitions[i]]
        number_definition(&layout.draft, &layout.programs, definition)
        atoms.push_back(layout.leaves.totals.leaves + slots[0][2 * definition])
    first_reach = <uint32_t>layout.programs.slot_nodes.size()
    layout.reach_of.assign(layout.draft.definitions.size(), NOTHING)
    for i in range(spec.reach_definitions.size()):
        definition = layout.draft.definition_numbers[spec.reach_definitions[i]]
        number_definition(&layout.draft, &layout.programs, definition)
        layout.reach_of[definition] = <uint32_t>i
    test_reaches_last(layout)
    write_routes(spec, &atoms, first_reach, &layout.routes)


cdef void test_reaches_last(Layout* layout) noexcept nogil:
    """Makes programs test reaches last: a routed record can then be run without its reach."""
    cdef Draft* draft = &layout.draft
    cdef uint32_t i
    for i in range(<uint32_t>draft.nodes.size()):
        if draft.nodes[i].kind == NORMAL_REFERENCE and (
            layout.reach_of[draft.nodes[i].first] != NOTHING
        ):
            draft.test_costs[i] = 1e30


cdef void put_slots(Layout* layout, const RouteSpec* spec) noexcept nogil:
    """Numbers the slots of definitions and those that records need, then writes them."""
    cdef Draft* draft = &layout.draft
    cdef vector[uint32_t] pulled
    cdef uint32_t number, slot
    cdef size_t i
    begin_slots(draft, &layout.programs)
    if spec != NULL:
        number_routes(layout, spec)
    for number in range(<uint32_t>draft.definitions.size()):
        number_definition(draft, &layout.programs, number)
    for number in range(<uint32_t>draft.nodes.size() if has_slots(draft) else 0):
        if draft.pushed[number] and is_inner(draft, number):
            pull_children(draft, number, draft.access[number], NOTHING, &pulled)
            if draft.pushed[number] != BY_CHILD:
                pull_children(draft, number, NOTHING, NOTHING, &pulled)
            layout.programs.copies_parts = draft.pushed[number] == BY_PARTITION
            for i in range(pulled.size()):
                number_slots(draft, &layout.programs, pulled[i])
    layout.programs.copies_parts = False
    for slot in range(<uint32_t>layout.programs.slot_nodes.size()):
        layout.slots.push_back(<uint32_t>layout.records.size())
        layout.records.push_back(NOTHING)
        write_slot(
            draft, &layout.programs, layout.programs.slot_nodes[slot], &layout.records
        )


# Entries get their numbers in the order in which matching meets them.

cdef uint32_t count_entries(const Layout* layout, uint32_t node) noexcept nogil:
    cdef uint32_t expression = layout.draft.expression_of[node]
    return 0 if expression == NOTHING else layout.draft.expressions[expression].count


cdef uint32_t take_entries(Layout* layout, uint32_t node) noexcept nogil:
    cdef Expression* expression = &layout.draft.expressions[layout.draft.expression_of[node]]
    cdef uint32_t first = <uint32_t>layout.ids.size()
    cdef uint32_t i
    for i in range(expression.count):
        layout.ids.push_back(layout.draft.ids[expression.first + i])
    expression.first = first
    layout.draft.expression_of[node] = NOTHING      # taken
    return first


# Records and streams.

cdef uint32_t target_of(const Layout* layout, uint32_t number) noexcept nogil:
    cdef const Draft* draft = &layout.draft
    if layout.bit_of[number] != NOTHING:
        return layout.bit_of[number]
    if draft.or_parents[number]:
        return layout.bit_of[draft.last_or[number]]
    return NOTHING


cdef void put_record(
    Layout* layout, uint32_t number, uint32_t without, uint32_t other
) noexcept nogil:
    cdef vector[uint32_t] pulled
    pull_children(&layout.draft, number, without, other, &pulled)
    put_tested(layout, number, &pulled)


cdef void put_tested(
    Layout* layout, uint32_t number, vector[uint32_t]* pulled
) noexcept nogil:
    cdef uint32_t count = count_entries(layout, number)
    cdef uint32_t flags = 0
    if count:
        flags = RECORD_ONE if count == 1 else RECORD_MANY
    layout.records.push_back(target_of(layout, number))
    write_program(&layout.draft, &layout.programs, pulled, flags, &layout.records)
    if count:
        layout.records.push_back(take_entries(layout, number))
    if count > 1:
        layout.records.push_back(count)


cdef void find_leaf_nodes(Layout* layout) noexcept nogil:
    cdef const Draft* draft = &layout.draft
    cdef uint32_t i
    layout.leaf_nodes.assign(draft.predicates.size(), NOTHING)
    for i in range(<uint32_t>draft.nodes.size()):
        if draft.nodes[i].kind == NORMAL_PREDICATE and draft.expression_of[i] != NOTHING:
            layout.leaf_nodes[draft.leaf_of[draft.nodes[i].first]] = i


cdef void put_leaf_streams(Layout* layout) noexcept nogil:
    """Numbers the entries of leaves that are roots, which are consecutive; then writes records."""
    cdef LeafStream stream
    cdef uint32_t leaf, i, node
    find_leaf_nodes(layout)
    for leaf in range(layout.leaves.totals.pushed + 1):
        stream.ors = layout.or_first[leaf]
        stream.entry = <uint32_t>layout.ids.size()
        layout.leaf_streams.push_back(stream)
        if leaf < layout.leaves.totals.pushed and layout.leaf_nodes[leaf] != NOTHING:
            take_entries(layout, layout.leaf_nodes[leaf])
    for leaf in range(layout.leaves.totals.pushed):
        layout.leaf_streams[leaf].records = <uint32_t>layout.records.size()
        for i in range(layout.and_first[leaf], layout.and_first[leaf + 1]):
            node = layout.and_nodes[i]
            put_record(layout, node, layout.draft.access[node], NOTHING)
    layout.leaf_streams.back().records = <uint32_t>layout.records.size()


cdef void put_inner_stream(Layout* layout, uint32_t number) noexcept nogil:
    cdef uint32_t source = layout.leaves.totals.leaves + layout.bit_of[number]
    cdef uint32_t ors = layout.or_first[source + 1] - layout.or_first[source]
    cdef uint32_t ands = layout.and_first[source + 1] - layout.and_first[source]
    cdef uint32_t count = 0
    cdef uint32_t i, node
    # The entries of an AND are in its record already.
    if layout.draft.nodes[number].kind == NORMAL_OR:
        count = count_entries(layout, number)
    cdef uint32_t header = STREAM_ENTRIES if count else 0
    if ors > STREAM_COUNT or ands > STREAM_COUNT:
        layout.records.push_back(header | STREAM_LONG)
        layout.records.push_back(ors)
        layout.records.push_back(ands)
    else:
        layout.records.push_back(header | ands << STREAM_SHIFT | ors)
    for i in range(layout.or_first[source], layout.or_first[source + 1]):
        layout.records.push_back(layout.or_targets[i])
    if count:
        layout.records.push_back(take_entries(layout, number))
        layout.records.push_back(count)
    for i in range(layout.and_first[source], layout.and_first[source + 1]):
        node = layout.and_nodes[i]
        put_record(layout, node, layout.draft.access[node], NOTHING)


cdef void put_inner_streams(Layout* layout) noexcept nogil:
    cdef size_t i
    for i in range(layout.bit_nodes.size()):
        layout.inner_offsets.push_back(<uint32_t>layout.records.size())
        if layout.bit_nodes[i] != NOTHING:
            put_inner_stream(layout, layout.bit_nodes[i])
        else:
            layout.records.push_back(0)     # a stream of nothing, to fill the level's last word


cdef void put_always(Layout* layout) noexcept nogil:
    cdef uint32_t number
    for number in range(<uint32_t>layout.draft.nodes.size()):
        if layout.draft.pushed[number] == BY_ALL:
            layout.always.push_back(<uint32_t>layout.records.size())
            put_record(layout, number, NOTHING, NOTHING)


cdef void put_terminals(Layout* layout) noexcept nogil:
    cdef size_t i
    for i in range(layout.terminal_nodes.size()):
        if i >= layout.leaves.totals.direct:
            layout.terminals.push_back(<uint32_t>layout.ids.size())
        take_entries(layout, layout.terminal_nodes[i])
    layout.terminals.push_back(<uint32_t>layout.ids.size())


cdef void put_other_entries(Layout* layout) noexcept nogil:
    """Numbers the entries of `false`: they never match and only need ids."""
    cdef size_t i
    layout.leaves.totals.met = <uint32_t>layout.ids.size()
    for i in range(layout.draft.expressions.size()):
        if layout.draft.expression_of[layout.draft.expressions[i].node] != NOTHING:
            take_entries(layout, layout.draft.expressions[i].node)
