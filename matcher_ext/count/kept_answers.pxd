"""Keeps answers of nodes in the pool of a Slices: rows that stay while a block is counted."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from matcher_ext.count.rows cimport Rows, set_bitmap, set_list, set_none
from matcher_ext.count.slices cimport CHUNK_WORDS, IS_EMPTY, IS_LIST, Slices

cdef enum:
    MOST_LISTED = 96            # rows of a kept list

# Keeps rows as a node's answer; from then on they are the pool's.
cdef void keep_answer(Slices* slices, uint32_t node, Rows* found) noexcept nogil


cdef inline const uint64_t* answer_at(const Slices* slices, uint32_t state) noexcept nogil:
    cdef uint32_t at = state >> 2
    return slices.pool[at // CHUNK_WORDS].data() + at % CHUNK_WORDS


cdef inline void read_answer(const Slices* slices, uint32_t state, Rows* found) noexcept nogil:
    """Reads the rows of a node that is answered."""
    cdef const uint64_t* answer
    if state & 3 == IS_EMPTY:
        set_none(found)
        return
    answer = answer_at(slices, state)
    if state & 3 == IS_LIST:
        set_list(found, <const uint16_t*>(answer + 1), <uint32_t>answer[0])
    else:
        set_bitmap(found, answer + 1, <uint32_t>answer[0])
