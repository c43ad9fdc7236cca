"""Rows of a block that a part of a circuit is true of: a list, or a bitmap when they are many."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from matcher_ext.machine.bitmaps cimport first_one, set_bit

cdef struct Rows:               # a list or a bitmap; count 0: neither
    const uint16_t* list
    const uint64_t* bits
    uint32_t count


cdef inline void set_none(Rows* rows) noexcept nogil:
    rows.list = NULL
    rows.bits = NULL
    rows.count = 0


cdef inline void set_list(Rows* rows, const uint16_t* list_, uint32_t count) noexcept nogil:
    rows.list = list_
    rows.bits = NULL
    rows.count = count


cdef inline void set_bitmap(Rows* rows, const uint64_t* bits, uint32_t count) noexcept nogil:
    rows.list = NULL
    rows.bits = bits
    rows.count = count


cdef inline void mark_rows(uint64_t* bits, const uint16_t* list_, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        set_bit(bits, list_[i])


cdef inline void clear_rows(uint64_t* bits, const uint16_t* list_, uint32_t count) noexcept nogil:
    """Clears a bitmap that has these rows and no others."""
    cdef uint32_t i
    for i in range(count):
        bits[list_[i] >> 6] = 0


cdef inline uint32_t list_rows(
    const uint64_t* bits, uint32_t words, uint16_t* target
) noexcept nogil:
    cdef uint32_t count = 0, i
    cdef uint64_t word
    for i in range(words):
        word = bits[i]
        while word:
            target[count] = <uint16_t>(64 * i + first_one(word))
            count += 1
            word &= word - 1
    return count
