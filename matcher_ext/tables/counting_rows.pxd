"""Counts what a question's entries are true of, and who stands behind it: block by block."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.tables.asking cimport Asker

# Adds the weights of eligible rows, by entry.
cdef int count_entries(Asker* asker, int64_t* counts) except -1 nogil
# Adds the same by entry and group.
cdef int count_grouped(Asker* asker, int64_t* counts) except -1 nogil
# Adds the weights of a bitmap's rows to the groups of a block.
cdef void add_groups(Asker* asker, const uint64_t* rows, int64_t* groups) noexcept nogil

# Writes the user's code of each row of a block; NOTHING where there is none.
cdef int read_users(const Table* table, uint32_t block, vector[uint32_t]* users) except -1 nogil
# Appends the users of rows.
cdef int add_users(
    const uint64_t* rows, uint32_t words, const vector[uint32_t]* users, vector[uint32_t]* found
) except -1 nogil
# Counts distinct ones; `seen` has a stamp for each user of the table.
cdef int64_t count_distinct(
    vector[uint32_t]* found, vector[uint32_t]* seen, uint32_t stamp
) noexcept nogil
# Counts the users of each entry; lists them as well, by entry, unless `lists` is NULL.
cdef int count_users(
    Asker* asker, int64_t* counts, vector[vector[uint32_t]]* lists
) except -1 nogil
