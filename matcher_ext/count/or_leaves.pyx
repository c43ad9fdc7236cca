"""Adds wide leaves first, then rows one by one (or_leaves.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from matcher_ext.count.blocks cimport MOST_ROWS, Sorted
from matcher_ext.count.circuit cimport HEADER_WORDS, KIND_BITS, MOST_COUNTED, behind
from matcher_ext.count.rows cimport mark_rows
from matcher_ext.count.slice_leaves cimport list_members, read_piece
from matcher_ext.count.slices cimport Slices
from matcher_ext.machine.bitmaps cimport add_words, clear_bit, fetch_line, get_bit

cdef enum:
    FEW_OTHERS = 24     # rows; all carriers of an attribute but so few are one bitmap

cdef struct Piece:
    uint32_t first      # in Block.rows
    uint32_t count
    uint32_t attribute


cdef inline bint is_wide(uint32_t count, uint32_t others) noexcept nogil:
    return others <= FEW_OTHERS and count >= 2 * FEW_OTHERS


cdef inline uint32_t read_pieces(
    const Slices* slices, const uint32_t* code, Piece* pieces
) noexcept nogil:
    """Reads all pieces at once: each takes two loads that depend on each other, and so they
    overlap."""
    cdef uint32_t ranges = code[2] & 0xFF
    cdef uint32_t count = ranges + (code[2] >> 8 & 0xFF)
    cdef uint32_t i
    code += HEADER_WORDS
    for i in range(ranges):
        read_piece(slices, code + 2 * i, False, &pieces[i].first, &pieces[i].count)
        pieces[i].attribute = code[2 * i] >> KIND_BITS
        fetch_line(slices.block.rows.data() + pieces[i].first)
    for i in range(ranges, count):
        read_piece(slices, code + 2 * i, True, &pieces[i].first, &pieces[i].count)
        pieces[i].attribute = code[2 * i] >> KIND_BITS
    return count


cdef void begin_with_carriers(
    uint64_t* bits, const uint64_t* carriers, const uint16_t* others, uint32_t count,
    uint32_t words,
) noexcept nogil:
    cdef uint32_t i
    memcpy(bits, carriers, words * sizeof(uint64_t))
    for i in range(count):
        clear_bit(bits, others[i])


cdef void add_carriers(
    uint64_t* bits, const uint64_t* carriers, const uint16_t* others, uint32_t count,
    uint32_t words,
) noexcept nogil:
    """Adds all that carry an attribute but a few other rows, which stay as they are."""
    cdef uint32_t was_set = 0, i
    for i in range(count):
        was_set |= <uint32_t>get_bit(bits, others[i]) << i
    add_words(bits, carriers, words)
    for i in range(count):
        if not was_set >> i & 1:
            clear_bit(bits, others[i])


cdef inline void add_wide(
    const Slices* slices, uint32_t attribute, const uint16_t* others, uint32_t count,
    bint* is_begun, uint64_t* bits,
) noexcept nogil:
    cdef const uint64_t* carriers = slices.block.carriers.data()
    carriers += slices.block.attributes[attribute].carriers
    if is_begun[0]:
        add_carriers(bits, carriers, others, count, slices.words)
    else:
        begin_with_carriers(bits, carriers, others, count, slices.words)
    is_begun[0] = True


cdef inline uint32_t add_wide_pieces(
    const Slices* slices, Piece* pieces, uint32_t count, bint* is_begun, uint64_t* bits
) noexcept nogil:
    """Adds the wide pieces and moves the others to the front; returns how many those are."""
    cdef const Sorted* attribute
    cdef uint32_t narrow = 0, others, next, i
    for i in range(count):
        attribute = &slices.block.attributes[pieces[i].attribute]
        others = attribute.count - pieces[i].count
        if is_wide(pieces[i].count, others):
            # The rest of an attribute's rows is a piece as well: it goes on where this one ends.
            next = pieces[i].first + pieces[i].count
            if next >= attribute.rows + attribute.count:
                next -= attribute.count
            add_wide(
                slices, pieces[i].attribute, slices.block.rows.data() + next, others, is_begun, bits
            )
        else:
            pieces[narrow] = pieces[i]
            narrow += 1
    return narrow


cdef void add_strangers(
    const Slices* slices, const uint32_t* code, bint* is_begun, uint64_t* bits
) noexcept nogil:
    cdef uint32_t attribute = code[0] >> KIND_BITS
    cdef uint32_t carriers = slices.block.attributes[attribute].count
    cdef uint16_t rows[MOST_ROWS]
    cdef uint32_t others
    if carriers == 0:
        return
    others = list_members(slices, code, True, rows)
    if is_wide(carriers - others, others):
        add_wide(slices, attribute, rows, others, is_begun, bits)
        return
    if not is_begun[0]:
        memset(bits, 0, slices.words * sizeof(uint64_t))
        is_begun[0] = True
    mark_rows(bits, rows, list_members(slices, code, False, rows))


cdef inline void add_members(
    const Slices* slices, const uint32_t* code, uint64_t* bits
) noexcept nogil:
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* cuts = slices.block.cuts.data() + attribute.cuts
    cdef const uint16_t* rows = slices.block.rows.data() + attribute.rows
    cdef uint32_t i
    if attribute.count == 0:
        return
    for i in range(2, 2 + code[1]):
        mark_rows(bits, rows + cuts[code[i]], cuts[code[i] + 1] - cuts[code[i]])


cdef const uint32_t* add_leaves(
    const Slices* slices, const uint32_t* code, uint64_t* bits
) noexcept nogil:
    cdef Piece pieces[2 * MOST_COUNTED]
    cdef uint32_t count = read_pieces(slices, code, pieces)
    cdef uint32_t members = code[2] >> 16 & 0xFF, strangers = code[2] >> 24, i, _
    cdef const uint32_t* member = code + HEADER_WORDS + 2 * count
    cdef bint is_begun = False
    code = member
    count = add_wide_pieces(slices, pieces, count, &is_begun, bits)
    for _ in range(members):
        code = behind(code)
    for _ in range(strangers):
        add_strangers(slices, code, &is_begun, bits)
        code = behind(code)
    if not is_begun:
        memset(bits, 0, slices.words * sizeof(uint64_t))
    for i in range(count):
        mark_rows(bits, slices.block.rows.data() + pieces[i].first, pieces[i].count)
    for _ in range(members):
        add_members(slices, member, bits)
        member = behind(member)
    return code
