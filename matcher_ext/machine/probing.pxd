"""Open addressing: how every hash table of the engine is laid out, in memory and in files.

A table has 2 ** n places and at least one empty one. What has a hash stands at `first_place` or, if
others stand there, behind them: whoever looks for it goes on to `next_place` until it is found, or
an empty place says that it is not there. `mask` is the size less one.

    place = first_place(hash, mask)
    while not is_empty(table[place]):
        if is_same(table[place]):
            return table[place]
        place = next_place(place, mask)
"""
from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.machine.links cimport NOTHING

cdef inline size_t first_place(uint64_t hash, size_t mask) noexcept nogil:
    return hash & mask

cdef inline size_t next_place(size_t place, size_t mask) noexcept nogil:
    return (place + 1) & mask

cdef inline size_t size_table(size_t count, size_t least) noexcept nogil:
    """Says how many places a table needs that is at most half full; `least` is a power of two."""
    while least < 2 * count:
        least *= 2
    return least

cdef inline size_t find_empty(const uint32_t* table, uint64_t hash, size_t mask) noexcept nogil:
    """Finds the place for something new in a table of numbers, where NOTHING is empty."""
    cdef size_t place = first_place(hash, mask)
    while table[place] != NOTHING:
        place = next_place(place, mask)
    return place
