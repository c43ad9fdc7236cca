"""Counts funnels and sole blockers, block by block (steps.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.asking cimport Asker, ask_node, open_block, take_rows
from matcher_ext.tables.kernels cimport (
    add_failures, and_rows, count_both, count_except, count_rows, except_rows, or_both_rows,
)


cdef struct Buffers:
    uint64_t* rows
    uint64_t* other


cdef void pass_rest(
    Asker* asker, const uint32_t* nodes, uint32_t count, const Buffers* buffers, int64_t* results
) noexcept nogil:
    """Counts the campaign's step: all of its conditions true, or any of them false."""
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef const uint64_t* more
    cdef uint32_t i
    memcpy(buffers.other, buffers.rows, 8 * <size_t>asker.words)
    for i in range(count):
        more = ask_node(asker, nodes[i], True)
        if not and_rows(buffers.other, buffers.other, more, asker.words):
            break
    results[0] += weight * <int64_t>count_rows(buffers.other, asker.words)
    if not except_rows(buffers.rows, buffers.rows, buffers.other, asker.words):
        return
    memset(buffers.other, 0, 8 * <size_t>asker.words)
    for i in range(count):
        more = ask_node(asker, nodes[i], False)
        if more != asker.zero:
            or_both_rows(buffers.other, buffers.rows, more, asker.words)
    results[1] += weight * <int64_t>count_rows(buffers.other, asker.words)


cdef void follow_booking(
    Asker* asker, const Followed* followed, size_t number, const Buffers* buffers, int64_t* results
) noexcept nogil:
    cdef const uint32_t* nodes = followed.nodes.data()
    cdef uint32_t first = followed.firsts[number]
    cdef uint32_t rest = followed.rests[number]
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef const uint64_t* more
    cdef uint32_t i
    cdef uint64_t count = count_rows(asker.valid, asker.words)
    results[0] += weight * <int64_t>count
    if count == 0:
        return
    memcpy(buffers.rows, asker.valid, 8 * <size_t>asker.words)
    results += 1
    for i in range(first, rest):
        more = ask_node(asker, nodes[i], False)
        if more != asker.zero:
            results[1] += weight * <int64_t>count_both(buffers.rows, more, asker.words)
        more = ask_node(asker, nodes[i], True)
        if more == asker.zero or not and_rows(buffers.rows, buffers.rows, more, asker.words):
            return
        results[0] += weight * <int64_t>count_rows(buffers.rows, asker.words)
        results += 2
    pass_rest(asker, nodes + rest, followed.firsts[number + 1] - rest, buffers, results)


cdef void follow_steps(Asker* asker, const Followed* followed, int64_t* results) noexcept nogil:
    cdef Buffers buffers
    cdef uint32_t block
    cdef size_t i
    for block in range(asker.table.block_count):
        open_block(asker, block)
        buffers.rows = take_rows(asker)
        buffers.other = take_rows(asker)
        for i in range(followed.gates.size()):
            if followed.gates[i] == NOTHING or followed.gates[i] == asker.table.blocks[block].by:
                follow_booking(asker, followed, i, &buffers, results + followed.results[i])


cdef void block_booking(
    Asker* asker, const uint32_t* nodes, uint32_t count, const Buffers* buffers, int64_t* results
) noexcept nogil:
    """Carries rows that failed once and twice; where a row failed once alone, looks what it was."""
    cdef int64_t weight = asker.table.blocks[asker.block].weight
    cdef const uint64_t* truth
    cdef uint32_t i
    memset(buffers.rows, 0, 8 * <size_t>asker.words)
    memset(buffers.other, 0, 8 * <size_t>asker.words)
    for i in range(count):
        truth = ask_node(asker, nodes[i], True)
        if not add_failures(buffers.rows, buffers.other, asker.valid, truth, asker.words):
            return
    if not except_rows(buffers.rows, buffers.rows, buffers.other, asker.words):
        return
    for i in range(count):
        truth = ask_node(asker, nodes[i], True)
        results[i] += weight * <int64_t>count_except(buffers.rows, truth, asker.words)


cdef void find_sole_blockers(
    Asker* asker, const Followed* followed, int64_t* results
) noexcept nogil:
    cdef Buffers buffers
    cdef uint32_t block, first
    cdef size_t i
    for block in range(asker.table.block_count):
        open_block(asker, block)
        buffers.rows = take_rows(asker)
        buffers.other = take_rows(asker)
        for i in range(followed.gates.size()):
            if followed.gates[i] == NOTHING or followed.gates[i] == asker.table.blocks[block].by:
                first = followed.firsts[i]
                block_booking(
                    asker, followed.nodes.data() + first, followed.firsts[i + 1] - first,
                    &buffers, results + first,
                )
