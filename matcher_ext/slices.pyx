"""Evaluates parts of a circuit over a block (slices.pxd): nodes, single rows, ANDs, ORs."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from matcher_ext.blocks cimport MISSING_PLACE, MOST_ROWS, Sorted, mark_of
from matcher_ext.circuit cimport *
from matcher_ext.kept_answers cimport answer_at, keep_answer, read_answer
from matcher_ext.rows cimport Rows, list_rows, mark_rows, set_bitmap, set_list, set_none
from matcher_ext.slice_leaves cimport (
    count_leaf,
    count_members,
    find_leaf,
    find_special,
    list_members,
    read_range,
    test_members,
    test_range,
    test_special,
)
from matcher_ext.bitmaps cimport add_words, count_ones


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
        return rows.bits[row >> 6] >> (row & 63) & 1
    for i in range(rows.count):
        if rows.list[i] == row:
            return True
    return False


cdef bint test_row(Slices* slices, const uint32_t* code, uint32_t row, uint32_t depth) noexcept nogil:
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint32_t number = code[0] >> KIND_BITS
    cdef uint32_t i
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
    code += 2
    for i in range(number):
        if test_row(slices, code, row, depth) == (kind == C_OR):
            return kind == C_OR
        code = behind(code)
    return kind == C_AND


# ANDs.

cdef inline uint32_t filter_by_marks(
    const Slices* slices, const uint16_t* list_, uint32_t count, uint64_t marks, uint16_t* target
) noexcept nogil:
    """What of a list may carry all attributes: settles most ANDs within the nearest cache."""
    cdef const uint64_t* carried = slices.block.carried.data()
    cdef uint32_t kept = 0, i
    for i in range(count):
        target[kept] = list_[i]
        kept += marks & ~carried[list_[i]] == 0
    return kept


cdef uint32_t filter_by_rows(
    Slices* slices, uint16_t* list_, uint32_t count, const Rows* rows
) noexcept nogil:
    """What of the list is among the rows."""
    cdef const uint64_t* bits = rows.bits
    cdef uint32_t kept = 0, i
    if rows.bits == NULL:
        mark_rows(slices.marks.data(), rows.list, rows.count)
        bits = slices.marks.data()
    for i in range(count):
        list_[kept] = list_[i]
        kept += bits[list_[i] >> 6] >> (list_[i] & 63) & 1
    if rows.bits == NULL:
        for i in range(rows.count):
            slices.marks[rows.list[i] >> 6] = 0
    return kept


cdef uint32_t filter_by_range(
    const Slices* slices, uint16_t* list_, uint32_t count, const uint32_t* code
) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* places = slices.block.places.data() + attribute.places
    cdef uint32_t first, size, kept = 0, place, i
    cdef uint32_t outside
    if attribute.count == 0:
        return 0
    read_range(slices, code, &first, &size)
    outside = code[0] & 1
    if outside:
        # The rows inside are those before the piece: from its end on, less a turn.
        first = first - attribute.rows + size
        first = first - attribute.count if first >= attribute.count else 0
        size = attribute.count - size
    else:
        first -= attribute.rows
    for i in range(count):
        place = places[list_[i]]
        list_[kept] = list_[i]
        kept += (place - first < size) != outside and place != MISSING_PLACE
    return kept


cdef uint32_t filter_list(
    Slices* slices, uint16_t* list_, uint32_t count, const uint32_t* code, uint32_t depth
) noexcept nogil:
    """What of the list is true of a part."""
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
        is_tested = count <= FEW_TESTS
    if is_tested:
        for i in range(count):
            list_[kept] = list_[i]
            kept += test_row(slices, code, list_[i], depth)
        return kept
    find_rows(slices, code, depth + 1, &rows)
    return filter_by_rows(slices, list_, count, &rows)


cdef bint is_worth_testing(const Slices* slices, uint32_t node, uint32_t count) noexcept nogil:
    """Whether an unanswered node is tested for a few rows rather than answered for all."""
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
    """How many rows a child has, if that is known without evaluating it."""
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


cdef inline const uint32_t* choose_child(
    Slices* slices, const uint32_t* code, uint32_t* fewest, uint64_t* carried
) noexcept nogil:
    """The child to start from: the one with the fewest rows, or the first if none is known.

    A row that is true of all children has all the marks of `carried`.
    """
    cdef uint32_t children = code[0] >> KIND_BITS
    cdef const uint32_t* child = code + 2
    cdef const uint32_t* chosen = NULL
    cdef uint32_t count = 0, i
    fewest[0] = 0xFFFFFFFF
    carried[0] = 0
    for i in range(children):
        if child[0] & KIND_MASK <= C_STRANGER:
            carried[0] |= mark_of(child[0] >> KIND_BITS)
        if look_at(slices, child, &count) and count < fewest[0]:
            fewest[0] = count
            chosen = child
            if count == 0:
                break
        child = behind(child)
    return code + 2 if chosen == NULL else chosen


cdef void find_and(Slices* slices, const uint32_t* code, uint32_t depth, Rows* found) noexcept nogil:
    cdef uint32_t children = code[0] >> KIND_BITS
    cdef uint16_t* list_ = list_at(slices, depth)
    cdef const uint32_t* child
    cdef const uint32_t* chosen
    cdef uint32_t count, i
    cdef uint64_t carried
    cdef bint in_turn
    cdef int turn
    chosen = choose_child(slices, code, &count, &carried)
    if count == 0:
        set_none(found)
        return
    find_rows(slices, chosen, depth + 1, found)
    count = found.count
    if found.bits != NULL:
        count = list_rows(found.bits, slices.words, list_)
        count = filter_by_marks(slices, list_, count, carried, list_)
    else:
        count = filter_by_marks(slices, found.list, count, carried, list_)
    for turn in range(2):           # what is known first
        child = code + 2
        for i in range(children):
            if count == 0:
                break
            in_turn = is_at_hand(slices, child) == (turn == 0)
            if in_turn and child != chosen:
                count = filter_list(slices, list_, count, child, depth)
            child = behind(child)
    set_list(found, list_, count, False)


cdef inline bint is_at_hand(const Slices* slices, const uint32_t* code) noexcept nogil:
    return code[0] & KIND_MASK < C_ANY_OF


# ORs.

cdef void add_carriers(
    uint64_t* bits, const uint64_t* carriers, const uint16_t* others, uint32_t count,
    uint32_t words,
) noexcept nogil:
    """Adds all that carry an attribute but a few other rows, which stay as they are."""
    cdef uint32_t was_set = 0, i
    for i in range(count):
        was_set |= <uint32_t>(bits[others[i] >> 6] >> (others[i] & 63) & 1) << i
    add_words(bits, carriers, words)
    for i in range(count):
        if not was_set >> i & 1:
            bits[others[i] >> 6] &= ~(<uint64_t>1 << (others[i] & 63))


cdef inline void add_range(
    const Slices* slices, const uint32_t* code, uint32_t first, uint32_t count, uint64_t* bits
) noexcept nogil:
    """The rest of an attribute's rows is a piece as well: it goes on where this one ends."""
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* rows = slices.block.rows.data() + first
    cdef uint32_t others = attribute.count - count
    if count < 2 * FEW_OTHERS or others > FEW_OTHERS:
        mark_rows(bits, rows, count)
        return
    first += count
    if first >= attribute.rows + attribute.count:
        first -= attribute.count
    add_carriers(
        bits, slices.block.carriers.data() + attribute.carriers,
        slices.block.rows.data() + first, others, slices.words,
    )


