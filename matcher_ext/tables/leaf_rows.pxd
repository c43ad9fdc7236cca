"""Answers a bound predicate for a block: the rows that it is true of, as a bitmap."""
from libc.stdint cimport uint64_t

from matcher_ext.columns.table_format cimport Block, Part, Table
from matcher_ext.tables.binding cimport Binding, Bound

# Returns the rows that carry what is asked for, or NULL: none. With BY_PRESENCE that is all rows,
# which the caller knows.
cdef const uint64_t* known_rows(const Table* table, const Part* part) noexcept nogil
# Returns the rows of which a bound is true, before its negation: a bitmap of the table's, or `out`
# filled, or NULL for none. `spare` is scratch of the same size.
cdef const uint64_t* true_rows(
    const Table* table, const Block* block, const Part* part, const Binding* binding,
    const Bound* bound, uint64_t* out, uint64_t* spare,
) noexcept nogil
