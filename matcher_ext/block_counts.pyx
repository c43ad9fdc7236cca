"""Roots of a circuit and what they count (block_counts.pxd)."""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from matcher_ext.blocks cimport MOST_ROWS, words_of
from matcher_ext.circuit cimport C_NODE, DEEPEST, KIND_BITS, KIND_MASK, Circuit
from matcher_ext.kept_answers cimport answer_at
from matcher_ext.plan cimport Expression
from matcher_ext.rows cimport Rows, list_rows
from matcher_ext.slices cimport (
    CHUNK_WORDS, IS_LIST, UNANSWERED, Slices, answer_node, find_rows,
)
from matcher_ext.bitmaps cimport fetch_line

cdef enum:
    FAR = 6             # expressions ahead: their answers are fetched; twice as far, their states
    FETCHED_WORDS = 16


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


cdef inline void fetch_states(const Slices* slices, uint32_t expression) noexcept nogil:
    """What an expression asks soon. Words that are no nodes cost a wrong guess, no more."""
    cdef const uint32_t* code = slices.circuit.code.data() + slices.circuit.roots[expression]
    cdef uint32_t i
    for i in range(<uint32_t>FETCHED_WORDS):
        if code[i] & KIND_MASK == <uint32_t>C_NODE and code[i] >> KIND_BITS < slices.states.size():
            fetch_line(slices.states.data() + (code[i] >> KIND_BITS))


cdef inline void fetch_answers(const Slices* slices, uint32_t expression) noexcept nogil:
    cdef const uint32_t* code = slices.circuit.code.data() + slices.circuit.roots[expression]
    cdef const uint64_t* answer
    cdef uint32_t state, i
    for i in range(<uint32_t>FETCHED_WORDS):
        if code[i] & KIND_MASK == <uint32_t>C_NODE and code[i] >> KIND_BITS < slices.states.size():
            state = slices.states[code[i] >> KIND_BITS]
            if state & 3 >= IS_LIST:
                answer = answer_at(slices, state)
                fetch_line(answer)
                fetch_line(answer + 8)


cdef void count_block(Slices* slices, int64_t* counts) noexcept nogil:
    cdef const Circuit* circuit = slices.circuit
    cdef uint32_t expressions = circuit.end_expression - circuit.first_expression
    cdef uint32_t fetched = expressions - 2 * FAR if expressions > 2 * FAR else 0
    cdef const Expression* expression
    cdef uint32_t entry, i
    cdef Rows rows
    begin_slices(slices)
    for i in range(expressions):
        if i < fetched:
            fetch_states(slices, i + 2 * FAR)
            fetch_answers(slices, i + FAR)
            fetch_line(counts + circuit.expressions[i + FAR].first)
        if slices.used * sizeof(uint64_t) > slices.most_answers:
            forget_answers(slices)
        find_rows(slices, circuit.code.data() + circuit.roots[i], 0, &rows)
        if rows.count == 0:
            continue
        expression = &circuit.expressions[i]
        if slices.block.lines.size():
            add_by_group(slices, &rows, expression, counts)
            continue
        for entry in range(expression.first, expression.first + expression.count):
            counts[entry] += rows.count
