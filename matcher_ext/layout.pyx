"""From a draft to a plan, in seven steps: see build_plan at the end."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.access cimport choose_access
from matcher_ext.arena cimport (
    NORMAL_AND,
    NORMAL_OR,
    NORMAL_PREDICATE,
    NORMAL_REFERENCE,
    NOTHING,
    ONE_OF,
    Predicate,
)
from matcher_ext.draft cimport BY_ALL, BY_CHILD, BY_PAIR, PairChoice, fill_draft
from matcher_ext.leaves cimport find_draft_point, index_leaves
from matcher_ext.plan cimport *
from matcher_ext.programs cimport (
    begin_slots,
    number_definition,
    number_slots,
    write_program,
    write_slot,
)
from matcher_ext.route_section cimport write_routes

ctypedef pair[uint64_t, uint32_t] Ranked


# 1. Bits.

cdef bint is_inner(const Draft* draft, uint32_t node) noexcept nogil:
    return draft.nodes[node].kind != NORMAL_PREDICATE


cdef bint has_bit(const Draft* draft, uint32_t node) noexcept nogil:
    """An OR that something is above; an AND that sets no single OR's bit instead of its own."""
    cdef uint32_t parents = draft.or_parents[node] + draft.and_parents[node]
    if draft.nodes[node].kind == NORMAL_OR:
        return parents > 0
    return parents > 1 or draft.and_parents[node] == 1


cdef void rank_nodes(
    const Draft* draft, vector[uint32_t]* levels, vector[uint32_t]* leads
) noexcept nogil:
    """By pushed node: its level, and the leaf that most often leads to it."""
    cdef uint32_t number, i, child, likeliest
    cdef size_t count = draft.nodes.size()
    levels.assign(count, 0)
    leads.assign(count, NOTHING)
    for number in range(<uint32_t>count):
        if not draft.pushed[number]:
            continue
        if draft.nodes[number].kind == NORMAL_PREDICATE:
            leads[0][number] = draft.leaf_of[draft.nodes[number].first]
        elif draft.nodes[number].kind == NORMAL_OR:
            likeliest = draft.edges[draft.nodes[number].first]
            for i in range(draft.nodes[number].count):
                child = draft.edges[draft.nodes[number].first + i]
                levels[0][number] = max(levels[0][number], levels[0][child] + 1)
                if draft.rates[child] > draft.rates[likeliest]:
                    likeliest = child
            leads[0][number] = leads[0][likeliest]
        elif draft.pushed[number] == BY_CHILD:
            levels[0][number] = levels[0][draft.access[number]] + 1
            leads[0][number] = leads[0][draft.access[number]]
        else:
            levels[0][number] = 1


cdef void number_bits(Layout* layout) noexcept nogil:
    cdef Draft* draft = &layout.draft
    cdef vector[uint32_t] levels, leads
    cdef vector[Ranked] inner, terminal
    cdef Ranked item
    cdef uint32_t number, level = 0
    cdef size_t i
    rank_nodes(draft, &levels, &leads)
    for number in range(<uint32_t>draft.nodes.size()):
        item.second = number
        if not draft.pushed[number] or not is_inner(draft, number):
            continue
        item.first = <uint64_t>levels[number] << 32 | leads[number]
        if has_bit(draft, number):
            inner.push_back(item)
        elif draft.nodes[number].kind == NORMAL_OR:
            item.first = leads[number]
            terminal.push_back(item)
    sort(inner.begin(), inner.end())
    sort(terminal.begin(), terminal.end())
    layout.bit_of.assign(draft.nodes.size(), NOTHING)
    cdef uint32_t first = (layout.leaves.totals.filled + 63) // 64 * 64
    for i in range(inner.size()):
        while level != <uint32_t>(inner[i].first >> 32):
            start_level(layout)
            level += 1
        layout.bit_of[inner[i].second] = first + <uint32_t>layout.bit_nodes.size()
        layout.bit_nodes.push_back(inner[i].second)
    start_level(layout)
    number_terminals(layout, &terminal)


