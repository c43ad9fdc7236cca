"""Takes room in the pool and writes answers there (kept_answers.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from matcher_ext.count.rows cimport Rows, list_rows, mark_rows
from matcher_ext.count.slices cimport CHUNK_WORDS, IS_BITMAP, IS_EMPTY, IS_LIST, Slices


cdef uint64_t* take_words(Slices* slices, uint32_t count, uint32_t* at) noexcept nogil:
    """Takes words of the pool, never across two chunks."""
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
