"""Finds the leaf that an AND starts from, and what the others leave (and_leaves.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from matcher_ext.count.blocks cimport MISSING_PLACE, Sorted, mark_of
from matcher_ext.count.circuit cimport HEADER_WORDS, KIND_BITS, behind
from matcher_ext.count.slice_leaves cimport count_members, read_piece, read_range
from matcher_ext.count.slices cimport Slices
from matcher_ext.machine.bitmaps cimport get_bit


cdef inline void consider_range(
    const Slices* slices, const uint32_t* code, bint is_outside, Start* start
) noexcept nogil:
    cdef uint32_t first, count
    read_piece(slices, code, is_outside, &first, &count)
    start.carried |= mark_of(code[0] >> KIND_BITS)
    if count < start.count:
        start.count = count
        start.first = first
        start.child = code


cdef const uint32_t* consider_leaves(
    const Slices* slices, const uint32_t* code, Start* start
) noexcept nogil:
    cdef uint32_t leaves = code[2], _
    code += HEADER_WORDS
    for _ in range(leaves & 0xFF):
        consider_range(slices, code, False, start)
        if start.count == 0:
            return code
        code += 2
    for _ in range(leaves >> 8 & 0xFF):
        consider_range(slices, code, True, start)
        code += 2
    for _ in range((leaves >> 16 & 0xFF) + (leaves >> 24)):
        start.carried |= mark_of(code[0] >> KIND_BITS)
        consider_count(code, count_members(slices, code), start)
        code = behind(code)
    return code


cdef uint32_t filter_by_carriers(
    const Slices* slices, const uint32_t* code, const uint32_t* but, uint16_t* list_,
    uint32_t count,
) noexcept nogil:
    cdef uint32_t leaves = code[2], kept, _, k
    cdef const uint64_t* bits
    code += HEADER_WORDS
    leaves = (leaves & 0xFF) + (leaves >> 8 & 0xFF) + (leaves >> 16 & 0xFF) + (leaves >> 24)
    for _ in range(leaves):
        if code != but:
            bits = slices.block.carriers.data()
            bits += slices.block.attributes[code[0] >> KIND_BITS].carriers
            kept = 0
            for k in range(count):
                list_[kept] = list_[k]
                kept += get_bit(bits, list_[k])
            count = kept
        code = behind(code)
    return count


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