cdef void start_level(Layout* layout) noexcept nogil:
    while layout.bit_nodes.size() % 64:
        layout.bit_nodes.push_back(NOTHING)
    layout.levels.push_back(
        (layout.leaves.totals.filled + 63) // 64 * 64 + <uint32_t>layout.bit_nodes.size()
    )


cdef void number_terminals(Layout* layout, const vector[Ranked]* terminal) noexcept nogil:
    cdef uint32_t bit = layout.levels.back()
    cdef size_t i
    layout.leaves.totals.terminals = bit
    for i in range(terminal.size()):
        layout.bit_of[terminal[0][i].second] = bit
        layout.terminal_nodes.push_back(terminal[0][i].second)
        bit += 1
    layout.leaves.totals.bits = (bit + 63) // 64 * 64


# 2. Links: who is above a leaf or an inner bit.

cdef uint32_t source_of(const Layout* layout, uint32_t node) noexcept nogil:
    """A leaf, or leaves + inner bit; NOTHING for an AND that sets an OR's bit itself."""
    if not is_inner(&layout.draft, node):
        return layout.draft.leaf_of[layout.draft.nodes[node].first]
    if layout.bit_of[node] == NOTHING:
        return NOTHING
    return layout.leaves.totals.leaves + layout.bit_of[node]


cdef void add_or_links(Layout* layout, uint32_t number, bint counting) noexcept nogil:
    cdef const PlanNode* node = &layout.draft.nodes[number]
    cdef uint32_t i, source
    for i in range(node.count):
        source = source_of(layout, layout.draft.edges[node.first + i])
        if source == NOTHING:
            continue
        if counting:
            layout.or_first[source + 1] += 1
        else:
            layout.or_targets[layout.or_first[source]] = layout.bit_of[number]
            layout.or_first[source] += 1


cdef void add_links(Layout* layout, bint counting) noexcept nogil:
    cdef const Draft* draft = &layout.draft
    cdef uint32_t number, source
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.pushed[number] != BY_CHILD:
            continue
        if draft.nodes[number].kind == NORMAL_OR:
            add_or_links(layout, number, counting)
        elif draft.nodes[number].kind == NORMAL_AND:
            source = source_of(layout, draft.access[number])
            if counting:
                layout.and_first[source + 1] += 1
            else:
                layout.and_nodes[layout.and_first[source]] = number
                layout.and_first[source] += 1


cdef void add_up(vector[uint32_t]* counts) noexcept nogil:
    cdef size_t i
    for i in range(1, counts.size()):
        counts[0][i] += counts[0][i - 1]


cdef void step_back(vector[uint32_t]* firsts) noexcept nogil:
    """After filling, each first stands at its end, which is the next one's first."""
    cdef size_t i
    for i in range(firsts.size() - 1, 0, -1):
        firsts[0][i] = firsts[0][i - 1]
    firsts[0][0] = 0


cdef void link_nodes(Layout* layout) noexcept nogil:
    cdef size_t sources = layout.leaves.totals.leaves + layout.leaves.totals.bits + 1
    layout.or_first.assign(sources + 1, 0)
    layout.and_first.assign(sources + 1, 0)
    add_links(layout, True)
    add_up(&layout.or_first)
    add_up(&layout.and_first)
    layout.or_targets.resize(layout.or_first.back())
    layout.and_nodes.resize(layout.and_first.back())
    add_links(layout, False)
    step_back(&layout.or_first)
    step_back(&layout.and_first)


# 3. Slots.

cdef void pull_children(
    const Draft* draft, uint32_t number, uint32_t without, uint32_t other, vector[uint32_t]* pulled
) noexcept nogil:
    """What a record's program tests: all children but those that found it."""
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
    """Edges first, then all reaches in one piece; what else there is comes behind them."""
    cdef const vector[uint32_t]* slots = &layout.programs.definition_slots
    cdef vector[uint32_t] atoms
    cdef uint32_t definition, first_reach
    cdef size_t i
    for i in range(spec.edge_definitions.size()):
        definition = layout.draft.definition_numbers[spec.edge_definitions[i]]
        number_definition(&layout.draft, &layout.programs, definition)
        atoms.push_back(layout.leaves.totals.leaves + slots[0][2 * definition])
    first_reach = <uint32_t>layout.programs.slot_nodes.size()
    for i in range(spec.reach_definitions.size()):
        definition = layout.draft.definition_numbers[spec.reach_definitions[i]]
        number_definition(&layout.draft, &layout.programs, definition)
    write_routes(spec, &atoms, first_reach, &layout.routes)


