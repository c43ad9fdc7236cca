"""Evaluates a circuit over a block (slices.pxd)."""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from matcher_ext.arena cimport TRUE
from matcher_ext.blocks cimport MISSING_PLACE, MOST_ROWS, Sorted, mark_of, words_of
from matcher_ext.circuit cimport *
from matcher_ext.plan cimport Expression
from matcher_ext.visit cimport test_predicate
from matcher_ext.words cimport add_words, count_ones, fetch_line, first_one

cdef enum:
    FAR = 6             # expressions ahead: their answers are fetched; twice as far, their states
    FETCHED_WORDS = 16


# Rows.

cdef inline void set_none(Rows* rows) noexcept nogil:
    rows.list = NULL
    rows.bits = NULL
    rows.count = 0
    rows.is_lasting = True


cdef inline void set_list(
    Rows* rows, const uint16_t* list_, uint32_t count, bint is_lasting
) noexcept nogil:
    rows.list = list_
    rows.bits = NULL
    rows.count = count
    rows.is_lasting = is_lasting


cdef inline void set_bitmap(
    Rows* rows, const uint64_t* bits, uint32_t count, bint is_lasting
) noexcept nogil:
    rows.list = NULL
    rows.bits = bits
    rows.count = count
    rows.is_lasting = is_lasting


