"""Makes Python objects of the values in a table's dictionaries, as a visit would carry them."""
from libc.stdint cimport int64_t, uint8_t, uint32_t

from matcher_ext.columns.table_format cimport Table

cdef object value_of(
    uint8_t type, uint8_t kind, const int64_t* words, const char* bytes, uint32_t code
)

# Reads the visits of a block back, in its order, as dicts.
cdef list read_block(const Table* table, tuple names, uint32_t block)
