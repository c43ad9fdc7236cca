"""Checks what a file says of itself, every index once, so that asking can trust it."""
from matcher_ext.columns.table_format cimport Table
from matcher_ext.values.catalog cimport CatalogTable

# Returns what is wrong, or NULL.
cdef const char* check_table(const Table* table, const CatalogTable* catalog) noexcept nogil
