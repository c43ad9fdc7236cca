"""Makes the buffer of a table from Arrow batches: read, coded, ordered, laid out, written."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.columns.coding cimport Coder
from matcher_ext.columns.laying cimport Layout
from matcher_ext.columns.table_format cimport Block, Column, Run
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.visits.arrow cimport Batch
from matcher_ext.visits.visit cimport Visit

cdef class TableMaker:
    """One table in the making; for one thread."""
    cdef CompiledCatalog catalog
    cdef vector[Coder] coders       # by attribute, then derived ones
    cdef vector[uint32_t] derived   # by attribute: its derived column, or NOTHING
    cdef vector[int64_t] malformed
    cdef Layout layout
    cdef Visit visit                # scratch
    cdef vector[Run] runs
    cdef readonly int64_t rows
    cdef object groups              # their values, by number

    cdef int read(self, batches) except -1
    cdef int _read_batch(self, Batch batch) except -1 nogil
    cdef int derive(self) except -1
    cdef int order(self, by, groups, weights) except -1
    # Appends the finished table to an empty buffer.
    cdef int write(self, vector[char]* buffer, by, users) except -1
    cdef int _run(self, Block* block, const int64_t[::1] groups) except -1
    cdef size_t _expect_words(self) noexcept
    cdef Column _describe(self, uint32_t i, uint64_t first, uint64_t seen) except *