cdef void make_slots(Layout* layout, const RouteSpec* spec) noexcept nogil:
    """Numbers those that records need, then writes them; the first records are theirs."""
    cdef Draft* draft = &layout.draft
    cdef vector[uint32_t] pulled
    cdef uint32_t number, slot
    cdef size_t i
    begin_slots(draft, &layout.programs)
    if spec != NULL:
        number_routes(layout, spec)
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.pushed[number] and is_inner(draft, number):
            pull_children(draft, number, draft.access[number], NOTHING, &pulled)
            if draft.pushed[number] != BY_CHILD:
                pull_children(draft, number, NOTHING, NOTHING, &pulled)
            for i in range(pulled.size()):
                number_slots(draft, &layout.programs, pulled[i])
    for slot in range(<uint32_t>layout.programs.slot_nodes.size()):
        layout.slots.push_back(<uint32_t>layout.records.size())
        layout.records.push_back(NOTHING)
        write_slot(
            draft, &layout.programs, layout.programs.slot_nodes[slot], &layout.records
        )


# 4. Entries get their numbers in the order in which matching meets them.

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


# 5. Records and streams.

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
    cdef uint32_t count = count_entries(layout, number)
    cdef uint32_t flags = 0
    if count:
        flags = RECORD_ONE if count == 1 else RECORD_MANY
    layout.records.push_back(target_of(layout, number))
    pull_children(&layout.draft, number, without, other, &pulled)
    write_program(&layout.draft, &layout.programs, &pulled, flags, &layout.records)
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
    """First the entries of leaves that are roots, so that they are consecutive; then records."""
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


cdef void put_streams(Layout* layout) noexcept nogil:
    cdef Draft* draft = &layout.draft
    cdef uint32_t number
    cdef size_t i
    for i in range(layout.bit_nodes.size()):
        layout.inner_offsets.push_back(<uint32_t>layout.records.size())
        if layout.bit_nodes[i] != NOTHING:
            put_inner_stream(layout, layout.bit_nodes[i])
        else:
            layout.records.push_back(0)     # a stream of nothing, to fill the level's last word
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.pushed[number] == BY_ALL:
            layout.always.push_back(<uint32_t>layout.records.size())
            put_record(layout, number, NOTHING, NOTHING)
    for i in range(layout.terminal_nodes.size()):
        layout.terminals.push_back(<uint32_t>layout.ids.size())
        take_entries(layout, layout.terminal_nodes[i])
    layout.terminals.push_back(<uint32_t>layout.ids.size())


# 6. Pairs.

cdef uint64_t pair_key(const Layout* layout, const PairChoice* choice, uint32_t value) noexcept nogil:
    cdef const Draft* draft = &layout.draft
    cdef const Predicate* partition = &draft.predicates[draft.nodes[choice.partition].first]
    cdef const Predicate* other = &draft.predicates[draft.nodes[choice.other].first]
    return <uint64_t>find_draft_point(draft, &layout.leaves, partition, 0) << 32 | (
        find_draft_point(draft, &layout.leaves, other, value)
    )


