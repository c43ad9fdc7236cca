"""Counts what a question's entries are true of: block by block, without the GIL."""
from libc.stdint cimport int64_t, uint64_t

from matcher_ext.tables.asking cimport Asker

# Adds the weights of eligible rows, by entry; entries that code answers are left out.
cdef void count_entries(Asker* asker, int64_t* counts) noexcept nogil
# The same by entry and group.
cdef void count_grouped(Asker* asker, int64_t* counts) noexcept nogil
# Adds the weights of a bitmap's rows to the groups of a block.
cdef void add_groups(Asker* asker, const uint64_t* rows, int64_t* groups) noexcept nogil
