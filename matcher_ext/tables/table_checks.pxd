"""Checks what a file says of itself, every index once, so that asking can trust it."""
from matcher_ext.tables.table_format cimport Table

# Returns what is wrong, or NULL. `attributes` are the catalogue's.
cdef const char* check_table(const Table* table, unsigned int attributes) noexcept nogil
