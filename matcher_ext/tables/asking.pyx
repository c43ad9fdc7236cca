"""Evaluates nodes over blocks of rows, and walks the exchange graph with them (asking.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport MOST_BLOCK_ROWS, Block, Part, Table, part_of
from matcher_ext.machine.bitmaps cimport fill_bits
from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.routes.route_section cimport Reach, RoutePlan, find_source
from matcher_ext.routes.routes cimport MOST_HOPS, RouteHop, Routes
from matcher_ext.tables.binding cimport BY_ABSENCE, BY_PRESENCE, Bound
from matcher_ext.tables.kernels cimport (
    and_rows, except_rows, join_rows, or_both_rows, or_rows,
)
from matcher_ext.tables.leaf_rows cimport known_rows, true_rows
from matcher_ext.tables.questions cimport (
    ASKED_AND, ASKED_FALSE, ASKED_LEAF, ASKED_LINK, ASKED_OR, ASKED_REACH, ASKED_TRUE, Asked, Entry,
    Question,
)
from matcher_ext.values.spans cimport text_length, text_offset

cdef enum:
    MOST_WORDS = MOST_BLOCK_ROWS // 64


cdef int open_asker(
    Asker* asker, const Table* table, const Question* question, const RoutePlan* routes,
    uint32_t leaves,
) except -1 nogil:
    asker.table = table
    asker.question = question
    asker.routes = routes
    asker.leaves = leaves
    fill_vector(asker.answers, 2 * question.nodes.size(), Answer(NULL, 0))
    asker.stamp = 0
    asker.taken = 0
    asker.forced_edge = NOTHING
    asker.walk_depth = 0
    asker.zero = take_rows(asker)
    asker.every = take_rows(asker)
    asker.valid = take_rows(asker)
    asker.spare = take_rows(asker)
    memset(asker.zero, 0, 8 * <size_t>MOST_WORDS)
    if routes != NULL:
        fill_vector(asker.last, routes.routes.node_count, NOTHING)
        measure_need(asker, 0, <uint32_t>question.reaches.size())
    return 0


cdef uint64_t* take_rows(Asker* asker) except NULL nogil:
    asker.taken += 1
    return shelf_rows(&asker.pool, asker.taken - 1)


cdef uint64_t* shelf_rows(vector[vector[uint64_t]]* shelf, size_t place) except NULL nogil:
    while shelf.size() <= place:
        shelf.push_back(vector[uint64_t]())
        shelf.back().resize(MOST_WORDS)
    return shelf[0][place].data()


cdef void open_block(Asker* asker, uint32_t block) noexcept nogil:
    cdef const Block* opened = &asker.table.blocks[block]
    cdef const uint64_t* known
    cdef size_t i
    cdef uint32_t column
    asker.block = block
    asker.words = opened.words
    asker.stamp += 1
    asker.taken = 4
    memset(asker.every, 0, 8 * <size_t>asker.words)
    fill_bits(asker.every, 0, opened.rows, True)
    memcpy(asker.valid, asker.every, 8 * <size_t>asker.words)
    for i in range(asker.question.required.size()):
        column = asker.question.required[i]
        known = NULL
        if column != NOTHING:
            known = known_rows(asker.table, part_of(asker.table, block, column))
        if known == NULL:
            memset(asker.valid, 0, 8 * <size_t>asker.words)
            break
        and_rows(asker.valid, asker.valid, known, asker.words)
    forget_walk(asker)


# Nodes.

cdef const uint64_t* ask_leaf(
    Asker* asker, const Bound* bound, bint wanted, uint64_t* out
) noexcept nogil:
    """Asks for rows before the negation, or for the other known ones."""
    cdef const Block* block = &asker.table.blocks[asker.block]
    cdef const Part* part
    cdef const uint64_t* known = asker.every
    cdef const uint64_t* rows = NULL
    if bound.how == BY_ABSENCE:
        return asker.zero
    if bound.column != NOTHING:         # else nobody carries it, and nobody asks for more
        part = part_of(asker.table, asker.block, bound.column)
        rows = true_rows(
            asker.table, block, part, &asker.question.binding, bound, out, asker.spare
        )
        if bound.how != BY_PRESENCE:
            known = known_rows(asker.table, part)
    if rows == NULL:
        rows = asker.zero
    if known == NULL:
        known = asker.zero
    if wanted != bound.negated:
        return rows
    if rows == asker.zero:
        return known
    if rows == known or not except_rows(out, known, rows, asker.words):
        return asker.zero
    return out


cdef const uint64_t* ask_inner(
    Asker* asker, const Asked* node, bint wanted, uint64_t* out, uint32_t depth
) except NULL nogil:
    """Joins children: `and` if all of them must be as wanted, else `or`. The first one's rows may
    be in `out` already."""
    cdef const uint32_t* children = asker.question.children.data() + node.first
    cdef bint joins_all = (node.kind == ASKED_AND) == wanted
    cdef const uint64_t* rows = NULL
    cdef const uint64_t* more
    cdef uint32_t i
    for i in range(node.count):
        if rows == NULL:
            more = find_rows(asker, children[i], wanted, out, depth)
        else:
            more = find_rows(
                asker, children[i], wanted, shelf_rows(&asker.levels, depth), depth + 1
            )
        if more == asker.zero:
            if joins_all:
                return asker.zero
            continue
        if rows == NULL:
            rows = more
            continue
        if not joins_all:
            join_rows(out, rows, more, asker.words)
        elif not and_rows(out, rows, more, asker.words):
            return asker.zero
        rows = out
    if rows == NULL:
        return asker.zero
    return rows


cdef const uint64_t* ask_answer(
    Asker* asker, const Asked* node, bint wanted, uint64_t* out, uint32_t depth
) except NULL nogil:
    """Asks the graph of the exchange, or code."""
    cdef const uint64_t* rows
    if node.kind == ASKED_REACH:
        asker.walk_depth = depth
        rows = ask_reach(asker, node.first)
        asker.walk_depth = 0
        if wanted != node.negated:
            return rows
        return out if except_rows(out, asker.every, rows, asker.words) else asker.zero
    rows = asker.ask_code(asker.code_context, asker.block, node.first, wanted)
    if rows == NULL:
        return asker.zero
    return rows


cdef const uint64_t* find_rows(
    Asker* asker, uint32_t number, bint wanted, uint64_t* out, uint32_t depth
) except NULL nogil:
    """Answers a node in `out`, or in memory that is kept if it will be asked again."""
    cdef Answer* answer = &asker.answers[2 * <size_t>number + wanted]
    cdef const Asked* node
    cdef const uint64_t* rows
    cdef uint64_t* target = out
    cdef size_t before = asker.taken
    if answer.stamp == asker.stamp:
        return answer.rows
    node = &asker.question.nodes[number]
    if node.kind == ASKED_LINK:
        return find_rows(asker, node.first, wanted != node.negated, out, depth)
    if node.is_kept or out == NULL:
        target = take_rows(asker)
    if node.kind == ASKED_LEAF:
        rows = ask_leaf(asker, &asker.question.binding.bounds[node.first], wanted, target)
    elif node.kind == ASKED_AND or node.kind == ASKED_OR:
        rows = ask_inner(asker, node, wanted, target, depth)
    elif node.kind == ASKED_TRUE or node.kind == ASKED_FALSE:
        rows = asker.every if (node.kind == ASKED_TRUE) == wanted else asker.zero
    else:
        rows = ask_answer(asker, node, wanted, target, depth)
    if target != out and rows != target and asker.taken == before + 1:
        asker.taken = before
    if target != out or rows != out:
        answer.stamp = asker.stamp
        answer.rows = rows
    return rows


cdef const uint64_t* ask_node(Asker* asker, uint32_t node, bint wanted) except NULL nogil:
    return find_rows(asker, node, wanted, NULL, 0)


cdef const uint64_t* read_node(
    Asker* asker, uint32_t node, bint wanted, uint64_t* out
) except NULL nogil:
    return find_rows(asker, node, wanted, out, 0)


cdef const uint64_t* find_known(Asker* asker, uint32_t number) noexcept nogil:
    cdef const Asked* node = &asker.question.nodes[number]
    cdef const Bound* bound
    cdef const uint64_t* known
    while node.kind == ASKED_LINK:
        node = &asker.question.nodes[node.first]
    if node.kind != ASKED_LEAF:
        return NULL
    bound = &asker.question.binding.bounds[node.first]
    if bound.how == BY_ABSENCE:
        return asker.zero
    if bound.how == BY_PRESENCE:
        return asker.every
    known = known_rows(asker.table, part_of(asker.table, asker.block, bound.column))
    if known == NULL:
        return asker.zero
    return known


cdef const uint64_t* ask_entry(Asker* asker, const Entry* entry, uint64_t* out) except NULL nogil:
    cdef const uint32_t* children = asker.question.children.data() + entry.first
    cdef const uint64_t* rows = asker.valid
    cdef const uint64_t* more
    cdef uint32_t i
    if entry.path != NOTHING:
        more = find_rows(asker, entry.path, True, shelf_rows(&asker.levels, 0), 1)
        if more == asker.zero or not and_rows(out, rows, more, asker.words):
            return asker.zero
        rows = out
    for i in range(entry.count):
        more = find_rows(asker, children[i], True, shelf_rows(&asker.levels, 0), 1)
        if more == asker.zero or not and_rows(out, rows, more, asker.words):
            return asker.zero
        rows = out
    return rows


# Walking.

cdef int measure_need(Asker* asker, uint32_t first, uint32_t end) except -1 nogil:
    """Measures backwards from whoever is asked for: need is 1 + the hops that may lead there."""
    cdef const Routes* routes = &asker.routes.routes
    cdef vector[vector[uint32_t]] waiting      # by hops that are left
    cdef const Reach* reach
    cdef uint32_t i, k, node, hops
    fill_vector(asker.need, routes.node_count, 0)
    asker.most_hops = 0
    waiting.resize(MOST_HOPS)
    for i in range(first, end):
        reach = &asker.question.reaches[i]
        asker.most_hops = max(asker.most_hops, reach.hops)
        for k in range(routes.nodes[reach.node].purchases, routes.nodes[reach.node + 1].purchases):
            waiting[reach.hops - 1].push_back(routes.purchases[k].node)
    for hops in range(MOST_HOPS, 0, -1):
        for i in range(<uint32_t>waiting[hops - 1].size()):
            node = waiting[hops - 1][i]
            if asker.need[node] >= hops:
                continue
            asker.need[node] = <uint8_t>hops
            if hops == 1:
                continue
            for k in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
                if asker.need[routes.purchases[k].node] < hops - 1:
                    waiting[hops - 2].push_back(routes.purchases[k].node)
    return 0


cdef void forget_walk(Asker* asker) noexcept nogil:
    cdef size_t i
    asker.is_walked = False
    for i in range(asker.reached.size()):
        asker.last[asker.reached[i].node] = NOTHING
    asker.reached.clear()


cdef const uint64_t* ask_edge(Asker* asker, const RouteHop* hop) except NULL nogil:
    if hop.edge == asker.forced_edge:
        return asker.every if asker.forced_open else asker.zero
    return find_rows(
        asker, asker.question.slots[hop.atom - asker.leaves], True, NULL, asker.walk_depth
    )


cdef uint32_t find_block_source(Asker* asker) noexcept nogil:
    cdef const Block* block = &asker.table.blocks[asker.block]
    cdef int64_t word
    if block.by == NOTHING or asker.table.header.by == NOTHING:
        return NOTHING
    word = asker.table.words[asker.table.columns[asker.table.header.by].first + block.by]
    return find_source(asker.routes, asker.table.bytes + text_offset(word), text_length(word))


cdef int reach_rows(
    Asker* asker, uint32_t node, uint32_t hops, const uint64_t* found
) except -1 nogil:
    """Adds rows with which a party is reached after so many hops, if any of them is new."""
    cdef uint32_t before = asker.last[node]
    cdef Reached made
    cdef uint64_t* fresh
    cdef uint64_t* rows
    made.rows = found
    made.fresh = found
    made.node = node
    made.hops = hops
    made.before = before
    if before != NOTHING:
        fresh = take_rows(asker)
        if not except_rows(fresh, found, asker.reached[before].rows, asker.words):
            return 0
        rows = take_rows(asker)
        memcpy(rows, asker.reached[before].rows, 8 * <size_t>asker.words)
        or_rows(rows, fresh, asker.words)
        made.rows = rows
        made.fresh = fresh
    asker.last[node] = <uint32_t>asker.reached.size()
    asker.reached.push_back(made)
    return 0


cdef int walk_round(
    Asker* asker, size_t first, size_t end, uint32_t hops, vector[uint64_t*]* soon,
    vector[uint32_t]* touched,
) except -1 nogil:
    """Goes on from the parties that the round before reached with new rows."""
    cdef const Routes* routes = &asker.routes.routes
    cdef const RouteHop* hop
    cdef const uint64_t* edge
    cdef size_t i
    cdef uint32_t k, node
    touched.clear()
    for i in range(first, end):
        node = asker.reached[i].node
        for k in range(routes.nodes[node].sales, routes.nodes[node + 1].sales):
            hop = &routes.sales[k]
            if asker.need[hop.node] <= hops:
                continue
            edge = ask_edge(asker, hop)
            if edge == asker.zero:
                continue
            if soon[0][hop.node] == NULL:
                soon[0][hop.node] = take_rows(asker)
                memset(soon[0][hop.node], 0, 8 * <size_t>asker.words)
                touched.push_back(hop.node)
            or_both_rows(soon[0][hop.node], asker.reached[i].fresh, edge, asker.words)
    for i in range(touched.size()):
        node = touched[0][i]
        if except_rows(asker.spare, soon[0][node], asker.zero, asker.words):
            reach_rows(asker, node, hops, soon[0][node])
        soon[0][node] = NULL
    return 0


cdef int walk_block(Asker* asker) except -1 nogil:
    cdef uint32_t source = find_block_source(asker)
    cdef vector[uint64_t*] soon
    cdef vector[uint32_t] touched
    cdef size_t first = 0, end
    cdef uint32_t hops
    asker.is_walked = True
    if source == NOTHING:
        return 0
    fill_vector(soon, asker.routes.routes.node_count, <uint64_t*>NULL)
    reach_rows(asker, source, 0, asker.every)
    for hops in range(1, asker.most_hops):
        end = asker.reached.size()
        if first == end:
            return 0
        walk_round(asker, first, end, hops, &soon, &touched)
        first = end
    return 0


cdef const uint64_t* rows_within(Asker* asker, uint32_t node, uint32_t hops) noexcept nogil:
    cdef uint32_t at = asker.last[node]
    while at != NOTHING and asker.reached[at].hops > hops:
        at = asker.reached[at].before
    if at == NOTHING:
        return asker.zero
    return asker.reached[at].rows


cdef const uint64_t* ask_reach(Asker* asker, uint32_t number) except NULL nogil:
    cdef const Reach* reach = &asker.question.reaches[number]
    cdef const Routes* routes = &asker.routes.routes
    cdef const uint64_t* sold
    cdef const uint64_t* edge
    cdef uint64_t* out
    cdef uint32_t i
    if not asker.is_walked:
        walk_block(asker)
    if asker.reached.empty() or asker.reached[0].node == reach.node:
        return asker.zero
    out = take_rows(asker)
    memset(out, 0, 8 * <size_t>asker.words)
    for i in range(routes.nodes[reach.node].purchases, routes.nodes[reach.node + 1].purchases):
        sold = rows_within(asker, routes.purchases[i].node, reach.hops - 1)
        if sold == asker.zero:
            continue
        edge = ask_edge(asker, &routes.purchases[i])
        if edge != asker.zero:
            or_both_rows(out, sold, edge, asker.words)
    return out if except_rows(asker.spare, out, asker.zero, asker.words) else asker.zero