cdef inline void mark_rows(uint64_t* bits, const uint16_t* list_, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        bits[list_[i] >> 6] |= <uint64_t>1 << (list_[i] & 63)


cdef inline uint32_t list_rows(const uint64_t* bits, uint32_t words, uint16_t* target) noexcept nogil:
    cdef uint32_t count = 0, i
    cdef uint64_t word
    for i in range(words):
        word = bits[i]
        while word:
            target[count] = <uint16_t>(64 * i + first_one(word))
            count += 1
            word &= word - 1
    return count


cdef inline uint16_t* list_at(Slices* slices, uint32_t depth) noexcept nogil:
    return slices.lists.data() + depth * MOST_ROWS


cdef inline uint64_t* bitmap_at(Slices* slices, uint32_t depth) noexcept nogil:
    return slices.bitmaps.data() + depth * (MOST_ROWS // 64)


# Predicates.

cdef inline void read_range(
    const Slices* slices, const uint32_t* code, uint32_t* first, uint32_t* count
) noexcept nogil:
    """C_RANGE to C_WIDE_OUTSIDE: a piece of the attribute's rows."""
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef const uint16_t* cuts
    cdef uint32_t low, high
    if attribute.count == 0:
        first[0] = 0
        count[0] = 0
        return
    cuts = slices.block.cuts.data() + attribute.cuts
    if kind <= C_OUTSIDE:
        low = cuts[code[1] & 0xFFFF]
        high = cuts[code[1] >> 16]
    else:
        low = cuts[code[1]]
        high = cuts[code[2]]
    if kind & 1:
        first[0] = attribute.rows + high
        count[0] = attribute.count - (high - low)
    else:
        first[0] = attribute.rows + low
        count[0] = high - low


cdef uint32_t count_members(const Slices* slices, const uint32_t* code) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* cuts = slices.block.cuts.data() + attribute.cuts
    cdef uint32_t count = 0, i
    if attribute.count == 0:
        return 0
    for i in range(code[1]):
        count += cuts[code[2 + i] + 1] - cuts[code[2 + i]]
    return count if code[0] & KIND_MASK == C_MEMBER else attribute.count - count


cdef uint32_t list_members(
    const Slices* slices, const uint32_t* code, bint is_member, uint16_t* target
) noexcept nogil:
    """The rows at the positions, or between them: those behind the last go on at the first."""
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* cuts = slices.block.cuts.data() + attribute.cuts
    cdef const uint16_t* rows = slices.block.rows.data() + attribute.rows
    cdef uint32_t count = 0, first, end, i
    if attribute.count == 0:
        return 0
    for i in range(code[1]):
        if is_member:
            first = cuts[code[2 + i]]
            end = cuts[code[2 + i] + 1]
        else:
            first = cuts[code[2 + i] + 1]
            end = (
                cuts[code[3 + i]] if i + 1 < code[1] else attribute.count + cuts[code[2]]
            )
        memcpy(target + count, rows + first, (end - first) * sizeof(uint16_t))
        count += end - first
    return count


cdef inline uint32_t count_leaf(const Slices* slices, const uint32_t* code) noexcept nogil:
    """Kinds below C_ANY_OF."""
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint32_t first, count
    if kind <= C_WIDE_OUTSIDE:
        read_range(slices, code, &first, &count)
        return count
    if kind == C_TRUE:
        return slices.block.count
    return count_members(slices, code)


cdef inline void find_leaf(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil:
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint32_t first, count
    if kind <= C_WIDE_OUTSIDE:
        read_range(slices, code, &first, &count)
        set_list(found, slices.block.rows.data() + first, count, True)
    elif kind == C_TRUE:
        set_list(found, slices.block.all_rows.data(), slices.block.count, True)
    else:
        count = list_members(slices, code, kind == C_MEMBER, list_at(slices, depth))
        set_list(found, list_at(slices, depth), count, False)


cdef bint test_members(const Slices* slices, const uint32_t* code, uint32_t row) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* cuts = slices.block.cuts.data() + attribute.cuts
    cdef uint32_t place, i
    if not slices.block.carried[row] & mark_of(code[0] >> KIND_BITS) or attribute.count == 0:
        return False
    place = slices.block.places[attribute.places + row]
    if place == MISSING_PLACE:
        return False
    for i in range(code[1]):
        if cuts[code[2 + i]] <= place < cuts[code[2 + i] + 1]:
            return code[0] & KIND_MASK == C_MEMBER
    return code[0] & KIND_MASK == C_STRANGER


cdef inline bint test_range(const Slices* slices, const uint32_t* code, uint32_t row) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef const uint16_t* cuts = slices.block.cuts.data() + attribute.cuts
    cdef uint32_t place, low, high
    if not slices.block.carried[row] & mark_of(code[0] >> KIND_BITS) or attribute.count == 0:
        return False
    place = slices.block.places[attribute.places + row]
    if place == MISSING_PLACE:
        return False
    if kind <= C_OUTSIDE:
        low = cuts[code[1] & 0xFFFF]
        high = cuts[code[1] >> 16]
    else:
        low = cuts[code[1]]
        high = cuts[code[2]]
    return (low <= place < high) == (kind & 1 == 0)


cdef bint is_carried(const Slices* slices, uint32_t attribute, uint32_t row) noexcept nogil:
    cdef const Sorted* sorted_ = &slices.block.attributes[attribute]
    return sorted_.count and slices.block.places[sorted_.places + row] != MISSING_PLACE


cdef bint test_lazy(const Slices* slices, const uint32_t* code, uint32_t row) noexcept nogil:
    return TRUE == test_predicate(
        slices.plan.predicates, &slices.plan.predicates.predicates[code[0] >> KIND_BITS],
        slices.table, &slices.block.visits[slices.block.visit_of[row]],
    )


cdef void mark_elements(const Slices* slices, const uint32_t* code, uint64_t* bits) noexcept nogil:
    """C_ANY_OF and C_NONE_OF: the rows whose sets have one of the elements."""
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint32_t* cuts = slices.block.set_cuts.data() + attribute.cuts
    cdef const uint16_t* rows = slices.block.rows.data() + attribute.rows
    cdef uint32_t i
    if attribute.count:
        for i in range(code[1]):
            mark_rows(
                bits, rows + cuts[code[2 + i]], cuts[code[2 + i] + 1] - cuts[code[2 + i]]
            )


cdef bint has_element(const Slices* slices, const uint32_t* code, uint32_t row) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint32_t* cuts = slices.block.set_cuts.data() + attribute.cuts
    cdef const uint16_t* rows = slices.block.rows.data() + attribute.rows
    cdef uint32_t i, k
    if attribute.count:
        for i in range(code[1]):
            for k in range(cuts[code[2 + i]], cuts[code[2 + i] + 1]):
                if rows[k] == row:
                    return True
    return False


cdef void find_special(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil:
    """C_ANY_OF to C_LAZY: into a bitmap."""
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint64_t* bits = bitmap_at(slices, depth)
    cdef uint32_t number = code[0] >> KIND_BITS
    cdef uint32_t row
    memset(bits, 0, slices.words * sizeof(uint64_t))
    if kind == C_ANY_OF:
        mark_elements(slices, code, bits)
    else:
        for row in range(slices.block.count):
            if test_special(slices, code, kind, number, row):
                bits[row >> 6] |= <uint64_t>1 << (row & 63)
    set_bitmap(found, bits, <uint32_t>count_ones(bits, slices.words), False)


cdef bint test_special(
    const Slices* slices, const uint32_t* code, uint32_t kind, uint32_t number, uint32_t row
) noexcept nogil:
    if kind == C_MISSING:
        return not is_carried(slices, number, row)
    if kind == C_LAZY:
        return test_lazy(slices, code, row)
    if kind == C_ANY_OF:
        return has_element(slices, code, row)
    return is_carried(
        slices, presence_of(slices.table, number), row
    ) and not has_element(slices, code, row)


# Nodes.

cdef inline const uint64_t* answer_at(const Slices* slices, uint32_t state) noexcept nogil:
    cdef uint32_t at = state >> 2
    return slices.pool[at // CHUNK_WORDS].data() + at % CHUNK_WORDS


cdef inline void read_answer(const Slices* slices, uint32_t state, Rows* found) noexcept nogil:
    """Of a node that is answered."""
    cdef const uint64_t* answer
    if state & 3 == IS_EMPTY:
        set_none(found)
        return
    answer = answer_at(slices, state)
    if state & 3 == IS_LIST:
        set_list(found, <const uint16_t*>(answer + 1), <uint32_t>answer[0], True)
    else:
        set_bitmap(found, answer + 1, <uint32_t>answer[0], True)


cdef uint64_t* take_words(Slices* slices, uint32_t count, uint32_t* at) noexcept nogil:
    """Of the pool; never across two chunks."""
    cdef size_t left = <size_t>CHUNK_WORDS - slices.used % <size_t>CHUNK_WORDS
    if left < count:
        slices.used += left
    at[0] = <uint32_t>slices.used
    slices.used += count
    while slices.pool.size() * CHUNK_WORDS < slices.used:
        slices.pool.emplace_back(<size_t>CHUNK_WORDS)
    return slices.pool[at[0] // CHUNK_WORDS].data() + at[0] % CHUNK_WORDS


cdef void keep_answer(Slices* slices, uint32_t node, Rows* found) noexcept nogil:
    cdef uint64_t* answer
    cdef uint32_t at
    if found.count == 0:
        slices.states[node] = IS_EMPTY
        return
    if found.count <= MOST_LISTED:
        answer = take_words(slices, 1 + (found.count + 3) // 4, &at)
        if found.bits != NULL:
            list_rows(found.bits, slices.words, <uint16_t*>(answer + 1))
        else:
            memcpy(answer + 1, found.list, found.count * sizeof(uint16_t))
        slices.states[node] = IS_LIST | at << 2
    else:
        answer = take_words(slices, 1 + slices.words, &at)
        if found.bits != NULL:
            memcpy(answer + 1, found.bits, slices.words * sizeof(uint64_t))
        else:
            memset(answer + 1, 0, slices.words * sizeof(uint64_t))
            mark_rows(answer + 1, found.list, found.count)
        slices.states[node] = IS_BITMAP | at << 2
    answer[0] = found.count
    read_answer(slices, slices.states[node], found)


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
    """The rows of a part; unless they are lasting, in the scratch of this depth or below."""
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


# Counts.

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
        if slices.used * sizeof(uint64_t) > slices.most_answers:
            forget_answers(slices)
        find_rows(slices, circuit.code.data() + circuit.roots[i], 0, &rows)
        if rows.count == 0:
            continue
        expression = &slices.plan.expressions[circuit.first_expression + i]
        if slices.block.lines.size():
            add_by_group(slices, &rows, expression, counts)
            continue
        for entry in range(expression.first, expression.first + expression.count):
            counts[entry] += rows.count