cdef void put_pairs(Layout* layout) noexcept nogil:
    """Records in the order of their first key, then the table of all keys."""
    cdef Draft* draft = &layout.draft
    cdef vector[Ranked] ranked, listed
    cdef vector[PairRecord] found
    cdef Ranked item
    cdef PairRecord record
    cdef const Predicate* other
    cdef const PairChoice* choice
    cdef size_t i
    cdef uint32_t value
    for i in range(draft.pairs.size()):
        item.first = pair_key(layout, &draft.pairs[i], 0)
        item.second = <uint32_t>i
        ranked.push_back(item)
    sort(ranked.begin(), ranked.end())
    for i in range(ranked.size()):
        choice = &draft.pairs[ranked[i].second]
        other = &draft.predicates[draft.nodes[choice.other].first]
        record.record = <uint32_t>layout.records.size()
        record.turn = NOTHING
        if other.test == ONE_OF and other.count > 1:
            record.turn = layout.leaves.totals.turns
            layout.leaves.totals.turns += 1
        put_record(layout, choice.node, choice.partition, choice.other)
        item.second = <uint32_t>found.size()
        found.push_back(record)
        for value in range(other.count):
            item.first = pair_key(layout, choice, value)
            listed.push_back(item)
    sort(listed.begin(), listed.end())
    tabulate_pairs(layout, &listed, &found)


cdef void tabulate_pairs(
    Layout* layout, const vector[Ranked]* listed, const vector[PairRecord]* found
) noexcept nogil:
    cdef Pair pair_
    cdef size_t size = 1, i = 0
    cdef uint64_t slot
    while size < 2 * listed.size():
        size *= 2
    memset(&pair_, 0, sizeof(pair_))
    layout.pairs.assign(size, pair_)
    while i < listed.size():
        pair_.partition = <uint32_t>(listed[0][i].first >> 32)
        pair_.point = <uint32_t>listed[0][i].first
        pair_.first = <uint32_t>layout.pair_records.size()
        pair_.count = 0
        while i < listed.size() and listed[0][i].first == (
            <uint64_t>pair_.partition << 32 | pair_.point
        ):
            layout.pair_records.push_back(found[0][listed[0][i].second])
            pair_.count += 1
            i += 1
        slot = pair_hash(pair_.partition, pair_.point) & (size - 1)
        while layout.pairs[slot].count:
            slot = (slot + 1) & (size - 1)
        layout.pairs[slot] = pair_


cdef void put_other_entries(Layout* layout) noexcept nogil:
    """What is never true is met never, but keeps its ids."""
    cdef size_t i
    for i in range(layout.draft.expressions.size()):
        if layout.draft.expression_of[layout.draft.expressions[i].node] != NOTHING:
            take_entries(layout, layout.draft.expressions[i].node)


# 7. Sections.

cdef void order_edges(Draft* draft) noexcept nogil:
    """An AND's rarest child first: who goes through the graph can stop there."""
    cdef vector[pair[float, uint32_t]] ranked
    cdef pair[float, uint32_t] item
    cdef const PlanNode* node
    cdef size_t i
    cdef uint32_t k
    for i in range(draft.nodes.size()):
        node = &draft.nodes[i]
        if node.kind != NORMAL_AND:
            continue
        ranked.clear()
        for k in range(node.count):
            item.second = draft.edges[node.first + k]
            item.first = draft.push_costs[item.second]
            ranked.push_back(item)
        sort(ranked.begin(), ranked.end())
        for k in range(node.count):
            draft.edges[node.first + k] = ranked[k].second


cdef void put_graph(Layout* layout, vector[char]* buffer, Header* header) noexcept nogil:
    """The draft's graph, with leaves in the place of predicates."""
    cdef Draft* draft = &layout.draft
    cdef vector[Predicate] predicates
    cdef size_t i
    for i in range(draft.definitions.size()):
        draft.definitions[i].dual = draft.definition_duals[i]
    order_edges(draft)
    for i in range(layout.leaves.order.size()):
        predicates.push_back(draft.predicates[layout.leaves.order[i]])
    for i in range(draft.nodes.size()):
        if draft.nodes[i].kind == NORMAL_PREDICATE:
            draft.nodes[i].first = draft.leaf_of[draft.nodes[i].first]
    put_section(buffer, header, PREDICATES, predicates.data(), predicates.size())
    put_section(buffer, header, WORDS, draft.words.data(), draft.words.size())
    put_section(buffer, header, BYTES, draft.bytes.data(), draft.bytes.size())
    put_section(buffer, header, NODES, draft.nodes.data(), draft.nodes.size())
    put_section(buffer, header, EDGES, draft.edges.data(), draft.edges.size())
    put_section(
        buffer, header, EXPRESSIONS, draft.expressions.data(), draft.expressions.size()
    )
    put_section(buffer, header, IDS, layout.ids.data(), layout.ids.size())
    put_section(
        buffer, header, DEFINITIONS, draft.definitions.data(), draft.definitions.size()
    )
    put_section(buffer, header, NAMES, draft.store.names.data(), draft.store.names.size())


