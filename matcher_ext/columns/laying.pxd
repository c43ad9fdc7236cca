"""Lays coded columns out in blocks: from rows as they came to the parts of a table."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.columns.coding cimport Coder
from matcher_ext.columns.table_format cimport Block, Part

cdef cppclass Layout:
    """What the parts of all columns are written with."""
    vector[uint32_t] order      # the input's row, by the table's
    vector[uint32_t] places     # the table's row, by the input's
    vector[Block] blocks
    vector[Part] parts          # [block][column]
    vector[uint64_t] payload
    vector[uint64_t] seen       # of the column that was last laid out
    vector[uint32_t] local      # scratch: codes, or indexes of carried rows, by the table's row
    vector[uint32_t] tally      # scratch, by code; zeros between blocks
    vector[uint32_t] found
    vector[uint32_t] starts

# Writes the parts of a column whose values are sorted; raises MemoryError.
cdef int lay_column(
    Layout* layout, const Coder* coder, uint32_t column, uint32_t columns
) except -1 nogil
