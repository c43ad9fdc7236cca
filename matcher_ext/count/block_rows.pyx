"""Evaluates parts of a circuit over a block (block_rows.pxd): nodes, single rows, ANDs, ORs."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from matcher_ext.count.and_leaves cimport (
    NO_PIECE, NOTHING_KNOWN, Start, consider_count, consider_leaves, filter_by_carriers,
    filter_by_marks, filter_by_range,
)
from matcher_ext.count.circuit cimport (
    C_AND, C_ANY_OF, C_LAZY, C_NODE, C_OR, C_STRANGER, C_TRUE, C_WIDE_OUTSIDE, HEADER_WORDS,
    KIND_BITS, KIND_MASK, behind,
)
from matcher_ext.count.kept_answers cimport answer_at, keep_answer, read_answer
from matcher_ext.count.or_leaves cimport add_leaves
from matcher_ext.count.rows cimport (
    Rows, clear_rows, list_rows, mark_rows, set_bitmap, set_list, set_none,
)
from matcher_ext.count.slice_leaves cimport (
    count_leaf, find_leaf, find_special, test_members, test_range, test_special,
)
from matcher_ext.count.slices cimport IS_EMPTY, UNANSWERED, Slices, bitmap_at, list_at
from matcher_ext.machine.bitmaps cimport add_words, count_ones, get_bit, join_words


# Nodes.

cdef void answer_node(Slices* slices, uint32_t node, uint32_t depth, Rows* found) noexcept nogil:
    if slices.states[node] & 3 == UNANSWERED:
        find_rows(slices, slices.circuit.code.data() + slices.circuit.starts[node], depth, found)
        keep_answer(slices, node, found)
    else:
        read_answer(slices, slices.states[node], found)


# Single rows.

cdef bint has_row(const Rows* rows, uint32_t row) noexcept nogil:
    cdef uint32_t i
    if rows.bits != NULL:
        return get_bit(rows.bits, row)
    for i in range(rows.count):
        if rows.list[i] == row:
            return True
    return False


cdef bint test_row(
    Slices* slices, const uint32_t* code, uint32_t row, uint32_t depth
) noexcept nogil:
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint32_t number = code[0] >> KIND_BITS
    cdef uint32_t _
    cdef Rows rows
    if kind <= C_WIDE_OUTSIDE:
        return test_range(slices, code, row)
    if kind <= C_STRANGER:
        return test_members(slices, code, row)
    if kind == C_TRUE:
        return True
    if kind == C_NODE:
        if slices.states[number] & 3 == UNANSWERED and not slices.circuit.heavy[number]:
            return test_row(
                slices, slices.circuit.code.data() + slices.circuit.starts[number], row, depth
            )
        answer_node(slices, number, depth + 1, &rows)
        return has_row(&rows, row)
    if kind < C_NODE:
        return test_special(slices, code, kind, number, row)
    code += HEADER_WORDS
    for _ in range(number):
        if test_row(slices, code, row, depth) == (kind == C_OR):
            return kind == C_OR
        code = behind(code)
    return kind == C_AND


# ANDs.

cdef uint32_t filter_by_rows(
    Slices* slices, uint16_t* list_, uint32_t count, const Rows* rows
) noexcept nogil:
    """Keeps the rows of a list that are among the rows."""
    cdef const uint64_t* bits = rows.bits
    cdef uint32_t kept = 0, i
    if rows.bits == NULL:
        mark_rows(slices.marks.data(), rows.list, rows.count)
        bits = slices.marks.data()
    for i in range(count):
        list_[kept] = list_[i]
        kept += get_bit(bits, list_[i])
    if rows.bits == NULL:
        clear_rows(slices.marks.data(), rows.list, rows.count)
    return kept


cdef uint32_t filter_list(
    Slices* slices, uint16_t* list_, uint32_t count, const uint32_t* code, uint32_t depth
) noexcept nogil:
    """Keeps the rows of a list that a part is true of."""
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint32_t number = code[0] >> KIND_BITS
    cdef uint32_t kept = 0, i
    cdef bint is_tested = True
    cdef Rows rows
    if kind <= C_WIDE_OUTSIDE:
        return filter_by_range(slices, list_, count, code)
    if kind == C_NODE:
        is_tested = slices.states[number] & 3 == UNANSWERED and is_worth_testing(
            slices, number, count
        )
        if is_tested:
            slices.states[number] += count << 2
    elif kind >= C_AND:
        is_tested = count <= FEW_MARKED
    if is_tested:
        for i in range(count):
            list_[kept] = list_[i]
            kept += test_row(slices, code, list_[i], depth)
        return kept
    find_rows(slices, code, depth + 1, &rows)
    return filter_by_rows(slices, list_, count, &rows)


cdef bint is_worth_testing(const Slices* slices, uint32_t node, uint32_t count) noexcept nogil:
    """Says whether an unanswered node is tested for a few rows rather than answered for all."""
    cdef uint32_t kind = slices.circuit.code[slices.circuit.starts[node]] & KIND_MASK
    cdef uint32_t tested = (slices.states[node] >> 2) + count
    if slices.circuit.heavy[node]:
        return False
    if kind == C_LAZY:
        return tested <= slices.block.count
    return tested <= FEW_TESTS


cdef inline bint look_at(
    Slices* slices, const uint32_t* code, uint32_t* count
) noexcept nogil:
    """Counts a child's rows, if they are known without evaluating it; else returns False."""
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint32_t state
    if kind < C_ANY_OF:
        count[0] = count_leaf(slices, code)
        return True
    if kind != C_NODE:
        return False
    state = slices.states[code[0] >> KIND_BITS]
    if state & 3 == UNANSWERED:
        return False
    count[0] = 0 if state & 3 == IS_EMPTY else <uint32_t>answer_at(slices, state)[0]
    return True


