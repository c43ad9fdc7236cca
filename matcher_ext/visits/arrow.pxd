"""Rows of Arrow batches as visits, through the PyCapsule interface: no Arrow library is needed.

A column is one attribute: its name is the attribute's, or a struct column's name and its field's,
joined by a dot. A column that the catalogue does not name is ignored; an attribute without a
column is missing. A value that does not fit the attribute's type is malformed, as in any visit.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.visits.arrow_cells cimport ArrowArray, ArrowArrayStream, ArrowSchema, Column

cdef class Batch:
    """One record batch with its columns matched to a catalogue; keeps the Arrow memory alive."""
    cdef object owners
    cdef CompiledCatalog catalog
    cdef vector[Column] columns
    cdef vector[uint32_t] leaves        # columns that are attributes
    cdef set names                      # of those attributes
    cdef readonly int64_t rows

    cdef uint32_t _add(self, const ArrowSchema* schema, const ArrowArray* array, uint32_t parent)
    cdef int _add_fields(
        self, const ArrowSchema* schema, const ArrowArray* array, uint32_t parent, str prefix
    ) except -1
    cdef int _add_attribute(
        self, const ArrowSchema* schema, const ArrowArray* array, uint32_t parent, str name
    ) except -1

cdef class Stream:
    """The batches of an Arrow stream (a table's chunks), one after another."""
    cdef CompiledCatalog catalog
    cdef object capsule
    cdef ArrowArrayStream* stream

    cdef int _check(self, int code) except -1