cdef void put_index(Layout* layout, vector[char]* buffer, Header* header) noexcept nogil:
    cdef LeafIndex* leaves = &layout.leaves
    cdef size_t leaf_ors = layout.or_first[leaves.totals.pushed]
    put_section(buffer, header, ATTRIBUTES, leaves.attributes.data(), leaves.attributes.size())
    put_section(buffer, header, POINTS, leaves.points.data(), leaves.points.size())
    put_section(buffer, header, KEYS, leaves.keys.data(), leaves.keys.size())
    put_section(buffer, header, TEXTS, leaves.texts.data(), leaves.texts.size())
    put_section(buffer, header, MEMBERS, leaves.members.data(), leaves.members.size())
    put_section(buffer, header, BOUNDS, leaves.bounds.data(), leaves.bounds.size())
    put_section(
        buffer, header, LEAF_STREAMS, layout.leaf_streams.data(), layout.leaf_streams.size()
    )
    put_section(buffer, header, OR_TARGETS, layout.or_targets.data(), leaf_ors)
    put_section(buffer, header, LEVELS, layout.levels.data(), layout.levels.size())
    put_section(
        buffer, header, INNER_OFFSETS, layout.inner_offsets.data(), layout.inner_offsets.size()
    )
    put_section(buffer, header, RECORDS, layout.records.data(), layout.records.size())
    put_section(buffer, header, TERMINALS, layout.terminals.data(), layout.terminals.size())
    put_section(buffer, header, SLOTS, layout.slots.data(), layout.slots.size())
    put_section(
        buffer, header, DEFINITION_SLOTS,
        layout.programs.definition_slots.data(), layout.programs.definition_slots.size(),
    )
    put_section(buffer, header, ALWAYS, layout.always.data(), layout.always.size())
    put_section(buffer, header, PAIRS, layout.pairs.data(), layout.pairs.size())
    put_section(
        buffer, header, PAIR_RECORDS, layout.pair_records.data(), layout.pair_records.size()
    )
    put_section(
        buffer, header, CLUE_INDEXES,
        leaves.candidates.indexes.data(), leaves.candidates.indexes.size(),
    )
    put_section(
        buffer, header, CLUE_ROWS, leaves.candidates.rows.data(), leaves.candidates.rows.size()
    )
    put_section(
        buffer, header, CANDIDATES,
        leaves.candidates.leaves.data(), leaves.candidates.leaves.size(),
    )
    put_section(buffer, header, ROUTES, layout.routes.data(), layout.routes.size())
    put_section(buffer, header, TOTALS, &leaves.totals, 1)


cdef void build_plan(
    const NodeStore* store,
    const CatalogTable* table,
    vector[Entry]* entries,
    const RouteSpec* spec,
    const char* catalog,
    size_t catalog_length,
    vector[char]* buffer,
) noexcept nogil:
    cdef Layout layout
    cdef Header header
    fill_draft(&layout.draft, store, table, entries)
    choose_access(&layout.draft)
    index_leaves(&layout.draft, &layout.leaves)
    layout.leaves.totals.partition = layout.draft.partition
    number_bits(&layout)
    link_nodes(&layout)
    make_slots(&layout, spec)
    put_leaf_streams(&layout)
    put_streams(&layout)
    put_pairs(&layout)
    put_other_entries(&layout)
    begin_buffer(buffer, &header)
    put_section(buffer, &header, CATALOG, catalog, catalog_length)
    put_graph(&layout, buffer, &header)
    put_index(&layout, buffer, &header)
    end_buffer(buffer, &header)