cdef void add_strangers(Slices* slices, const uint32_t* code, uint64_t* bits) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef uint16_t others[MOST_ROWS]
    cdef uint32_t count = list_members(slices, code, True, others)
    if count <= FEW_OTHERS:
        add_carriers(
            bits, slices.block.carriers.data() + attribute.carriers, others, count, slices.words
        )
    else:
        count = list_members(slices, code, False, others)
        mark_rows(bits, others, count)


cdef inline void add_part(
    Slices* slices, const uint32_t* code, const Rows* rows, uint64_t* bits
) noexcept nogil:
    cdef uint32_t kind = code[0] & KIND_MASK
    if kind <= C_WIDE_OUTSIDE:
        add_range(
            slices, code, <uint32_t>(rows.list - slices.block.rows.data()), rows.count, bits
        )
    elif rows.bits != NULL:
        add_words(bits, rows.bits, slices.words)
    else:
        mark_rows(bits, rows.list, rows.count)


cdef inline bint is_many_strangers(const Slices* slices, const uint32_t* code) noexcept nogil:
    return code[0] & KIND_MASK == C_STRANGER and count_members(slices, code) > 2 * FEW_OTHERS


cdef void find_or(Slices* slices, const uint32_t* code, uint32_t depth, Rows* found) noexcept nogil:
    """The first child with rows waits for the second; only then a bitmap is begun."""
    cdef uint32_t children = code[0] >> KIND_BITS
    cdef uint64_t* bits = bitmap_at(slices, depth)
    cdef const uint32_t* waiting = NULL
    cdef bint is_bitmap = False, strangers
    cdef uint32_t i, first, count
    cdef Rows rows
    set_none(found)
    code += 2
    for i in range(children):
        strangers = is_many_strangers(slices, code)
        if code[0] & KIND_MASK <= C_WIDE_OUTSIDE:
            read_range(slices, code, &first, &count)
            set_list(&rows, slices.block.rows.data() + first, count, True)
        elif not strangers:
            find_rows(slices, code, depth + 1, &rows)
        if strangers or rows.count:
            if not strangers and not is_bitmap and waiting == NULL and (
                rows.is_lasting or i + 1 == children
            ):
                found[0] = rows
                waiting = code
            else:
                if not is_bitmap:
                    memset(bits, 0, slices.words * sizeof(uint64_t))
                    is_bitmap = True
                    if waiting != NULL:
                        add_part(slices, waiting, found, bits)
                if strangers:
                    add_strangers(slices, code, bits)
                else:
                    add_part(slices, code, &rows, bits)
        code = behind(code)
    if is_bitmap:
        set_bitmap(found, bits, <uint32_t>count_ones(bits, slices.words), False)


cdef void find_rows(Slices* slices, const uint32_t* code, uint32_t depth, Rows* found) noexcept nogil:
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
