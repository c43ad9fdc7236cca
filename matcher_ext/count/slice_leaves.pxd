"""Finds the rows of a circuit's leaves (circuit.pxd): pieces of sorted rows, or tests row by row.

What nearly every part asks stands here, so that it is compiled into whoever asks.
"""
from libc.stdint cimport uint16_t, uint32_t

from matcher_ext.count.blocks cimport MISSING_PLACE, Sorted, mark_of
from matcher_ext.count.circuit cimport (
    C_MEMBER, C_OUTSIDE, C_TRUE, C_WIDE_OUTSIDE, KIND_BITS, KIND_MASK,
)
from matcher_ext.count.rows cimport Rows, set_list
from matcher_ext.count.slices cimport Slices, list_at

# Count, list and test the rows of C_MEMBER and C_STRANGER.
cdef uint32_t count_members(const Slices* slices, const uint32_t* code) noexcept nogil
cdef uint32_t list_members(
    const Slices* slices, const uint32_t* code, bint is_member, uint16_t* target
) noexcept nogil
cdef bint test_members(const Slices* slices, const uint32_t* code, uint32_t row) noexcept nogil
# Find and test the rows of C_ANY_OF to C_LAZY.
cdef void find_special(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil
cdef bint test_special(
    const Slices* slices, const uint32_t* code, uint32_t kind, uint32_t number, uint32_t row
) noexcept nogil


cdef inline void read_range(
    const Slices* slices, const uint32_t* code, uint32_t* first, uint32_t* count
) noexcept nogil:
    """Reads a C_RANGE to C_WIDE_OUTSIDE: a piece of the attribute's rows."""
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


cdef inline void read_piece(
    const Slices* slices, const uint32_t* code, bint is_outside, uint32_t* first, uint32_t* count
) noexcept nogil:
    """Reads a C_RANGE or C_OUTSIDE, where the caller knows which."""
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint16_t* cuts = slices.block.cuts.data() + attribute.cuts
    cdef uint32_t low, high
    if attribute.count == 0:
        first[0] = 0
        count[0] = 0
        return
    low = cuts[code[1] & 0xFFFF]
    high = cuts[code[1] >> 16]
    first[0] = attribute.rows + (high if is_outside else low)
    count[0] = attribute.count - (high - low) if is_outside else high - low


cdef inline uint32_t count_leaf(const Slices* slices, const uint32_t* code) noexcept nogil:
    """Counts the rows of a kind below C_ANY_OF."""
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
        set_list(found, slices.block.rows.data() + first, count)
    elif kind == C_TRUE:
        set_list(found, slices.block.all_rows.data(), slices.block.count)
    else:
        count = list_members(slices, code, kind == C_MEMBER, list_at(slices, depth))
        set_list(found, list_at(slices, depth), count)


cdef inline bint test_range(
    const Slices* slices, const uint32_t* code, uint32_t row
) noexcept nogil:
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
