"""Reads lists, sets, what is missing and what is tested visit by visit (slice_leaves.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from matcher_ext.count.blocks cimport MISSING_PLACE, Sorted, mark_of
from matcher_ext.count.circuit cimport (
    C_ANY_OF, C_LAZY, C_MEMBER, C_MISSING, C_NONE_OF, C_STRANGER, KIND_BITS, KIND_MASK, presence_of,
)
from matcher_ext.count.rows cimport Rows, mark_rows, set_bitmap
from matcher_ext.count.slices cimport Slices, bitmap_at
from matcher_ext.machine.bitmaps cimport count_ones, set_bit
from matcher_ext.values.predicate cimport TRUE
from matcher_ext.visits.predicate_tests cimport test_predicate


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
    """Lists the rows at the positions, or between them: those behind the last go on at the
    first."""
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


cdef bint is_carried(const Slices* slices, uint32_t attribute, uint32_t row) noexcept nogil:
    cdef const Sorted* sorted_ = &slices.block.attributes[attribute]
    return sorted_.count and slices.block.places[sorted_.places + row] != MISSING_PLACE


cdef bint test_lazy(const Slices* slices, const uint32_t* code, uint32_t row) noexcept nogil:
    return TRUE == test_predicate(
        slices.plan.predicates, &slices.plan.predicates.predicates[code[0] >> KIND_BITS],
        slices.table, &slices.block.visits[slices.block.visit_of[row]],
    )


cdef void mark_elements(const Slices* slices, const uint32_t* code, uint64_t* bits) noexcept nogil:
    """Marks the rows whose sets have one of the elements of a C_ANY_OF or C_NONE_OF."""
    cdef const Sorted* attribute = &slices.block.attributes[code[0] >> KIND_BITS]
    cdef const uint32_t* cuts = slices.block.set_cuts.data() + attribute.cuts
    cdef const uint16_t* rows = slices.block.rows.data() + attribute.rows
    cdef uint32_t i
    if attribute.count:
        for i in range(code[1]):
            mark_rows(
                bits, rows + cuts[code[2 + i]], cuts[code[2 + i] + 1] - cuts[code[2 + i]]
            )


cdef void keep_carriers_but(
    const Slices* slices, uint32_t attribute, uint64_t* bits
) noexcept nogil:
    """Turns some rows into those that carry the attribute and are not among them."""
    cdef const Sorted* sorted_ = &slices.block.attributes[attribute]
    cdef const uint64_t* carriers = slices.block.carriers.data() + sorted_.carriers
    cdef uint32_t i
    for i in range(slices.words):
        bits[i] = carriers[i] & ~bits[i] if sorted_.count else 0


cdef void mark_missing(const Slices* slices, uint32_t attribute, uint64_t* bits) noexcept nogil:
    cdef const Sorted* sorted_ = &slices.block.attributes[attribute]
    cdef const uint64_t* carriers = slices.block.carriers.data() + sorted_.carriers
    cdef uint32_t count = slices.block.count, i
    for i in range((count + 63) // 64):
        bits[i] = ~<uint64_t>0 if 64 * (i + 1) <= count else ((<uint64_t>1 << (count & 63)) - 1)
        if sorted_.count:
            bits[i] &= ~carriers[i]


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
    """Finds the rows of a C_ANY_OF to C_LAZY, as a bitmap."""
    cdef uint32_t kind = code[0] & KIND_MASK
    cdef uint64_t* bits = bitmap_at(slices, depth)
    cdef uint32_t row
    memset(bits, 0, slices.words * sizeof(uint64_t))
    if kind == C_LAZY:
        for row in range(slices.block.count):
            if test_lazy(slices, code, row):
                set_bit(bits, row)
    elif kind == C_MISSING:
        mark_missing(slices, code[0] >> KIND_BITS, bits)
    else:
        mark_elements(slices, code, bits)
        if kind == C_NONE_OF:
            keep_carriers_but(slices, presence_of(slices.table, code[0] >> KIND_BITS), bits)
    set_bitmap(found, bits, <uint32_t>count_ones(bits, slices.words))


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
