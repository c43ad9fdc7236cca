"""Answers definitions by code: makes visits of a block's rows again, and asks the code of each.

It gives the same result as matching, a thousand times slower. Answers are good for one call, since
code may answer differently the next time; a block in which nothing needs code is never asked. Code
is not asked of a visit without a required attribute: there, its definitions are unknown.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from matcher_ext.columns.table_format cimport Table

cdef class CodedRows:
    """What code says of rows, for one thread and one call."""
    cdef const Table* table
    cdef tuple attributes           # of the table
    cdef list names                 # of definitions
    cdef object answer              # visit -> truths by name
    cdef dict blocks                # numpy arrays of words: [definition][false, true][word]
    cdef readonly int64_t row_count     # that were asked
    cdef readonly object error      # what code raised first, or None

cdef CodedRows begin_coded(const Table* table, tuple attributes, list names, answer)
# Fits AskCode of asking.pxd; its context is a CodedRows.
cdef const uint64_t* ask_code(
    void* context, uint32_t block, uint32_t definition, bint wanted
) noexcept nogil
