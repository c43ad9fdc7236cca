"""Counts what an expression does to visits, in one pass over the blocks (impacts.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from matcher_ext.columns.values cimport value_of
from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.asking cimport Asker, ask_node, open_block, take_rows
from matcher_ext.tables.bound_index cimport BoundIndex
from matcher_ext.tables.counting_rows cimport add_users, count_distinct, read_users
from matcher_ext.tables.kernels cimport (
    add_failures, and_rows, count_both, count_except, count_rows, except_rows, or_rows,
)
from matcher_ext.tables.questions cimport ASKED_AND, ASKED_LEAF, Asked
from matcher_ext.tables.texts cimport AskedTexts, begin_texts

from matcher_ext.tables.results import Blocker, BookingImpact, Impact

cdef cppclass Tally:
    """What one pass adds up."""
    vector[uint32_t] bookings       # nodes
    vector[uint32_t] gates          # nodes: what a booking asks of the publisher; or NOTHING
    vector[uint32_t] conditions     # nodes
    uint32_t expression             # node
    int64_t visits
    int64_t open
    int64_t eligible
    vector[int64_t] opened          # by booking
    vector[int64_t] matched         # by booking
    vector[int64_t] gains           # by condition
    vector[int64_t] by_block
    vector[uint32_t] users          # of the block's rows
    vector[uint32_t] found
    vector[uint32_t] seen
    uint64_t* wide                  # of a block: rows that any booking's path is open for
    uint64_t* rows
    uint64_t* other


cdef uint32_t find_gate(Asker* asker, uint32_t root) noexcept nogil:
    """Finds the part of a booking that asks for the publisher: asked first, it spares the path."""
    cdef const Asked* node = &asker.question.nodes[root]
    cdef const Asked* child
    cdef uint32_t i
    if node.kind != ASKED_AND:
        return NOTHING
    for i in range(node.first, node.first + node.count):
        child = &asker.question.nodes[asker.question.children[i]]
        if child.kind == ASKED_LEAF and (
            asker.question.binding.bounds[child.first].column == asker.table.header.by
        ):
            return asker.question.children[i]
    return NOTHING


cdef int tally_bookings(Asker* asker, Tally* tally, const uint64_t* truth) except -1 nogil:
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef const uint64_t* rows
    cdef size_t i
    memset(tally.wide, 0, 8 * <size_t>asker.words)
    for i in range(tally.bookings.size()):
        if tally.gates[i] != NOTHING and ask_node(asker, tally.gates[i], True) == asker.zero:
            continue
        rows = ask_node(asker, tally.bookings[i], True)
        if rows == asker.zero or not and_rows(tally.rows, rows, asker.valid, asker.words):
            continue
        or_rows(tally.wide, tally.rows, asker.words)
        tally.opened[i] += weight * <int64_t>count_rows(tally.rows, asker.words)
        tally.matched[i] += weight * <int64_t>count_both(tally.rows, truth, asker.words)
    tally.open += weight * <int64_t>count_rows(tally.wide, asker.words)
    tally.eligible += weight * <int64_t>count_both(tally.wide, truth, asker.words)
    return 0


cdef int tally_gains(Asker* asker, Tally* tally) except -1 nogil:
    """Counts what each condition alone keeps out."""
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef const uint64_t* truth
    cdef size_t i
    if count_rows(tally.wide, asker.words) == 0:
        return 0
    memset(tally.rows, 0, 8 * <size_t>asker.words)
    memset(tally.other, 0, 8 * <size_t>asker.words)
    for i in range(tally.conditions.size()):
        truth = ask_node(asker, tally.conditions[i], True)
        if not add_failures(tally.rows, tally.other, tally.wide, truth, asker.words):
            return 0
    if not except_rows(tally.rows, tally.rows, tally.other, asker.words):
        return 0
    for i in range(tally.conditions.size()):
        truth = ask_node(asker, tally.conditions[i], True)
        tally.gains[i] += weight * <int64_t>count_except(tally.rows, truth, asker.words)
    return 0


cdef int tally_block(Asker* asker, Tally* tally, uint32_t block) except -1 nogil:
    cdef int64_t weight = asker.table.blocks[block].weight
    cdef const uint64_t* truth
    cdef int64_t count
    open_block(asker, block)
    tally.wide = take_rows(asker)
    tally.rows = take_rows(asker)
    tally.other = take_rows(asker)
    truth = ask_node(asker, tally.expression, True)
    if truth != asker.zero and and_rows(tally.rows, truth, asker.valid, asker.words):
        count = weight * <int64_t>count_rows(tally.rows, asker.words)
        tally.visits += count
        tally.by_block[block] = count
        if asker.table.header.users != NOTHING:
            read_users(asker.table, block, &tally.users)
            add_users(tally.rows, asker.words, &tally.users, &tally.found)
    if tally.bookings.empty():
        memcpy(tally.wide, asker.valid, 8 * <size_t>asker.words)
    else:
        tally_bookings(asker, tally, truth)
    tally_gains(asker, tally)
    return 0


cdef object ask_impact(BoundIndex bound, str text, list bookings):
    cdef AskedTexts asked = begin_texts(bound, [text, *bookings])
    cdef Asker* asker = &asked.thread.asker
    cdef Tally tally
    cdef uint32_t block, root
    conditions = asked.conditions(0)
    tally.expression = asked.roots[0]
    for root in asked.roots[1:]:
        tally.bookings.push_back(root)
        tally.gates.push_back(find_gate(asker, root))
    for _, root in conditions:
        tally.conditions.push_back(root)
    tally.visits = tally.open = tally.eligible = 0
    fill_vector(tally.opened, tally.bookings.size(), 0)
    fill_vector(tally.matched, tally.bookings.size(), 0)
    fill_vector(tally.gains, tally.conditions.size(), 0)
    fill_vector(tally.by_block, bound.table.block_count, 0)
    if bound.table.header.users != NOTHING:
        fill_vector(tally.seen, bound.table.columns[bound.table.header.users].values, 0)
    with nogil:
        for block in range(bound.table.block_count):
            tally_block(asker, &tally, block)
        count_distinct(&tally.found, &tally.seen, 1)
    asked.end()
    return make_impact(bound, &tally, bookings, [text for text, _ in conditions])


cdef object make_impact(BoundIndex bound, const Tally* tally, list bookings, list conditions):
    cdef uint32_t block, i, by
    by_publisher = {}
    for block in range(bound.table.block_count):
        by = bound.table.blocks[block].by
        if tally.by_block[block]:
            name = None if by == NOTHING else publisher_of(bound, by)
            by_publisher[name] = by_publisher.get(name, 0) + tally.by_block[block]
    return Impact(
        visits=tally.visits,
        users=tally.found.size(),
        by_publisher=by_publisher,
        open=tally.open,
        eligible=tally.eligible,
        bookings=tuple(
            BookingImpact(bookings[i], tally.opened[i], tally.matched[i])
            for i in range(<uint32_t>len(bookings))
        ),
        gains=tuple(
            Blocker(conditions[i], tally.gains[i]) for i in range(<uint32_t>len(conditions))
        ),
    )


cdef object publisher_of(BoundIndex bound, uint32_t code):
    column = bound.table.columns[bound.table.header.by]
    return value_of(
        column.type, column.kind, bound.table.words + column.first, bound.table.bytes, code
    )
