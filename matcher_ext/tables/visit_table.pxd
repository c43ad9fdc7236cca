"""Holds visits that are prepared once and asked many times: what callers see of this room."""
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.tables.bound_index cimport BoundIndex
from matcher_ext.values.catalog cimport CompiledCatalog

cdef class VisitTable:
    """Immutable: any number of threads and processes may ask it at once. What it keeps of the
    indexes that asked last is the same whoever makes it."""
    cdef Table table
    cdef vector[char] owned         # the buffer of a table that was made, or empty
    cdef object mapping             # the memoryview of an opened file, or None
    cdef readonly CompiledCatalog catalog
    cdef readonly tuple groups      # the values of each group
    cdef list bound                 # (parts, BoundIndex) of the indexes that asked last
    cdef object lock
    cdef list coded_total           # how many rows code was asked of so far

    cdef int _read(self, const char* buffer, size_t size, object path) except -1
    cdef BoundIndex _bind(self, index)
