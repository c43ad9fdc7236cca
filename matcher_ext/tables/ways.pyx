"""Finds cheapest ways by class of rows, and bottlenecks by forcing edges (ways.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.map cimport map
from libcpp.vector cimport vector

from matcher_ext.machine.bitmaps cimport first_one, get_bit
from matcher_ext.machine.keeping cimport add_number, fill_vector, put_number
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.routes.route_section cimport Reach
from matcher_ext.routes.routes cimport (
    RouteHop, Routes, end_walk, find_last_hop, open_walk, walk_from,
)
from matcher_ext.tables.asking cimport (
    Asker, ask_entry, ask_node, ask_reach, find_block_source, forget_walk, measure_need, open_block,
    take_rows,
)
from matcher_ext.tables.kernels cimport and_rows, count_both, count_except, except_rows
from matcher_ext.tables.questions cimport ASKED_LINK, ASKED_REACH, Asked, Entry

cdef struct RowAsker:
    Asker* asker
    uint32_t row
    bint is_failed          # there was no memory for an answer


cdef const uint64_t* try_node(Asker* asker, uint32_t node) noexcept nogil:
    """Asks a node where nobody can take an exception; NULL: there was no memory."""
    return ask_node(asker, node, True)


cdef bint ask_row(void* context, uint32_t atom) noexcept nogil:
    cdef RowAsker* row = <RowAsker*>context
    cdef Asker* asker = row.asker
    cdef const uint64_t* rows = try_node(asker, asker.question.slots[atom - asker.leaves])
    row.is_failed |= rows == NULL
    return rows != NULL and get_bit(rows, row.row)


cdef bint is_here(Asker* asker, uint32_t entry) noexcept nogil:
    cdef const Entry* asked = &asker.question.entries[entry]
    return not asked.is_never and (
        asked.gate == NOTHING or asked.gate == asker.table.blocks[asker.block].by
    )


# Ways.

cdef int sort_rows(Asker* asker, Ways* ways) except -1 nogil:
    """Puts rows that satisfy the same edges into one class."""
    cdef const Routes* routes = &asker.routes.routes
    cdef map[vector[uint64_t], uint32_t] classes
    cdef vector[vector[uint64_t]] keys
    cdef const uint64_t* rows
    cdef uint32_t rows_here = asker.table.blocks[asker.block].rows
    cdef uint32_t edges = routes.nodes[routes.node_count].purchases
    cdef uint32_t i, row
    keys.resize(rows_here)
    for row in range(rows_here):
        keys[row].resize((edges + 63) // 64, 0)
    for i in range(edges):
        if asker.need[routes.purchases[i].node] == 0:
            continue                # leads to nobody who is asked for
        rows = ask_node(
            asker, asker.question.slots[routes.purchases[i].atom - asker.leaves], True
        )
        for row in range(rows_here):
            keys[row][i >> 6] |= <uint64_t>get_bit(rows, row) << (i & 63)
    ways.class_of.resize(rows_here)
    ways.firsts.clear()
    for row in range(rows_here):
        if classes.count(keys[row]) == 0:
            put_number(classes, keys[row], <uint32_t>ways.firsts.size())
            ways.firsts.push_back(row)
        ways.class_of[row] = classes[keys[row]]
    return 0


cdef uint32_t number_way(Asker* asker, Ways* ways, uint32_t way) except 0xFFFFFFFF nogil:
    cdef vector[uint32_t] edges, ordered
    cdef uint32_t number
    cdef size_t i
    while way != NOTHING and ways.walk.ways[way].before != NOTHING:
        edges.push_back(ways.walk.ways[way].edge)
        way = ways.walk.ways[way].before
    for i in range(edges.size()):
        ordered.push_back(edges[edges.size() - 1 - i])
    if ways.numbers.count(ordered) == 0:
        number = <uint32_t>ways.edges.size()
        put_number(ways.numbers, ordered, number)
        ways.edges.push_back(ordered)
    return ways.numbers[ordered]


cdef uint32_t take_way(
    Asker* asker, Ways* ways, uint32_t row, uint32_t number
) except 0xFFFFFFFF nogil:
    """Finds the way of a row that reaches the party; the same for all of its class."""
    cdef uint64_t key = <uint64_t>ways.class_of[row] << 32 | number
    cdef const Reach* reach = &asker.question.reaches[number]
    cdef RowAsker context
    if ways.taken.count(key):
        return ways.taken[key]
    context.asker = asker
    context.is_failed = False
    context.row = ways.firsts[ways.class_of[row]]
    end_walk(&ways.walk)
    walk_from(&asker.routes.routes, &ways.walk, find_block_source(asker), ask_row, &context)
    number = number_way(asker, ways, find_last_hop(
        &asker.routes.routes, &ways.walk, reach.node, reach.hops, ask_row, &context
    ))
    if context.is_failed:
        with gil:
            raise MemoryError
    put_number(ways.taken, key, number)
    return number


cdef int add_ways(
    Asker* asker, Ways* ways, uint64_t booking, uint32_t reach, const uint64_t* rows
) except -1 nogil:
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef uint64_t bits, key
    cdef uint32_t word
    for word in range(asker.words):
        bits = rows[word]
        while bits:
            key = booking << 32 | take_way(asker, ways, 64 * word + first_one(bits), reach)
            add_number(ways.visits, key, weight)
            bits &= bits - 1
    return 0


cdef int find_ways(Asker* asker, const AnyPath* bookings, Ways* ways) except -1 nogil:
    cdef const uint64_t* rows
    cdef uint64_t* out
    cdef uint32_t block
    cdef size_t i
    cdef bint is_sorted
    open_walk(&asker.routes.routes, &ways.walk)
    for block in range(asker.table.block_count):
        open_block(asker, block)
        out = take_rows(asker)
        ways.taken.clear()
        is_sorted = False
        for i in range(bookings.entries.size()):
            if not is_here(asker, bookings.entries[i]):
                continue
            rows = ask_entry(asker, &asker.question.entries[bookings.entries[i]], out)
            if rows == asker.zero:
                continue
            if not is_sorted:
                sort_rows(asker, ways)
                is_sorted = True
            add_ways(asker, ways, i, bookings.reaches[i], rows)
    return 0


# Bottlenecks.

cdef bint is_reach_link(const Asker* asker, uint32_t node) noexcept nogil:
    cdef const Asked* asked = &asker.question.nodes[node]
    return asked.kind == ASKED_LINK and (
        asker.question.nodes[asked.first].kind == ASKED_REACH
    )


cdef bint join_else(Asker* asker, const Entry* entry, uint64_t* out) except -1 nogil:
    """Takes the rows that satisfy all of a booking but the path; says if there are any."""
    cdef uint32_t i, child
    memcpy(out, asker.valid, 8 * <size_t>asker.words)
    if entry.path != NOTHING and not and_rows(
        out, out, ask_node(asker, entry.path, True), asker.words
    ):
        return False
    for i in range(entry.first, entry.first + entry.count):
        child = asker.question.children[i]
        if not is_reach_link(asker, child) and not and_rows(
            out, out, ask_node(asker, child, True), asker.words
        ):
            return False
    return True


cdef const uint64_t* force_edge(
    Asker* asker, uint32_t reach, uint32_t edge, bint is_open
) except NULL nogil:
    asker.forced_edge = edge
    asker.forced_open = is_open
    forget_walk(asker)
    return ask_reach(asker, reach)


cdef int weigh_edge(
    Asker* asker, const RouteHop* hop, uint32_t reach, const uint64_t* others, uint64_t* rows,
    int64_t* depending, int64_t* blocked,
) except -1 nogil:
    """Counts the rows that need one edge. What a walk takes of memory is given back."""
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef const uint64_t* truth = ask_node(
        asker, asker.question.slots[hop.atom - asker.leaves], True
    )
    cdef size_t taken = asker.taken
    if and_rows(rows, others, force_edge(asker, reach, hop.edge, True), asker.words):
        if except_rows(rows, rows, force_edge(asker, reach, hop.edge, False), asker.words):
            depending[hop.edge] += weight * <int64_t>count_both(rows, truth, asker.words)
            blocked[hop.edge] += weight * <int64_t>count_except(rows, truth, asker.words)
    forget_walk(asker)
    asker.taken = taken
    return 0


cdef int weigh_edges(
    Asker* asker, const Entry* entry, uint32_t reach, int64_t* depending, int64_t* blocked
) except -1 nogil:
    cdef const Routes* routes = &asker.routes.routes
    cdef uint32_t edges = routes.nodes[routes.node_count].purchases
    cdef uint64_t* others = take_rows(asker)
    cdef uint64_t* rows = take_rows(asker)
    cdef uint32_t i
    if find_block_source(asker) == NOTHING or not join_else(asker, entry, others):
        return 0
    measure_need(asker, reach, reach + 1)
    # Asks all that a walk may ask before it, so that it takes no memory that is given back.
    for i in range(edges):
        if asker.need[routes.purchases[i].node]:
            ask_node(asker, asker.question.slots[routes.purchases[i].atom - asker.leaves], True)
    for i in range(edges):
        if asker.need[routes.purchases[i].node]:
            weigh_edge(asker, &routes.purchases[i], reach, others, rows, depending, blocked)
    asker.forced_edge = NOTHING
    measure_need(asker, 0, <uint32_t>asker.question.reaches.size())
    return 0


cdef int find_bottlenecks(
    Asker* asker, const AnyPath* bookings, Bottlenecks* found
) except -1 nogil:
    cdef size_t edges = asker.routes.routes.nodes[asker.routes.routes.node_count].purchases
    cdef uint32_t block
    cdef size_t i
    fill_vector(found.depending, bookings.entries.size() * edges + 1, 0)
    fill_vector(found.blocked, bookings.entries.size() * edges + 1, 0)
    for block in range(asker.table.block_count):
        open_block(asker, block)
        for i in range(bookings.entries.size()):
            if is_here(asker, bookings.entries[i]):
                weigh_edges(
                    asker, &asker.question.entries[bookings.entries[i]], bookings.reaches[i],
                    found.depending.data() + i * edges, found.blocked.data() + i * edges,
                )
    return 0
