"""Codes the values of visits, column by column, while they are read.

A value is first known by the order in which it was met; `sort_values` then gives every value its
place among all, ascending, which is its code.

    rows     2    5    9 ..          rows that carry the column, ascending
    ends     2    2    5 ..          of sets: where the elements of each of them end
    codes    0 1 |    | 1 2 0 ..     one per row, or the elements of sets
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.visits.visit cimport Visit

cdef cppclass Coder:
    """One column in the making, with its dictionary."""
    uint8_t type                # Type
    uint8_t width               # words of a value: 2 for addresses, 0 for places, else 1
    vector[uint32_t] rows
    vector[uint32_t] ends
    vector[uint32_t] codes
    vector[double] points       # places: latitude, longitude
    vector[int64_t] words
    vector[char] bytes
    vector[uint32_t] slots      # open addressing, by hash
    uint64_t last_hash

cdef void open_coder(Coder* coder, uint8_t type) noexcept nogil
# Finds or adds a number; returns its place in the order of meeting.
cdef uint32_t code_number(Coder* coder, int64_t value) noexcept nogil
# Codes all that visits carry, from row `first` on.
cdef void code_visits(
    Coder* coders, const Visit* visits, int64_t count, uint32_t first, vector[int64_t]* malformed
) noexcept nogil
# Adds the minutes of the week of a time, or the sizes of a set.
cdef void code_minutes(
    const Coder* times, const Coder* offsets, bint is_local, Coder* minutes
) noexcept nogil
cdef void code_sizes(const Coder* sets, Coder* sizes) noexcept nogil
# Sorts the dictionary and rewrites the codes.
cdef void sort_values(Coder* coder) noexcept nogil
cdef inline uint32_t count_values(const Coder* coder) noexcept nogil:
    return <uint32_t>(coder.words.size() // coder.width) if coder.width else 0
