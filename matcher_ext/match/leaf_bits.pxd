"""Which leaves are true of a visit's values, as bits: the predicate index of plan.pxd at work.

A value's rank among the attribute's keys cuts each ordered group of leaves in two; `=`, `in` and
their negations are single leaves of the key's row. Nothing is looked at leaf by leaf except
intervals near the value and candidates among lazy leaves (clue_lookup.pxd).
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.predicate_index cimport AttributeIndex
from matcher_ext.values.catalog cimport CatalogTable

cdef uint32_t find_number(
    const Plan* plan, const AttributeIndex* attribute, int64_t word
) noexcept nogil
cdef uint32_t find_text(
    const Plan* plan, const AttributeIndex* attribute, const char* text, uint32_t length
) noexcept nogil
# Sets the bits of the attributes that the visit carries; notes the points of their values.
cdef void fill_carried(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
cdef void fill_missing(const Plan* plan, Scratch* scratch) noexcept nogil

cdef inline void set_bit(Scratch* scratch, uint32_t bit) noexcept nogil:
    scratch.bits[bit >> 6] |= <uint64_t>1 << (bit & 63)


cdef inline void clear_bit(Scratch* scratch, uint32_t bit) noexcept nogil:
    scratch.bits[bit >> 6] &= ~(<uint64_t>1 << (bit & 63))


cdef inline bint get_bit(const Scratch* scratch, uint32_t bit) noexcept nogil:
    return scratch.bits[bit >> 6] >> (bit & 63) & 1


cdef inline void set_bits(Scratch* scratch, uint32_t first, uint32_t end) noexcept nogil:
    cdef uint64_t head, tail
    cdef uint32_t word, last
    if first >= end:
        return
    word = first >> 6
    last = (end - 1) >> 6
    head = ~<uint64_t>0 << (first & 63)
    tail = ~<uint64_t>0 >> (63 - ((end - 1) & 63))
    if word == last:
        scratch.bits[word] |= head & tail
        return
    scratch.bits[word] |= head
    for word in range(word + 1, last):
        scratch.bits[word] = ~<uint64_t>0
    scratch.bits[last] |= tail


cdef inline void clear_bits(Scratch* scratch, uint32_t first, uint32_t end) noexcept nogil:
    cdef uint64_t head, tail
    cdef uint32_t word, last
    if first >= end:
        return
    word = first >> 6
    last = (end - 1) >> 6
    head = ~<uint64_t>0 << (first & 63)
    tail = ~<uint64_t>0 >> (63 - ((end - 1) & 63))
    if word == last:
        scratch.bits[word] &= ~(head & tail)
        return
    scratch.bits[word] &= ~head
    for word in range(word + 1, last):
        scratch.bits[word] = 0
    scratch.bits[last] &= ~tail
