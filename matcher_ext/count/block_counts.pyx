"""Evaluates the roots of a circuit and adds up their rows (block_counts.pxd)."""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from matcher_ext.count.block_rows cimport answer_node, find_rows
from matcher_ext.count.blocks cimport MOST_ROWS, words_of
from matcher_ext.count.circuit cimport DEEPEST, Circuit
from matcher_ext.count.rows cimport Rows, list_rows
from matcher_ext.count.slices cimport CHUNK_WORDS, UNANSWERED, Slices
from matcher_ext.plan.plan cimport Expression

cdef void add_by_group(
    const Slices* slices, const Rows* rows, const Expression* expression, int64_t* counts
) noexcept nogil:
    cdef int64_t size = <int64_t>slices.plan.totals.entries
    cdef const uint16_t* list_ = rows.list
    cdef uint16_t listed[MOST_ROWS]
    cdef int64_t* line
    cdef uint32_t entry, i
    if rows.bits != NULL:
        list_rows(rows.bits, slices.words, listed)
        list_ = listed
    for i in range(rows.count):
        line = counts + slices.block.lines[list_[i]] * size
        for entry in range(expression.first, expression.first + expression.count):
            line[entry] += 1


cdef void forget_answers(Slices* slices) noexcept nogil:
    cdef Rows rows
    cdef size_t i
    slices.used = 0
    slices.states.assign(slices.circuit.starts.size(), UNANSWERED)
    for i in range(slices.circuit.early.size()):
        answer_node(slices, slices.circuit.early[i], 0, &rows)


cdef void begin_slices(Slices* slices) noexcept nogil:
    cdef size_t depths = 3 * <size_t>DEEPEST
    cdef size_t most_chunks = slices.most_answers // (CHUNK_WORDS * sizeof(uint64_t)) + 1
    slices.words = words_of(slices.block)
    if slices.pool.size() > most_chunks:        # of a call that was allowed more
        slices.pool.resize(most_chunks)
    slices.lists.resize(depths * MOST_ROWS)
    slices.bitmaps.resize(depths * (MOST_ROWS // 64))
    slices.marks.assign(MOST_ROWS // 64, 0)
    forget_answers(slices)


cdef void add_tallies(const Slices* slices, int64_t* counts) noexcept nogil:
    """Adds all counts at once: entries lie all over, and one by one each would be waited for."""
    cdef const Expression* expression = slices.circuit.expressions.data()
    cdef uint32_t entry
    cdef size_t i
    for i in range(slices.tallies.size()):
        for entry in range(expression[i].first, expression[i].first + expression[i].count):
            counts[entry] += slices.tallies[i]


cdef void count_block(Slices* slices, int64_t* counts) noexcept nogil:
    cdef const Circuit* circuit = slices.circuit
    cdef uint32_t expressions = circuit.end_expression - circuit.first_expression
    cdef bint by_group = slices.block.lines.size() != 0
    cdef uint32_t i
    cdef Rows rows
    begin_slices(slices)
    slices.tallies.assign(0 if by_group else expressions, 0)
    for i in range(expressions):
        if slices.used * sizeof(uint64_t) > slices.most_answers:
            forget_answers(slices)
        find_rows(slices, circuit.code.data() + circuit.roots[i], 0, &rows)
        if not by_group:
            slices.tallies[i] = <uint16_t>rows.count
        elif rows.count:
            add_by_group(slices, &rows, &circuit.expressions[i], counts)
    add_tallies(slices, counts)
