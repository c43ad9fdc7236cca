"""The catalogue as compiled code reads it: attributes by number, names by hash table.

Built once from plain rows, never changed: attribute numbers are positions in those rows, so that
they hold for every expression, visit and snapshot made with the same catalogue.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.values.spans cimport Span

cdef struct Attribute:
    Span name               # in bytes
    uint32_t domain_first   # closed domain: words[first : first + count], ascending
    uint32_t domain_count   # 0: open
    uint8_t type            # Type
    uint8_t required        # missing or malformed makes the visit ineligible everywhere

cdef struct List:           # a managed list, `$name`
    Span name
    uint32_t first          # words[first : first + count]: integers, or texts in bytes
    uint32_t count
    uint8_t textual

cdef cppclass CatalogTable:
    vector[Attribute] attributes
    vector[uint32_t] slots          # open addressing by name, attribute or NOTHING
    vector[int64_t] words
    vector[char] bytes
    vector[uint32_t] required       # attribute numbers
    vector[List] lists
    vector[uint32_t] list_slots     # as slots, for lists
    uint32_t utc_offset             # `geo.utc_offset`, or NOTHING
    bint knows_lists                # False: `$name` is not looked up

cdef uint32_t find_attribute(
    const CatalogTable* table, const char* name, size_t length
) noexcept nogil

cdef uint32_t find_list(
    const CatalogTable* table, const char* name, size_t length
) noexcept nogil

cdef class CompiledCatalog:
    """Owner of a CatalogTable. Immutable after construction, so safe to share between threads."""
    cdef CatalogTable table
    cdef readonly tuple names       # by attribute number
    cdef readonly tuple types       # their types' names, by attribute number
    cdef readonly tuple rows        # what it was made from
    cdef readonly dict numbers      # name -> attribute number
    cdef readonly tuple list_names
    cdef readonly object lists      # name -> values, or None

    cdef int _add(self, str name, int type, domain, bint required) except -1
    cdef int _index(self) except -1
    cdef int _add_list(self, str name, values) except -1
