"""Codes the values of visits, column by column, while they are read.

A value is first known by the order in which it was met; `sort_values` then gives every value its
place among all, ascending, which is its code.

    rows     2    5    9 ..          rows that carry the column, ascending
    ends     2    2    5 ..          of sets: where the elements of each of them end
    codes    0 1 |    | 1 2 0 ..     one per row, or the elements of sets
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.arrow_cells cimport Column as ArrowColumn
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
    vector[uint64_t] slots      # open addressing: high half of the hash, code

cdef struct Rows:               # a column of an Arrow batch, and where its rows lie among all
    const CatalogTable* catalog
    const vector[ArrowColumn]* columns
    const ArrowColumn* column
    int64_t count
    uint32_t first
    Visit* visit                # scratch: one value at a time

# All that take memory raise MemoryError.
cdef int open_coder(Coder* coder, uint8_t type) except -1 nogil
# Makes a visit that holds one value of any type without taking more memory.
cdef int open_visit(const CatalogTable* catalog, Visit* visit) except -1 nogil
# Codes a column of a batch; adds to `malformed` the rows whose value does not fit.
cdef int code_column(Coder* coder, const Rows* rows, int64_t* malformed) except -1 nogil
# Adds the minutes of the week of a time, or the sizes of a set.
cdef int code_minutes(
    const Coder* times, const Coder* offsets, bint is_local, Coder* minutes
) except -1 nogil
cdef int code_sizes(const Coder* sets, Coder* sizes) except -1 nogil
# Sorts the dictionary and rewrites the codes.
cdef int sort_values(Coder* coder) except -1 nogil
cdef inline uint32_t count_values(const Coder* coder) noexcept nogil:
    return <uint32_t>(coder.words.size() // coder.width) if coder.width else 0