cdef inline void find_start(Slices* slices, const uint32_t* code, Start* start) noexcept nogil:
    cdef const uint32_t* end = behind(code)
    cdef uint32_t count = 0
    start.child = code + HEADER_WORDS
    start.count = NOTHING_KNOWN
    start.first = NO_PIECE
    start.carried = 0
    code = consider_leaves(slices, code, start)
    while start.count and code != end:
        if look_at(slices, code, &count):
            consider_count(code, count, start)
        code = behind(code)


cdef inline uint32_t list_start(
    Slices* slices, const Start* start, uint32_t depth, Rows* found
) noexcept nogil:
    """Lists the rows to start from that may carry all leaves."""
    cdef uint16_t* list_ = list_at(slices, depth)
    if start.first != NO_PIECE:
        return filter_by_marks(
            slices, slices.block.rows.data() + start.first, start.count, start.carried, list_
        )
    if found.bits == NULL:
        return filter_by_marks(slices, found.list, found.count, start.carried, list_)
    return filter_by_marks(
        slices, list_, list_rows(found.bits, slices.words, list_), start.carried, list_
    )


cdef void filter_by_children(
    Slices* slices, const uint32_t* code, const uint32_t* but, uint32_t count, uint32_t depth,
    Rows* found,
) noexcept nogil:
    """Keeps the rows of this depth's list that all children are true of, of which one is
    settled."""
    cdef const uint32_t* end = behind(code)
    cdef uint16_t* list_ = list_at(slices, depth)
    if count > FEW_MARKED:
        count = filter_by_carriers(slices, code, but, list_, count)
    code += HEADER_WORDS
    while count and code != end:
        if code != but:
            count = filter_list(slices, list_, count, code, depth)
        code = behind(code)
    set_list(found, list_, count)


cdef void join_bitmaps(
    Slices* slices, const uint32_t* code, const uint32_t* but, uint32_t depth, Rows* found
) noexcept nogil:
    """Joins the children of an AND without leaves, of which one is found, as bitmaps until few rows
    are left."""
    cdef const uint32_t* end = behind(code)
    cdef uint64_t* bits = bitmap_at(slices, depth)
    cdef uint16_t* list_ = list_at(slices, depth)
    cdef uint32_t count = found.count
    cdef Rows rows
    memcpy(bits, found.bits, slices.words * sizeof(uint64_t))
    code += HEADER_WORDS
    while count > FEW_MARKED and code != end:
        if code != but:
            find_rows(slices, code, depth + 1, &rows)
            if rows.bits == NULL:
                mark_rows(slices.marks.data(), rows.list, rows.count)
                count = join_words(bits, slices.marks.data(), slices.words)
                clear_rows(slices.marks.data(), rows.list, rows.count)
            else:
                count = join_words(bits, rows.bits, slices.words)
        code = behind(code)
    count = list_rows(bits, slices.words, list_) if count else 0
    while count and code != end:
        if code != but:
            count = filter_list(slices, list_, count, code, depth)
        code = behind(code)
    set_list(found, list_, count)


cdef void find_and(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil:
    cdef uint32_t count
    cdef Start start
    find_start(slices, code, &start)
    if start.count == 0:
        set_none(found)
        return
    if start.first == NO_PIECE:
        find_rows(slices, start.child, depth + 1, found)
        if found.bits != NULL and code[2] == 0:
            join_bitmaps(slices, code, start.child, depth, found)
            return
    count = list_start(slices, &start, depth, found)
    filter_by_children(slices, code, start.child, count, depth, found)


# ORs.

cdef void add_other(
    Slices* slices, const uint32_t* code, uint32_t depth, uint64_t* bits
) noexcept nogil:
    cdef Rows rows
    find_rows(slices, code, depth + 1, &rows)
    if rows.bits != NULL:
        add_words(bits, rows.bits, slices.words)
    else:
        mark_rows(bits, rows.list, rows.count)


cdef void find_or(Slices* slices, const uint32_t* code, uint32_t depth, Rows* found) noexcept nogil:
    cdef const uint32_t* end = behind(code)
    cdef uint64_t* bits = bitmap_at(slices, depth)
    code = add_leaves(slices, code, bits)
    while code != end:
        add_other(slices, code, depth, bits)
        code = behind(code)
    set_bitmap(found, bits, <uint32_t>count_ones(bits, slices.words))


cdef void find_rows(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil:
    cdef uint32_t kind = code[0] & KIND_MASK
    if kind < C_ANY_OF:
        find_leaf(slices, code, depth, found)
    elif kind == C_NODE:
        answer_node(slices, code[0] >> KIND_BITS, depth, found)
    elif kind == C_AND:
        find_and(slices, code, depth, found)
    elif kind == C_OR:
        find_or(slices, code, depth, found)
    else:
        find_special(slices, code, depth, found)
